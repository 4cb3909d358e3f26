//! What the names of a body mean, from the innermost block outwards: items and named `use` lines of a block go before what its
//! `use ..::*` lines bring in, and those before what is declared outside of it.

use crate::index::{Index, Name, Resolved};
use crate::syntax::{names_of, path_text};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// A path that a `use` line or an item of the body gives it.
    Path(syn::Path),
    /// A constant that is this number.
    Number(syn::LitInt),
    /// A variable, or an item that stays where it is: only for values.
    Local,
}

/// The names that are known at a place of a body.
#[derive(Debug)]
pub(super) struct Scopes<'i> {
    entries: Vec<Entry>,
    /// The index and the module of the body, where what a `*` brings in is asked for.
    crate_names: Option<(&'i Index, &'i str)>,
}

#[derive(Debug)]
enum Entry {
    Name(String, Known),
    Glob(String),
}

impl<'i> Scopes<'i> {
    pub(super) fn new(crate_names: Option<(&'i Index, &'i str)>) -> Scopes<'i> {
        Scopes { entries: Vec::new(), crate_names }
    }

    /// How many names are known, to leave a scope by [`Scopes::leave`].
    pub(super) fn mark(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        self.entries.truncate(mark);
    }

    pub(super) fn declare(&mut self, name: &syn::Ident, known: Known) {
        self.entries.push(Entry::Name(name.to_string(), known));
    }

    pub(super) fn bring_all_of(&mut self, path: String) {
        self.entries.push(Entry::Glob(path));
    }

    /// Takes in the variables of a pattern.
    pub(super) fn bind(&mut self, pat: &syn::Pat) {
        self.entries.extend(names_of(pat).into_iter().map(|name| Entry::Name(name, Known::Local)));
    }

    /// What is to stand for the name, as a value or as the first step of a path; none where it stays as it is.
    pub(super) fn meaning(&self, name: &syn::Ident, is_value: bool) -> Option<Known> {
        let text = name.to_string();
        let is_root = ["crate", "self", "super", "Self"].contains(&text.as_str());
        if is_root {
            return None;
        }
        let mut behind_glob = false;
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Name(known, meaning) if *known == text => match meaning {
                    Known::Path(_) | Known::Number(_) if is_value || matches!(meaning, Known::Path(_)) => {
                        // Where the index is known, what stands behind no `*` has been put in already.
                        let is_open = self.crate_names.is_some() == behind_glob;
                        return is_open.then(|| meaning.clone());
                    }
                    Known::Local if is_value => return None,
                    _ => {}
                },
                Entry::Name(..) => {}
                Entry::Glob(path) => {
                    behind_glob = true;
                    if let Some((path, _)) = self.brought_by(path, &text) {
                        return Some(Known::Path(path));
                    }
                }
            }
        }
        None
    }

    /// The path of the constant, or the struct without fields, that the name alone means in a pattern.
    pub(super) fn constant(&self, name: &syn::Ident) -> Option<syn::Path> {
        let (index, module) = self.crate_names?;
        let text = name.to_string();
        let (path, found) = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Name(known, Known::Path(path)) if *known == text => {
                Some(Some((path.clone(), index.resolve(module, &path_text(path)))))
            }
            Entry::Name(known, _) if *known == text => Some(None),
            Entry::Name(..) => None,
            Entry::Glob(path) => self.brought_by(path, &text).map(Some),
        })??;
        match found {
            Resolved::Item(_, _, Name::Const(..)) => Some(path),
            Resolved::Item(_, _, Name::Struct(id)) if index.structs[id].fields.is_empty() => Some(path),
            _ => None,
        }
    }

    /// The path of what a `use path::*` brings in by that name, and what it is.
    fn brought_by(&self, path: &str, name: &str) -> Option<(syn::Path, Resolved)> {
        let (index, module) = self.crate_names?;
        let found = index.brought_by(module, path, name)?;
        Some((syn::parse_str(&format!("{path}::{name}")).ok()?, found))
    }
}
