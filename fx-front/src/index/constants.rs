//! Constants: associated ones, and names that are patterns of their own, so that no variable can be called so where one of
//! them is in scope.

use std::collections::{BTreeMap, BTreeSet};

use fx_ir::Arg;
use syn::visit_mut::{self, VisitMut};

use super::{Index, Name, Resolved, Ty};

/// `const EPS: f64 = 1e-5;` of an impl.
#[derive(Debug)]
pub struct AssociatedConstant {
    /// The module of the impl.
    pub module: String,
    /// The type that the impl is for.
    pub of: syn::Type,
    /// The name.
    pub name: String,
    /// The value where that is a literal.
    pub value: Option<Arg>,
    /// The type of the value.
    pub ty: syn::Type,
    /// The module within which it is visible; `None` for the whole crate.
    pub scope: Option<String>,
    /// The path of the trait that the impl is of.
    pub of_trait: Option<String>,
}

/// Through how many `*` a name may come.
const DEPTH: u32 = 4;

impl Index {
    /// The associated constant of that name of the type: its own, or that of the only trait that has one.
    pub fn constant_of(&self, ty: &Ty, name: &str) -> Option<&AssociatedConstant> {
        let (own, of_traits): (Vec<_>, Vec<_>) =
            self.constants_of(ty).filter(|one| one.name == name).partition(|one| one.of_trait.is_none());
        match (own.as_slice(), of_traits.as_slice()) {
            ([own, ..], _) => Some(own),
            ([], [of_trait]) => Some(of_trait),
            _ => None,
        }
    }

    /// The associated constants of the type.
    pub(crate) fn constants_of(&self, ty: &Ty) -> impl Iterator<Item = &AssociatedConstant> {
        self.associated_constants.iter().filter(|one| self.ty(&one.module, None, &one.of) == *ty)
    }

    /// The names that code in the module reads as constants: those of constants, of structs without fields, and of an
    /// enum's variants where a `use` brings them in.
    pub fn constants(&self, module: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        self.gather_constants(module, DEPTH, &mut all);
        all
    }

    /// Makes a path of each pattern that is the name of such a constant, where it does not look like one: `relu`.
    pub(crate) fn mark_constants(&mut self) {
        let named = |module: &String| {
            let names = self.constants(module).into_iter().filter(|name| name.starts_with(char::is_lowercase));
            (module.clone(), names.collect::<BTreeSet<String>>())
        };
        let constants: BTreeMap<String, BTreeSet<String>> = self.modules.keys().map(named).collect();
        for function in &mut self.fns {
            match constants.get(&function.module) {
                Some(names) if !names.is_empty() => Mark { names }.visit_block_mut(&mut function.block),
                _ => {}
            }
        }
    }

    fn gather_constants(&self, module: &str, depth: u32, all: &mut BTreeSet<String>) {
        let (Some(here), Some(depth)) = (self.modules.get(module), depth.checked_sub(1)) else { return };
        all.extend(here.names.keys().filter(|name| self.is_constant(module, name)).cloned());
        for glob in &here.globs {
            if let Resolved::Item(_, _, Name::Enum(variants)) = self.resolve(module, &glob.path) {
                all.extend(variants.into_iter().map(|variant| variant.name));
            }
            self.gather_constants(&beside(module, &glob.path), depth, all);
        }
    }

    fn is_constant(&self, module: &str, name: &str) -> bool {
        // `use crate::Mode::plain`: what stands before it is an enum.
        if let Some(Name::Use(path)) = self.modules.get(module).and_then(|here| here.names.get(name))
            && let Some((of, _)) = path.rsplit_once("::")
            && matches!(self.resolve(module, of), Resolved::Item(_, _, Name::Enum(_)))
        {
            return true;
        }
        match self.resolve(module, name) {
            Resolved::Item(_, _, Name::Const(..)) => true,
            Resolved::Item(_, _, Name::Struct(id)) => self.structs[id].fields.is_empty(),
            _ => false,
        }
    }
}

/// The full path of the module that is called so in the module.
fn beside(module: &str, path: &str) -> String {
    path.split("::").fold(module.to_owned(), |at, step| match step {
        "self" => at,
        "crate" => "crate".to_owned(),
        "super" => at.rsplit_once("::").map_or("crate", |(outer, _)| outer).to_owned(),
        inner => format!("{at}::{inner}"),
    })
}

/// Marks the constants among the patterns of a body.
struct Mark<'n> {
    names: &'n BTreeSet<String>,
}

impl VisitMut for Mark<'_> {
    fn visit_pat_mut(&mut self, pat: &mut syn::Pat) {
        match pat {
            syn::Pat::Ident(syn::PatIdent { attrs, by_ref: None, mutability: None, ident, subpat: None })
                if self.names.contains(&ident.to_string()) =>
            {
                let path = syn::ExprPath { attrs: std::mem::take(attrs), qself: None, path: ident.clone().into() };
                *pat = syn::Pat::Path(path);
            }
            other => visit_mut::visit_pat_mut(self, other),
        }
    }
}
