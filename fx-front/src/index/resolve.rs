//! What a path written in a module means.

use super::{Index, Module, Name, Resolved};
use fx_ir::LayerRow;

/// A path of another crate, written so that it means the same in every module.
pub(crate) fn from_root(path: &str) -> String {
    format!("::{}", path.trim_start_matches("::"))
}

/// The crates of the standard library.
const STD: [&str; 3] = ["std", "core", "alloc"];

impl Index {
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
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        // A path begins with one of these, whatever a `*` brings in.
        if !rest.is_empty() && (["fx_runtime", "tch"].contains(&first) || STD.contains(&first)) {
            return Resolved::External(path.to_owned());
        }
        for glob in &here.globs {
            let full = format!("{}::{path}", glob.path);
            if glob.path.split("::").next().is_some_and(|first| STD.contains(&first)) {
                // No layer comes from there; of its types cells are told apart.
                match interior_of(&full) {
                    Some(_) => return Resolved::External(full),
                    None => continue,
                }
            }
            // Of an enum it brings in the variants.
            if let Resolved::Item(_, _, Name::Enum(variants)) = self.resolve_within(module, &glob.path, fuel / 2)
                && !variants.iter().any(|variant| variant.name == first)
            {
                continue;
            }
            // What one glob brings in may come from another, but not from ever more of them.
            match self.resolve_within(module, &full, fuel / 2) {
                found @ Resolved::Item(..) => return found,
                // The path as it was is one that a module of the crate does not have.
                Resolved::External(outer)
                    if outer != path
                        && (outer != full || !self.begins_in_crate(module, &glob.path))
                        && !outer.starts_with("crate")
                        && (is_known_external(&outer) || self.is_ours(module, &glob.path, fuel / 2)) =>
                {
                    return Resolved::External(outer);
                }
                Resolved::External(_) => {}
            }
        }
        Resolved::External(path.to_owned())
    }

    /// Returns whether the first step of the path, written in `module`, is a module of the crate.
    pub(crate) fn begins_in_crate(&self, module: &str, path: &str) -> bool {
        let first = path.split("::").next().unwrap_or(path);
        ["crate", "self", "super"].contains(&first) || self.modules.contains_key(&format!("{module}::{first}"))
    }

    /// Is the path, written in `module`, that of a module of the crate? Such a one says itself what it imports.
    fn is_ours(&self, module: &str, path: &str, fuel: u32) -> bool {
        let unknown = "*";
        let found = self.resolve_within(module, &format!("{path}::{unknown}"), fuel);
        matches!(found, Resolved::External(left) if left == unknown)
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
    last == "Tensor" || last == "nn" || LayerRow::of_type(last).is_some() || LayerRow::of_constructor(last).is_some()
}

/// The type of the standard library's of that path that is written to behind a shared reference.
pub(super) fn interior_of(path: &str) -> Option<&'static str> {
    let (module, name) = path.rsplit_once("::")?;
    let is_std = ["std::cell", "core::cell"].iter().any(|cell| module.trim_start_matches("::") == *cell);
    ["RefCell", "Cell"].into_iter().find(|known| is_std && *known == name)
}
