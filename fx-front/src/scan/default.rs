//! What `#[derive(Default)]` writes: a function that a forward may call for a state of its own.

use quote::{quote, quote_spanned};
use syn::{Expr, ItemImpl, Type, parse_quote, parse_quote_spanned};

/// The impl for a struct that derives it; nothing where a field's type does not tell its value.
pub(super) fn derived(item: &syn::ItemStruct) -> Option<ItemImpl> {
    let fields: Option<Vec<_>> = item
        .fields
        .iter()
        .enumerate()
        .map(|(position, field)| {
            let index = syn::Index::from(position);
            let member = field.ident.as_ref().map_or_else(|| quote!(#index), |name| quote!(#name));
            let value = value_of(&field.ty)?;
            Some(quote!(#member: #value))
        })
        .collect();
    let (fields, name, span) = (fields?, &item.ident, item.ident.span());
    let (params, args, bounds) = item.generics.split_for_impl();
    let made = quote_spanned!(span=> Self { #(#fields),* });
    Some(parse_quote_spanned!(span=>
        impl #params Default for #name #args #bounds {
            fn default() -> Self {
                #made
            }
        }
    ))
}

/// What the standard library's `Default` yields for the type, as far as its name tells.
fn value_of(ty: &Type) -> Option<Expr> {
    match ty {
        Type::Tuple(tuple) => {
            let parts: Option<Vec<Expr>> = tuple.elems.iter().map(value_of).collect();
            let parts = parts?;
            Some(parse_quote!((#(#parts,)*)))
        }
        Type::Path(path) if path.qself.is_none() => {
            let name = path.path.segments.last()?;
            let name = name.ident.to_string();
            match name.as_str() {
                "Option" => Some(parse_quote!(None)),
                "Vec" => Some(parse_quote!(Vec::new())),
                "bool" => Some(parse_quote!(false)),
                "f64" | "f32" => syn::parse_str(&format!("0.0_{name}")).ok(),
                "i64" | "i32" | "i16" | "i8" | "u64" | "u32" | "u16" | "u8" | "usize" | "isize" => {
                    syn::parse_str(&format!("0_{name}")).ok()
                }
                _ => None,
            }
        }
        _ => None,
    }
}
