//! What a crate declares: its structs, functions and names, and what a path or a type written in it means.
//!
//! The index is filled by [`scan`](crate::scan) and answers by name alone. A name it does not find is external, and
//! keeps the full path that the `use` lines give it (`tch::Tensor`).

use std::collections::BTreeMap;

use proc_macro2::Span;
use quote::ToTokens;

use crate::{attrs::TraceableOptions, leaf};

/// Everything a crate declares.
#[derive(Debug, Default)]
pub struct Index {
    /// The modules by path (`crate::model`).
    pub modules: BTreeMap<String, Module>,
    /// The structs.
    pub structs: Vec<Struct>,
    /// The functions and methods that have a body.
    pub fns: Vec<Function>,
    /// The files read, relative to the crate's root.
    pub files: Vec<String>,
}

/// One module.
#[derive(Debug, Default)]
pub struct Module {
    /// The file it is written in, relative to the crate's root.
    pub file: String,
    /// What its names mean.
    pub names: BTreeMap<String, Name>,
    /// Paths imported with `*`.
    pub globs: Vec<String>,
    /// For names that are not visible in the whole crate: the module within which they are.
    pub scopes: BTreeMap<String, String>,
}

/// What a name in a module means.
#[derive(Clone, Debug)]
pub enum Name {
    /// A struct.
    Struct(usize),
    /// A free function.
    Fn(usize),
    /// A type alias, with the type it stands for.
    Alias(Box<syn::Type>),
    /// A path brought in by `use`.
    Use(String),
    /// An enum, with the types of each variant's fields.
    Enum(Vec<(String, Vec<syn::Type>)>),
    /// A constant or static.
    Const,
    /// Something else that is declared here.
    Other,
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
    /// Does it derive `Module`, so that its fields can be read from elsewhere in the crate?
    pub is_module: bool,
    /// Has it type parameters?
    pub is_generic: bool,
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as written.
    pub ty: syn::Type,
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
    /// The trait of its impl.
    pub of_trait: Option<String>,
    /// Its signature.
    pub sig: syn::Signature,
    /// Its body.
    pub block: syn::Block,
    /// The options of the `#[traceable]` on it or its impl.
    pub traceable: Option<TraceableOptions>,
    /// The key of the `#[traceable]` item of which it is the entry.
    pub key: Option<crate::key::Key>,
    /// Can code in another module of the crate name it?
    pub is_visible: bool,
}

