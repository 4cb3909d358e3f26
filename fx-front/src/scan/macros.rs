//! The macros that code of the crate can call, by where they are declared.
//!
//! A macro is known behind its declaration, in modules inside too and, by `#[macro_use]`, behind the module. Where a path
//! leads to it, it may be declared in a file that is read later: then the crate is read once more.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::Scan;
use crate::index::{Module, Name};
use crate::macro_rules::{Body, MacroRules, Macros, takes_expressions};

/// What is known of macros while a crate is read.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// Those that are in scope where the scan is.
    in_scope: Vec<Rc<MacroRules>>,
    /// Those of all modules that were read.
    all: Vec<Rc<MacroRules>>,
    /// Those that another scan of the same crate has found.
    earlier: Vec<Rc<MacroRules>>,
    /// The names of those that were asked for by a path and not known.
    missed: RefCell<BTreeSet<String>>,
}

impl Declared {
    /// What a second scan of the crate is to know; `None` where it would find nothing that this one did not.
    pub(super) fn for_another_scan(&self) -> Option<Declared> {
        let is_missed = |known: &Rc<MacroRules>| self.missed.borrow().contains(&known.name);
        let is_late = self.earlier.is_empty() && self.all.iter().any(is_missed);
        is_late.then(|| Declared { earlier: self.all.clone(), ..Declared::default() })
    }

    pub(super) fn declare(&mut self, item: &syn::ItemMacro) {
        let rules = MacroRules::of(item).map(Rc::new);
        self.in_scope.extend(rules.clone());
        self.all.extend(rules);
    }

    pub(super) fn scope(&self) -> usize {
        self.in_scope.len()
    }

    /// Forgets what was declared since, at the end of a module whose macros stay in it.
    pub(super) fn leave(&mut self, scope: usize) {
        self.in_scope.truncate(scope);
    }

    /// The only macro of that name that the crate has.
    fn only(&self, name: &str) -> Option<Rc<MacroRules>> {
        let known = if self.earlier.is_empty() { &self.all } else { &self.earlier };
        let mut found = known.iter().filter(|known| known.name == name);
        let only = found.next().filter(|_| found.next().is_none()).cloned();
        if only.is_none() {
            self.missed.borrow_mut().insert(name.to_owned());
        }
        only
    }
}

impl Scan<'_> {
    /// Writes in a body of the module what calls of the crate's macros stand for.
    pub(super) fn without_macros(&self, sig: &syn::Signature, block: &mut syn::Block, module: &str) {
        Body::expand(&Here { scan: self, module }, sig, block);
    }

    /// The same in what the methods of a trait are where no impl says otherwise.
    pub(super) fn provided_without_macros(&self, item: &syn::ItemTrait, module: &str) -> syn::ItemTrait {
        let mut item = item.clone();
        for method in &mut item.items {
            if let syn::TraitItem::Fn(syn::TraitItemFn { sig, default: Some(block), .. }) = method {
                self.without_macros(sig, block, module);
            }
        }
        item
    }
}

/// The macros that code of a module can call.
struct Here<'s> {
    scan: &'s Scan<'s>,
    module: &'s str,
}

impl Macros for Here<'_> {
    fn find(&self, path: &syn::Path) -> Option<Rc<MacroRules>> {
        let macros = &self.scan.macros;
        let of_crate = |head: &str| ["crate", "self", "super"].contains(&head);
        let last = path.segments.last()?.ident.to_string();
        let Some(name) = path.get_ident().map(ToString::to_string) else {
            let is_inside = path.leading_colon.is_none() && of_crate(&path.segments.first()?.ident.to_string());
            return is_inside.then(|| macros.only(&last)).flatten();
        };
        if let Some(known) = macros.in_scope.iter().rev().find(|known| known.name == name) {
            return Some(Rc::clone(known));
        }
        let head = |path: &str| of_crate(path.split("::").next().unwrap_or(path));
        let is_only_way =
            |module: &Module| module.globs.iter().all(|glob| head(&glob.path)) && !takes_expressions(&name);
        let module = self.scan.index.modules.get(self.module)?;
        match module.names.get(&name) {
            Some(Name::Use(path)) if head(path) => macros.only(path.rsplit("::").next()?),
            Some(Name::Use(_)) => None,
            _ if !module.globs.is_empty() && is_only_way(module) => macros.only(&name),
            _ => None,
        }
    }
}
