//! Methods that traits of the crate provide, for the types that implement the traits.

use std::collections::BTreeSet;

use quote::ToTokens;

use super::Scan;
use crate::attrs::FnOptions;
use crate::index::{Function, Name, Resolved, Ty};
use crate::syntax::add_words;

/// `impl Name for Owner`, in this module and file.
pub(super) struct Implemented {
    pub(super) module: String,
    pub(super) file: String,
    pub(super) name: String,
    pub(super) owner: syn::Type,
    pub(super) generics: syn::Generics,
}

impl Scan<'_> {
    /// The trait of the crate that the name means in the module, and the module of the trait.
    fn trait_of(&self, module: &str, name: &str) -> Option<&(String, syn::ItemTrait)> {
        let Resolved::Item(home, name, Name::Other) = self.index.resolve(module, name) else { return None };
        self.defaults.iter().find(|(at, item)| *at == home && item.ident == name)
    }

    /// Brings the bodies that a trait provides into one spelling.
    pub(super) fn provided_bodies(&mut self, item: &mut syn::ItemTrait, file: &str, module: &str) {
        for inner in &mut item.items {
            if let syn::TraitItem::Fn(syn::TraitItemFn { default: Some(block), .. }) = inner {
                self.body(block, file, module);
            }
        }
    }

    /// Gives every type that implements a trait of the crate the methods that the trait provides.
    pub(super) fn provided(&mut self) {
        self.name_traits();
        self.note_methods();
        let mut seen: Vec<(String, String, String)> = Vec::new();
        for Implemented { module, file, name, owner, generics } in std::mem::take(&mut self.impls) {
            let known = (module.clone(), name.clone(), owner.to_token_stream().to_string());
            if seen.contains(&known) {
                continue;
            }
            seen.push(known);
            let Some((home, item)) = self.trait_of(&module, &name) else { continue };
            // In the module of the trait its names mean what they should.
            let (home, of) = match self.index.ty(&module, None, &owner) {
                _ if *home == module => (module.clone(), owner.clone()),
                Ty::Struct(id) if !self.index.structs[id].is_generic() && generics.params.is_empty() => {
                    match syn::parse_str(&self.index.structs[id].path()) {
                        Ok(of) => (home.clone(), of),
                        Err(_) => continue,
                    }
                }
                _ => continue,
            };
            let ty = self.index.ty(&home, None, &of);
            let file = if home == module { file } else { self.index.file_of(&home).to_owned() };
            let written = |method: &syn::TraitItemFn| {
                self.index.fns.iter().any(|function| {
                    function.module == module
                        && function.of_trait.as_ref() == Some(&name)
                        && function.owner.as_ref() == Some(&owner)
                        && function.sig.ident == method.sig.ident
                })
            };
            let provided: Vec<Function> = item
                .items
                .iter()
                .filter_map(|item| match item {
                    syn::TraitItem::Fn(method) if !written(method) => Some((method, method.default.clone()?)),
                    _ => None,
                })
                .filter(|(_, block)| !self.means_other(block, (home.as_str(), item), &ty))
                .map(|(method, block)| Function {
                    module: home.clone(),
                    file: file.clone(),
                    owner: Some(of.clone()),
                    of_trait: Some(item.ident.to_string()),
                    fx: FnOptions::of(&method.attrs),
                    sig: method.sig.clone(),
                    block,
                    traceable: None,
                    key: None,
                    constructor: None,
                    scope: None,
                    is_derived: false,
                    generics: generics.clone(),
                    instances: Vec::new(),
                })
                .collect();
            self.index.fns.extend(provided);
        }
    }

    /// Notes which traits have methods of which names.
    fn note_methods(&mut self) {
        for (home, item) in &self.defaults {
            for inner in &item.items {
                let syn::TraitItem::Fn(method) = inner else { continue };
                let traits = self.index.method_traits.entry(method.sig.ident.to_string()).or_default();
                traits.push((home.clone(), item.ident.to_string()));
            }
        }
    }

    /// Names the traits of impls by their last name, but for those that the crate declares in other modules.
    fn name_traits(&mut self) {
        let is_own = |module: &str, path: &str| matches!(self.index.resolve(module, path), Resolved::Item(..));
        let short = |module: &str, path: &str| match path.rsplit_once("::") {
            Some((_, last)) if !is_own(module, path) => Some(last.to_owned()),
            _ => None,
        };
        let of = |function: &Function| short(&function.module, function.of_trait.as_ref()?);
        let names: Vec<Option<String>> = self.index.fns.iter().map(of).collect();
        for (function, name) in self.index.fns.iter_mut().zip(names) {
            function.of_trait = name.or(function.of_trait.take());
        }
    }

    /// Whether the type has something of its own, or of another trait, by the name of an item of this trait that the body
    /// mentions: the body means that of the trait.
    fn means_other(&self, block: &syn::Block, (home, of): (&str, &syn::ItemTrait), ty: &Ty) -> bool {
        let mut words = BTreeSet::new();
        add_words(block.to_token_stream(), &mut words);
        let is_of_trait = |module: &str, of_trait: Option<&String>| match of_trait {
            Some(path) => self.trait_of(module, path).is_some_and(|(at, one)| at == home && one.ident == of.ident),
            None => false,
        };
        let is_other_fn = |ident: &syn::Ident| {
            let mut named = self.index.fns.iter().filter(|function| function.sig.ident == *ident);
            named.any(|function| {
                let owner = || function.owner.as_ref().map(|owner| self.index.ty(&function.module, None, owner));
                let of_trait = function.of_trait.as_ref();
                let is_seen = || match of_trait.and_then(|path| self.trait_of(&function.module, path)) {
                    Some((at, one)) => self.index.has_in_scope(home, (at, &one.ident.to_string())),
                    None => true,
                };
                !is_of_trait(&function.module, of_trait) && owner().as_ref() == Some(ty) && is_seen()
            })
        };
        let is_other_constant = |ident: &syn::Ident| {
            let mut constants = self.index.constants_of(ty);
            constants.any(|one| *ident == one.name && !is_of_trait(&one.module, one.of_trait.as_ref()))
        };
        of.items.iter().any(|item| match item {
            syn::TraitItem::Fn(method) => {
                words.contains(&method.sig.ident.to_string()) && is_other_fn(&method.sig.ident)
            }
            syn::TraitItem::Const(constant) => {
                words.contains(&constant.ident.to_string()) && is_other_constant(&constant.ident)
            }
            _ => false,
        })
    }
}
