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
        let Resolved::Item(home, of, Name::Other) = self.index.resolve(self.module(), head) else { return None };
        let known = self.implementations((&home, &of), name);
        let only_of = |own: &Ty| only(known.iter().filter(|(_, ty)| ty == own).map(|(id, _)| *id));
        if let Some(own) = &path.qself {
            return only_of(&self.index.ty(self.module(), self.function().owner.as_ref(), &own.ty));
        }
        if let [(id, ty)] = known.as_slice() {
            return (*ty != Ty::Unknown).then_some(*id);
        }
        let receiver = match call.args.first()? {
            syn::Expr::Reference(borrowed) => self.infer_ty(&borrowed.expr),
            receiver => self.infer_ty(receiver),
        };
        only_of(&receiver).filter(|&id| self.index.fns[id].sig.receiver().is_some())
    }

    /// The method of that name of the type: an inherent one, or of several traits that which is in scope in the module.
    pub(in crate::trace) fn method_of(&self, ty: &Ty, name: &str) -> Option<usize> {
        self.index.method(ty, name).or_else(|| {
            let (inherent, of_traits) = self.index.methods_of(ty, name);
            let in_scope = of_traits.into_iter().filter(|&id| match self.index.trait_of(id) {
                Some((Some(home), of)) => self.index.has_in_scope(self.module(), (&home, &of)),
                _ => false,
            });
            only(in_scope).filter(|_| inherent.is_empty())
        })
    }

    /// The functions of that name in impls of the trait of the crate, each with the type that it is of.
    fn implementations(&self, (home, of): (&str, &str), name: &str) -> Vec<(usize, Ty)> {
        let functions = self.index.fns.iter().enumerate();
        let own = functions.filter(|(id, one)| {
            one.sig.ident == name
                && self.index.trait_of(*id).is_some_and(|(at, known)| at.as_deref() == Some(home) && known == of)
        });
        own.filter_map(|(id, one)| Some((id, self.index.ty(&one.module, None, one.owner.as_ref()?)))).collect()
    }
}

/// The only one of these.
fn only(mut all: impl Iterator<Item = usize>) -> Option<usize> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}
