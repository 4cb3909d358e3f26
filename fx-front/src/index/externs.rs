//! What functions of other crates return, of which the sources are known: as far as it is no type of theirs.

use std::{collections::BTreeMap, rc::Rc};

use super::{Index, Name, Resolved, Ty};

/// What libraries declare, by the names by which code calls them.
pub type Externs = BTreeMap<String, Rc<Index>>;

impl Index {
    /// What the function of that full path returns (`common::layers::mask`, `common::Mlp::width`).
    pub(crate) fn extern_returned(&self, path: &str) -> Option<Ty> {
        let (krate, rest) = self.extern_crate(path)?;
        let function = match (krate.resolve("crate", rest), rest.rsplit_once("::")) {
            (Resolved::Item(_, _, Name::Fn(id)), _) => id,
            (_, Some((owner, name))) => krate.method(&krate.extern_type(owner)?, name)?,
            _ => return None,
        };
        krate.returned_outside(function)
    }

    /// What the method of a type of another crate returns, the type by its full path.
    pub(crate) fn extern_method(&self, owner: &str, name: &str) -> Option<Ty> {
        let (krate, method) = self.method_outside(owner, name)?;
        krate.returned_outside(method)
    }

    /// Whether the method of such a type takes `&mut self`.
    pub(crate) fn extern_writes(&self, owner: &str, name: &str) -> bool {
        self.method_outside(owner, name).is_some_and(|(krate, method)| krate.fns[method].writes_self())
    }

    /// The crate of the type and its method.
    fn method_outside(&self, owner: &str, name: &str) -> Option<(&Index, usize)> {
        let (krate, owner) = self.extern_crate(owner)?;
        Some((krate, krate.method(&krate.extern_type(owner)?, name)?))
    }

    /// The crate of which the path is, and the rest of the path.
    fn extern_crate<'p>(&self, path: &'p str) -> Option<(&Index, &'p str)> {
        let (name, rest) = path.trim_start_matches("::").split_once("::")?;
        Some((self.externs.get(name)?, rest))
    }

    /// The type of that path from the crate's root.
    fn extern_type(&self, path: &str) -> Option<Ty> {
        match self.resolve("crate", path) {
            Resolved::Item(_, _, Name::Struct(id)) if !self.structs[id].is_generic() => Some(Ty::Struct(id)),
            Resolved::Item(module, name, Name::Enum(_)) => Some(Ty::Rust(format!("{module}::{name}"))),
            _ => None,
        }
    }

    /// What the function returns, where that means the same in every crate.
    fn returned_outside(&self, id: usize) -> Option<Ty> {
        Some(self.returned_value(id)).filter(is_of_every_crate)
    }
}

/// Whether it is a tensor, a number, a text, or made of such.
fn is_of_every_crate(ty: &Ty) -> bool {
    match ty {
        Ty::Tensor => true,
        Ty::Rust(name) => fx_ir::scalar::is_scalar(name) || name == "String",
        Ty::Option(inner) | Ty::Result(inner) | Ty::List(inner) => is_of_every_crate(inner),
        Ty::Tuple(parts) => parts.iter().all(is_of_every_crate),
        Ty::Unknown | Ty::Leaf(_) | Ty::Struct(_) | Ty::Interior(..) | Ty::Map { .. } | Ty::Mode => false,
    }
}
