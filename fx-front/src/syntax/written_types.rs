//! Parts of types and signatures as they are written.

/// The types between the brackets of a path's last segment: `Tensor` of `Option<Tensor>`.
pub(crate) fn type_args(path: &syn::Path) -> impl Iterator<Item = &syn::Type> {
    path.segments.last().into_iter().flat_map(segment_args)
}

/// The types between the brackets of a segment.
pub(crate) fn segment_args(segment: &syn::PathSegment) -> impl Iterator<Item = &syn::Type> {
    let list = match &segment.arguments {
        syn::PathArguments::AngleBracketed(list) => Some(&list.args),
        _ => None,
    };
    list.into_iter().flatten().filter_map(|arg| match arg {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Whether the bound is a trait of that name.
pub(crate) fn names_trait(bound: &syn::TypeParamBound, name: &str) -> bool {
    match bound {
        syn::TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|last| last.ident == name),
        _ => false,
    }
}

/// The parameters of a function, without its receiver.
pub(crate) fn typed_params(sig: &syn::Signature) -> impl Iterator<Item = &syn::PatType> {
    sig.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => Some(typed),
        syn::FnArg::Receiver(_) => None,
    })
}

/// Whether a parameter of the type is a reference, in an impl for `own`.
pub(crate) fn is_reference_type(ty: &syn::Type, own: &syn::Type) -> bool {
    match ty {
        syn::Type::Reference(_) => true,
        syn::Type::Path(path) if path.path.is_ident("Self") => matches!(own, syn::Type::Reference(_)),
        _ => false,
    }
}
