//! The text of the user's source lines that nodes name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

/// By file and line what stands there: `{ "src/net.rs": { "12": "let ys = .." } }`. A file that is not there any more is left
/// out.
pub(super) fn of(view: &Json, root: &Path) -> Json {
    let mut named: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for node in ["before", "after"].iter().filter_map(|side| view[side]["nodes"].as_array()).flatten() {
        for (file, line) in node["at"].as_str().into_iter().flat_map(places) {
            named.entry(file).or_default().insert(line);
        }
    }
    let text = |(file, numbers): (&str, BTreeSet<usize>)| {
        let text = fs::read_to_string(root.join(file)).ok()?;
        let lines: BTreeMap<usize, &str> = (1..)
            .zip(text.lines())
            .filter(|(line, _)| numbers.contains(line))
            .map(|(n, line)| (n, line.trim()))
            .collect();
        Some((file.to_owned(), json!(lines)))
    };
    Json::Object(named.into_iter().filter_map(text).collect())
}

/// The places of `src/a.rs:9,14 + src/b.rs:3`, which is how an origin writes its lines.
pub(super) fn places(at: &str) -> impl Iterator<Item = (&str, usize)> {
    at.split(" + ")
        .filter_map(|file| file.rsplit_once(':'))
        .flat_map(|(file, lines)| lines.split(',').filter_map(move |line| Some((file, line.parse().ok()?))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::{of, places};

    #[test]
    fn lines_that_are_named_and_no_others() {
        assert_eq!(
            places("src/a.rs:9,14 + b.rs:3").collect::<Vec<_>>(),
            [("src/a.rs", 9), ("src/a.rs", 14), ("b.rs", 3)]
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.rs"), "one\n  two\nthree").unwrap();
        let view = json!({ "before": { "nodes": [{ "at": "a.rs:2 + gone.rs:7" }, {}] }, "after": { "nodes": [{ "at": "a.rs:2,3" }] } });
        assert_eq!(of(&view, folder.path()), json!({ "a.rs": { "2": "two", "3": "three" } }));
    }
}
