//! Filling the `$n` of carried code.

use super::value::Value;

/// The template with every `$n` replaced by `value(n)`; `&$n` of what is a reference already stays a plain reference.
pub(super) fn fill(template: &str, value: &dyn Fn(usize) -> Value) -> String {
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
}
