//! Rust types as far as the tracer knows them.

use quote::ToTokens;

use crate::syntax::path_text;

use super::{Index, Name, Resolved, from_root, resolve::interior_of};
use fx_ir::LayerRow;

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
    /// A `RefCell` or a `Cell`, whose content is written to behind a shared reference.
    Interior(&'static str, Box<Ty>),
    /// A map of tensors by texts or whole numbers.
    Map {
        /// The full path of the map's type.
        path: String,
        /// The type of the keys.
        key: Box<Ty>,
        /// The type of the values.
        value: Box<Ty>,
    },
    /// `bool`, of the parameter that is the mode of a forward, and so of the model.
    Mode,
    /// Any other type by its full spelling.
    Rust(String),
}

impl Ty {
    /// What a list of this type holds; nothing is known of another type.
    #[must_use]
    pub fn element(&self) -> Ty {
        match self {
            Ty::List(element) => (**element).clone(),
            _ => Ty::Unknown,
        }
    }
}

impl Index {
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
            syn::Type::BareFn(inner) => self.function_ty(module, owner, inner),
            _ => Ty::Unknown,
        }
    }

    /// What the function returns, where that is a value of its own.
    pub(crate) fn returned_value(&self, id: usize) -> Ty {
        let function = &self.fns[id];
        match &function.sig.output {
            syn::ReturnType::Type(_, ty)
                if !matches!(**ty, syn::Type::Reference(_)) && function.sig.generics.params.is_empty() =>
            {
                self.ty(&function.module, function.owner.as_ref(), ty)
            }
            syn::ReturnType::Type(..) => Ty::Unknown,
            syn::ReturnType::Default => Ty::Tuple(Vec::new()),
        }
    }

    /// What a function of that type yields: `fn(&Tensor) -> Tensor`, `Box<dyn Fn(&Tensor) -> Tensor>`.
    pub(crate) fn yielded(&self, module: &str, ty: &syn::Type) -> Ty {
        let (module, ty) = self.pointee(module, ty);
        let output = |output: &syn::ReturnType| match output {
            syn::ReturnType::Type(_, ty) if !matches!(**ty, syn::Type::Reference(_)) => self.ty(&module, None, ty),
            _ => Ty::Unknown,
        };
        match &ty {
            syn::Type::BareFn(function) => output(&function.output),
            syn::Type::TraitObject(object) => called_as(object).map_or(Ty::Unknown, |called| output(&called.output)),
            _ => Ty::Unknown,
        }
    }

    /// Whether it is one of tch's modules of a type that nothing says: `Box<dyn nn::ModuleT>`.
    pub(crate) fn is_module_object(&self, module: &str, ty: &syn::Type) -> bool {
        let (module, ty) = self.pointee(module, ty);
        let syn::Type::TraitObject(object) = ty else { return false };
        traits_of(&object).any(|bound| match self.resolve(&module, &path_text(&bound.path)) {
            Resolved::External(full) => full.ends_with("nn::Module") || full.ends_with("nn::ModuleT"),
            Resolved::Item(..) => false,
        })
    }

    /// What a type refers to, through references, pointers and other names, and the module in which it is written.
    fn pointee(&self, module: &str, ty: &syn::Type) -> (String, syn::Type) {
        let known = match ty {
            syn::Type::Reference(inner) => Some(self.pointee(module, &inner.elem)),
            syn::Type::Paren(inner) => Some(self.pointee(module, &inner.elem)),
            syn::Type::Path(path) => match path.path.segments.last() {
                Some(last) if ["Box", "Arc", "Rc"].iter().any(|name| last.ident == name) => match &last.arguments {
                    syn::PathArguments::AngleBracketed(list) => match list.args.first() {
                        Some(syn::GenericArgument::Type(inner)) => Some(self.pointee(module, inner)),
                        _ => None,
                    },
                    _ => None,
                },
                _ => match self.resolve(module, &path_text(&path.path)) {
                    Resolved::Item(at, _, Name::Alias(alias)) => Some(self.pointee(&at, &alias.ty)),
                    _ => None,
                },
            },
            _ => None,
        };
        known.unwrap_or_else(|| (module.to_owned(), ty.clone()))
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
            // A number behind a pointer is read through it, which a field of that type does not show.
            "Box" | "Arc" | "Rc" if is_scalar(&argument(0)) => return Ty::Unknown,
            // What several own is not one field's state.
            "Box" | "Arc" | "Rc" => {
                return match argument(0) {
                    Ty::Interior(..) => Ty::Unknown,
                    held => held,
                };
            }
            "Cow" if matches!(argument(0), Ty::List(_)) && self.is_external(module, path) => return argument(0),
            _ => {}
        }
        match self.resolve(module, &path_text(path)) {
            // By another name: `use anyhow::Result as Fallible`.
            Resolved::External(full) if full.ends_with("::Result") => Ty::Result(Box::new(argument(0))),
            Resolved::External(full) if interior_of(&full).is_some() => self.interior(&full, argument(0)),
            Resolved::Item(_, _, Name::Struct(id)) if !self.structs[id].is_generic() => Ty::Struct(id),
            Resolved::Item(_, _, Name::Struct(id)) => {
                self.named_instance(id, module, owner, &last.arguments).map_or(Ty::Unknown, Ty::Struct)
            }
            Resolved::Item(at, _, Name::Alias(alias)) if alias.generics.params.is_empty() => {
                self.ty(&at, None, &alias.ty)
            }
            Resolved::Item(at, _, Name::Alias(alias)) => {
                let known = self.aliased(module, (&at, &alias), last);
                known.map_or(Ty::Unknown, |known| self.ty(module, owner, &known))
            }
            Resolved::Item(at, name, _) => Ty::Rust(format!("{at}::{name}")),
            Resolved::External(full) => match dimensions(&last.arguments) {
                Some(dimensions) => external_ty(&format!("{full}{dimensions}D"), &ty_text(path)),
                None => match (external_ty(&full, &ty_text(path)), argument(0), argument(1)) {
                    (Ty::Rust(path), key, value @ Ty::Tensor) if is_map(&full) && is_key(&key) => {
                        Ty::Map { path, key: Box::new(key), value: Box::new(value) }
                    }
                    (other, ..) => other,
                },
            },
        }
    }

    fn is_external(&self, module: &str, path: &syn::Path) -> bool {
        matches!(self.resolve(module, &path_text(path)), Resolved::External(_))
    }

    /// Whether it is, or holds, a part of a model that has a forward of its own.
    pub(crate) fn is_module(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Leaf(_) => true,
            Ty::Struct(id) => self.structs[*id].is_module,
            Ty::Option(inner) | Ty::List(inner) | Ty::Interior(_, inner) => self.is_module(inner),
            Ty::Tuple(parts) => parts.iter().any(|part| self.is_module(part)),
            _ => false,
        }
    }

    /// A `RefCell` or a `Cell`. What is in a `Cell` can be looked at where it is a number alone, and a layer is state of
    /// its own.
    fn interior(&self, path: &str, held: Ty) -> Ty {
        let Some(name) = interior_of(path) else { return Ty::Unknown };
        let is_known = held != Ty::Unknown && (name == "RefCell" || is_scalar(&held)) && !self.is_module(&held);
        if is_known { Ty::Interior(name, Box::new(held)) } else { Ty::Unknown }
    }

    /// How the type is written so that it means the same everywhere in the crate; `None` when that is not known.
    pub fn spelling(&self, ty: &Ty) -> Option<String> {
        Some(match ty {
            Ty::Unknown => return None,
            Ty::Tensor => "::fx_runtime::Tensor".to_owned(),
            Ty::Leaf(name) => format!("::fx_runtime::nn::{name}"),
            Ty::Struct(id) => {
                let item = &self.structs[*id];
                if item.is_generic() {
                    return None;
                }
                item.path()
            }
            Ty::Option(inner) => format!("Option<{}>", self.spelling(inner)?),
            Ty::Result(inner) => return self.spelling(inner),
            Ty::List(inner) => format!("Vec<{}>", self.spelling(inner)?),
            Ty::Tuple(parts) => {
                let parts: Option<Vec<String>> = parts.iter().map(|part| self.spelling(part)).collect();
                format!("({},)", parts?.join(", "))
            }
            Ty::Interior(name, inner) => format!("::std::cell::{name}<{}>", self.spelling(inner)?),
            Ty::Mode => "bool".to_owned(),
            Ty::Map { path, .. } => path.clone(),
            Ty::Rust(spelling) => spelling.clone(),
        })
    }

    /// How a message speaks of a value of the type.
    pub fn of_type(&self, ty: &Ty) -> String {
        match (self.spelling(ty), ty) {
            (Some(spelling), Ty::Rust(_)) if spelling == "integer" || spelling == "float" => {
                "of a number's type that is not known".to_owned()
            }
            (Some(spelling), _) => format!("of type `{}`", spelling.trim_start_matches("::")),
            (None, _) => "of a type that is not known".to_owned(),
        }
    }

    /// The graph's word for the type.
    pub fn ir_type(&self, ty: &Ty) -> fx_ir::Type {
        match ty {
            Ty::Unknown => fx_ir::Type::Unknown,
            Ty::Tensor => fx_ir::Type::TENSOR,
            Ty::Leaf(name) => fx_ir::Type::Module((*name).to_owned()),
            Ty::Struct(id) => fx_ir::Type::Module(self.structs[*id].path()),
            Ty::Option(inner) => fx_ir::Type::Option(Box::new(self.ir_type(inner))),
            Ty::Result(inner) => self.ir_type(inner),
            Ty::List(inner) => fx_ir::Type::List(Box::new(self.ir_type(inner))),
            Ty::Tuple(parts) => fx_ir::Type::Tuple(parts.iter().map(|part| self.ir_type(part)).collect()),
            Ty::Interior(..) => self.spelling(ty).map_or(fx_ir::Type::Unknown, fx_ir::Type::rust),
            Ty::Mode => fx_ir::Type::rust("bool"),
            Ty::Map { path, .. } => fx_ir::Type::rust(path),
            Ty::Rust(spelling) => fx_ir::Type::rust(spelling),
        }
    }
}

