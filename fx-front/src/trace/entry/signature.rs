//! The entry's signature: what a frozen type's `forward` has to mirror.

use fx_ir::Arg;
use quote::ToTokens;

use crate::index::{Function, Index, Ty};
use crate::syntax::written_types::type_args;
use crate::trace::types::ty::rounded;

/// The signature of an entry.
#[derive(Debug)]
pub struct Signature {
    /// The function's name: `forward`.
    pub name: String,
    /// Whether it has `&self` or `&mut self`.
    pub has_receiver: bool,
    /// Whether that is `&mut self`.
    pub is_mut: bool,
    /// The parameters beside `self`.
    pub params: Vec<Param>,
    /// What it returns.
    pub output: Output,
}

/// One parameter.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug)]
pub struct Param {
    /// Its name, made up where the user wrote a pattern.
    pub name: String,
    /// Its type as written.
    pub written: String,
    /// What that type is.
    pub ty: Ty,
    /// Whether it is a reference.
    pub is_ref: bool,
    /// Whether it is a tensor behind more than one reference: `&Rc<Tensor>`, `&&Tensor`.
    pub is_boxed: bool,
    /// Whether it is a parameter of any type that borrows a tensor: `impl Borrow<Tensor>`.
    pub borrows: bool,
    /// The value it is fixed to: inference means `train = false`, and `specialize(..)` says what else is known.
    pub fixed: Option<Arg>,
    /// Set if it is the flag that asks for training.
    pub mode: Option<ModeFlag>,
}

/// Which mode the layers have that are called with the flag that asks for training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeFlag {
    /// The flag's own.
    Given,
    /// The one that each layer keeps.
    OfModel,
}

/// What an entry returns.
#[derive(Debug)]
pub struct Output {
    /// The type as written, without the `Result` around it.
    pub written: String,
    /// The whole type as written.
    pub whole: String,
    /// Whether it is a `Result`.
    pub is_result: bool,
    /// Whether the `Result` names its error, which its alias may leave out.
    pub names_error: bool,
    /// What the type is, without the `Result`.
    pub ty: Ty,
    /// Whether it is a reference to a tensor. The frozen type hands over a handle of its own.
    pub is_ref: bool,
}

impl Param {
    /// Whether it is a reference by `&mut`.
    pub fn is_mut(&self) -> bool {
        self.is_ref && self.written.split_whitespace().take(3).any(|word| word == "mut")
    }

    /// Whether it is an option of such a reference.
    pub fn may_borrow_state(&self) -> bool {
        let inner = self.written.strip_prefix("Option < &").unwrap_or_default();
        inner.split_whitespace().take(2).any(|word| word == "mut")
    }
}

impl Signature {
    /// Reads the signature of an entry.
    pub(in crate::trace) fn of(index: &Index, function: &Function, training: bool) -> Signature {
        let params = function.sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Receiver(_) => None,
            syn::FnArg::Typed(typed) => Some(typed),
        });
        let params =
            params.enumerate().map(|(position, typed)| param(index, function, position, typed, training)).collect();
        Signature {
            name: function.sig.ident.to_string(),
            has_receiver: function.sig.receiver().is_some(),
            is_mut: function.writes_self(),
            params,
            output: output_of(index, function),
        }
    }
}

fn param(index: &Index, function: &Function, position: usize, typed: &syn::PatType, training: bool) -> Param {
    let name = match &*typed.pat {
        syn::Pat::Ident(ident) => ident.ident.to_string(),
        _ => format!("arg{position}"),
    };
    let written = index.ty(&function.module, function.owner.as_ref(), &typed.ty);
    let borrows = borrows(index, function, &typed.ty);
    let ty = if borrows { Ty::Tensor } else { written };
    // The second parameter of `forward_t` is the mode, whatever it is called.
    let is_mode = ty == Ty::Rust("bool".to_owned())
        && (matches!(name.trim_start_matches('_'), "train" | "training" | "is_training")
            || (position == 1 && function.sig.ident == "forward_t"));
    let specialized = function.traceable.as_ref().and_then(|options| options.specialize.value(&name));
    let of_mode = if specialized.is_none() && !training { ModeFlag::OfModel } else { ModeFlag::Given };
    Param {
        written: typed.ty.to_token_stream().to_string(),
        is_ref: matches!(*typed.ty, syn::Type::Reference(_)),
        is_boxed: is_boxed(&typed.ty),
        fixed: specialized.map(|value| of_type(value, &ty)).or_else(|| is_mode.then_some(Arg::Bool(training))),
        mode: is_mode.then_some(of_mode),
        borrows,
        name,
        ty,
    }
}

/// Whether the type, without the reference that it may be, is a pointer.
fn is_boxed(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Reference(reference) => match &*reference.elem {
            syn::Type::Reference(_) => true,
            inner => is_boxed(inner),
        },
        syn::Type::Path(path) => type_args(&path.path).next().is_some(),
        _ => false,
    }
}

