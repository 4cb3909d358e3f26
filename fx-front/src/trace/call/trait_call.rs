//! Functions of the crate's traits that are called by the trait: `Positions::positions(n)`, `<Tensor as Positions>::positions(n)`.

use std::collections::BTreeSet;

use crate::index::{Function, Name, Resolved};
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

    /// The function of that name of a trait of the crate on tensors: of several traits the one that has a name in the module.
    pub(in crate::trace) fn function_on_tensors(&self, name: &str) -> Option<usize> {
        let functions = self.index.fns.iter().filter(|one| one.sig.ident == name);
        let on_tensors = functions.filter(|one| {
            one.owner.as_ref().is_some_and(|owner| self.index.ty(&one.module, None, owner) == Ty::Tensor)
        });
        let traits: BTreeSet<&String> = on_tensors.filter_map(|one| one.of_trait.as_ref()).collect();
        let is_tensor = |(id, ty): (usize, Ty)| (ty == Ty::Tensor).then_some(id);
        if let ([of], 1) = (traits.iter().collect::<Vec<_>>().as_slice(), traits.len())
            && let Some(id) = only(self.implementations(("", of), name).into_iter().filter_map(is_tensor))
        {
            return Some(id);
        }
        let in_scope = traits.into_iter().filter_map(|of| match self.index.resolve(self.module(), of) {
            Resolved::Item(home, of, _) => {
                only(self.implementations((&home, &of), name).into_iter().filter_map(is_tensor))
            }
            Resolved::External(_) => None,
        });
        only(in_scope)
    }

    /// The functions of that name in impls of the trait, each with the type that it is of. Where several traits have the name,
    /// they are those beside it.
    fn implementations(&self, (home, of): (&str, &str), name: &str) -> Vec<(usize, Ty)> {
        let functions = self.index.fns.iter().enumerate();
        let own = functions.filter(|(_, one)| one.sig.ident == name && one.of_trait.as_deref() == Some(of));
        let typed = |(id, one): (usize, &Function)| Some((id, self.index.ty(&one.module, None, one.owner.as_ref()?)));
        let all: Vec<(usize, Ty)> = own.filter_map(typed).collect();
        let is_single = all.iter().enumerate().all(|(at, (_, ty))| all[..at].iter().all(|(_, other)| other != ty));
        if is_single {
            return all;
        }
        all.into_iter().filter(|(id, _)| self.index.fns[*id].module == home).collect()
    }
}

/// The only one of these.
fn only(mut all: impl Iterator<Item = usize>) -> Option<usize> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}
