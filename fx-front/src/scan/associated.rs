//! Associated types and constants of an impl: `Self::Input` is what the impl says it is, also where there is no such impl.

use std::collections::BTreeMap;

use crate::index::{AssociatedConstant, AssociatedType, scope_of};
use crate::syntax::path_text;
use syn::visit_mut::{self, VisitMut};

/// The types that an impl of a trait gives names to.
pub(super) struct Associated(BTreeMap<String, syn::Type>);

impl Associated {
    pub(super) fn of(item: &syn::ItemImpl) -> Associated {
        let types = item.items.iter().filter_map(|inner| match inner {
            syn::ImplItem::Type(ty) if ty.generics.params.is_empty() => Some((ty.ident.to_string(), ty.ty.clone())),
            _ => None,
        });
        Associated(types.collect())
    }

    /// The same, as an index lists them.
    pub(super) fn listed(&self, module: &str, of: &syn::Type) -> impl Iterator<Item = AssociatedType> {
        self.0.iter().map(|(name, ty)| AssociatedType {
            module: module.to_owned(),
            of: of.clone(),
            name: name.clone(),
            ty: ty.clone(),
        })
    }

    /// Writes the types themselves into a method of the impl.
    pub(super) fn put_in(&mut self, sig: &mut syn::Signature, block: &mut syn::Block) {
        if !self.0.is_empty() {
            self.visit_signature_mut(sig);
            self.visit_block_mut(block);
        }
    }
}

/// The associated constants of an impl.
pub(super) fn constants(item: &syn::ItemImpl, module: &str) -> impl Iterator<Item = AssociatedConstant> {
    let constants = item.items.iter().filter_map(|inner| match inner {
        syn::ImplItem::Const(constant) => Some(constant),
        _ => None,
    });
    constants.map(move |constant| AssociatedConstant {
        module: module.to_owned(),
        of: (*item.self_ty).clone(),
        name: constant.ident.to_string(),
        value: crate::syntax::literal(&constant.expr),
        ty: constant.ty.clone(),
        scope: if item.trait_.is_some() { None } else { scope_of(&constant.vis, module) },
        of_trait: item.trait_.as_ref().map(|(_, path, _)| path_text(path)),
    })
}

impl VisitMut for Associated {
    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        if let syn::Type::Path(path) = &*ty
            && path.qself.is_none()
            && let [first, name] = path.path.segments.iter().collect::<Vec<_>>()[..]
            && first.ident == "Self"
            && let Some(known) = self.0.get(&name.ident.to_string())
        {
            *ty = known.clone();
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
