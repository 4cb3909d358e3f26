//! Parameters of generic items.

/// Whether it is a parameter that an instance says something for.
pub(crate) fn is_bound(param: &syn::GenericParam) -> bool {
    !matches!(param, syn::GenericParam::Lifetime(_))
}

pub(crate) fn name_of(param: &syn::GenericParam) -> String {
    match param {
        syn::GenericParam::Type(param) => param.ident.to_string(),
        syn::GenericParam::Const(param) => param.ident.to_string(),
        syn::GenericParam::Lifetime(param) => param.lifetime.to_string(),
    }
}
