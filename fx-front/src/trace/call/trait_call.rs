//! Functions of the crate's traits that are called by the trait: `Positions::positions(n)`, `<Tensor as Positions>::positions(n)`.

use crate::index::{Name, Resolved};
use crate::syntax::path_text;
use crate::trace::{Tracer, Ty};

impl Tracer<'_> {
    /// The function that such a call calls: that of the type which is written, or of the receiver's, or the only one that the
    /// crate has; `None` for any other call.
    pub(in crate::trace) fn function_of_trait(&self, call: &syn::ExprCall) -> Option<usize> {
        let syn::Expr::Path(path) = &*call.func else { return None };
        let text = path_text(&path.path);
        let (head, name) = text.rsplit_once("::")?;
        let Resolved::Item(_, of, Name::Other) = self.index.resolve(self.module(), head) else { return None };
        let known = self.implementations(&of, name);
        if let Some(own) = &path.qself {
            let own = self.index.ty(self.module(), self.function().owner.as_ref(), &own.ty);
            return known.iter().find(|(_, ty)| *ty == own).map(|(id, _)| *id);
        }
        if let [(id, ty)] = known.as_slice() {
            return (*ty != Ty::Unknown).then_some(*id);
        }
        let receiver = match call.args.first()? {
            syn::Expr::Reference(borrowed) => self.infer_ty(&borrowed.expr),
            receiver => self.infer_ty(receiver),
        };
        let has_receiver = |id: usize| self.index.fns[id].sig.receiver().is_some();
        known.iter().find(|(id, ty)| *ty == receiver && has_receiver(*id)).map(|(id, _)| *id)
    }

    /// The functions of that name in impls of the trait, each with the type that it is of.
    fn implementations(&self, of: &str, name: &str) -> Vec<(usize, Ty)> {
        let functions = self.index.fns.iter().enumerate();
        let own = functions.filter(|(_, one)| one.sig.ident == name && one.of_trait.as_deref() == Some(of));
        own.filter_map(|(id, one)| Some((id, self.index.ty(&one.module, None, one.owner.as_ref()?)))).collect()
    }
}