/// Whether the type has a reference inside.
pub(crate) fn holds_reference(ty: &syn::Type) -> bool {
    ty.to_token_stream().to_string().contains('&')
}

/// Whether an array is in the type.
pub(in crate::trace) fn holds_array(ty: &syn::Type) -> bool {
    struct Find(bool);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_type_array(&mut self, _: &'ast syn::TypeArray) {
            self.0 = true;
        }
    }
    let mut find = Find(false);
    syn::visit::Visit::visit_type(&mut find, ty);
    find.0
}

/// Whether the type is one of which only `Borrow<Tensor>` is known: `impl Borrow<Tensor>`, or a parameter with that
/// bound.
fn borrows(index: &Index, function: &Function, ty: &syn::Type) -> bool {
    let is_borrow = |bound: &syn::TypeParamBound| {
        let syn::TypeParamBound::Trait(bound) = bound else { return false };
        let Some(last) = bound.path.segments.last().filter(|last| last.ident == "Borrow") else { return false };
        let syn::PathArguments::AngleBracketed(list) = &last.arguments else { return false };
        list.args.iter().any(|arg| match arg {
            syn::GenericArgument::Type(ty) => index.ty(&function.module, None, ty) == Ty::Tensor,
            _ => false,
        })
    };
    let only = |bounds: Vec<&syn::TypeParamBound>| !bounds.is_empty() && bounds.into_iter().all(is_borrow);
    match ty {
        syn::Type::ImplTrait(given) => only(given.bounds.iter().collect()),
        syn::Type::Path(path) => {
            path.path.get_ident().is_some_and(|name| only(bounds_of(&function.sig.generics, name)))
        }
        _ => false,
    }
}

/// Every bound of a parameter, beside it and in the `where` clause.
fn bounds_of<'a>(generics: &'a syn::Generics, name: &syn::Ident) -> Vec<&'a syn::TypeParamBound> {
    let beside = generics.type_params().filter(|param| param.ident == *name).flat_map(|param| &param.bounds);
    let is_it = |ty: &syn::Type| matches!(ty, syn::Type::Path(path) if path.path.is_ident(name));
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let behind = predicates.filter_map(|predicate| match predicate {
        syn::WherePredicate::Type(predicate) if is_it(&predicate.bounded_ty) => Some(&predicate.bounds),
        _ => None,
    });
    beside.chain(behind.flatten()).collect()
}

/// The literal, with a whole number as a float where the parameter is one.
fn of_type(value: &Arg, ty: &Ty) -> Arg {
    match (value, ty) {
        #[allow(clippy::cast_precision_loss, reason = "it is what rustc does with the literal")]
        (Arg::Int(number), Ty::Rust(name)) if name == "f64" || name == "f32" => Arg::Float(*number as f64),
        (Arg::Float(number), Ty::Rust(name)) => Arg::Float(rounded(*number, name)),
        (value, _) => value.clone(),
    }
}

fn output_of(index: &Index, function: &Function) -> Output {
    let syn::ReturnType::Type(_, whole) = &function.sig.output else {
        let unit = "()".to_owned();
        return Output {
            written: unit.clone(),
            whole: unit,
            is_result: false,
            names_error: false,
            ty: Ty::Tuple(Vec::new()),
            is_ref: false,
        };
    };
    let full = index.ty(&function.module, function.owner.as_ref(), whole);
    let (ty, inner, is_result) = match full {
        Ty::Result(ty) => (*ty, result_argument(whole).unwrap_or(whole), true),
        ty => (ty, &**whole, false),
    };
    let names_error = is_result && matches!(&**whole, syn::Type::Path(path) if type_args(&path.path).count() > 1);
    let is_ref = ty == Ty::Tensor && matches!(inner, syn::Type::Reference(_));
    let text = |ty: &syn::Type| ty.to_token_stream().to_string();
    let written = if is_ref { "::fx_runtime::Tensor".to_owned() } else { text(inner) };
    let whole = if is_ref { text(whole).replace(&text(inner), &written) } else { text(whole) };
    Output { written, whole, is_result, names_error, ty, is_ref }
}

/// The type of what a function hands over, without the `Result` around it.
pub(crate) fn value_type(output: &syn::ReturnType) -> Option<&syn::Type> {
    let syn::ReturnType::Type(_, ty) = output else { return None };
    let is_result = matches!(&**ty, syn::Type::Path(path)
        if path.path.segments.last().is_some_and(|last| last.ident == "Result"));
    if is_result { result_argument(ty) } else { Some(ty) }
}

/// The type of one part of a tuple.
pub(in crate::trace) fn part_type(ty: &syn::Type, at: usize) -> Option<&syn::Type> {
    match ty {
        syn::Type::Tuple(tuple) => tuple.elems.iter().nth(at),
        _ => None,
    }
}

/// Whether it is `Vec<..>`.
pub(in crate::trace) fn is_vec(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Vec"))
}

fn result_argument(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = ty else { return None };
    let syn::PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments else { return None };
    list.args.iter().find_map(|arg| match arg {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
