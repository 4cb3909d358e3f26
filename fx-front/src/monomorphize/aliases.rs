//! Aliases of types with parameters, and of `Result` by another name: a signature that names one is read as if it named
//! what the alias stands for.
//!
//! ```text
//! type Res<T> = Result<T, tch::TchError>;
//! fn forward(..) -> Res<Tensor>             =>  fn forward(..) -> Result<Tensor, ::tch::TchError>
//! ```

use syn::visit_mut::{self, VisitMut};

use crate::index::{Index, Name, Resolved, Ty};
use crate::syntax::path_text;

/// More aliases than this do not stand for one another: those that do so in a circle come to an end.
const LIMIT: u32 = 8;

/// Reads the signatures of all functions so.
pub(super) fn expand(index: &mut Index) {
    let is_known = |at: &str, name: &Name| matches!(name, Name::Alias(alias) if is_expanded(index, at, alias));
    if !index.modules.iter().any(|(at, module)| module.names.values().any(|name| is_known(at, name))) {
        return;
    }
    for id in 0..index.fns.len() {
        let function = &index.fns[id];
        let mut sig = function.sig.clone();
        Expand { index, module: &function.module, left: LIMIT }.visit_signature_mut(&mut sig);
        index.fns[id].sig = sig;
    }
}

/// Whether signatures are read without it: it has parameters, or is a `Result` by another name.
fn is_expanded(index: &Index, at: &str, alias: &syn::ItemType) -> bool {
    let is_result = || matches!(index.ty(at, None, &alias.ty), Ty::Result(_));
    !alias.generics.params.is_empty() || (alias.ident != "Result" && is_result())
}

struct Expand<'i> {
    index: &'i Index,
    module: &'i str,
    left: u32,
}

impl VisitMut for Expand<'_> {
    fn visit_type_mut(&mut self, ty: &mut syn::Type) {
        if let syn::Type::Path(path) = &*ty
            && path.qself.is_none()
            && let Some(left) = self.left.checked_sub(1)
            && let Resolved::Item(at, _, Name::Alias(alias)) = self.index.resolve(self.module, &path_text(&path.path))
            && is_expanded(self.index, &at, &alias)
            && let Some(last) = path.path.segments.last()
            && let Some(known) = self.index.aliased(self.module, (&at, &alias), last)
        {
            *ty = known;
            Expand { index: self.index, module: self.module, left }.visit_type_mut(ty);
            return;
        }
        visit_mut::visit_type_mut(self, ty);
    }
}
