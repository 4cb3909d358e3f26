//! `cargo fx expand`: the Rust that a crate's build script generated for an item.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::Outcome;
use crate::driver::{Cargo, Workspace, build_script_folder};
use crate::failure::Failure;

/// Print the Rust that the build script generated: the frozen type of an item, or the code that builds its graph
///
/// Without an item it prints the names of all that there is.
///
/// Exit code: 0 done, 2 the crate does not compile, no build script of fx ran, or there is no such item.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo fx expand\n  cargo fx expand ResNet18\n  cargo fx expand ResNet18 --graph")]
pub(crate) struct Options {
    /// The traceable type or function
    #[arg(value_name = "ITEM")]
    item: Option<String>,
    /// The code that builds the graph of the live model, in place of the frozen type
    #[arg(long, requires = "item")]
    graph: bool,
    /// The package; by default that of this folder
    #[arg(long, short, value_name = "NAME")]
    package: Option<String>,
    /// Print JSON instead
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cargo: Cargo,
}

/// What the file of an instance graph is called beside the file of the frozen type.
const GRAPH: &str = "_graph";

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let workspace = Workspace::read(&options.cargo)?;
    let package = workspace.member(options.package.as_deref())?;
    let folder = build_script_folder(package, &options.cargo, &[])?;
    let items = items(&folder);
    let Some(item) = &options.item else {
        return Ok(Outcome::done(if options.json {
            format!("{:#}\n", json!({ "package": package.name, "items": items }))
        } else {
            format!("{}\n", items.join("\n"))
        }));
    };
    let name = if options.graph { format!("{item}{GRAPH}") } else { item.clone() };
    let unknown = || Failure::NoItem { package: package.name.clone(), item: name.clone(), items: items.join(", ") };
    let source = fs::read_to_string(folder.join(format!("{name}.rs"))).map_err(|_| unknown())?;
    Ok(Outcome::done(if options.json {
        format!("{:#}\n", json!({ "package": package.name, "item": item, "graph": options.graph, "source": source }))
    } else {
        source
    }))
}

/// The items of which there are files, by their names.
fn items(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".rs")?.to_owned()));
    let mut items: Vec<String> = names.filter(|name| !name.ends_with(GRAPH)).collect();
    items.sort();
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_the_files_of_frozen_types() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["Net.rs", "Net_graph.rs", "Block.rs", "report.txt"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        assert_eq!(items(folder.path()), ["Block", "Net"]);
    }
}
