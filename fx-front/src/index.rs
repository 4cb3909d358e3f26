//! What a crate declares: its structs, functions and names, and what a path or a type written in it means.
//!
//! The index is filled by [`scan`](crate::scan) and answers by name alone. A name it does not find is external, and
//! keeps the full path that the `use` lines give it (`tch::Tensor`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use fx_ir::Arg;
use proc_macro2::Span;

use crate::attrs::{FnOptions, TraceableOptions};

mod aliases;
mod capitals;
mod constants;
mod dropped;
mod externs;
mod functions;
mod initializer;
mod methods;
mod module_path;
mod pointers;
mod resolve;
mod sendable;
mod shadowed;
mod spelled;
mod types;
mod visible;

pub use constants::AssociatedConstant;
pub use externs::Externs;
pub use functions::Known;
pub use initializer::{Initializer, InitializerCode};
pub use module_path::{is_visible, is_within};
pub(crate) use resolve::from_root;
pub(crate) use shadowed::is_of_prelude;
pub use shadowed::{Prelude, spelled_out};
pub use types::Ty;
pub(crate) use types::{called_as, is_text};
pub(crate) use visible::scope_of;

/// What stands in for a builder function.
#[derive(Debug, Default)]
pub struct Builder {
    /// The structs and functions that are written for it.
    pub source: proc_macro2::TokenStream,
    /// The position in [`Index::fns`] of the forward that is to be frozen, if this function is the first to make it.
    pub entry: Option<usize>,
    /// Of a function that makes a chain: the function beside it that makes the same of layers that can be frozen. The
    /// user's own is to call that one, so that a model which keeps the chain can be frozen with it.
    pub chain: Option<usize>,
    /// Of a constructor: the name of the one beside it that it is to call, and its own body as the user wrote it.
    pub constructor: Option<(String, syn::Block)>,
}

/// Everything a crate declares.
#[derive(Debug, Default)]
pub struct Index {
    /// The modules by path (`crate::model`).
    pub modules: BTreeMap<String, Module>,
    /// The structs.
    pub structs: Vec<Struct>,
    /// The functions and methods that have a body.
    pub fns: Vec<Function>,
    /// The associated types of impls.
    pub associated: Vec<AssociatedType>,
    /// The associated constants of impls.
    pub associated_constants: Vec<AssociatedConstant>,
    /// The traits that have a method, by its name: the module of each and its name.
    pub(crate) method_traits: BTreeMap<String, Vec<(String, String)>>,
    /// The crates that its code may call, as far as their sources are known: only what they declare is asked.
    pub externs: Externs,
    /// The files read, relative to the crate's root.
    pub files: Vec<String>,
    /// Code that stands in no function.
    pub initializers: Vec<Initializer>,
    /// The crate's own macros that may return from the function that calls them.
    pub returning_macros: BTreeSet<String>,
    /// What stands in for a `#[traceable]` function that builds a model out of closures, by its position in `fns`.
    pub builders: BTreeMap<usize, Builder>,
    /// Why no layer was made of a closure that captures variables, by the file, line and column of the closure, or of the call
    /// that makes it.
    pub(crate) unconverted: BTreeMap<(String, usize, usize), String>,
    /// The functions to which there may be pointers, once that was asked.
    pointed: OnceLock<functions::Pointed>,
    /// The types with a `Drop` of their own, once that was asked.
    drops: OnceLock<Vec<Ty>>,
    /// The items of each struct and the functions to trace for them, once that was asked.
    pub(crate) candidates: OnceLock<BTreeMap<usize, Vec<(usize, usize)>>>,
    /// The operations that a call of a function runs, once that was asked.
    operations: Mutex<BTreeMap<usize, usize>>,
}

/// `type Item = Tensor;` of an impl of a trait.
#[derive(Debug)]
pub struct AssociatedType {
    /// The module of the impl.
    pub module: String,
    /// The type that the impl is for.
    pub of: syn::Type,
    /// The name.
    pub name: String,
    /// The type that it names.
    pub ty: syn::Type,
}

