//! Format strings: `"{0} of {n:?}", a` as `"{} of {:?}"` with the values in the order in which they are shown.

use syn::{Expr, ExprLit, Lit};

/// The format string of a formatting macro's arguments with empty braces, but for what stands behind a `:`, and the
/// values of these in order; `None` where they are of another form.
pub(in crate::trace) fn positional(args: &[Expr]) -> Option<(String, Vec<Expr>)> {
    let [Expr::Lit(ExprLit { lit: Lit::Str(literal), .. }), given @ ..] = args else { return None };
    let (mut text, mut values, mut next) = (String::new(), Vec::new(), 0);
    let literal = literal.value();
    let mut rest = literal.chars().peekable();
    while let Some(c) = rest.next() {
        text.push(c);
        if matches!(c, '{' | '}') && rest.next_if_eq(&c).is_some() {
            text.push(c);
        } else if c == '{' {
            let inside: String = rest.by_ref().take_while(|&c| c != '}').collect();
            let (name, spec) = inside.split_once(':').unwrap_or((&inside, ""));
            // A width or a precision that is a value itself.
            if spec.contains(['$', '*']) {
                return None;
            }
            if !spec.is_empty() {
                text.push(':');
                text += spec;
            }
            text.push('}');
            values.push(named(name.trim(), given, &mut next)?);
        }
    }
    Some((text, values))
}

/// The value that a pair of braces shows.
fn named(name: &str, given: &[Expr], next: &mut usize) -> Option<Expr> {
    if name.is_empty() {
        *next += 1;
        return given.get(*next - 1).filter(|value| !matches!(value, Expr::Assign(_))).cloned();
    }
    if let Ok(position) = name.parse::<usize>() {
        return given.get(position).cloned();
    }
    let by_name = given.iter().find_map(|value| match value {
        Expr::Assign(named) if is_named(&named.left, name) => Some((*named.right).clone()),
        _ => None,
    });
    by_name.or_else(|| syn::parse_str(name).ok())
}

fn is_named(left: &Expr, name: &str) -> bool {
    matches!(left, Expr::Path(path) if path.path.is_ident(name))
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;
    use syn::{Token, parse::Parser as _, punctuated::Punctuated};

    use super::*;

    fn of(args: &str) -> Option<(String, Vec<String>)> {
        let args = Punctuated::<Expr, Token![,]>::parse_terminated.parse_str(args).ok()?;
        let (text, values) = positional(&args.into_iter().collect::<Vec<_>>())?;
        Some((text, values.iter().map(|value| value.to_token_stream().to_string()).collect()))
    }

    #[test]
    fn values_stand_in_the_order_in_which_they_are_shown() {
        let is = |args, text: &str, values: &[&str]| {
            assert_eq!(of(args), Some((text.to_owned(), values.iter().map(ToString::to_string).collect())));
        };
        is(r#""plain {{}}""#, "plain {{}}", &[]);
        is(r#""{} of {:?}", a, b.c"#, "{} of {:?}", &["a", "b . c"]);
        is(r#""{1} {0:>3} {}", a, b"#, "{} {:>3} {}", &["b", "a", "a"]);
        is(r#""{n} {dim:?}", dim = x.dim()"#, "{} {:?}", &["n", "x . dim ()"]);
        assert_eq!(of(r#""{:1$}", a, b"#), None);
        assert_eq!(of("message"), None);
        assert_eq!(of(r#""{} {}", a"#), None);
    }
}
