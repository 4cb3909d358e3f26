//! Which types of a crate are modules, which of them are models, and which functions build models out of closures.
//!
//! What a name means fx-front says, and what a layer is its table; nothing is compiled.

use std::collections::{BTreeMap, BTreeSet};

use fx_front::closure_conversion::{returns_chain, returns_module};
use fx_front::index::{Function, Index, Name, Resolved};
use syn::visit::{self, Visit};

use super::declared::{Declared, Held, TRAITS, TypeName, declared, text};
use super::elsewhere::{hidden_modules, named_elsewhere};

/// The place of a function's name: file, line and column.
pub(super) type Place = (String, usize, usize);

/// What gets attributes.
#[derive(Debug, Default)]
pub(super) struct Models {
    /// The types that are to derive `Module`.
    pub(super) modules: BTreeSet<TypeName>,
    /// The forwards of models.
    pub(super) forwards: BTreeMap<Place, String>,
    /// The models whose frozen type has a name of its own: theirs and `Frozen`.
    pub(super) frozen: BTreeSet<TypeName>,
    /// The functions that build models.
    pub(super) builders: BTreeMap<Place, String>,
    /// The types that models of other modules consist of, which the code that is generated there has to name.
    pub(super) named_elsewhere: BTreeSet<TypeName>,
    /// The modules that such an enum lies in, where a path to it leads through a private one.
    pub(super) shown: BTreeSet<String>,
    /// The types with layers that are no part of another and have no forward.
    pub(super) without_forward: BTreeSet<TypeName>,
}

/// What is called of a model.
const FORWARDS: [&str; 2] = ["forward", "forward_t"];

impl Models {
    /// The models of a crate whose sources have these types, each with whether it derives `Clone`.
    pub(super) fn of(index: &Index, written: &BTreeMap<&TypeName, bool>) -> Models {
        let mut types = declared(index);
        // What stands in for functions that are traceable already is nobody's to edit.
        types.retain(|name, _| written.contains_key(name));
        for (name, declared) in &mut types {
            declared.is_clone |= written[name];
        }
        functions(index, &mut types);
        let modules = modules(&types, &captured(index));
        let parts: BTreeSet<&TypeName> =
            modules.iter().flat_map(|name| types[name].parts.iter().filter(move |part| *part != name)).collect();
        let is_model = |name: &&TypeName| !parts.contains(name) && !types[*name].is_marked;
        let forwards = modules.iter().filter(is_model).filter_map(|name| {
            let (_, id) = types[name].forward?;
            Some((place(&index.fns[id]), name.1.clone()))
        });
        let forwards = forwards.collect();
        let is_frozen =
            |name: &&TypeName| is_model(name) && types[*name].forward.is_some() && is_plain_struct(index, name);
        let frozen = modules.iter().filter(is_frozen).cloned().collect();
        let is_idle = |name: &&TypeName| types[*name].has_layer && types[*name].forward.is_none();
        let without_forward = modules.iter().filter(is_model).filter(is_idle).cloned().collect();
        let (builders, named_elsewhere) = (builders(index, &modules), named_elsewhere(&types, &modules));
        let shown = hidden_modules(index, &types, &modules);
        Models { modules, forwards, frozen, builders, named_elsewhere, shown, without_forward }
    }
}

/// Returns whether the type is a struct without parameters.
fn is_plain_struct(index: &Index, (module, name): &TypeName) -> bool {
    match index.modules.get(module).and_then(|module| module.names.get(name)) {
        Some(Name::Struct(id)) => index.structs[*id].generics.params.is_empty(),
        _ => false,
    }
}

pub(super) fn place(function: &Function) -> Place {
    let start = function.sig.ident.span().start();
    (function.file.clone(), start.line, start.column)
}

/// The type of the crate that a type names.
pub(super) fn named(index: &Index, module: &str, ty: &syn::Type) -> Option<TypeName> {
    let syn::Type::Path(path) = ty else { return None };
    match index.resolve(module, &text(&path.path)) {
        Resolved::Item(module, name, Name::Struct(_) | Name::Enum(_)) => Some((module, name)),
        _ => None,
    }
}

/// Adds what the crate's functions say of the types that they are of.
fn functions(index: &Index, types: &mut BTreeMap<TypeName, Declared>) {
    for (id, function) in index.fns.iter().enumerate().filter(|(_, function)| !function.is_derived) {
        let Some(owner) = function.owner.as_ref().and_then(|owner| named(index, &function.module, owner)) else {
            continue;
        };
        let Some(declared) = types.get_mut(&owner) else { continue };
        let of_trait = function.of_trait.as_deref();
        declared.is_clone |= of_trait == Some("Clone");
        declared.is_marked |= function.traceable.is_some();
        let name = function.sig.ident.to_string();
        let Some(rank) = FORWARDS.iter().position(|known| *known == name) else { continue };
        if function.sig.receiver().is_none_or(|receiver| receiver.reference.is_none()) {
            continue;
        }
        // What callers find first: the type's own methods, then those of `nn`'s traits.
        let kind = of_trait.map_or(0, |name| if TRAITS.contains(&name) { 1 } else { 2 });
        let found = (kind * FORWARDS.len() + rank, id);
        declared.forward = Some(declared.forward.map_or(found, |best| best.min(found)));
    }
}

