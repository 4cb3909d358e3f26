//! What a path written in a module means.

use std::collections::BTreeSet;

use super::{Index, Module, Name, Resolved, Struct, Ty};
use crate::leaf;

/// The module within which something declared in `module` is visible; `None` for the whole crate.
pub(crate) fn scope_of(visibility: &syn::Visibility, module: &str) -> Option<String> {
    let scope = match visibility {
        syn::Visibility::Public(_) => None,
        syn::Visibility::Restricted(limit) if limit.path.is_ident("crate") => None,
        syn::Visibility::Restricted(limit) if limit.path.is_ident("super") => {
            Some(module.rsplit_once("::").map_or("crate", |(outer, _)| outer))
        }
        _ => Some(module),
    };
    scope.filter(|scope| *scope != "crate").map(str::to_owned)
}

/// Is the module `inner` the module `outer`, or inside of it?
pub fn is_within(inner: &str, outer: &str) -> bool {
    inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
}

/// The paths in the spelling of a type, each as module and name.
fn paths(spelling: &str) -> impl Iterator<Item = (&str, &str)> {
    let words = spelling.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    words.filter_map(|word| word.rsplit_once("::"))
}

impl Index {
    /// Can code in the module `from` name the item `name` of `module` by its full path?
    pub fn sees(&self, from: &str, module: &str, name: &str) -> bool {
        let mut inner = module;
        let mut all = self.is_visible(from, module, name);
        while let Some((outer, last)) = inner.rsplit_once("::") {
            all &= self.is_visible(from, outer, last);
            inner = outer;
        }
        all
    }

    /// Is the item `name` of `module` visible in the module `from`, by whatever path?
    fn is_visible(&self, from: &str, module: &str, name: &str) -> bool {
        let scope = self.modules.get(module).and_then(|module| module.scopes.get(name));
        scope.is_none_or(|scope| is_within(from, scope))
    }

    /// The types of the crate that a value of type `ty` consists of, to whatever depth, and that are private to a module:
    /// code in the module `from`, outside of that, may not even hold such a value.
    pub fn private_types(&self, from: &str, ty: &Ty) -> Vec<String> {
        let mut all = BTreeSet::new();
        self.gather(ty, &mut all);
        let private = all.into_iter().filter(|(module, name)| !self.is_visible(from, module, name));
        private.map(|(module, name)| format!("{module}::{name}")).collect()
    }

    /// Is the type, or what it is a list or an option of, such a type itself?
    pub fn private_type(&self, from: &str, ty: &Ty) -> bool {
        match ty {
            Ty::Struct(id) => !self.is_visible(from, &self.structs[*id].module, &self.structs[*id].name),
            Ty::Option(inner) | Ty::Result(inner) | Ty::List(inner) => self.private_type(from, inner),
            Ty::Tuple(parts) => parts.iter().any(|part| self.private_type(from, part)),
            Ty::Rust(spelling) => paths(spelling).any(|(module, name)| !self.is_visible(from, module, name)),
            Ty::Unknown | Ty::Tensor | Ty::Leaf(_) => false,
        }
    }

    /// Every type of the crate that a value consists of, by module and name.
    fn gather(&self, ty: &Ty, all: &mut BTreeSet<(String, String)>) {
        match ty {
            Ty::Struct(id) => {
                let Struct { module, name, fields, .. } = &self.structs[*id];
                if all.insert((module.clone(), name.clone())) {
                    for field in fields {
                        self.gather(&self.field_ty(*id, field), all);
                    }
                }
            }
            Ty::Rust(spelling) => {
                for (module, name) in paths(spelling) {
                    let declared = self.modules.get(module).and_then(|at| at.names.get(name));
                    let is_new = declared.is_some() && all.insert((module.to_owned(), name.to_owned()));
                    if let (true, Some(Name::Enum(variants))) = (is_new, declared) {
                        let types = variants.iter().flat_map(|variant| &variant.fields);
                        for (_, ty) in types {
                            self.gather(&self.ty(module, None, ty), all);
                        }
                    }
                }
            }
            Ty::Option(inner) | Ty::Result(inner) | Ty::List(inner) => self.gather(inner, all),
            Ty::Tuple(parts) => {
                for part in parts {
                    self.gather(part, all);
                }
            }
            Ty::Unknown | Ty::Tensor | Ty::Leaf(_) => {}
        }
    }

    /// What the path, written in `module`, means.
    pub fn resolve(&self, module: &str, path: &str) -> Resolved {
        self.resolve_within(module, path, 16)
    }

    fn resolve_within(&self, module: &str, path: &str, fuel: u32) -> Resolved {
        let external = || Resolved::External(path.to_owned());
        let Some(fuel) = fuel.checked_sub(1) else { return external() };
        let (first, rest) = path.split_once("::").map_or((path, ""), |(first, rest)| (first, rest));
        let parent = module.rsplit_once("::").map_or("crate", |(parent, _)| parent);
        match first {
            "crate" if rest.is_empty() => return external(),
            "crate" => return self.resolve_absolute(path, fuel),
            "self" => return self.resolve_within(module, rest, fuel),
            "super" => return self.resolve_within(parent, rest, fuel),
            _ => {}
        }
        let inner = format!("{module}::{first}");
        if !rest.is_empty() && self.modules.contains_key(&inner) {
            return self.resolve_within(&inner, rest, fuel);
        }
        let Some(here) = self.modules.get(module) else { return external() };
        match here.names.get(first) {
            Some(Name::Use(target)) => {
                let full = if rest.is_empty() { target.clone() } else { format!("{target}::{rest}") };
                if full == path { external() } else { self.resolve_within(module, &full, fuel) }
            }
            Some(name) if rest.is_empty() => Resolved::Item(module.to_owned(), first.to_owned(), name.clone()),
            Some(_) => external(),
            None => self.resolve_glob(module, here, path, fuel),
        }
    }

    fn resolve_glob(&self, module: &str, here: &Module, path: &str, fuel: u32) -> Resolved {
        for glob in &here.globs {
            let full = format!("{glob}::{path}");
            // What one glob brings in may come from another, but not from ever more of them.
            match self.resolve_within(module, &full, fuel / 2) {
                found @ Resolved::Item(..) => return found,
                // A bare name is one that a module of the crate does not have.
                Resolved::External(outer)
                    if outer.contains("::") && !outer.starts_with("crate") && is_known_external(&outer) =>
                {
                    return Resolved::External(outer);
                }
                Resolved::External(_) => {}
            }
        }
        Resolved::External(path.to_owned())
    }

    /// A path from the crate's root: what its last module on the way that is declared says of the rest. Behind that a
    /// module may be known by another name: `crate::bert` where `pub use models::*` brings it in.
    fn resolve_absolute(&self, path: &str, fuel: u32) -> Resolved {
        let mut module = path;
        while let Some((outer, _)) = module.rsplit_once("::") {
            module = outer;
            if self.modules.contains_key(module) {
                return self.resolve_within(module, &path[module.len() + 2..], fuel);
            }
        }
        Resolved::External(path.to_owned())
    }
}

fn is_known_external(full: &str) -> bool {
    let last = full.rsplit("::").next().unwrap_or(full);
    last == "Tensor" || last == "nn" || leaf::of_type(last).is_some() || leaf::of_constructor(last).is_some()
}
