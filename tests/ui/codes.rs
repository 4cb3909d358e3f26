//! Every diagnostic has a case and a line in the book: what `fx_front` can say, the words beside some case of `tests/ui` or
//! `tests/ui-rules` say.
#![allow(clippy::expect_used, reason = "a test that fails may do so by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use fx_front::diag::Code;

/// What stands above the table of the book's page.
const HEAD: &str = "# Diagnostics

What fx says of a source, by the number that stands behind the message. Each message names the place and ends with a way out.
Numbers from FX0001 on are of attributes and models, those from FX0101 on of rules in `fx_pass!`. FX0008 is told as a note in
`OUT_DIR/fx/report.txt`, for whatever runs as it is written, and is an error under `#[traceable(strict)]`.

| number | what it means |
|---|---|
";

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

#[test]
fn the_book_lists_every_code() {
    let mut page = HEAD.to_owned();
    for code in Code::ALL {
        let meaning = code.meaning().split_whitespace().collect::<Vec<&str>>().join(" ");
        writeln!(page, "| {} | {} |", code.number(), meaning.replace('|', "\\|")).expect("a text takes all");
    }
    expect_file!["../../docs/src/diagnostics.md"].assert_eq(&page);
}
