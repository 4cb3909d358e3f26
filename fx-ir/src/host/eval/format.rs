//! The text that a format string makes of values.

use super::Value;

/// The text of the template with a value for each of its braces. What stands behind a `:` is not looked at: text is shown
/// as it is, all else as `Debug` shows it.
pub(super) fn formatted<T>(template: &str, values: &[Value<T>]) -> String {
    let (mut text, mut values, mut rest) = (String::new(), values.iter(), template.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.next_if_eq(&c).is_some() => text.push(c),
            '{' => {
                rest.by_ref().take_while(|&c| c != '}').for_each(drop);
                text += &values.next().map_or_else(String::new, shown);
            }
            c => text.push(c),
        }
    }
    text
}

fn shown<T>(value: &Value<T>) -> String {
    let all = |items: &[Value<T>]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
    match value {
        Value::Unit => "()".to_owned(),
        Value::Bool(is) => is.to_string(),
        Value::Int(number, _) => number.to_string(),
        Value::Float(number, _) => format!("{number:?}"),
        Value::Str(text) => text.clone(),
        Value::Option(None) => "None".to_owned(),
        Value::Option(Some(held)) => format!("Some({})", shown(held)),
        Value::List(items) => format!("[{}]", all(items)),
        Value::Tuple(parts) => format!("({})", all(parts)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number_type::IntType;

    #[test]
    fn braces_take_values_in_order() {
        let int = |number| Value::<()>::Int(number, IntType::I64);
        let values = [Value::Str("fc".to_owned()), Value::List(vec![int(2), int(3)])];
        assert_eq!(formatted("{}: {:?} of {{4}}", &values), "fc: [2, 3] of {4}");
    }
}
