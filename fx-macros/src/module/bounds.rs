//! What the derive asks of a generic type's parameters, so that it sees which of its fields are parts of the model.
//!
//! The compiler chooses by what it knows of a field's type. Where that is a parameter, or holds one, it knows nothing
//! that is not asked for, and would take the field for a hyper-parameter.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::{DeriveInput, GenericArgument, Generics, Ident, PathArguments, Type};

use super::{Field, argument};

/// Types that hold others and are no part of a model themselves.
const PLAIN: [&str; 12] = [
    "PhantomData",
    "Rc",
    "Arc",
    "Cell",
    "RefCell",
    "OnceCell",
    "OnceLock",
    "HashMap",
    "BTreeMap",
    "HashSet",
    "BTreeSet",
    "VecDeque",
];

/// The generics with `Field` asked of every part of the model whose type is a parameter, or names one.
pub(super) fn bounded<'a>(item: &DeriveInput, fields: impl IntoIterator<Item = &'a Field>) -> Generics {
    let mut generics = item.generics.clone();
    let params: Vec<&Ident> = item.generics.type_params().map(|param| &param.ident).collect();
    let mut parts = Vec::new();
    for field in fields.into_iter().filter(|field| !field.options.skip.is_present()) {
        collect(&field.options.ty, &mut parts);
    }
    // The parameters themselves come first, in their order.
    let is_param = |ty: &Type| params.iter().any(|param| is(ty, param));
    let own = params.iter().filter_map(|param| parts.iter().copied().find(|ty| is(ty, param)));
    let others = parts.iter().copied().filter(|ty| !is_param(ty) && names_one(ty, &params) && !names(ty, &item.ident));
    let mut seen = BTreeSet::new();
    let asked: Vec<&Type> = own.chain(others).filter(|ty| seen.insert(ty.to_token_stream().to_string())).collect();
    for ty in asked {
        generics.make_where_clause().predicates.push(syn::parse_quote!(#ty: ::fx_runtime::module::Field));
    }
    generics
}

/// The types that a field's type shows the elements of: itself, or what is in its containers.
fn collect<'t>(ty: &'t Type, parts: &mut Vec<&'t Type>) {
    match ty {
        Type::Array(array) => collect(&array.elem, parts),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|elem| collect(elem, parts)),
        Type::Paren(inner) => collect(&inner.elem, parts),
        Type::Group(inner) => collect(&inner.elem, parts),
        Type::Path(path) => match ["Option", "Box", "Vec"].iter().find_map(|name| argument(ty, name)) {
            Some(elem) => collect(elem, parts),
            None if path.path.segments.last().is_some_and(|last| PLAIN.iter().any(|name| last.ident == name)) => {}
            None => parts.push(ty),
        },
        _ => {}
    }
}

fn is(ty: &Type, param: &Ident) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(param))
}

/// Returns whether one of the parameters is named in the path, as in `Layer<M>` and in `M::Block`.
fn names_one(ty: &Type, params: &[&Ident]) -> bool {
    params.iter().any(|param| names(ty, param))
}

/// Returns whether the name is anywhere in the path or between its angle brackets.
fn names(ty: &Type, name: &Ident) -> bool {
    let Type::Path(path) = ty else { return false };
    let in_arguments = |arguments: &PathArguments| match arguments {
        PathArguments::AngleBracketed(list) => list.args.iter().any(|arg| match arg {
            GenericArgument::Type(ty) => names(ty, name),
            _ => false,
        }),
        _ => false,
    };
    path.qself.as_ref().is_some_and(|of| names(&of.ty, name))
        || path.path.segments.iter().any(|segment| segment.ident == *name || in_arguments(&segment.arguments))
}