/// One module.
#[derive(Debug, Default)]
pub struct Module {
    /// The file it is written in, relative to the crate's root.
    pub file: String,
    /// What its names mean.
    pub names: BTreeMap<String, Name>,
    /// Paths of traits imported without a name: `use crate::Scaled as _;`.
    pub unnamed: Vec<String>,
    /// Paths imported with `*`.
    pub globs: Vec<Glob>,
    /// For names that are not visible in the whole crate: the module within which they are.
    pub scopes: BTreeMap<String, String>,
    /// Whether it holds the items of a function's body, which have no path.
    pub is_body: bool,
}

/// A path imported with `*`.
#[derive(Debug)]
pub struct Glob {
    /// The path.
    pub path: String,
    /// The module within which what it brings in is visible by it; `None` for the whole crate.
    pub scope: Option<String>,
}

/// What a name in a module means.
#[derive(Clone, Debug)]
pub enum Name {
    /// A struct.
    Struct(usize),
    /// A free function.
    Fn(usize),
    /// A type alias.
    Alias(Box<syn::ItemType>),
    /// A path brought in by `use`.
    Use(String),
    /// An enum, with each variant's fields by name (those of a tuple are `0`, `1`, ...) and type.
    Enum(Vec<Variant>),
    /// A constant or static, with its value where that is a literal, and its type.
    Const(Option<Arg>, Box<syn::Type>),
    /// Something else that is declared here.
    Other,
}

/// A variant of an enum.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its fields in order, by name and type.
    pub fields: Vec<(String, syn::Type)>,
}

/// A struct of the crate.
#[derive(Debug)]
pub struct Struct {
    /// Its name.
    pub name: String,
    /// The module it is declared in.
    pub module: String,
    /// Its fields in order; those of a tuple struct are named `0`, `1`, ...
    pub fields: Vec<Field>,
    /// Whether it derives `Module`, so that its fields can be read from elsewhere in the crate.
    pub is_module: bool,
    /// Its parameters, as far as nothing is put in for them.
    pub generics: syn::Generics,
    /// What is put in for the parameters of which generic struct, where it is an instance of one.
    pub instance: Option<Instance>,
}

/// A generic struct with what is put in for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The position of the generic struct in [`Index::structs`].
    pub of: usize,
    /// What is put in, by full paths.
    pub args: Vec<String>,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its name in the state dict: `#[module(name = "..")]`, or its own.
    pub label: String,
    /// Its type as written.
    pub ty: syn::Type,
    /// The module within which it is visible; `None` for the whole crate.
    pub scope: Option<String>,
    /// What its `#[fx(..)]` says of calls of its `forward`.
    pub fx: FnOptions,
}

/// A function or method with a body.
#[derive(Debug)]
pub struct Function {
    /// The module it is declared in.
    pub module: String,
    /// The file it is written in.
    pub file: String,
    /// The type of its impl, as written; `None` for a free function.
    pub owner: Option<syn::Type>,
    /// The parameters of its impl.
    pub generics: syn::Generics,
    /// Where it is one of a generic impl: its form for each instance of the type, by position in [`Index::fns`].
    pub instances: Vec<usize>,
    /// The trait of its impl.
    pub of_trait: Option<String>,
    /// Its signature.
    pub sig: syn::Signature,
    /// Its body.
    pub block: syn::Block,
    /// What its `#[fx(..)]` says of calls of it.
    pub fx: FnOptions,
    /// The options of the `#[traceable]` on it or its impl.
    pub traceable: Option<TraceableOptions>,
    /// The key of the `#[traceable]` item of which it is the entry.
    pub key: Option<crate::key::Key>,
    /// The key of a function without receiver of a `#[traceable]` impl that is of no trait, or of a `#[traceable]` function
    /// that makes a model.
    pub constructor: Option<crate::key::Key>,
    /// The module within which code can name it; `None` for the whole crate.
    pub scope: Option<String>,
    /// Whether it was written for a function that builds a model out of closures, or for an instance, rather than by
    /// the user.
    pub is_derived: bool,
}

