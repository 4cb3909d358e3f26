//! A stand-in for generated code that is missing, so that rustc reports the reason and not its consequences.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{FnArg, GenericArgument, Item, PathArguments, ReturnType, Signature, Type};

/// The frozen type and the methods that a user of the item calls; nothing for a free function or a generic type.
/// Where it is not the first of its type's items, the methods of its entries alone.
///
/// It is emitted together with an error only, and is never compiled to code.
pub(crate) fn of(item: &Item, entries: &[&Signature], is_first: bool) -> Option<TokenStream> {
    let Item::Impl(item) = item else { return None };
    let Type::Path(path) = &*item.self_ty else { return None };
    let last = path.path.segments.last().filter(|last| last.arguments.is_none())?;
    let ty = &item.self_ty;
    let frozen = format_ident!("{}Frozen", last.ident);
    let methods = entries.iter().map(|entry| methods(entry));
    // Another impl of the type has the rest.
    if !is_first {
        return Some(quote! {
            #[allow(unused, missing_docs)]
            impl #frozen {
                #(#methods)*
            }
        });
    }
    let others = entries.iter().skip(1).map(|entry| format_ident!("{}_graph", entry.ident));
    let graphs = std::iter::once(format_ident!("graph")).chain(others);
    Some(quote! {
        #[allow(unused, missing_docs)]
        #[derive(Debug)]
        pub struct #frozen;

        #[allow(unused, missing_docs)]
        impl #frozen {
            #(#methods)*
        }

        #[allow(unused, missing_docs)]
        impl #ty {
            pub fn freeze(&self, _: &::fx_runtime::Freeze) -> ::core::result::Result<#frozen, ::fx_runtime::Error> {
                ::core::unimplemented!()
            }
            #(
                pub fn #graphs(&self) -> ::core::result::Result<::fx_runtime::Graph, ::fx_runtime::Error> {
                    ::core::unimplemented!()
                }
            )*
        }
    })
}

/// The two doors of an entry.
fn methods(entry: &Signature) -> TokenStream {
    let Signature { ident: name, generics, output, .. } = entry;
    let try_name = format_ident!("try_{name}");
    let inputs: Vec<&FnArg> = entry.inputs.iter().collect();
    let bounds = &generics.where_clause;
    let value = value(output);
    quote! {
        pub fn #name #generics (#(#inputs),*) #output #bounds {
            ::core::unimplemented!()
        }
        pub fn #try_name #generics (#(#inputs),*) -> ::core::result::Result<#value, ::fx_runtime::Error> #bounds {
            ::core::unimplemented!()
        }
    }
}

/// The return type of the entry, without the `Result` around it.
fn value(output: &ReturnType) -> TokenStream {
    let ReturnType::Type(_, ty) = output else { return quote!(()) };
    if let Type::Path(path) = &**ty
        && let Some(last) = path.path.segments.last().filter(|last| last.ident == "Result")
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(value)) = arguments.args.first()
    {
        return quote!(#value);
    }
    quote!(#ty)
}