/// What is known of a Rust type.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    /// Nothing.
    Unknown,
    /// A tensor.
    Tensor,
    /// A layer of `nn`.
    Leaf(&'static str),
    /// A struct of the crate, by its position in [`Index::structs`].
    Struct(usize),
    /// `Option<T>`.
    Option(Box<Ty>),
    /// `Result<T, _>`.
    Result(Box<Ty>),
    /// A list of known element type.
    List(Box<Ty>),
    /// A tuple.
    Tuple(Vec<Ty>),
    /// Any other type by its full spelling.
    Rust(String),
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
    /// The file of a module.
    pub fn file_of(&self, module: &str) -> &str {
        self.modules.get(module).map_or("", |module| module.file.as_str())
    }

    /// Can code in the module `from` name the item `name` of `module` by its full path?
    pub fn sees(&self, from: &str, module: &str, name: &str) -> bool {
        let visible = |at: &str, name: &str| {
            let scope = self.modules.get(at).and_then(|module| module.scopes.get(name));
            scope.is_none_or(|scope| from == scope || from.starts_with(&format!("{scope}::")))
        };
        let mut inner = module;
        let mut all = visible(module, name);
        while let Some((outer, last)) = inner.rsplit_once("::") {
            all &= visible(outer, last);
            inner = outer;
        }
        all
    }

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
            None => self.resolve_glob(here, path, fuel),
        }
    }

    fn resolve_glob(&self, here: &Module, path: &str, fuel: u32) -> Resolved {
        for glob in &here.globs {
            let full = format!("{glob}::{path}");
            match self.resolve_within("crate", &full, fuel) {
                found @ Resolved::Item(..) => return found,
                Resolved::External(outer) if !outer.starts_with("crate") && is_known_external(&outer) => {
                    return Resolved::External(outer);
                }
                Resolved::External(_) => {}
            }
        }
        Resolved::External(path.to_owned())
    }

    fn resolve_absolute(&self, path: &str, fuel: u32) -> Resolved {
        let (module, name) = path.rsplit_once("::").unwrap_or(("crate", path));
        if self.modules.contains_key(module) {
            return self.resolve_within(module, name, fuel);
        }
        match module.rsplit_once("::") {
            // `crate::nn::conv2d` where `nn` is itself a `use`.
            Some((outer, inner)) if self.modules.contains_key(outer) => {
                self.resolve_within(outer, &format!("{inner}::{name}"), fuel)
            }
            _ => Resolved::External(path.to_owned()),
        }
    }

    /// What the type, written in `module` within an impl of `owner`, is.
    pub fn ty(&self, module: &str, owner: Option<&syn::Type>, ty: &syn::Type) -> Ty {
        match ty {
            syn::Type::Reference(inner) => self.ty(module, owner, &inner.elem),
            syn::Type::Paren(inner) => self.ty(module, owner, &inner.elem),
            syn::Type::Group(inner) => self.ty(module, owner, &inner.elem),
            syn::Type::Array(inner) => Ty::List(Box::new(self.ty(module, owner, &inner.elem))),
            syn::Type::Slice(inner) => Ty::List(Box::new(self.ty(module, owner, &inner.elem))),
            syn::Type::Tuple(inner) => Ty::Tuple(inner.elems.iter().map(|elem| self.ty(module, owner, elem)).collect()),
            syn::Type::Path(inner) => self.path_ty(module, owner, &inner.path),
            _ => Ty::Unknown,
        }
    }

    fn path_ty(&self, module: &str, owner: Option<&syn::Type>, path: &syn::Path) -> Ty {
        let Some(last) = path.segments.last() else { return Ty::Unknown };
        let argument = |position: usize| match &last.arguments {
            syn::PathArguments::AngleBracketed(list) => list
                .args
                .iter()
                .filter_map(|arg| match arg {
                    syn::GenericArgument::Type(ty) => Some(self.ty(module, owner, ty)),
                    _ => None,
                })
                .nth(position)
                .unwrap_or(Ty::Unknown),
            _ => Ty::Unknown,
        };
        let name = last.ident.to_string();
        match name.as_str() {
            "Self" => return owner.map_or(Ty::Unknown, |owner| self.ty(module, None, owner)),
            "Option" => return Ty::Option(Box::new(argument(0))),
            "Result" => return Ty::Result(Box::new(argument(0))),
            "Vec" | "VecDeque" => return Ty::List(Box::new(argument(0))),
            "Box" | "Arc" | "Rc" => return argument(0),
            _ => {}
        }
        match self.resolve(module, &path_text(path)) {
            Resolved::Item(_, _, Name::Struct(id)) if !self.structs[id].is_generic => Ty::Struct(id),
            Resolved::Item(_, _, Name::Struct(_)) => Ty::Unknown,
            Resolved::Item(at, _, Name::Alias(ty)) => self.ty(&at, None, &ty),
            Resolved::Item(at, name, _) => Ty::Rust(format!("{at}::{name}")),
            Resolved::External(full) => external_ty(&full, &ty_text(path)),
        }
    }

    /// The field of that name.
    pub fn field(&self, id: usize, name: &str) -> Option<&Field> {
        self.structs[id].fields.iter().find(|field| field.name == name)
    }

    /// The type of a field.
    pub fn field_ty(&self, id: usize, field: &Field) -> Ty {
        self.ty(&self.structs[id].module, None, &field.ty)
    }

    /// The method of that name whose impl is for that type: inherent ones first.
    pub fn method(&self, ty: &Ty, name: &str) -> Option<usize> {
        let mut found: Vec<usize> = (0..self.fns.len())
            .filter(|&id| {
                let function = &self.fns[id];
                function.sig.ident == name
                    && function.owner.as_ref().is_some_and(|owner| self.ty(&function.module, None, owner) == *ty)
            })
            .collect();
        found.sort_by_key(|&id| self.fns[id].of_trait.is_some());
        found.first().copied()
    }

    /// How the type is written so that it means the same everywhere in the crate; `None` when that is not known.
    pub fn spelling(&self, ty: &Ty) -> Option<String> {
        Some(match ty {
            Ty::Unknown => return None,
            Ty::Tensor => "::fx_runtime::Tensor".to_owned(),
            Ty::Leaf(name) => format!("::fx_runtime::nn::{name}"),
            Ty::Struct(id) => {
                let item = &self.structs[*id];
                if item.is_generic {
                    return None;
                }
                format!("{}::{}", item.module, item.name)
            }
            Ty::Option(inner) => format!("Option<{}>", self.spelling(inner)?),
            Ty::Result(inner) => return self.spelling(inner),
            Ty::List(inner) => format!("Vec<{}>", self.spelling(inner)?),
            Ty::Tuple(parts) => {
                let parts: Option<Vec<String>> = parts.iter().map(|part| self.spelling(part)).collect();
                format!("({},)", parts?.join(", "))
            }
            Ty::Rust(spelling) => spelling.clone(),
        })
    }

    /// The graph's word for the type.
    pub fn ir_type(&self, ty: &Ty) -> fx_ir::Type {
        match ty {
            Ty::Unknown => fx_ir::Type::Unknown,
            Ty::Tensor => fx_ir::Type::TENSOR,
            Ty::Leaf(name) => fx_ir::Type::Module((*name).to_owned()),
            Ty::Struct(id) => {
                let item = &self.structs[*id];
                fx_ir::Type::Module(format!("{}::{}", item.module, item.name))
            }
            Ty::Option(inner) => fx_ir::Type::Option(Box::new(self.ir_type(inner))),
            Ty::Result(inner) => self.ir_type(inner),
            Ty::List(inner) => fx_ir::Type::List(Box::new(self.ir_type(inner))),
            Ty::Tuple(parts) => fx_ir::Type::Tuple(parts.iter().map(|part| self.ir_type(part)).collect()),
            Ty::Rust(spelling) => fx_ir::Type::rust(spelling),
        }
    }
}