/// What a path means.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// Something that the crate declares: the module and the name there.
    Item(String, String, Name),
    /// A path of another crate.
    External(String),
}

impl Index {
    /// The operations that a call of the function runs, counted by `count` at the first call.
    pub(crate) fn operations_of(&self, function: usize, count: impl FnOnce() -> usize) -> usize {
        let known = || self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&function).copied();
        found.unwrap_or_else(|| {
            let counted = count();
            known().insert(function, counted);
            counted
        })
    }

    /// Notes why no layer was made of the closure at that place of a function.
    pub(crate) fn note_unconverted(&mut self, function: usize, span: Span, why: String) {
        let (file, start) = (self.fns[function].file.clone(), span.start());
        self.unconverted.insert((file, start.line, start.column), why);
    }

    /// Why no layer was made of the closure at that place of a function, where that was tried.
    pub(crate) fn unconverted(&self, function: usize, span: Span) -> Option<String> {
        let (file, start) = (self.fns[function].file.clone(), span.start());
        self.unconverted.get(&(file, start.line, start.column)).cloned()
    }

    /// Whether the path, written in `module`, is that of a generic type of the crate, for whose parameters nothing is put in.
    pub fn is_open_type(&self, module: &str, path: &syn::Path) -> bool {
        match self.resolve(module, &crate::syntax::path_text(path)) {
            Resolved::Item(_, _, Name::Enum(_)) => true,
            Resolved::Item(_, _, Name::Struct(id)) => self.structs[id].is_generic(),
            _ => false,
        }
    }

    /// The file of a module.
    pub fn file_of(&self, module: &str) -> &str {
        self.modules.get(module).map_or("", |module| module.file.as_str())
    }

    /// The struct of that full path.
    pub fn struct_at(&self, path: &str) -> Option<usize> {
        self.structs.iter().position(|item| item.path() == path && !item.is_generic())
    }

    /// The field of that name.
    pub fn field(&self, id: usize, name: &str) -> Option<&Field> {
        self.structs[id].fields.iter().find(|field| field.name == name)
    }

    /// Whether code in the module `from` can read the field: by its name, or by the accessor that `derive(Module)`
    /// writes.
    pub fn can_read(&self, from: &str, id: usize, field: &Field) -> bool {
        self.structs[id].is_module || is_visible(field.scope.as_ref(), from)
    }

    /// The type of a field.
    pub fn field_ty(&self, id: usize, field: &Field) -> Ty {
        self.ty(&self.structs[id].module, None, &field.ty)
    }

    /// The variants of a type that is an enum of the crate.
    pub fn variants(&self, ty: &Ty) -> Option<&[Variant]> {
        let Ty::Rust(spelling) = ty else { return None };
        let (module, name) = spelling.rsplit_once("::")?;
        match self.modules.get(module)?.names.get(name)? {
            Name::Enum(variants) => Some(variants),
            _ => None,
        }
    }

    /// Whether it is an enum of the crate.
    pub(crate) fn is_enum(&self, ty: &Ty) -> bool {
        self.variants(ty).is_some()
    }
}

impl Function {
    /// The `use` items of its body, as source; of the blocks inside it, without the names, for the traits among them.
    pub fn uses(&self) -> Vec<String> {
        crate::syntax::imported::uses(&self.block)
    }

    /// Whether code in the module `from` can name it.
    pub fn is_visible_from(&self, from: &str) -> bool {
        is_visible(self.scope.as_ref(), from)
    }

    /// Whether it takes `&mut self`.
    pub fn writes_self(&self) -> bool {
        self.sig.receiver().is_some_and(|receiver| receiver.mutability.is_some() && receiver.reference.is_some())
    }

    /// The place of a token of this function.
    pub fn place(&self, span: Span) -> fx_ir::Place {
        fx_ir::Place { file: self.file.clone(), line: span.start().line }
    }
}
