//! What a path written in a module means.

use super::{Index, Module, Name, Resolved};
use crate::leaf;

impl Index {
    /// Can code in the module `from` name the item `name` of `module` by its full path?
    pub fn sees(&self, from: &str, module: &str, name: &str) -> bool {
        let visible = |at: &str, name: &str| {
            let scope = self.modules.get(at).and_then(|module| module.scopes.get(name));
            scope.is_none_or(|scope| from == scope || from.starts_with(&format!("{scope}::")))
        };
        let mut inner = module;
        let mut all = visible(module, name);
        while let Some((outer, last)) = inner.rsplit_once("::") {
            all &= visible(outer, last);
            inner = outer;
        }
        all
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
            None => self.resolve_glob(here, path, fuel),
        }
    }

    fn resolve_glob(&self, here: &Module, path: &str, fuel: u32) -> Resolved {
        for glob in &here.globs {
            let full = format!("{glob}::{path}");
            match self.resolve_within("crate", &full, fuel) {
                found @ Resolved::Item(..) => return found,
                Resolved::External(outer) if !outer.starts_with("crate") && is_known_external(&outer) => {
                    return Resolved::External(outer);
                }
                Resolved::External(_) => {}
            }
        }
        Resolved::External(path.to_owned())
    }

    fn resolve_absolute(&self, path: &str, fuel: u32) -> Resolved {
        let (module, name) = path.rsplit_once("::").unwrap_or(("crate", path));
        if self.modules.contains_key(module) {
            return self.resolve_within(module, name, fuel);
        }
        match module.rsplit_once("::") {
            // `crate::nn::conv2d` where `nn` is itself a `use`.
            Some((outer, inner)) if self.modules.contains_key(outer) => {
                self.resolve_within(outer, &format!("{inner}::{name}"), fuel)
            }
            _ => Resolved::External(path.to_owned()),
        }
    }
}

fn is_known_external(full: &str) -> bool {
    let last = full.rsplit("::").next().unwrap_or(full);
    last == "Tensor" || last == "nn" || leaf::of_type(last).is_some() || leaf::of_constructor(last).is_some()
}
