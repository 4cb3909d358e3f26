//! The traits that code calls methods of without naming them.

use proc_macro2::Span;

use crate::index::{Name, Resolved, from_root};
use crate::trace::{Result, Tracer, unsupported};

impl Tracer<'_> {
    /// The traits of other crates that the module of the function imports, itself or by a `*` of another module, as `use` lines.
    pub(super) fn imported_traits(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for module in self.index.seen_from(self.module()) {
            let Some(here) = self.index.modules.get(&module) else { continue };
            let named = here.names.values().filter_map(|name| match name {
                Name::Use(target) => Some(target),
                _ => None,
            });
            lines.extend(named.chain(&here.unnamed).filter_map(|target| match self.index.resolve(&module, target) {
                Resolved::External(full) if may_be_trait(&full) => Some(format!("use {} as _;", from_root(&full))),
                _ => None,
            }));
            lines.extend(here.globs.iter().filter_map(|glob| match self.index.resolve(&module, &glob.path) {
                Resolved::External(full)
                    if !full.is_empty()
                        && !self.index.begins_in_crate(&module, &full)
                        && self.index.module_of_glob(&module, &glob.path).is_none() =>
                {
                    Some(format!("use {}::*;", from_root(&full)))
                }
                _ => None,
            }));
        }
        lines
    }

    /// The `use` line for a trait that is implemented in the module under that name; none where the function's module has it
    /// from elsewhere.
    pub(in crate::trace) fn trait_import(&self, module: &str, of: &str, span: Span) -> Result<Option<String>> {
        let resolved = [module, self.module()].map(|module| self.index.resolve(module, of));
        let path = resolved.into_iter().find_map(|resolved| match resolved {
            Resolved::Item(at, name, _) => Some(self.index.path_from(self.home(), &at, &name)),
            Resolved::External(full) if full.contains("::") => Some(Some(from_root(&full))),
            Resolved::External(_) => None,
        });
        match path {
            Some(Some(path)) => Ok(Some(format!("use {path} as _;"))),
            Some(None) => unsupported(span, format!("`{of}` is private to its module")),
            None => Ok(None),
        }
    }
}

/// Whether the path may be one of a trait, whose methods code calls without naming it.
fn may_be_trait(path: &str) -> bool {
    const WITHOUT_TRAITS: [&str; 8] = ["boxed", "cell", "collections", "mem", "path", "rc", "sync", "time"];
    let mut words = path.trim_start_matches("::").split("::");
    let (root, module, last) = (words.next(), words.next(), path.rsplit("::").next().unwrap_or(path));
    let is_of_std = matches!(root, Some("std" | "core" | "alloc"));
    path.contains("::")
        && last.starts_with(|c: char| c.is_uppercase())
        && last.contains(|c: char| c.is_lowercase())
        && !matches!(last, "Tensor" | "Kind" | "Device")
        && !(is_of_std && module.is_some_and(|module| WITHOUT_TRAITS.contains(&module)))
}
