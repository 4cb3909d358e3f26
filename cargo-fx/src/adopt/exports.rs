//! What re-exports a model re-exports its frozen type too: `pub use net::Net` becomes `pub use net::{Net, NetFrozen}`.

use std::collections::BTreeSet;

use fx_front::index::{Index, Resolved};
use proc_macro2::Ident;
use syn::{UseTree, Visibility};

use super::declared::TypeName;
use super::edit::Edits;
use super::source::Source;

/// Adds the edits of a file that is the module `module`, and yields how many names are added.
pub(super) fn edit(
    source: &Source,
    (index, module): (&Index, &str),
    frozen: &BTreeSet<TypeName>,
    edits: &mut Edits,
) -> usize {
    let mut names = Vec::new();
    for item in &source.file.items {
        if let syn::Item::Use(item) = item
            && !matches!(item.vis, Visibility::Inherited)
        {
            leaves(&item.tree, &mut Vec::new(), false, &mut names);
        }
    }
    let mut count = 0;
    for leaf in &names {
        let Resolved::Item(of, name, _) = index.resolve(module, &leaf.path) else { continue };
        let added = format!("{name}Frozen");
        if !frozen.contains(&(of, name)) || names.iter().any(|other| *other.ident == added) {
            continue;
        }
        let range = source.range(leaf.ident.span());
        if leaf.is_in_group {
            edits.insert(range.end, format!(", {added}"));
        } else {
            edits.replace(range, format!("{{{}, {added}}}", leaf.ident));
        }
        count += 1;
    }
    count
}

/// A name that a `use` ends in.
struct Leaf<'t> {
    ident: &'t Ident,
    path: String,
    is_in_group: bool,
}

fn leaves<'t>(tree: &'t UseTree, before: &mut Vec<String>, is_in_group: bool, found: &mut Vec<Leaf<'t>>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            leaves(&path.tree, before, false, found);
            before.pop();
        }
        UseTree::Name(name) => {
            let path = before.iter().cloned().chain([name.ident.to_string()]).collect::<Vec<_>>().join("::");
            found.push(Leaf { ident: &name.ident, path, is_in_group });
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, before, true, found)),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}
