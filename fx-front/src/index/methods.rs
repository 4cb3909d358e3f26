//! Which function a method's name means.

use super::{Index, Resolved, Ty};

impl Index {
    /// The method of that name whose impl is for that type: an inherent one, or that of the only trait that has one. None where
    /// there are several, as impls for `Pair<i64>` and `Pair<f64>` have, and where a trait's goes first that takes the value itself.
    pub fn method(&self, ty: &Ty, name: &str) -> Option<usize> {
        let (inherent, of_traits) = self.methods_of(ty, name);
        // What is called on a value is looked for by value first, then by a reference, then by a mutable one.
        let probed = |id: usize| self.fns[id].sig.receiver().map_or(0, by_reference);
        match (inherent.as_slice(), of_traits.as_slice()) {
            (&[id], others) => others.iter().all(|&other| probed(id) <= probed(other)).then_some(id),
            (&[], &[id]) => Some(id),
            _ => None,
        }
    }

    /// One of the methods of that name whose impls are for that type, to tell how much such a call runs.
    pub(crate) fn some_method(&self, ty: &Ty, name: &str) -> Option<usize> {
        self.methods(ty, name).next()
    }

    /// The `forward` by which a chain or `apply` calls a module of that type: that of tch's traits, where it has one.
    pub fn entry_of_module(&self, ty: &Ty) -> Option<usize> {
        let of_tch = |name: &'static str, of_trait: &str| {
            let is_external = |id: usize| match self.trait_of(id) {
                Some((home, known)) => home.is_none() && known.rsplit("::").next() == Some(of_trait),
                None => false,
            };
            self.methods(ty, name).find(|&id| is_external(id))
        };
        let found = of_tch("forward", "Module").or_else(|| of_tch("forward_t", "ModuleT"));
        found.or_else(|| ["forward", "forward_t"].into_iter().find_map(|name| self.method(ty, name)))
    }

    /// The functions of that name in impls for that type: inherent ones, and those of traits.
    pub(crate) fn methods_of(&self, ty: &Ty, name: &str) -> (Vec<usize>, Vec<usize>) {
        self.methods(ty, name).partition(|&id| self.fns[id].of_trait.is_none())
    }

    fn methods(&self, ty: &Ty, name: &str) -> impl Iterator<Item = usize> {
        (0..self.fns.len()).filter(move |&id| {
            let function = &self.fns[id];
            function.sig.ident == name
                && function.owner.as_ref().is_some_and(|owner| self.ty(&function.module, None, owner) == *ty)
        })
    }

    /// The trait of the impl that a function stands in, with its module where the crate declares it.
    pub(crate) fn trait_of(&self, id: usize) -> Option<(Option<String>, String)> {
        let function = &self.fns[id];
        let name = function.of_trait.as_ref()?;
        Some(match self.resolve(&function.module, name) {
            Resolved::Item(home, name, _) => (Some(home), name),
            Resolved::External(full) => (None, full),
        })
    }
}

/// How far from the value itself a receiver is: 0 for `self`, 1 for `&self`, 2 for `&mut self`.
fn by_reference(receiver: &syn::Receiver) -> u8 {
    match (&receiver.reference, &receiver.mutability) {
        (None, _) => 0,
        (Some(_), None) => 1,
        (Some(_), Some(_)) => 2,
    }
}
