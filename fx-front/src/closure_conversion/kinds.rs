//! Which functions return a module.

use fx_ir::LayerRow;
use quote::format_ident;

use crate::syntax::mentions;

/// Whether the function returns a module rather than compute.
pub fn returns_module(sig: &syn::Signature) -> bool {
    let syn::ReturnType::Type(_, ty) = &sig.output else { return false };
    is_module(ty)
}

/// Returns whether the function returns a chain of layers, and says so by its type.
pub fn returns_chain(sig: &syn::Signature) -> bool {
    let syn::ReturnType::Type(_, ty) = &sig.output else { return false };
    let syn::Type::Path(path) = &**ty else { return false };
    let row = path.path.segments.last().and_then(|last| LayerRow::of_type(&last.ident.to_string()));
    row.is_some_and(|row| row.is_chain)
}

/// Returns whether the function of a type's may be replaced by one that makes the same of other layers: one without receiver,
/// or a method that returns a chain.
pub fn may_construct(sig: &syn::Signature) -> bool {
    sig.receiver().is_none() || returns_chain(sig)
}

/// Returns whether the free function makes a model of a type of its own: it takes a path of a variable store, and returns
/// neither a module nor tensors.
pub fn makes_model(sig: &syn::Signature) -> bool {
    let syn::ReturnType::Type(_, output) = &sig.output else { return false };
    let names = |ty: &syn::Type, name: &str| mentions(ty, &format_ident!("{name}"));
    let takes_path =
        sig.inputs.iter().any(|input| matches!(input, syn::FnArg::Typed(typed) if names(&typed.ty, "Path")));
    takes_path && sig.receiver().is_none() && !returns_module(sig) && !names(output, "Tensor")
}

/// Returns whether the function returns a module of a type that its callers cannot name.
pub(crate) fn returns_opaque(sig: &syn::Signature) -> bool {
    matches!(&sig.output, syn::ReturnType::Type(_, ty) if matches!(**ty, syn::Type::ImplTrait(_)) && is_module(ty))
}

fn is_module(ty: &syn::Type) -> bool {
    let names = |path: &syn::Path, known: &[&str]| {
        path.segments.last().is_some_and(|last| known.iter().any(|name| last.ident == name))
    };
    let bounds = |bounds: &syn::punctuated::Punctuated<syn::TypeParamBound, syn::Token![+]>| {
        bounds.iter().any(
            |bound| matches!(bound, syn::TypeParamBound::Trait(bound) if names(&bound.path, &["Module", "ModuleT"])),
        )
    };
    match ty {
        syn::Type::ImplTrait(ty) => bounds(&ty.bounds),
        syn::Type::TraitObject(ty) => bounds(&ty.bounds),
        syn::Type::Path(path) if names(&path.path, &["Box"]) => match &path.path.segments[0].arguments {
            syn::PathArguments::AngleBracketed(list) => {
                matches!(list.args.first(), Some(syn::GenericArgument::Type(inner)) if is_module(inner))
            }
            _ => false,
        },
        syn::Type::Path(path) => names(&path.path, &["Func", "FuncT", "Sequential", "SequentialT"]),
        _ => false,
    }
}
