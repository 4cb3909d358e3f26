//! Items of a body: constants, functions and `use` lines.

use syn::spanned::Spanned;

use crate::trace::{Result, Tracer, Val, unsupported};

impl Tracer<'_> {
    /// What the item declares, as variables of the function.
    pub(in crate::trace) fn inner_item(&mut self, item: &syn::Item) -> Result<Val> {
        match item {
            syn::Item::Use(_) => Ok(Val::Unit),
            syn::Item::Const(item) => {
                let value = self.expr(&item.expr)?;
                self.declare_item(&item.ident, value, &item.ty);
                Ok(Val::Unit)
            }
            syn::Item::Static(item) if matches!(item.mutability, syn::StaticMutability::None) => {
                let value = self.expr(&item.expr)?;
                if !is_literal(&value) {
                    // It may be written to behind a shared reference, and is there once for all calls.
                    return unsupported(item.span(), "a `static` of this form");
                }
                self.declare_item(&item.ident, value, &item.ty);
                Ok(Val::Unit)
            }
            other => unsupported(other.span(), "an item inside a function body"),
        }
    }

    /// A constant or a `static` of the body, as a variable of that type.
    fn declare_item(&mut self, name: &syn::Ident, value: Val, ty: &syn::Type) {
        let ty = self.index.ty(self.module(), self.function().owner.as_ref(), ty);
        let value = self.of_written_type(value, &ty);
        self.env.declare(&name.to_string(), value);
    }
}

/// Whether the value is made of literals.
fn is_literal(value: &Val) -> bool {
    match value {
        Val::Lit(..) => true,
        Val::List(parts) | Val::Tuple(parts) => parts.iter().all(is_literal),
        Val::Some(held) => is_literal(held),
        _ => false,
    }
}
