//! Filling the `$n` of carried code.

use super::value::Value;

/// The template with every `$n` replaced by `value(n)`; `&$n` of what is a reference already stays a plain reference.
///
/// A block begins with variables under the user's names, `let mut ys = $0;`. Where one of them would hide a generated
/// variable that a later one is made of, all are bound at once.
pub(super) fn fill(template: &str, value: &dyn Fn(usize) -> Value) -> String {
    bound_at_once(template, value).unwrap_or_else(|| filled(template, value))
}

fn bound_at_once(template: &str, value: &dyn Fn(usize) -> Value) -> Option<String> {
    let inner = template.strip_prefix("{\n")?;
    let is_bound = |line: &&str| line.starts_with("let ") && !line.starts_with("let value = ");
    let before: Vec<&str> = inner.lines().take_while(|line| line.starts_with("use ")).collect();
    let lines = inner.lines().skip(before.len()).take_while(is_bound);
    let bound: Option<Vec<(&str, &str)>> =
        lines.map(|line| line.strip_prefix("let ")?.strip_suffix(';')?.split_once(" = ")).collect();
    let (made, others): (Vec<_>, Vec<_>) = bound?.into_iter().partition(|(_, expr)| expr.contains('$'));
    let texts: Vec<String> = made.iter().map(|(_, expr)| filled(expr, value)).collect();
    let hides = |(at, (pattern, _)): (usize, &(&str, &str))| {
        let name = pattern.trim_start_matches("mut ");
        texts[at + 1..].iter().any(|text| words(text).any(|word| word == name))
    };
    if !made.iter().enumerate().any(hides) {
        return None;
    }
    let patterns: Vec<&str> = made.iter().map(|(pattern, _)| *pattern).collect();
    let mut out = vec!["{".to_owned()];
    out.extend(before.iter().map(ToString::to_string));
    out.push(format!("let ({}) = ({});", patterns.join(", "), texts.join(", ")));
    out.extend(others.iter().map(|(pattern, expr)| format!("let {pattern} = {expr};")));
    let rest: Vec<&str> = inner.lines().skip(before.len() + made.len() + others.len()).collect();
    out.push(filled(&rest.join("\n"), value));
    Some(out.join("\n"))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

fn filled(template: &str, value: &dyn Fn(usize) -> Value) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(position) = rest[..digits].parse() else {
            out.push('$');
            continue;
        };
        let value = value(position);
        let is_whole = !rest[digits..].starts_with(['.', '[', '(', '?']);
        if value.is_ref && is_whole && out.ends_with('&') {
            out.pop();
        }
        out.push_str(&value.text);
        rest = &rest[digits..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_not_borrowed_again() {
        let value = |position: usize| Value { text: ["a", "b"][position].to_owned(), is_ref: position == 0 };
        assert_eq!(fill("f(&$0, &$1) + $1[$0] $$", &value), "f(a, &b) + b[a] $");
        assert_eq!(fill("&$0[0] + &$0.0", &value), "&a[0] + &a.0");
    }

    #[test]
    fn variables_that_hide_each_other_are_bound_at_once() {
        let value = |position: usize| Value::owned(["b", "a", "b.flag"][position]);
        let template = "{\nlet mut a = $0;\nlet b = &$1;\nlet c = &mut *a;\nlet value = f(a, $0);\n(value, a,)\n}";
        let expected = "{\nlet (mut a, b) = (b, &a);\nlet c = &mut *a;\nlet value = f(a, b);\n(value, a,)\n}";
        assert_eq!(fill(template, &value), expected);
        let apart = "{\nlet mut a = $0;\nlet self_flag = &$2;\nf(a)\n}";
        assert_eq!(fill(apart, &value), "{\nlet mut a = b;\nlet self_flag = &b.flag;\nf(a)\n}");
    }
}
