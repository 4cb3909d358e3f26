//! Which packages link libtorch: fx-runtime, and what depends on it.
//!
//! Asked of cargo's resolved graph, over normal and build dependencies. What a user's build script or macro pulls in
//! must build in seconds on a machine without libtorch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Finding;

/// The package that links libtorch, by the name of its C++ half.
const LIBTORCH: &str = "torch-sys";

/// The one package that may depend on it by itself.
const RUNTIME: &str = "fx-runtime";

pub(super) fn check(metadata: &Value) -> Vec<Finding> {
    let names = names(metadata);
    let edges = edges(metadata);
    let members = metadata["workspace_members"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let culprits = members.filter_map(|member| {
        let reached: BTreeSet<&str> =
            reachable(member, &edges).into_iter().filter_map(|id| names.get(id).copied()).collect();
        (reached.contains(LIBTORCH) && !reached.contains(RUNTIME)).then(|| names.get(member).copied().unwrap_or(member))
    });
    let finding = |name: &str| Finding {
        place: name.to_owned(),
        line: 0,
        what: format!(
            "links libtorch (through `{LIBTORCH}`) and not by way of `{RUNTIME}`: see `cargo tree -p {name} -i {LIBTORCH} -e normal,build`"
        ),
    };
    culprits.map(finding).collect()
}

/// Package names by id.
fn names(metadata: &Value) -> BTreeMap<&str, &str> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?))).collect()
}

/// Normal and build dependencies by id.
fn edges(metadata: &Value) -> BTreeMap<&str, Vec<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let counts = |dep: &&Value| dep["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"] != "dev");
    nodes
        .filter_map(|node| {
            let deps = node["deps"].as_array()?.iter().filter(counts);
            Some((node["id"].as_str()?, deps.filter_map(|dep| dep["pkg"].as_str()).collect()))
        })
        .collect()
}

/// A package and all that it depends on.
fn reachable<'a>(from: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn only_by_way_of_the_runtime() {
        let node = |id: &str, deps: &[(&str, &str)]| {
            let deps: Vec<_> =
                deps.iter().map(|(pkg, kind)| json!({"pkg": pkg, "dep_kinds": [{"kind": kind}]})).collect();
            json!({"id": id, "deps": deps})
        };
        let names = ["fx-ir", "fx-runtime", "app", "bad", "tch", "torch-sys"];
        let packages = names.map(|name| json!({"id": name, "name": name}));
        let metadata = json!({
            "workspace_members": ["fx-ir", "fx-runtime", "app", "bad"],
            "packages": packages,
            "resolve": {"nodes": [
                node("fx-ir", &[("tch", "dev")]),
                node("fx-runtime", &[("tch", "normal")]),
                node("app", &[("fx-runtime", "normal"), ("tch", "normal")]),
                node("bad", &[("tch", "build")]),
                node("tch", &[("torch-sys", "normal")]),
            ]},
        });
        let findings: Vec<_> = check(&metadata).iter().map(ToString::to_string).collect();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("bad: links libtorch"));
    }
}