/// The dimensions of `Conv<[i64; 2]>`, which is `Conv2D`.
fn dimensions(arguments: &syn::PathArguments) -> Option<i64> {
    let syn::PathArguments::AngleBracketed(list) = arguments else { return None };
    match list.args.first() {
        Some(syn::GenericArgument::Type(syn::Type::Array(sizes))) if list.args.len() == 1 => {
            crate::syntax::integer_literal(&sizes.len)
        }
        _ => None,
    }
}

fn external_ty(full: &str, written: &str) -> Ty {
    let segments: Vec<&str> = full.split("::").collect();
    let last = segments.last().copied().unwrap_or(full);
    if last == "Tensor" {
        return Ty::Tensor;
    }
    if let (true, Some(state)) =
        (segments.contains(&"nn"), ["LSTMState", "GRUState"].iter().find(|name| **name == last))
    {
        return Ty::Rust(format!("::fx_runtime::nn::{state}"));
    }
    let ours = segments.first() == Some(&"fx_runtime");
    match LayerRow::of_type(last) {
        Some(leaf) if ours || segments.len() == 1 => Ty::Leaf(leaf.name),
        _ if segments.len() == 1 => Ty::Rust(written.to_owned()),
        _ => Ty::Rust(from_root(full)),
    }
}

fn ty_text(path: &syn::Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}

