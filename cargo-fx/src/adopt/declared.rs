//! The types that a crate declares, and what their fields name.

use std::collections::{BTreeMap, BTreeSet};

use fx_front::index::{Index, Name, Resolved};
use fx_ir::LayerRow;
use syn::visit::{self, Visit};

/// A type by its module and its name there.
pub(super) type TypeName = (String, String);

/// The traits of `nn` that compute.
pub(super) const TRAITS: [&str; 2] = ["Module", "ModuleT"];
/// The types of `nn` that hold closures.
const CLOSURES: [&str; 2] = ["Func", "FuncT"];
/// A type that the crate declares.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "five facts that have nothing to do with each other")]
pub(super) struct Declared {
    /// The types of the crate that its fields name.
    pub(super) parts: BTreeSet<TypeName>,
    pub(super) has_layer: bool,
    pub(super) has_tensor: bool,
    pub(super) is_clone: bool,
    pub(super) is_marked: bool,
    /// Whether a field cannot be read from everywhere in the crate.
    pub(super) has_private_field: bool,
    /// The best function to trace: how good, and which by its position in the index.
    pub(super) forward: Option<(usize, usize)>,
}

/// The types of the crate, with what is known by their declarations.
pub(super) fn declared(index: &Index) -> BTreeMap<TypeName, Declared> {
    let mut types = BTreeMap::new();
    for (module, declares) in &index.modules {
        for (name, meaning) in &declares.names {
            let fields: Vec<&syn::Type> = match meaning {
                Name::Struct(id) if index.structs[*id].instance.is_none() => {
                    index.structs[*id].fields.iter().map(|field| &field.ty).collect()
                }
                Name::Enum(variants) => {
                    variants.iter().flat_map(|variant| variant.fields.iter().map(|(_, ty)| ty)).collect()
                }
                _ => continue,
            };
            let has_private_field = match meaning {
                Name::Struct(id) => index.structs[*id].fields.iter().any(|field| field.scope.is_some()),
                _ => false,
            };
            let declared = Declared { has_private_field, ..Declared::default() };
            let mut held = Held { index, module, depth: 0, declared };
            for ty in fields {
                held.visit_type(ty);
            }
            types.insert((module.clone(), name.clone()), held.declared);
        }
    }
    types
}

/// What the types of fields name.
pub(super) struct Held<'i> {
    pub(super) index: &'i Index,
    pub(super) module: &'i str,
    /// Through how many aliases.
    pub(super) depth: usize,
    pub(super) declared: Declared,
}

impl<'ast> Visit<'ast> for Held<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        match self.index.resolve(self.module, &text(path)) {
            Resolved::Item(module, name, Name::Struct(_) | Name::Enum(_)) => {
                self.declared.parts.insert((module, name));
            }
            Resolved::Item(module, _, Name::Alias(alias)) if self.depth < 8 => {
                let mut inner =
                    Held { index: self.index, module: &module, depth: self.depth + 1, declared: Declared::default() };
                inner.visit_type(&alias.ty);
                self.declared.parts.append(&mut inner.declared.parts);
                self.declared.has_layer |= inner.declared.has_layer;
                self.declared.has_tensor |= inner.declared.has_tensor;
            }
            Resolved::External(full) => {
                self.declared.has_layer |= is_layer(&full);
                self.declared.has_tensor |= full == "Tensor" || full.ends_with("::Tensor");
            }
            Resolved::Item(..) => {}
        }
        visit::visit_path(self, path);
    }
}

/// Returns whether the path is that of a layer of `nn`, or of something in which one may be.
fn is_layer(full: &str) -> bool {
    let Some((of, last)) = full.rsplit_once("::") else { return false };
    let is_nn = of == "nn" || of.ends_with("::nn");
    is_nn && (LayerRow::of_type(last).is_some() || [TRAITS, CLOSURES].concat().contains(&last))
}

pub(super) fn text(path: &syn::Path) -> String {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::")
}
