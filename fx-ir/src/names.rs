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
    /// The number that was given last, by the name without it.
    counts: HashMap<String, u64>,
    /// The number up to which all are taken, by the name without it.
    scanned: HashMap<String, u64>,
    /// The requested name, where another one was given.
    asked: HashMap<String, String>,
    /// Names that no node bears.
    reserved: &'static [&'static str],
}

impl Names {
    /// From now on no node is given one of these names, but one with a number.
    pub(crate) fn reserve(&mut self, names: &'static [&'static str]) {
        self.reserved = names;
    }

    /// `base` if it is free, and else with the next number: `relu`, `relu_1`; `features_0`, `features_1`. Which number is
    /// next is torch.fx's rule: a name without a number goes on from the number that was given last, one with a number
    /// that is taken gets the first that is free.
    pub(crate) fn fresh(&mut self, base: &str) -> String {
        let base = if base.is_empty() { "value" } else { base };
        let (stem, number) = numbered(base).map_or((base, None), |(stem, number)| (stem, Some(number)));
        let is_reserved = number.is_none() && self.reserved.contains(&base);
        if !is_reserved && self.claim(base) {
            return base.to_owned();
        }
        let counted = self.counts.get(base).copied().filter(|&count| count > 0);
        let mut next = counted.or_else(|| self.scanned.get(stem).copied()).unwrap_or(0) + 1;
        while !self.taken.insert(format!("{stem}_{next}")) {
            next += 1;
        }
        if counted.is_none() {
            self.scanned.insert(stem.to_owned(), next);
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
        let is_free = self.taken.insert(name.to_owned());
        if let Some((stem, number)) = numbered(name).filter(|_| is_free) {
            self.counts.insert(stem.to_owned(), number);
        }
        is_free
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

    /// What torch.fx 2.11 gives for the same names in the same order.
    #[test]
    fn numbers_go_on_where_torch_fx_goes_on() {
        let mut names = Names::default();
        let got = ["x_5", "x", "x", "x_5", "x_5", "x"].map(|base| names.fresh(base));
        assert_eq!(got, ["x_5", "x", "x_6", "x_1", "x_2", "x_3"]);
    }

    #[test]
    fn a_reserved_name_gets_a_number() {
        let mut names = Names::default();
        names.reserve(&["sum"]);
        assert_eq!(["sum", "sum", "add"].map(|base| names.fresh(base)), ["sum_1", "sum_2", "add"]);
        assert_eq!(names.asked("sum_1"), "sum");
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
