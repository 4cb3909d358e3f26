//! The struct of a closure, as it stands in the generated file.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::parse_quote;

use super::Result;

/// `fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor`, with the closure's own names.
pub(super) fn forward_sig(closure: &syn::ExprClosure, name: &Ident) -> Result<syn::Signature> {
    let plain = |pat: &syn::Pat| match pat {
        syn::Pat::Type(typed) => (*typed.pat).clone(),
        other => other.clone(),
    };
    let pats: Vec<syn::Pat> = closure.inputs.iter().map(plain).collect();
    Ok(match pats.as_slice() {
        [xs] => parse_quote!(fn #name(&self, #xs: &::fx_runtime::Tensor) -> ::fx_runtime::Tensor),
        [xs, train] => {
            parse_quote!(fn #name(&self, #xs: &::fx_runtime::Tensor, #train: bool) -> ::fx_runtime::Tensor)
        }
        _ => return Err("its closure is of an unknown form".to_owned()),
    })
}

/// The struct, its constructor if it has one, and its forward, as they stand in the generated file.
pub(super) fn struct_source(
    builder: &Ident,
    name: &Ident,
    fields: &[(Ident, syn::Type)],
    new: Option<(&syn::Signature, &syn::Block)>,
    (forward, body): (&syn::Signature, &syn::Block),
) -> TokenStream {
    let lines = fields.iter().map(|(name, ty)| quote!(#name: #ty));
    let entry = &forward.ident;
    let args: Vec<TokenStream> =
        (0..forward.inputs.len() - 1).map(|at| format_ident!("a{at}").to_token_stream()).collect();
    let (computes, door) = if entry == "forward_t" {
        (quote!(ModuleT), quote!(fn forward_t(&self, a0: &::fx_runtime::Tensor, a1: bool) -> ::fx_runtime::Tensor))
    } else {
        (quote!(Module), quote!(fn forward(&self, a0: &::fx_runtime::Tensor) -> ::fx_runtime::Tensor))
    };
    let doc = format!(" What `{builder}` builds, as a struct: its fields are what the closure captures.");
    let new_doc = format!(" Builds it as `{builder}` does, with the same names in the variable store.");
    let new = new.map(|(new, block)| quote!(#[doc = #new_doc] pub #new #block));
    quote! {
        #[doc = #doc]
        #[derive(::fx_runtime::Module)]
        #[allow(dead_code, private_interfaces)]
        pub struct #name { #(#lines),* }

        impl ::core::fmt::Debug for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(::core::stringify!(#name)).finish_non_exhaustive()
            }
        }

        #[allow(dead_code, unused, private_interfaces, clippy::all, clippy::pedantic)]
        impl #name {
            #new

            /// Computes what the closure does.
            pub #forward #body
        }

        impl ::fx_runtime::nn::#computes for #name {
            #door { #name::#entry(self, #(#args),*) }
        }
    }
}

/// The name of an argument that is one.
pub fn argument(input: &syn::FnArg) -> Option<&Ident> {
    match input {
        syn::FnArg::Typed(typed) => match &*typed.pat {
            syn::Pat::Ident(name) if name.subpat.is_none() => Some(&name.ident),
            _ => None,
        },
        syn::FnArg::Receiver(_) => None,
    }
}