/// Whether the path is that of a map of the standard library.
fn is_map(path: &str) -> bool {
    let std = path.trim_start_matches("::").strip_prefix("std::collections::");
    std.is_some_and(|name| ["HashMap", "BTreeMap"].contains(&name))
}

/// Whether keys of the type are understood.
fn is_key(ty: &Ty) -> bool {
    matches!(ty, Ty::Rust(name) if is_text(name) || fx_ir::scalar::is_integer(name))
}

/// Whether it is a text of its own, or a reference to one, both of which are looked up by a `&str`.
pub(crate) fn is_text(name: &str) -> bool {
    matches!(name.trim_start_matches('&'), "String" | "str")
}

/// Whether it is a number, a truth value or a character.
fn is_scalar(ty: &Ty) -> bool {
    matches!(ty, Ty::Rust(name) if fx_ir::scalar::is_scalar(name))
}

/// The traits that an object implements.
fn traits_of(object: &syn::TypeTraitObject) -> impl Iterator<Item = &syn::TraitBound> {
    object.bounds.iter().filter_map(|bound| match bound {
        syn::TypeParamBound::Trait(bound) => Some(bound),
        _ => None,
    })
}

/// What an object that is a function takes and yields: `(&Tensor) -> Tensor` of `dyn Fn(&Tensor) -> Tensor`.
pub(crate) fn called_as(object: &syn::TypeTraitObject) -> Option<&syn::ParenthesizedGenericArguments> {
    traits_of(object).find_map(|bound| match &bound.path.segments.last()?.arguments {
        syn::PathArguments::Parenthesized(called) => Some(called),
        _ => None,
    })
}
