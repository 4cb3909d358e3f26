//! Every diagnostic has a case: what `fx_front` can say, the words beside some case of `tests/ui` or `tests/ui-rules` say.
#![allow(clippy::expect_used, reason = "a test that fails may do so by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fx_front::diag::Code;

/// The folders of cases, seen from this one.
const FOLDERS: [&str; 3] = ["cases", "traced", "../ui-rules/cases"];

/// The words beside all cases.
fn told() -> String {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = FOLDERS.into_iter().flat_map(|folder| fs::read_dir(ui.join(folder)).expect("a folder of cases"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let words = paths.filter(|path| path.extension().is_some_and(|it| it == "stderr"));
    words.map(|path| fs::read_to_string(path).expect("the words of a case")).collect()
}

#[test]
fn every_code_has_a_case() {
    let told = told();
    let without: Vec<(&str, &str)> = Code::ALL
        .iter()
        .map(|code| (code.number(), code.meaning()))
        .filter(|(number, _)| !told.contains(&format!("[{number}]")))
        .collect();
    assert_eq!(without, [], "these diagnostics have no case in {FOLDERS:?}");
}

#[test]
fn every_code_has_a_number_of_its_own() {
    let numbers: BTreeSet<&str> = Code::ALL.iter().map(|code| code.number()).collect();
    assert_eq!(numbers.len(), Code::ALL.len());
}
