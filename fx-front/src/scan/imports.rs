//! `use` lines: what they bring into a module, and for whom.

use super::Scan;
use crate::index::{self, Glob, Name};

impl Scan<'_> {
    /// Declares what a `use` line brings in.
    pub(super) fn imports(&mut self, tree: &syn::UseTree, prefix: &str, visibility: &syn::Visibility, module: &str) {
        let join = |name: String| if prefix.is_empty() { name } else { format!("{prefix}::{name}") };
        let of_prefix = || Name::Use(prefix.to_owned());
        match tree {
            syn::UseTree::Path(path) => self.imports(&path.tree, &join(path.ident.to_string()), visibility, module),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.rsplit("::").next().unwrap_or(prefix);
                self.declare(module, &last, visibility, of_prefix());
            }
            syn::UseTree::Name(name) => {
                self.declare(module, &name.ident, visibility, Name::Use(join(name.ident.to_string())));
            }
            syn::UseTree::Rename(name) if name.ident == "self" => {
                self.declare(module, &name.rename, visibility, of_prefix());
            }
            syn::UseTree::Rename(name) if name.rename == "_" => {
                self.here(module).unnamed.push(join(name.ident.to_string()));
            }
            syn::UseTree::Rename(name) => {
                self.declare(module, &name.rename, visibility, Name::Use(join(name.ident.to_string())));
            }
            syn::UseTree::Glob(_) => {
                let scope = index::scope_of(visibility, module);
                self.here(module).globs.push(Glob { path: prefix.to_owned(), scope });
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.imports(tree, prefix, visibility, module));
            }
        }
    }
}
