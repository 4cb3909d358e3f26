//! Items inside a function's body: types, and functions that no closure stands for. They are declared in a module of their
//! own, which only the code of that body sees.

use std::path::Path;

use quote::format_ident;
use syn::parse_quote;

use super::{Scan, canonical};
use crate::closure_conversion;
use crate::index::{Function, Name};

impl Scan<'_> {
    /// Brings a body into one spelling, with its items declared in a module of their own.
    pub(super) fn body(&mut self, block: &mut syn::Block, file: &str, module: &str) {
        let items = taken_out(block);
        let mut names = Vec::new();
        if !items.is_empty() {
            let inner = format_ident!("fx_body_{}", self.index.modules.len());
            let path = format!("{module}::{inner}");
            let prefix: syn::Path = syn::parse_str(&path).unwrap_or_else(|_| inner.clone().into());
            names.extend(items.iter().filter_map(declared).map(|name| {
                let mut full = prefix.clone();
                full.segments.push(name.clone().into());
                (name.clone(), full)
            }));
            let outer: syn::Item = parse_quote!(
                use super::*;
            );
            let around = block.stmts.iter().filter_map(|stmt| match stmt {
                syn::Stmt::Item(item @ (syn::Item::Use(_) | syn::Item::Const(_) | syn::Item::Static(_))) => Some(item),
                _ => None,
            });
            let all: Vec<syn::Item> = around.cloned().chain([outer]).chain(items).collect();
            self.here(module).names.insert(inner.to_string(), Name::Other);
            self.here(module).scopes.insert(inner.to_string(), path.clone());
            self.here(&path).is_body = true;
            self.items(&all, file, Path::new(""), &path);
        }
        canonical::canonical(block, names);
        closure_conversion::in_place(block);
    }

    /// Gives the names that a `use ..::*` inside a body brings in, and constants in patterns, the paths of what they mean.
    pub(super) fn imports_of_bodies(&mut self) {
        let rewritten = |function: &Function| {
            imports(&function.block).then(|| {
                let mut block = function.block.clone();
                canonical::with_imports(&mut block, &self.index, &function.module);
                block
            })
        };
        let blocks: Vec<Option<syn::Block>> = self.index.fns.iter().map(rewritten).collect();
        for (function, block) in self.index.fns.iter_mut().zip(blocks) {
            if let Some(block) = block {
                function.block = block;
            }
        }
    }
}

/// Takes the items out of the body that a module can hold; none where one of them cannot be in another place.
fn taken_out(block: &mut syn::Block) -> Vec<syn::Item> {
    let is_item = |stmt: &syn::Stmt| match stmt {
        syn::Stmt::Item(syn::Item::Struct(_) | syn::Item::Enum(_) | syn::Item::Type(_) | syn::Item::Impl(_)) => true,
        syn::Stmt::Item(syn::Item::Fn(item)) => item.sig.asyncness.is_none() && !canonical::is_closure(item),
        _ => false,
    };
    // Methods of a trait that only the body knows are called by names that mean nothing outside, and the macros of a body
    // are known behind their place alone.
    let stays = |stmt: &syn::Stmt| {
        let is_kept = matches!(stmt, syn::Stmt::Item(syn::Item::Use(_) | syn::Item::Const(_) | syn::Item::Static(_)));
        let is_closure = matches!(stmt, syn::Stmt::Item(syn::Item::Fn(item)) if canonical::is_closure(item));
        matches!(stmt, syn::Stmt::Item(_)) && !is_kept && !is_closure && !is_item(stmt)
    };
    if block.stmts.iter().any(|stmt| stays(stmt) || is_traceable(stmt)) {
        return Vec::new();
    }
    let (items, rest): (Vec<syn::Stmt>, Vec<syn::Stmt>) = block.stmts.drain(..).partition(is_item);
    block.stmts = rest;
    let items = items.into_iter().filter_map(|stmt| match stmt {
        syn::Stmt::Item(item) => Some(item),
        _ => None,
    });
    items.collect()
}

/// Whether the body, or a block inside it, has a `use` line.
fn imports(block: &syn::Block) -> bool {
    struct Find(bool);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_item_use(&mut self, _: &'ast syn::ItemUse) {
            self.0 = true;
        }
    }
    let mut find = Find(false);
    syn::visit::Visit::visit_block(&mut find, block);
    find.0
}

/// Whether it is an item that is to be traced for itself, which no item of a body can be.
fn is_traceable(stmt: &syn::Stmt) -> bool {
    let attrs = match stmt {
        syn::Stmt::Item(syn::Item::Impl(item)) => &item.attrs,
        syn::Stmt::Item(syn::Item::Fn(item)) => &item.attrs,
        _ => return false,
    };
    attrs.iter().any(|attr| attr.path().segments.last().is_some_and(|last| last.ident == "traceable"))
}

/// The name that the item declares.
fn declared(item: &syn::Item) -> Option<&syn::Ident> {
    match item {
        syn::Item::Struct(item) => Some(&item.ident),
        syn::Item::Enum(item) => Some(&item.ident),
        syn::Item::Type(item) => Some(&item.ident),
        syn::Item::Fn(item) => Some(&item.sig.ident),
        _ => None,
    }
}
