//! Code that stands in no function: what constants and statics begin with, and what macros are given that stand where items
//! do.

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::index::Initializer;

/// The code of an item that is in none of its functions.
pub(super) fn of(item: &syn::Item, module: &str) -> Vec<Initializer> {
    let made = |tokens: TokenStream, owner: Option<&syn::Type>| Initializer {
        module: module.to_owned(),
        owner: owner.cloned(),
        tokens,
    };
    match item {
        syn::Item::Const(item) => vec![made(item.expr.to_token_stream(), None)],
        syn::Item::Static(item) => vec![made(item.expr.to_token_stream(), None)],
        syn::Item::Macro(item) if !item.mac.path.is_ident("macro_rules") => vec![made(item.mac.tokens.clone(), None)],
        syn::Item::Impl(item) => {
            let tokens = item.items.iter().filter_map(|inner| match inner {
                syn::ImplItem::Const(constant) => Some(constant.expr.to_token_stream()),
                syn::ImplItem::Macro(call) => Some(call.mac.tokens.clone()),
                _ => None,
            });
            tokens.map(|tokens| made(tokens, Some(&item.self_ty))).collect()
        }
        syn::Item::Trait(item) => {
            let tokens = item.items.iter().filter_map(|inner| match inner {
                syn::TraitItem::Const(constant) => constant.default.as_ref().map(|(_, value)| value.to_token_stream()),
                syn::TraitItem::Macro(call) => Some(call.mac.tokens.clone()),
                _ => None,
            });
            tokens.map(|tokens| made(tokens, None)).collect()
        }
        _ => Vec::new(),
    }
}
