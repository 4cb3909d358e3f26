//! Methods that traits of the crate provide, for the types that implement the traits.

use super::Scan;
use crate::attrs::FnOptions;
use crate::index::{Function, Name, Resolved, Ty};

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

    /// Gives every type that implements a trait of the crate the methods that the trait provides.
    pub(super) fn provided(&mut self) {
        let mut seen: Vec<(String, String, String)> = Vec::new();
        for Implemented { module, file, name, owner, generics } in std::mem::take(&mut self.impls) {
            let text = quote::ToTokens::to_token_stream(&owner).to_string();
            let known = (module.clone(), name.clone(), text);
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
            let file = if home == module { file } else { self.index.file_of(&home).to_owned() };
            let written = |method: &syn::TraitItemFn| {
                self.index.fns.iter().any(|function| {
                    function.of_trait.as_ref() == Some(&name)
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
                .map(|(method, block)| Function {
                    module: home.clone(),
                    file: file.clone(),
                    owner: Some(of.clone()),
                    of_trait: Some(name.clone()),
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
}