impl Function {
    /// The `use` lines of its body, as source.
    pub fn uses(&self) -> String {
        let uses = self.block.stmts.iter().filter_map(|stmt| match stmt {
            syn::Stmt::Item(syn::Item::Use(item)) => Some(item.to_token_stream().to_string() + "\n"),
            _ => None,
        });
        uses.collect()
    }

    /// The place of a token of this function.
    pub fn place(&self, span: Span) -> fx_ir::Place {
        fx_ir::Place { file: self.file.clone(), line: span.start().line }
    }
}

fn is_known_external(full: &str) -> bool {
    let last = full.rsplit("::").next().unwrap_or(full);
    last == "Tensor" || last == "nn" || leaf::of_type(last).is_some() || leaf::of_constructor(last).is_some()
}

fn external_ty(full: &str, written: &str) -> Ty {
    let segments: Vec<&str> = full.split("::").collect();
    let last = segments.last().copied().unwrap_or(full);
    if last == "Tensor" {
        return Ty::Tensor;
    }
    let ours = segments.first() == Some(&"fx_runtime");
    match leaf::of_type(last) {
        Some(leaf) if ours || segments.len() == 1 => Ty::Leaf(leaf.name),
        _ if segments.len() == 1 => Ty::Rust(written.to_owned()),
        _ => Ty::Rust(format!("::{}", full.trim_start_matches("::"))),
    }
}

/// A path without its generic arguments: `nn::Conv2D`.
pub fn path_text(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    names.join("::")
}

fn ty_text(path: &syn::Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
