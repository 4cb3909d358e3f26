//! Which functions return a module.

use fx_ir::LayerRow;
use quote::format_ident;

use crate::index::{Function, Index, Name, Resolved};
use crate::syntax::{mentions, path_text, written_types::type_args};

/// What to do about a model that is a closure.
pub(crate) const CLOSURE_HELP: &str = "write the model as a struct with a `forward`";

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

/// Returns whether the function returns a closure: `Box<dyn Fn(&Tensor) -> Tensor>`, also by an alias.
pub(crate) fn yields_closure(index: &Index, function: &Function) -> bool {
    fn is_closure(index: &Index, module: &str, ty: &syn::Type, fuel: u32) -> bool {
        let Some(fuel) = fuel.checked_sub(1) else { return false };
        match ty {
            syn::Type::ImplTrait(ty) => ty.bounds.iter().any(is_fn),
            syn::Type::TraitObject(ty) => ty.bounds.iter().any(is_fn),
            syn::Type::Path(path) => match index.resolve(module, &path_text(&path.path)) {
                Resolved::Item(at, _, Name::Alias(alias)) => is_closure(index, &at, &alias.ty, fuel),
                _ if path.path.segments.last().is_some_and(|last| last.ident == "Box") => {
                    type_args(&path.path).any(|inner| is_closure(index, module, inner, fuel))
                }
                _ => false,
            },
            _ => false,
        }
    }
    let syn::ReturnType::Type(_, ty) = &function.sig.output else { return false };
    is_closure(index, &function.module, ty, 8)
}

/// Whether the bound is one of `Fn` and the like.
fn is_fn(bound: &syn::TypeParamBound) -> bool {
    let syn::TypeParamBound::Trait(bound) = bound else { return false };
    let last = bound.path.segments.last();
    last.is_some_and(|last| ["Fn", "FnMut", "FnOnce"].iter().any(|name| last.ident == name))
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
