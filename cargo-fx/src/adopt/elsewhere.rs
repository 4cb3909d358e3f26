//! Which parts of models lie in other modules than those, where generated code has to reach them.

use std::collections::{BTreeMap, BTreeSet};

use fx_front::index::{Index, Name};

use super::declared::{Declared, TypeName};

/// The modules' types that are part, at any depth, of one that lies outside of their own module.
pub(super) fn named_elsewhere(
    types: &BTreeMap<TypeName, Declared>,
    modules: &BTreeSet<TypeName>,
) -> BTreeSet<TypeName> {
    let mut found = BTreeSet::new();
    each_part(types, modules, &mut |whole, name| {
        let is_visible = whole.0 == name.0 || whole.0.starts_with(&format!("{}::", name.0));
        if !is_visible {
            found.insert(name.clone());
        }
    });
    found
}

/// The private modules on the way to enums that a model of another module cannot name: what is generated there matches
/// their variants.
pub(super) fn hidden_modules(
    index: &Index,
    types: &BTreeMap<TypeName, Declared>,
    modules: &BTreeSet<TypeName>,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_part(types, modules, &mut |whole, (module, name)| {
        let meaning = index.modules.get(module).and_then(|module| module.names.get(name));
        if !matches!(meaning, Some(Name::Enum(_))) || index.path_from(&whole.0, module, name).is_some() {
            return;
        }
        let mut inner = module.as_str();
        while let Some((outer, last)) = inner.rsplit_once("::") {
            if index.path_from(&whole.0, outer, last).is_none() {
                found.insert(inner.to_owned());
            }
            inner = outer;
        }
    });
    found
}

/// Calls `see` with each module and each of the modules that are its part, at any depth.
fn each_part(
    types: &BTreeMap<TypeName, Declared>,
    modules: &BTreeSet<TypeName>,
    see: &mut dyn FnMut(&TypeName, &TypeName),
) {
    for whole in modules {
        let (mut left, mut seen) = (vec![whole], BTreeSet::from([whole]));
        while let Some(name) = left.pop() {
            see(whole, name);
            let parts = types.get(name).into_iter().flat_map(|declared| &declared.parts);
            left.extend(parts.filter(|part| modules.contains(*part)).filter(|part| seen.insert(part)));
        }
    }
}
