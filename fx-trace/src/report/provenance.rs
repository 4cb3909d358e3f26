//! What replaced what, in sentences.

use super::{change, time};
use crate::diff::{Comparison, Ran, Replacement};

/// `conv1 (Conv + bn1 + relu) replaced conv1, bn1, relu: 1.00 ms → 0.50 ms (-50.0 %)`.
pub(super) fn sentence(replacement: &Replacement) -> String {
    let [control, test] = replacement.times();
    let replaced: Vec<&str> = replacement.replaced.iter().map(|ran| ran.node.as_str()).collect();
    format!("{replacement} replaced {}: {}", replaced.join(", "), change(control, test, None))
}

/// For each name with nodes that were replaced or are gone: what became of each.
pub(super) fn removed(comparison: &Comparison) -> Vec<(String, Vec<String>)> {
    let mut removed: Vec<(String, Vec<String>)> = Vec::new();
    for (name, nodes) in comparison.replaced() {
        let items = nodes.into_iter().map(|(ran, replacement)| format!("{} by {replacement}", ran.node));
        removed.push((name.to_owned(), items.collect()));
    }
    for Ran { node, name, exclusive } in &comparison.gone {
        let item = format!("{node} is gone ({})", time(*exclusive));
        match removed.iter_mut().find(|(known, _)| known == name) {
            Some((_, items)) => items.push(item),
            None => removed.push((name.clone(), vec![item])),
        }
    }
    removed
}

/// How many became how many, and the time that this saves.
pub(super) fn summary(comparison: &Comparison) -> Option<String> {
    let all = &comparison.replacements;
    let before: usize = all.iter().map(|one| one.replaced.len()).sum();
    let [control, test] =
        all.iter().map(Replacement::times).fold([0.0, 0.0], |sum, times| [sum[0] + times[0], sum[1] + times[1]]);
    let became = format!("{} nodes do the work of {before}: {}", all.len(), change(control, test, None));
    (!all.is_empty()).then_some(became)
}