/// The types that are modules: those with layers, those with tensors that compute, and what they consist of.
fn modules(types: &BTreeMap<TypeName, Declared>, captured: &BTreeSet<TypeName>) -> BTreeSet<TypeName> {
    let is_seed = |declared: &Declared| {
        let holds = declared.has_tensor || !declared.parts.is_empty();
        declared.has_layer || (holds && declared.forward.is_some())
    };
    let is_captured = |name: &TypeName, declared: &Declared| !declared.is_clone && captured.contains(name);
    let seeds = types.iter().filter(|(name, declared)| is_seed(declared) || is_captured(name, declared));
    let mut left: Vec<&TypeName> = seeds.map(|(name, _)| name).collect();
    let (mut found, mut copied) = (BTreeSet::new(), BTreeSet::new());
    while let Some(name) = left.pop() {
        let Some(declared) = types.get(name) else { continue };
        if found.insert(name.clone()) {
            let parts = declared.parts.iter().filter_map(|part| types.get_key_value(part));
            // What can be cloned is copied with the model as it is.
            let is_copied =
                |declared: &Declared| declared.is_clone && !declared.has_layer && declared.forward.is_none();
            let (kept, others): (Vec<_>, Vec<_>) = parts.partition(|(_, declared)| is_copied(declared));
            copied.extend(kept.into_iter().map(|(name, _)| name.clone()));
            left.extend(others.into_iter().map(|(name, _)| name));
        }
    }
    // Of what is copied a model of another module reads the fields, which only the type's own module hands out.
    let mut elsewhere = named_elsewhere(types, &found.union(&copied).cloned().collect());
    elsewhere.retain(|name| copied.contains(name) && types[name].has_private_field);
    found.extend(elsewhere);
    found
}

/// The types of the crate that functions are given which build models: their closures may keep them.
fn captured(index: &Index) -> BTreeSet<TypeName> {
    let builders = index.fns.iter().filter(|function| function.owner.is_none() && returns_module(&function.sig));
    let mut all = BTreeSet::new();
    for function in builders {
        let mut held = Held { index, module: &function.module, depth: 0, declared: Declared::default() };
        function.sig.inputs.iter().for_each(|input| held.visit_fn_arg(input));
        all.append(&mut held.declared.parts);
    }
    all
}

/// The functions that build models and are not called by what builds a larger one, those that such a function calls in
/// another module, and those whose chains a model keeps that have closures of other functions in them.
fn builders(index: &Index, modules: &BTreeSet<TypeName>) -> BTreeMap<Place, String> {
    let is_builder = |function: &Function| {
        let is_free = function.owner.is_none() && !function.is_derived;
        is_free && returns_module(&function.sig) && takes_path(&function.sig)
    };
    let makes_module = |function: &Function| {
        let owner = function.owner.as_ref().and_then(|owner| named(index, &function.module, owner));
        owner.is_some_and(|owner| modules.contains(&owner))
    };
    let all: BTreeSet<usize> = (0..index.fns.len()).filter(|&id| is_builder(&index.fns[id])).collect();
    let (mut called, mut across, mut kept) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut closures_of_others = BTreeSet::new();
    for (id, function) in index.fns.iter().enumerate() {
        let is_of_closures = all.contains(&id);
        if !is_of_closures && !makes_module(function) {
            continue;
        }
        let mut calls = Calls { index, module: &function.module, found: BTreeSet::new() };
        calls.visit_block(&function.block);
        for other in calls.found.into_iter().filter(|other| *other != id && all.contains(other)) {
            called.insert(other);
            if is_of_closures && index.fns[other].module != function.module {
                across.insert(other);
            }
            if is_of_closures && !returns_chain(&index.fns[other].sig) {
                closures_of_others.insert(id);
            }
            if !is_of_closures && returns_chain(&index.fns[other].sig) {
                kept.insert(other);
            }
        }
    }
    let wanted = all.iter().filter(|id| {
        let is_kept = kept.contains(id) && closures_of_others.contains(id);
        !called.contains(id) || across.contains(id) || is_kept
    });
    let unmarked = wanted.map(|&id| &index.fns[id]).filter(|function| function.traceable.is_none());
    unmarked.map(|function| (place(function), function.sig.ident.to_string())).collect()
}

fn takes_path(sig: &syn::Signature) -> bool {
    struct Found(bool);
    impl<'ast> Visit<'ast> for Found {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            self.0 |= path.segments.last().is_some_and(|last| last.ident == "Path");
            visit::visit_path(self, path);
        }
    }
    let mut found = Found(false);
    sig.inputs.iter().for_each(|input| found.visit_fn_arg(input));
    found.0
}

/// The free functions of the crate that a body calls.
struct Calls<'i> {
    index: &'i Index,
    module: &'i str,
    found: BTreeSet<usize>,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(self.module, &text(&path.path)) {
            self.found.insert(id);
        }
    }
}
