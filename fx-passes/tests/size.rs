//! The size of generated code: it grows with the model, and not with its nesting.

#![allow(clippy::expect_used, reason = "a test that fails may do so by panicking")]

use std::{fs, path::PathBuf};

use fx_passes::Build;

/// The files that the build generates for a source, by name.
fn generated(test: &str, source: &str) -> Vec<(String, String)> {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let out = root.join("out");
    // A file of an earlier run is none of this one's.
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("src")).expect("a folder");
    fs::write(root.join("src/lib.rs"), source).expect("the source is written");
    let told = Build::new().generate(&root, &out);
    let faults: Vec<&String> = told.iter().filter(|line| !line.starts_with("cargo::rerun-if-changed")).collect();
    assert_eq!(faults, [""; 0]);
    let files = fs::read_dir(out.join("fx")).expect("generated files");
    let files = files.map(|file| file.expect("an entry").path()).filter(|path| path.extension().is_some());
    let mut files: Vec<(String, String)> = files
        .map(|path| {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a file that can be read"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn nested_enums_yield_code_of_a_few_hundred_lines() {
    let files = generated("efficientnet", include_str!("models/efficientnet.rs"));
    let lines = |wanted: &str| {
        let file = files.iter().find(|(name, _)| name == wanted);
        file.map_or(0, |(_, text)| text.lines().count())
    };
    let (model, graph) = (lines("EfficientNet.rs"), lines("EfficientNet_graph.rs"));
    assert!((200..400).contains(&model), "the frozen type is {model} lines");
    assert!((100..220).contains(&graph), "the code that lists the live graph is {graph} lines");
}

/// A flag that decides is read anew, and what its arms read lies beside it.
#[test]
fn fields_of_a_type_bear_different_names() {
    let source = "
use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug)]
pub struct Held { h: Tensor, n: i64 }

#[derive(Debug, Module)]
pub struct Net { fc: nn::Linear, flag: bool }

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut held = Held { h: xs.apply(&self.fc), n: 1 };
        held.n += self.flag as i64;
        match ((!self.flag).then(|| if held.h.double_value(&[0]) > 5. { 1 } else { held.n }), self.flag) {
            (Some(h), true) => {}
            (Some(_), false) => {}
            (None, _) => {}
        }
        xs * (1 + held.n % 5)
    }
}
";
    let files = generated("names", source);
    let (_, text) = files.iter().find(|(name, _)| name == "Net.rs").expect("a frozen type");
    let item = text.split("pub struct NetFrozen {").nth(1).and_then(|rest| rest.split('}').next()).expect("its fields");
    let fields = item.lines().map(str::trim).filter(|line| !line.starts_with("///"));
    let names: Vec<&str> = fields.filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert!(names.len() > 1 && names.len() == distinct.len(), "{names:?}");
}
