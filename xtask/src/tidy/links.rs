//! Which packages link what they must not: libtorch outside fx-runtime, syn below the build script.
//!
//! Asked of cargo's resolved graph, over normal and build dependencies. What a user's build script or macro pulls in
//! must build in seconds on a machine without libtorch; what rewrites graphs must serve a run time without a parser.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Finding;

/// The package that links libtorch, by the name of its C++ half.
const LIBTORCH: &str = "torch-sys";

/// The one package that may depend on it by itself.
const RUNTIME: &str = "fx-runtime";

/// The packages that know graphs alone, and what parses Rust.
const GRAPHS: [&str; 3] = ["fx-ir", "fx-print", "fx-rewrite"];
const PARSER: &str = "syn";

pub(super) fn check(metadata: &Value) -> Vec<Finding> {
    let names = names(metadata);
    let edges = edges(metadata);
    let macros = macros(metadata);
    let members = metadata["workspace_members"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let reached = |member: &str, end: &BTreeSet<&str>| -> BTreeSet<&str> {
        reachable(member, &edges, end).into_iter().filter_map(|id| names.get(id).copied()).collect()
    };
    let finding = |name: &str, what: String| Finding { place: name.to_owned(), line: 0, what };
    members
        .filter_map(|member| {
            let name = names.get(member).copied().unwrap_or(member);
            let all = reached(member, &BTreeSet::new());
            if all.contains(LIBTORCH) && !all.contains(RUNTIME) {
                let see = format!("cargo tree -p {name} -i {LIBTORCH} -e normal,build");
                return Some(finding(
                    name,
                    format!("links libtorch (through `{LIBTORCH}`) and not by way of `{RUNTIME}`: see `{see}`"),
                ));
            }
            if GRAPHS.contains(&name) && reached(member, &macros).contains(PARSER) {
                let see = format!("cargo tree -p {name} -i {PARSER} -e normal,build,no-proc-macro");
                return Some(finding(name, format!("links `{PARSER}`, but knows graphs alone: see `{see}`")));
            }
            None
        })
        .collect()
}

/// The ids of the packages that are proc macros, which the compiler loads and nothing links.
fn macros(metadata: &Value) -> BTreeSet<&str> {
    let is_macro = |package: &Value| {
        let targets = package["targets"].as_array().into_iter().flatten();
        targets.flat_map(|target| target["kind"].as_array().into_iter().flatten()).any(|kind| kind == "proc-macro")
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.filter(|package| is_macro(package)).filter_map(|package| package["id"].as_str()).collect()
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

/// A package and all that it depends on, leaving out what only the packages of `end` depend on.
fn reachable<'a>(from: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>, end: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        if seen.insert(id) && !end.contains(id) {
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    /// A workspace of these packages, each with what it depends on and how; `*-macros` are proc macros.
    fn workspace(members: &[&str], packages: &[(&str, &[(&str, &str)])]) -> serde_json::Value {
        let nodes = packages.iter().map(|(id, deps)| {
            let deps = deps.iter().map(|(pkg, kind)| json!({"pkg": pkg, "dep_kinds": [{"kind": kind}]}));
            json!({"id": id, "deps": deps.collect::<Vec<_>>()})
        });
        let packages = packages.iter().map(|(name, _)| {
            let kind = if name.ends_with("-macros") { "proc-macro" } else { "lib" };
            json!({"id": name, "name": name, "targets": [{"kind": [kind]}]})
        });
        json!({
            "workspace_members": members,
            "packages": packages.collect::<Vec<_>>(),
            "resolve": {"nodes": nodes.collect::<Vec<_>>()},
        })
    }

    #[test]
    fn no_parser_with_graphs_but_in_macros() {
        let of = |deps: &[(&str, &str)]| {
            let all = [("fx-rewrite", deps), ("fx-macros", &[("syn", "normal")][..]), ("syn", &[])];
            check(&workspace(&["fx-rewrite"], &all)).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of(&[("fx-macros", "normal"), ("syn", "dev")]), Vec::<String>::new());
        let findings = of(&[("syn", "normal")]);
        assert!(findings.iter().any(|finding| finding.starts_with("fx-rewrite: links `syn`")), "{findings:?}");
    }

    #[test]
    fn only_by_way_of_the_runtime() {
        let packages: [(&str, &[(&str, &str)]); 6] = [
            ("fx-ir", &[("tch", "dev")]),
            ("fx-runtime", &[("tch", "normal")]),
            ("app", &[("fx-runtime", "normal"), ("tch", "normal")]),
            ("bad", &[("tch", "build")]),
            ("tch", &[("torch-sys", "normal")]),
            ("torch-sys", &[]),
        ];
        let metadata = workspace(&["fx-ir", "fx-runtime", "app", "bad"], &packages);
        let findings: Vec<_> = check(&metadata).iter().map(ToString::to_string).collect();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("bad: links libtorch"));
    }
}
