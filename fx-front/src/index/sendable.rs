//! Whether a value of a type may go to another thread, as far as the fields of the crate's types tell.

use std::collections::BTreeSet;

use syn::visit::Visit;

use crate::syntax::written_types::{names_trait, type_args};

use super::{Index, Ty};

impl Index {
    /// The type of a field in the struct, to whatever depth, that keeps a value from going to another thread: an `Rc`, an
    /// `Arc` of a trait object that is not `Sync`, a boxed closure that is not `Send`.
    pub(crate) fn unsendable(&self, id: usize) -> Option<String> {
        let mut seen = BTreeSet::new();
        self.unsendable_in(id, &mut seen)
    }

    fn unsendable_in(&self, id: usize, seen: &mut BTreeSet<usize>) -> Option<String> {
        if !seen.insert(id) {
            return None;
        }
        let item = &self.structs[id];
        item.fields.iter().find_map(|field| {
            let mut find = Find { index: self, module: &item.module, found: None, within: Vec::new() };
            find.visit_type(&field.ty);
            let within = find.within;
            find.found.or_else(|| within.into_iter().find_map(|inner| self.unsendable_in(inner, seen)))
        })
    }
}

struct Find<'i> {
    index: &'i Index,
    module: &'i str,
    found: Option<String>,
    /// The structs of the crate in the type.
    within: Vec<usize>,
}

impl<'ast> Visit<'ast> for Find<'_> {
    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        let last = path.path.segments.last();
        let object = type_args(&path.path).find_map(|arg| match arg {
            syn::Type::TraitObject(object) => Some(object),
            _ => None,
        });
        let stays = match (last.map(|last| last.ident.to_string()).as_deref(), object) {
            (Some("Rc"), _) => true,
            // tch's modules are `Send` and not `Sync`.
            (Some("Arc"), Some(object)) => {
                !bounds(object, "Sync") && ["Module", "ModuleT", "Fn", "FnMut"].iter().any(|name| bounds(object, name))
            }
            (Some("Box"), Some(object)) => {
                !bounds(object, "Send") && ["Fn", "FnMut", "FnOnce"].iter().any(|name| bounds(object, name))
            }
            _ => false,
        };
        if stays && self.found.is_none() {
            self.found =
                Some(quote::ToTokens::to_token_stream(path).to_string().replace(' ', "").replace("dyn", "dyn "));
        }
        if let Ty::Struct(id) = self.index.ty(self.module, None, &syn::Type::Path(path.clone())) {
            self.within.push(id);
        }
        syn::visit::visit_type_path(self, path);
    }
}

/// Whether the trait is one of the object's.
fn bounds(object: &syn::TypeTraitObject, name: &str) -> bool {
    object.bounds.iter().any(|bound| names_trait(bound, name))
}
