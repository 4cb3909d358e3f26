//! Attributes: `#[derive(fx_runtime::Module)]` on modules, `#[fx_runtime::traceable]` on what is frozen. Private modules that
//! models elsewhere in the crate consist of become `pub(crate)`, and so does a `mod` that hides an enum from them.
//!
//! Both are written with the name of their crate, so that no `use` is needed and none is in the way.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;
use syn::spanned::Spanned as _;

use super::declared::TypeName;
use super::edit::Edits;
use super::source::Source;

const DERIVED: &str = "fx_runtime::Module";
const TRACEABLE: &str = "#[fx_runtime::traceable]";

/// A line and a column.
pub(super) type At = (usize, usize);

/// What gets attributes in one file, by the place of its name.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The types that are to derive `Module`.
    pub(super) modules: BTreeSet<At>,
    /// The types and modules that are to be seen in the whole crate.
    pub(super) shown: BTreeSet<At>,
    /// The functions that are to be traced, each with the name of its model.
    pub(super) functions: BTreeMap<At, String>,
}

/// An item of a file that may get an attribute.
pub(super) enum Site<'s> {
    /// A struct or an enum.
    Type { name: TypeName, at: At, attrs: &'s [syn::Attribute], first: Span, is_private: bool },
    /// A private module.
    Module { path: String, at: At, first: Span },
    /// An impl, or a free function, with the places of the names of its functions.
    Code { functions: Vec<At>, attrs: &'s [syn::Attribute], first: Span },
}

/// The items of a file that is the module `module`, those of the modules inside it too, but none of tests.
pub(super) fn sites<'s>(items: &'s [syn::Item], module: &str, found: &mut Vec<Site<'s>>) {
    for item in items {
        match item {
            syn::Item::Struct(item) => found.push(Site::Type {
                name: (module.to_owned(), item.ident.to_string()),
                at: at(&item.ident),
                attrs: &item.attrs,
                first: first(&item.vis, item.struct_token.span),
                is_private: matches!(item.vis, syn::Visibility::Inherited),
            }),
            syn::Item::Enum(item) => found.push(Site::Type {
                name: (module.to_owned(), item.ident.to_string()),
                at: at(&item.ident),
                attrs: &item.attrs,
                first: first(&item.vis, item.enum_token.span),
                is_private: matches!(item.vis, syn::Visibility::Inherited),
            }),
            syn::Item::Impl(item) => found.push(Site::Code {
                functions: item.items.iter().filter_map(method).collect(),
                attrs: &item.attrs,
                first: item.unsafety.map_or(item.impl_token.span, |word| word.span),
            }),
            syn::Item::Fn(item) => found.push(Site::Code {
                functions: vec![at(&item.sig.ident)],
                attrs: &item.attrs,
                first: first(&item.vis, item.sig.span()),
            }),
            syn::Item::Mod(item) if !is_test(&item.attrs) => {
                if matches!(item.vis, syn::Visibility::Inherited) {
                    let path = format!("{module}::{}", item.ident);
                    found.push(Site::Module { path, at: at(&item.ident), first: item.mod_token.span });
                }
                if let Some((_, items)) = &item.content {
                    sites(items, &format!("{module}::{}", item.ident), found);
                }
            }
            _ => {}
        }
    }
}

fn at(name: &syn::Ident) -> At {
    let start = name.span().start();
    (start.line, start.column)
}

fn method(item: &syn::ImplItem) -> Option<At> {
    match item {
        syn::ImplItem::Fn(item) => Some(at(&item.sig.ident)),
        _ => None,
    }
}

fn first(visibility: &syn::Visibility, word: Span) -> Span {
    if matches!(visibility, syn::Visibility::Inherited) { word } else { visibility.span() }
}

fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("cfg") && attr.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// What a file gets: derives, and the names of the models and functions that are made traceable.
#[derive(Debug, Default)]
pub(super) struct Added {
    pub(super) derives: usize,
    pub(super) shown: usize,
    /// Each with its line.
    pub(super) traceable: Vec<(String, usize)>,
}

/// Adds the edits of a file.
pub(super) fn edit(source: &Source, marks: &Marks, edits: &mut Edits) -> Added {
    let mut all = Vec::new();
    sites(&source.file.items, "", &mut all);
    let mut added = Added::default();
    for site in &all {
        match site {
            Site::Type { at, attrs, first, is_private, .. } => {
                if marks.modules.contains(at) && !has_derive(attrs, "Module") {
                    derive(source, attrs, *first, edits);
                    added.derives += 1;
                }
                if *is_private && marks.shown.contains(at) {
                    edits.insert(source.range(*first).start, "pub(crate) ".to_owned());
                    added.shown += 1;
                }
            }
            Site::Module { at, first, .. } if marks.shown.contains(at) => {
                edits.insert(source.range(*first).start, "pub(crate) ".to_owned());
                added.shown += 1;
            }
            Site::Code { functions, attrs, first } if !is_traceable(attrs) => {
                if let Some(model) = functions.iter().find_map(|function| marks.functions.get(function)) {
                    before(source, *first, TRACEABLE, edits);
                    added.traceable.push((model.clone(), super::source::line(*first)));
                }
            }
            Site::Module { .. } | Site::Code { .. } => {}
        }
    }
    added
}

/// Returns whether one of the derives is of that name, with or without a path.
pub(super) fn has_derive(attrs: &[syn::Attribute], name: &str) -> bool {
    let mut found = false;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        let _ = attr.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| last.ident == name);
            Ok(())
        });
    }
    found
}

fn is_traceable(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().segments.last().is_some_and(|last| last.ident == "traceable"))
}

/// Puts `Module` into the last derive, or a derive before the item.
fn derive(source: &Source, attrs: &[syn::Attribute], first: Span, edits: &mut Edits) {
    let mut lists =
        attrs.iter().filter(|attr| attr.path().is_ident("derive")).filter_map(|attr| attr.meta.require_list().ok());
    let Some(list) = lists.next_back() else {
        return before(source, first, &format!("#[derive({DERIVED})]"), edits);
    };
    let close = source.range(list.delimiter.span().close()).start;
    let inside = source.text.get(..close).unwrap_or_default().trim_end();
    let (at, text) = match inside.chars().next_back() {
        Some('(') => (close, DERIVED.to_owned()),
        Some(',') => (inside.len(), format!(" {DERIVED}")),
        _ => (inside.len(), format!(", {DERIVED}")),
    };
    edits.insert(at, text);
}

/// Puts an attribute on the line before the item's first word.
fn before(source: &Source, first: Span, attribute: &str, edits: &mut Edits) {
    let at = source.range(first).start;
    edits.insert(at, format!("{attribute}{}", source.line_like(at)));
}
