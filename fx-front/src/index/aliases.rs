//! Aliases of types: `type Res<T> = Result<T, tch::TchError>;`.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};

use super::{Index, Name, Resolved, from_root};
use crate::syntax::params::name_of;
use crate::syntax::path_text;
use crate::syntax::substitute::{placed, substituted};

impl Index {
    /// What the type stands for if it is an alias without parameters, and the module in which that is written.
    pub(crate) fn plain_alias(&self, module: &str, ty: &syn::Type) -> Option<(String, syn::Type)> {
        let syn::Type::Path(path) = ty else { return None };
        match self.resolve(module, &path_text(&path.path)) {
            Resolved::Item(at, _, Name::Alias(alias)) if alias.generics.params.is_empty() => {
                Some((at, (*alias.ty).clone()))
            }
            _ => None,
        }
    }

    /// The type that the alias stands for where code in the module `from` names it so, with its arguments; `None` where that
    /// code cannot name a part of it.
    pub(crate) fn aliased(
        &self,
        from: &str,
        (at, alias): (&str, &syn::ItemType),
        named: &syn::PathSegment,
    ) -> Option<syn::Type> {
        let mut ty = (*alias.ty).clone();
        let mut absolute = Absolute { index: self, from, at, params: &alias.generics, is_named: true };
        absolute.visit_type_mut(&mut ty);
        let ty = placed(ty.to_token_stream(), named.ident.span());
        let given = match &named.arguments {
            syn::PathArguments::AngleBracketed(list) => list.args.iter().collect(),
            _ => Vec::new(),
        };
        let mut given = given.into_iter().filter(|arg| !matches!(arg, syn::GenericArgument::Lifetime(_)));
        let mut values: BTreeMap<String, TokenStream> = BTreeMap::new();
        for param in &alias.generics.params {
            let default = match param {
                syn::GenericParam::Type(param) => param.default.clone().map(|mut ty| {
                    absolute.visit_type_mut(&mut ty);
                    ty.to_token_stream()
                }),
                syn::GenericParam::Const(param) => param.default.as_ref().map(ToTokens::to_token_stream),
                syn::GenericParam::Lifetime(_) => continue,
            };
            values.insert(name_of(param), given.next().map(ToTokens::to_token_stream).or(default)?);
        }
        syn::parse2(substituted(ty, &values)).ok().filter(|_| absolute.is_named)
    }
}

/// Paths of the module `at` as code in the module `from` writes them.
struct Absolute<'i> {
    index: &'i Index,
    from: &'i str,
    at: &'i str,
    params: &'i syn::Generics,
    /// Whether `from` can name all of them.
    is_named: bool,
}

impl VisitMut for Absolute<'_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        if self.params.lifetimes().any(|param| param.lifetime == *lifetime) {
            *lifetime = syn::Lifetime::new("'_", lifetime.span());
        }
    }

    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        visit_mut::visit_path_mut(self, path);
        if self.params.params.iter().any(|param| path.is_ident(&name_of(param))) {
            return;
        }
        let full = match self.index.resolve(self.at, &path_text(path)) {
            Resolved::Item(module, name, _) => self.index.path_from(self.from, &module, &name),
            Resolved::External(full) if full.starts_with("crate") => None,
            Resolved::External(full) if full.contains("::") => Some(from_root(&full)),
            Resolved::External(_) => return,
        };
        let Some(mut known) = full.and_then(|full| syn::parse_str::<syn::Path>(&full).ok()) else {
            self.is_named = false;
            return;
        };
        if let (Some(new), Some(old)) = (known.segments.last_mut(), path.segments.last()) {
            new.arguments = old.arguments.clone();
        }
        *path = known;
    }
}
