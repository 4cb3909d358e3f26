//! Names that are borne once, numbered as torch.fx numbers them.

use std::collections::{HashMap, HashSet};

/// `layer1_block` as a type's name: `Layer1Block`.
pub fn camel(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>()
    };
    words.map(capital).collect()
}

/// The names of one graph, those of erased nodes included: a name never comes to mean another node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    counts: HashMap<String, u64>,
    /// The requested name, where another one was given.
    asked: HashMap<String, String>,
}

impl Names {
    /// `base` if it is free, and else its stem with the next number: `relu`, `relu_1`; `features_0`, `features_1`.
    pub(crate) fn fresh(&mut self, base: &str) -> String {
        let base = if base.is_empty() { "value" } else { base };
        if self.claim(base) {
            return base.to_owned();
        }
        let (stem, number) = numbered(base).unwrap_or((base, 0));
        let counted = self.counts.get(stem).copied().unwrap_or(0);
        let mut next = if number > 0 { number } else { counted } + 1;
        while !self.claim(&format!("{stem}_{next}")) {
            next += 1;
        }
        self.counts.insert(stem.to_owned(), next);
        let given = format!("{stem}_{next}");
        self.asked.insert(given.clone(), base.to_owned());
        given
    }

    /// The name that was asked for when this one was given.
    pub(crate) fn asked<'n>(&'n self, given: &'n str) -> &'n str {
        self.asked.get(given).map_or(given, String::as_str)
    }

    /// Takes a name exactly as it is; false if it was taken already.
    pub(crate) fn claim(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }
}

/// Parts `relu_12` into `relu` and 12.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let (stem, digits) = name.rsplit_once('_')?;
    let plain = !stem.is_empty() && digits.len() < 18 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain).map(|number| (stem, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_torch_fx_does() {
        let mut names = Names::default();
        let given = ["relu", "relu", "features_0", "features_0", "relu", "", "relu_1", "_1", "_1"];
        let got = given.map(|base| names.fresh(base));
        let want = ["relu", "relu_1", "features_0", "features_1", "relu_2", "value", "relu_3", "_1", "_1_1"];
        assert_eq!(got, want);
    }

    #[test]
    fn a_claimed_name_is_not_given_again() {
        let mut names = Names::default();
        assert!(names.claim("x_1") && !names.claim("x_1"));
        assert_eq!(["x", "x"].map(|base| names.fresh(base)), ["x", "x_2"]);
    }

    #[test]
    fn words_begin_with_a_capital_in_any_script() {
        assert_eq!(camel("layer1_block"), "Layer1Block");
        assert_eq!(camel("crate::übung.x"), "CrateÜbungX");
    }
}
