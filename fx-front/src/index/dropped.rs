//! Whether code runs where a value of a type goes out of scope: the type has a `Drop` of its own, or holds such a value.

use std::collections::BTreeSet;

use super::{Index, Ty};

impl Index {
    /// Returns whether the crate declares a `Drop` of any type.
    pub(crate) fn declares_drop(&self) -> bool {
        !self.drops().is_empty()
    }

    /// Returns whether dropping a value of the type runs code that the crate declares.
    pub(crate) fn has_drop(&self, ty: &Ty) -> bool {
        let drops = self.drops();
        !drops.is_empty() && self.is_dropped(ty, drops, &mut BTreeSet::new())
    }

    /// The types that have a `Drop`.
    fn drops(&self) -> &[Ty] {
        self.drops.get_or_init(|| {
            let drops = self.fns.iter().filter(|function| function.of_trait.as_deref() == Some("Drop"));
            drops.filter_map(|function| Some(self.ty(&function.module, None, function.owner.as_ref()?))).collect()
        })
    }

    fn is_dropped(&self, ty: &Ty, drops: &[Ty], seen: &mut BTreeSet<usize>) -> bool {
        match ty {
            Ty::Struct(id) if seen.insert(*id) => {
                let item = &self.structs[*id];
                let holds = |field: &super::Field| {
                    !matches!(field.ty, syn::Type::Reference(_))
                        && self.is_dropped(&self.ty(&item.module, None, &field.ty), drops, seen)
                };
                drops.contains(ty) || item.fields.iter().any(holds)
            }
            Ty::Option(inner) | Ty::Result(inner) | Ty::List(inner) => self.is_dropped(inner, drops, seen),
            Ty::Tuple(parts) => parts.iter().any(|part| self.is_dropped(part, drops, seen)),
            Ty::Rust(_) => drops.contains(ty),
            _ => false,
        }
    }
}
