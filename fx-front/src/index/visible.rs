//! What code in a module can name, and by which path.

use std::collections::BTreeSet;

use super::{Index, Name, Resolved, Struct, Ty, is_visible};

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

/// The paths in the spelling of a type, each as module and name.
fn paths(spelling: &str) -> impl Iterator<Item = (&str, &str)> {
    let words = spelling.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    words.filter_map(|word| word.rsplit_once("::"))
}

/// The text with each path of the crate in it as `name` has it; `None` where that has none for one.
fn with_paths(text: &str, name: &dyn Fn(&str, &str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        let path = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        match path.rsplit_once("::").filter(|(module, _)| *module == "crate" || module.starts_with("crate::")) {
            Some((module, last)) => out.push_str(&name(module, last)?),
            None => out.push_str(path),
        }
        out.push_str(&word[path.len()..]);
    }
    Some(out)
}

/// Through how many re-exports of modules a path may go.
const DETOURS: u32 = 3;

impl Index {
    /// Whether the code names an item of a function's body, which generated code cannot.
    pub(crate) fn names_body_item(&self, code: &impl quote::ToTokens) -> bool {
        fn names(tokens: proc_macro2::TokenStream, bodies: &BTreeSet<&str>) -> bool {
            tokens.into_iter().any(|token| match token {
                proc_macro2::TokenTree::Group(group) => names(group.stream(), bodies),
                proc_macro2::TokenTree::Ident(word) => bodies.iter().any(|body| word == body),
                _ => false,
            })
        }
        let bodies = self.modules.iter().filter(|(_, module)| module.is_body);
        let bodies: BTreeSet<&str> = bodies.filter_map(|(path, _)| path.rsplit("::").next()).collect();
        !bodies.is_empty() && names(code.to_token_stream(), &bodies)
    }

    /// Whether code in the module `from` can name the item `name` of `module` by the path where it is declared.
    pub fn sees(&self, from: &str, module: &str, name: &str) -> bool {
        let mut inner = module;
        let mut all = self.is_visible(from, module, name);
        while let Some((outer, last)) = inner.rsplit_once("::") {
            all &= self.is_visible(from, outer, last);
            inner = outer;
        }
        all
    }

    /// Whether the item `name` of `module` is visible in the module `from`, by whatever path.
    fn is_visible(&self, from: &str, module: &str, name: &str) -> bool {
        let scope = self.modules.get(module).and_then(|module| module.scopes.get(name));
        is_visible(scope, from)
    }

    /// The types of the crate that a value of type `ty` consists of, to whatever depth, and that are private to a module:
    /// code in the module `from`, outside of that, may not even hold such a value.
    pub fn private_types(&self, from: &str, ty: &Ty) -> Vec<String> {
        let mut all = BTreeSet::new();
        self.gather(ty, &mut all);
        let private = all.into_iter().filter(|(module, name)| !self.is_visible(from, module, name));
        private.map(|(module, name)| format!("{module}::{name}")).collect()
    }

    /// Whether the type, or what it is a list or an option of, is such a type itself.
    pub fn private_type(&self, from: &str, ty: &Ty) -> bool {
        match ty {
            Ty::Struct(id) => !self.is_visible(from, &self.structs[*id].module, &self.structs[*id].name),
            Ty::Option(inner) | Ty::Result(inner) | Ty::List(inner) | Ty::Interior(_, inner) => {
                self.private_type(from, inner)
            }
            Ty::Tuple(parts) => parts.iter().any(|part| self.private_type(from, part)),
            Ty::Rust(spelling) => paths(spelling).any(|(module, name)| !self.is_visible(from, module, name)),
            Ty::Map { key, value, .. } => self.private_type(from, key) || self.private_type(from, value),
            Ty::Unknown | Ty::Tensor | Ty::Mode | Ty::Leaf(_) => false,
        }
    }

    /// Whether a value of the struct may consist of further values of it, in lists or options.
    pub fn is_recursive(&self, id: usize) -> bool {
        let item = &self.structs[id];
        let mut all = BTreeSet::new();
        for field in &item.fields {
            self.gather(&self.field_ty(id, field), &mut all);
        }
        all.contains(&(item.module.clone(), item.name.clone()))
    }

