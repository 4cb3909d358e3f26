//! The op that someone who misspelled one may have meant.

use crate::{catalog, ops};

/// The op of the table, or else of the catalog, that is nearest to `name`, if any is near: at most a third differs.
pub fn nearest_op(name: &str) -> Option<&'static str> {
    let rows = ops().iter().map(|row| (0, row.name));
    let entries = catalog::entries().iter().map(|entry| (1, entry.method));
    let length = name.chars().count();
    let near = |known: &str| known.len().abs_diff(length) <= length.div_ceil(3);
    let known = rows.chain(entries).filter(|(_, known)| near(known));
    let (distance, _, nearest) = known.map(|(rank, known)| (edit_distance(name, known), rank, known)).min()?;
    (distance <= length.div_ceil(3)).then_some(nearest)
}

/// The number of characters to insert, delete, replace, or swap with their neighbour.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let (mut above, mut row) = (Vec::new(), (0..=b.len()).collect::<Vec<_>>());
    let mut before = None;
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let exchanged = row[j] + usize::from(x != y);
            let mut least = exchanged.min(row[j + 1] + 1).min(next[j] + 1);
            if j > 0 && before == Some(y) && x == b[j - 1] && !above.is_empty() {
                least = least.min(above[j - 1] + 1);
            }
            next.push(least);
        }
        above = std::mem::replace(&mut row, next);
        before = Some(x);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        assert_eq!(nearest_op("rleu"), Some("relu"));
        assert_eq!(nearest_op("softmx"), Some("softmax"));
        assert_eq!(nearest_op("quite_another_thing"), None);
    }
}
