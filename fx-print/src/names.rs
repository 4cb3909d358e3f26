//! Names in generated code: the user's, made unique only where two would meet.

use std::collections::{BTreeMap, BTreeSet};

/// Hands out names that are taken at most once.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: BTreeSet<String>,
    /// By base name, below which number all are taken.
    next: BTreeMap<String, usize>,
    /// The names that were given back.
    released: BTreeSet<String>,
}

impl Names {
    /// `base`, or `base_2`, `base_3`, ... where it is taken.
    pub fn fresh(&mut self, base: &str) -> String {
        let base = identifier(base);
        if self.taken.insert(base.clone()) {
            return base;
        }
        let mut number = self.next.get(&base).copied().unwrap_or(2);
        while !self.taken.insert(format!("{base}_{number}")) {
            number += 1;
        }
        let name = format!("{base}_{number}");
        self.next.insert(base, number + 1);
        name
    }

    /// The same, of names that nothing had before: for what is declared ahead of where another variable may have been.
    pub fn unused(&mut self, base: &str) -> String {
        loop {
            let name = self.fresh(base);
            if !self.released.contains(&name) {
                return name;
            }
        }
    }

    /// Takes a name that must stay as it is.
    pub fn take(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Gives a name back.
    pub fn release(&mut self, name: &str) {
        self.taken.remove(name);
        self.released.insert(name.to_owned());
        if let Some((base, number)) = name.rsplit_once('_')
            && let (Some(next), Ok(number)) = (self.next.get_mut(base), number.parse())
        {
            *next = (*next).min(number);
        }
    }
}

/// Words that name nothing in Rust.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// A valid, plain identifier as like `text` as can be.
pub fn identifier(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ if out.ends_with('_') => {}
            _ => out.push('_'),
        }
    }
    let out = out.trim_end_matches('_');
    let starts_badly = out.chars().next().is_none_or(|c| c.is_ascii_digit());
    let out = if starts_badly { format!("value_{out}") } else { out.to_owned() };
    let out = out.trim_end_matches('_').to_owned();
    if KEYWORDS.contains(&out.as_str()) { format!("{out}_") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_no_names() {
        for word in KEYWORDS {
            assert_eq!(identifier(word), format!("{word}_"));
        }
    }

    #[test]
    fn names_stay_the_users_where_they_can() {
        assert_eq!(identifier("layer1.*.conv1"), "layer1_conv1");
        assert_eq!(identifier("type"), "type_");
        assert_eq!(identifier("0"), "value_0");
        let mut names = Names::default();
        assert_eq!([names.fresh("x"), names.fresh("x"), names.fresh("x")], ["x", "x_2", "x_3"]);
        names.release("x_2");
        assert_eq!([names.unused("x"), names.fresh("y")], ["x_4", "y"]);
    }
}
