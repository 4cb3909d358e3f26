//! Patterns as Rust.

use fx_ir::Pattern;
use fx_ir::pattern::{Elements, Literal, RangePattern, StructPattern};

/// The pattern with its variables called so, by number.
pub(super) fn rust(pattern: &Pattern, names: &[String]) -> String {
    match pattern {
        Pattern::Wild => "_".to_owned(),
        // What is bound and has no parameter is not read.
        Pattern::Bind(number) => names.get(*number).map_or("_", String::as_str).to_owned(),
        Pattern::Literal(literal) => constant(literal),
        Pattern::Range(range) => {
            let RangePattern { start, end, inclusive } = &**range;
            let end_of = |end: &Option<Literal>| end.as_ref().map(constant).unwrap_or_default();
            format!("{}{}{}", end_of(start), if *inclusive { "..=" } else { ".." }, end_of(end))
        }
        Pattern::Reference(inner) => format!("&{}", rust(inner, names)),
        Pattern::None => "None".to_owned(),
        Pattern::Some(held) => format!("Some({})", rust(held, names)),
        Pattern::Tuple(parts) if parts.rest.is_none() => format!("({},)", elements(parts, names)),
        Pattern::Tuple(parts) => format!("({})", elements(parts, names)),
        Pattern::TupleStruct(path, parts) => format!("{path}({})", elements(parts, names)),
        Pattern::Struct(StructPattern { path, fields, rest }) => {
            let field = |(name, field): &(String, Pattern)| format!("{name}: {}", rust(field, names));
            let mut fields: Vec<String> = fields.iter().map(field).collect();
            if *rest {
                fields.push("..".to_owned());
            }
            format!("{path} {{ {} }}", fields.join(", "))
        }
        Pattern::Slice(items) => format!("[{}]", elements(items, names)),
        Pattern::Or(cases) => {
            let cases: Vec<String> = cases.iter().map(|case| rust(case, names)).collect();
            format!("({})", cases.join(" | "))
        }
    }
}

fn elements(elements: &Elements, names: &[String]) -> String {
    let mut items: Vec<String> = elements.items.iter().map(|item| rust(item, names)).collect();
    if let Some(before) = elements.rest {
        items.insert(before.min(items.len()), "..".to_owned());
    }
    items.join(", ")
}

fn constant(literal: &Literal) -> String {
    match literal {
        Literal::Path(path) => path.clone(),
        // The text form spells literals as Rust does.
        other => other.to_string(),
    }
}

/// The patterns of an `if`'s two regions.
pub(super) const TRUTH: [Pattern; 2] = [Pattern::Literal(Literal::Bool(true)), Pattern::Literal(Literal::Bool(false))];

/// What tells an arm apart, for the name of its variant: the text that it asks for, or the name of what it takes apart.
pub(super) fn head(pattern: &Pattern) -> &str {
    match text_in(pattern) {
        Some(text) => text,
        None => match pattern {
            Pattern::None => "None",
            Pattern::Some(_) => "Some",
            Pattern::Literal(Literal::Bool(value)) => {
                if *value {
                    "true"
                } else {
                    "false"
                }
            }
            Pattern::Literal(Literal::Path(path))
            | Pattern::TupleStruct(path, _)
            | Pattern::Struct(StructPattern { path, .. }) => path.rsplit("::").next().unwrap_or_default(),
            _ => "",
        },
    }
}

/// The first text that the pattern compares with.
fn text_in(pattern: &Pattern) -> Option<&str> {
    match pattern {
        Pattern::Literal(Literal::Str(text)) => Some(text),
        other => other.inner().find_map(text_in),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_rust_with_names() -> Result<(), fx_ir::ParseError> {
        let names = ["x".to_owned(), "y".to_owned()];
        for (text, expected) in [
            ("Some((%0, %1))", "Some((x, y,))"),
            ("[%0, .., %1]", "[x, .., y]"),
            ("crate::Mode::Scaled { by: %0, .. }", "crate::Mode::Scaled { by: x, .. }"),
            ("(\"a\" | 'b' | -1..=`<Dense<6>>::LIMIT`)", "(\"a\" | 'b' | -1..=<Dense<6>>::LIMIT)"),
        ] {
            assert_eq!(rust(&text.parse()?, &names), expected);
        }
        Ok(())
    }

    #[test]
    fn arms_are_named_after_what_they_ask() -> Result<(), fx_ir::ParseError> {
        for (text, expected) in [
            ("Some(\"gelu\")", "gelu"),
            ("Some(%0)", "Some"),
            ("crate::Mode::Scaled { .. }", "Scaled"),
            ("3", ""),
            ("_", ""),
        ] {
            assert_eq!(head(&text.parse()?), expected);
        }
        Ok(())
    }
}
