//! Scan: the `#[traceable]` items of a crate, and what the file of each is to hold.

use fx_front::{
    diag::Diagnostic,
    frozen,
    index::{Function, Index},
};
use proc_macro2::TokenStream;

use super::run::Run;

/// An item of the crate.
pub(super) struct Item<'i> {
    /// Its function, by its position in [`Index::fns`].
    pub(super) function: usize,
    /// Its file below `OUT_DIR/fx`, which the macro includes.
    pub(super) file: String,
    pub(super) content: Content<'i>,
}

/// The content of an item's file.
pub(super) enum Content<'i> {
    /// The frozen type of its entries: the functions to trace, by their position in [`Index::fns`].
    Frozen(Vec<usize>),
    /// Nothing: the entries of the type of that name are in the file of another.
    Elsewhere(&'i str),
    /// Of a function that builds a model out of closures: the structs that stand in for it, and the first of them frozen.
    Built { source: &'i TokenStream, entry: Option<usize> },
    /// Nothing: the item stays as the user wrote it.
    Skipped(Diagnostic),
}

/// The items of the crate, without those that another crate of the package has shown already.
pub(super) fn items<'i>(index: &'i Index, run: &mut Run) -> Vec<Item<'i>> {
    let mut items = Vec::new();
    for (at, function) in index.fns.iter().enumerate() {
        let Some(key) = function.key.as_ref().filter(|_| frozen::is_entry(function)) else { continue };
        let seen = (key.to_string(), place_of(function));
        if run.seen.contains(&seen) {
            continue;
        }
        run.seen.push(seen);
        let Some(content) = content(index, at) else { continue };
        let file = run.items.add(key, &function.sig, &function.block, &function.file);
        let chain = index.builders.get(&at).and_then(|builder| builder.chain);
        if let Some(chain) = chain {
            run.items.calls(&file, &index.fns[chain].sig.ident.to_string());
        }
        items.push(Item { function: at, file, content });
    }
    items.extend(constructors(index, run));
    items
}

/// The constructors that are to call what is written beside them.
fn constructors<'i>(index: &'i Index, run: &mut Run) -> Vec<Item<'i>> {
    let mut items = Vec::new();
    for (&at, builder) in &index.builders {
        let function = &index.fns[at];
        let (Some(key), Some((other, block))) = (&function.constructor, &builder.constructor) else { continue };
        let seen = (key.to_string(), place_of(function));
        if run.seen.contains(&seen) {
            continue;
        }
        run.seen.push(seen);
        let file = run.items.add(key, &function.sig, block, &function.file);
        run.items.calls(&file, other);
        items.push(Item { function: at, file, content: Content::Built { source: &builder.source, entry: None } });
    }
    items
}

/// The content of the file of a function's item; nothing where the function is no item.
pub(super) fn content(index: &Index, at: usize) -> Option<Content<'_>> {
    let function = index.fns.get(at).filter(|function| frozen::is_entry(function))?;
    if let Some(builder) = index.builders.get(&at) {
        return Some(Content::Built { source: &builder.source, entry: builder.entry });
    }
    Some(match frozen::entries(index, at) {
        Ok(entries) if leader(&entries) == Some(at) => {
            Content::Frozen(entries.iter().map(|entry| entry.function).collect())
        }
        Ok(_) => Content::Elsewhere(&function.key.as_ref()?.name),
        Err(why) => Content::Skipped(why.diagnostic(function)),
    })
}

/// The item whose file holds the generated code of all that are frozen together.
fn leader(entries: &[frozen::Entry]) -> Option<usize> {
    entries.iter().map(|entry| entry.item).min()
}

/// The place of the function's name.
pub(super) fn place_of(function: &Function) -> fx_ir::Place {
    function.place(function.sig.ident.span())
}