    /// The paths of the crate's types that a value of the type consists of, to whatever depth, its own included.
    pub(crate) fn consists_of(&self, ty: &Ty) -> Vec<String> {
        let mut all = BTreeSet::new();
        self.gather(ty, &mut all);
        all.into_iter().map(|(module, name)| format!("{module}::{name}")).collect()
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
            Ty::Option(inner) | Ty::Result(inner) | Ty::List(inner) | Ty::Interior(_, inner) => self.gather(inner, all),
            Ty::Tuple(parts) => {
                for part in parts {
                    self.gather(part, all);
                }
            }
            Ty::Map { key, value, .. } => {
                self.gather(key, all);
                self.gather(value, all);
            }
            Ty::Unknown | Ty::Tensor | Ty::Mode | Ty::Leaf(_) => {}
        }
    }

    /// A path by which code in the module `from` can name the item `name` of `module`: where it is declared, or where
    /// it is re-exported.
    pub fn path_from(&self, from: &str, module: &str, name: &str) -> Option<String> {
        self.path_with(from, module, name, DETOURS)
    }

    /// The spelling of a type with paths that code in the module `from` can name.
    pub fn named_from(&self, from: &str, spelling: &str) -> Option<String> {
        with_paths(spelling, &|module, name| self.path_from(from, module, name))
    }

    fn path_with(&self, from: &str, module: &str, name: &str, detours: u32) -> Option<String> {
        if !self.is_visible(from, module, name) {
            return None;
        }
        if let Some(outer) = self.module_from(from, module, detours) {
            return Some(format!("{outer}::{name}"));
        }
        let detours = detours.checked_sub(1)?;
        let brought = self.modules.keys().filter_map(|at| Some((at, self.brought(from, at, module, name)?)));
        let paths =
            brought.filter_map(|(at, known)| Some(format!("{}::{known}", self.module_from(from, at, detours)?)));
        paths.min_by_key(|path| path.matches("::").count())
    }

    /// A path by which code in the module `from` can name the module.
    fn module_from(&self, from: &str, module: &str, detours: u32) -> Option<String> {
        match module.rsplit_once("::") {
            Some((outer, last)) => self.path_with(from, outer, last, detours),
            None => Some(module.to_owned()),
        }
    }

    /// The module, and those of the crate of which a `*` brings the names into it.
    pub(crate) fn seen_from(&self, module: &str) -> Vec<String> {
        let (mut seen, mut at) = (vec![module.to_owned()], 0);
        while let Some(here) = seen.get(at).cloned() {
            at += 1;
            let globs = self.modules.get(&here).map_or(&[][..], |module| module.globs.as_slice());
            for inner in globs.iter().filter_map(|glob| self.module_of_glob(&here, &glob.path)) {
                if !seen.contains(&inner) {
                    seen.push(inner);
                }
            }
        }
        seen
    }

    /// Whether the trait of the crate is in scope in the module: by its name or another, or without one.
    pub(crate) fn has_in_scope(&self, module: &str, (home, of): (&str, &str)) -> bool {
        let is_it = |from: &str, path: &str| matches!(self.resolve(from, path), Resolved::Item(found, name, _) if found == home && name == of);
        is_it(module, of)
            || self.seen_from(module).iter().any(|seen| {
                let here = self.modules.get(seen);
                let renamed = here.into_iter().flat_map(|module| module.names.iter()).filter_map(|known| match known {
                    (name, Name::Use(path)) if !path.ends_with(name.as_str()) => Some(path),
                    _ => None,
                });
                let unnamed = here.into_iter().flat_map(|module| &module.unnamed);
                renamed.chain(unnamed).any(|path| is_it(seen, path))
            })
    }

    /// The module of the crate of which a `*`, written in `module`, brings in the names.
    pub(crate) fn module_of_glob(&self, module: &str, path: &str) -> Option<String> {
        self.module_at(module, path, DETOURS).filter(|at| self.modules.contains_key(at))
    }

    /// The module of the crate that the path, written in `module`, leads to.
    fn module_at(&self, module: &str, path: &str, detours: u32) -> Option<String> {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let inner = format!("{module}::{first}");
        let at = match first {
            "crate" => first.to_owned(),
            "self" => module.to_owned(),
            "super" => module.rsplit_once("::").map_or("crate", |(outer, _)| outer).to_owned(),
            _ if self.modules.contains_key(&inner) => inner,
            _ => match self.modules.get(module)?.names.get(first)? {
                Name::Use(target) => self.module_at(module, target, detours.checked_sub(1)?)?,
                _ => return None,
            },
        };
        if rest.is_empty() { Some(at) } else { self.module_at(&at, rest, detours) }
    }

    /// What a `use path::*` in the module `at` brings into it by that name, of what the crate declares.
    pub(crate) fn brought_by(&self, at: &str, path: &str, name: &str) -> Option<Resolved> {
        let of = self.module_of_glob(at, path)?;
        let is_brought = self.hands_on(at, &of, name, DETOURS);
        let found = is_brought.then(|| self.resolve(at, &format!("{path}::{name}")))?;
        matches!(found, Resolved::Item(..)).then_some(found)
    }

    /// Whether a `*` of the module `of` brings the name into the module `at`: a private `use` is seen where it stands alone.
    fn hands_on(&self, at: &str, of: &str, name: &str, detours: u32) -> bool {
        let Some(module) = self.modules.get(of) else { return false };
        if module.names.contains_key(name) {
            return self.is_visible(at, of, name);
        }
        let Some(detours) = detours.checked_sub(1) else { return false };
        let mut globs = module.globs.iter().filter(|glob| is_visible(glob.scope.as_ref(), at));
        globs.any(|glob| {
            let of = self.module_at(of, &glob.path, detours);
            of.is_some_and(|of| self.hands_on(at, &of, name, detours))
        })
    }

    /// Under which name the module `at` re-exports the item, for code in the module `from`.
    fn brought(&self, from: &str, at: &str, module: &str, name: &str) -> Option<String> {
        let here = self.modules.get(at)?;
        let is_it = |path: &str| match self.resolve(at, path) {
            Resolved::Item(found, last, _) => found == module && last == name,
            Resolved::External(_) => false,
        };
        let uses = here.names.iter().filter(|(_, meaning)| matches!(meaning, Name::Use(_)));
        let mut uses = uses.filter(|(known, _)| self.is_visible(from, at, known) && is_it(known));
        if let Some((known, _)) = uses.next() {
            return Some(known.clone());
        }
        let mut globs = here.globs.iter().filter(|glob| is_visible(glob.scope.as_ref(), from));
        let by_glob = globs.any(|glob| {
            let of = self.module_at(at, &glob.path, DETOURS);
            is_it(&format!("{}::{name}", glob.path)) && of.is_none_or(|of| self.hands_on(at, &of, name, DETOURS))
        });
        (by_glob && !here.names.contains_key(name)).then(|| name.to_owned())
    }
}
