//! Templates of Rust, taken apart: the text, and the places in which arguments stand.
//!
//! `$n` stands for the n-th argument and `$$` for a dollar sign, as does a `$` with no number behind it.

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Rust as it is written.
    Text(&'t str),
    /// `$n`: the n-th argument.
    Hole(usize),
}

/// The pieces of a template, in order; no text among them is empty.
pub fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        let (piece, behind) = first(rest)?;
        rest = behind;
        Some(piece)
    })
}

/// The text as a template: one that stands for the text itself, whatever dollar signs it holds.
pub fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

/// The arguments that a template mentions, as often as it does.
pub fn holes(template: &str) -> impl Iterator<Item = usize> {
    pieces(template).filter_map(|piece| match piece {
        Piece::Hole(position) => Some(position),
        Piece::Text(_) => None,
    })
}

/// The first piece of what is left of a template, and what is behind it; `None` at its end.
fn first(rest: &str) -> Option<(Piece<'_>, &str)> {
    let Some(after) = rest.strip_prefix('$') else {
        let (text, behind) = rest.split_at(rest.find('$').unwrap_or(rest.len()));
        return (!text.is_empty()).then_some((Piece::Text(text), behind));
    };
    if let Some(behind) = after.strip_prefix('$') {
        return Some((Piece::Text("$"), behind));
    }
    let (digits, behind) = after.split_at(after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len());
    Some(digits.parse().map_or((Piece::Text("$"), after), |position| (Piece::Hole(position), behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_told_from_dollar_signs() {
        use Piece::{Hole, Text};
        let known: [(&str, &[Piece<'_>]); 6] = [
            ("", &[]),
            ("f(x)", &[Text("f(x)")]),
            ("$0.f(&$12)", &[Hole(0), Text(".f(&"), Hole(12), Text(")")]),
            ("$0$1", &[Hole(0), Hole(1)]),
            ("$$3 $$$3", &[Text("$"), Text("3 "), Text("$"), Hole(3)]),
            ("$x $", &[Text("$"), Text("x "), Text("$")]),
        ];
        for (template, want) in known {
            assert!(pieces(template).eq(want.iter().copied()), "{template}");
        }
        assert!(holes("$1 + $$2 + $0 + $1").eq([1, 0, 1]));
    }

    #[test]
    fn an_escaped_text_stands_for_itself() {
        for text in ["", "costs $0", "$$ $1$", "f(x)"] {
            let template = escaped(text);
            assert!(pieces(&template).all(|piece| matches!(piece, Piece::Text(_))), "{text}");
            let whole: String = pieces(&template)
                .map(|piece| match piece {
                    Piece::Text(text) => text,
                    Piece::Hole(_) => "",
                })
                .collect();
            assert_eq!(whole, text);
        }
    }
}
