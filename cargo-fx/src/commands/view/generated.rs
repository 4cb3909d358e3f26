//! What the build script wrote of a model: the generated line of a node, and why code was not understood.
//!
//! Generated code names the source lines of each step (`.at("conv1, bn1, relu", "src/net.rs:12")`), as a node's origin does; by
//! these the two are brought together. The build's report names the lines of code that stayed opaque.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

/// The end of the name of a file that builds graphs, which computes nothing.
const GRAPH_FILE: &str = "_graph.rs";

/// What stands between place and reason in the build's report.
const NOT_UNDERSTOOD: &str = ": carried along, not understood: ";

/// A step of generated code.
struct Step {
    /// The name of its file without `.rs`, which is that of a type.
    ty: String,
    line: usize,
    /// The words that it has for itself: `conv1, bn1, relu`.
    labels: String,
    text: String,
}

/// Gives nodes of the graph after the passes the `generated` line that computes them, and opaque nodes the reason that the
/// report has. `folder` is the one of the build's files.
pub(super) fn annotate(view: &mut Json, folder: &Path) {
    let steps = steps(folder);
    let reasons = reasons(&fs::read_to_string(folder.join("report.txt")).unwrap_or_default());
    let types: Vec<String> = view["modules"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|module| module[1].as_str().unwrap_or_default().to_owned())
        .collect();
    let model = view["model"].as_str().unwrap_or_default().to_owned();
    for side in ["before", "after"] {
        for node in view[side]["nodes"].as_array_mut().into_iter().flatten() {
            let Some(at) = node["at"].as_str() else { continue };
            if node["opaque"].as_str() == Some("")
                && let Some(reason) = reasons.get(at)
            {
                node["opaque"] = json!(reason);
                continue;
            }
            let module = node["module"].as_u64().and_then(|number| types.get(usize::try_from(number).ok()?));
            let best = steps.get(at).filter(|_| side == "after").and_then(|steps| {
                let target = node["target"].as_str().unwrap_or_default().rsplit('.').next().unwrap_or_default();
                let is_named = |step: &&Step| step.labels.split([',', ' ', '{', '}', '.']).any(|label| label == target);
                steps.iter().filter(is_named).max_by_key(|step| (Some(&step.ty) == module, step.ty == model, step.line))
            });
            if let Some(step) = best {
                node["generated"] = json!([format!("{}.rs", step.ty), step.line, step.text]);
            }
        }
    }
    view["generated_in"] = json!(folder);
    view["not_understood"] = json!(reasons);
}

/// The steps of all files by the source lines that they name.
fn steps(folder: &Path) -> BTreeMap<String, Vec<Step>> {
    let mut steps: BTreeMap<String, Vec<Step>> = BTreeMap::new();
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(ty) = name.strip_suffix(".rs").filter(|_| !name.ends_with(GRAPH_FILE)) else { continue };
        for (at, step) in steps_of(ty, &fs::read_to_string(&path).unwrap_or_default()) {
            steps.entry(at).or_default().push(step);
        }
    }
    steps
}

/// The steps of one file, each with the source lines that it names.
fn steps_of(ty: &str, text: &str) -> Vec<(String, Step)> {
    let mut found = Vec::new();
    for (begin, _) in text.match_indices(".at(") {
        let mut words = text[begin..].split('"');
        let (Some(_), Some(labels), Some(_), Some(at)) = (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let start = statement(&text[..begin]);
        let end = text[begin..].find([';', '\n']).map_or(text.len(), |length| begin + length);
        let words: Vec<&str> = text[start..end].split_whitespace().collect();
        let line = text[..start].matches('\n').count() + 1;
        // The formatter breaks chains of calls; in one line they stand without spaces.
        let text = words.join(" ").replace(" .", ".").replace("( ", "(");
        found.push((at.to_owned(), Step { ty: ty.to_owned(), line, labels: labels.to_owned(), text }));
    }
    found
}

/// The position at which the statement at the end of a text begins.
fn statement(text: &str) -> usize {
    let before = text.rfind([';', '{', '}']).map_or(0, |end| end + 1);
    before + text[before..].find(|c: char| !c.is_whitespace()).unwrap_or(0)
}

/// Why code was not understood, by its place: `src/net.rs:12: carried along, not understood: REASON`.
fn reasons(report: &str) -> BTreeMap<String, String> {
    let parts = report.lines().filter_map(|line| line.split_once(NOT_UNDERSTOOD));
    parts.map(|(place, reason)| (place.to_owned(), reason.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::{annotate, steps_of};

    const BLOCK: &str = "fn freeze() {\n    let conv = fx::Conv::pack(&frame).at(\"conv, relu\", \"src/net.rs:3\")?;\n}\n\
                         fn try_forward() {\n    let ys = self\n        .conv\n        .run(&xs)\n        \
                         .at(\"conv, relu\", \"src/net.rs:3\")?;\n    scope.output(ys)\n}\n";

    #[test]
    fn a_statement_of_several_lines_is_one() {
        let steps = steps_of("Block", BLOCK);
        assert_eq!(steps.len(), 2);
        let (at, step) = &steps[1];
        assert_eq!((at.as_str(), step.line), ("src/net.rs:3", 5));
        assert_eq!(step.text, "let ys = self.conv.run(&xs).at(\"conv, relu\", \"src/net.rs:3\")?");
    }

    #[test]
    fn nodes_have_the_line_that_runs_and_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Block.rs"), BLOCK).unwrap();
        fs::write(folder.path().join("Net.rs"), BLOCK).unwrap();
        fs::write(folder.path().join("Block_graph.rs"), BLOCK.replace("conv", "no")).unwrap();
        fs::write(
            folder.path().join("report.txt"),
            "src/net.rs:9: carried along, not understood: why [FX0008]\n  help: x\n",
        )
        .unwrap();
        let mut view = json!({
            "model": "Net", "modules": [["", "Net"], ["block", "Block"]], "before": { "nodes": [] },
            "after": { "nodes": [
                { "at": "src/net.rs:3", "module": 1, "target": "block.conv" }, { "at": "src/net.rs:9", "opaque": "" }, {},
            ] },
        });
        annotate(&mut view, folder.path());
        let nodes = &view["after"]["nodes"];
        assert_eq!((&nodes[0]["generated"][0], &nodes[0]["generated"][1]), (&json!("Block.rs"), &json!(5)));
        assert_eq!((&nodes[1]["opaque"], nodes[2].get("generated")), (&json!("why [FX0008]"), None));
    }
}
