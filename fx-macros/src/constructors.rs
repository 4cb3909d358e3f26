//! Constructors that the build script has written anew, of layers that can be frozen: the user's own call those.

use fx_front::{
    closure_conversion::{argument, has_chain_closure, may_construct},
    handoff::Items,
    key::Key,
};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{ImplItem, ImplItemFn, ItemFn, ItemImpl, Signature, parse_quote};

use crate::{
    function,
    handoff::{self, Found},
};

/// Whether it is an impl of constructors, which needs no entry: one of them gives a chain a closure, or the build script has
/// replaced one.
pub(crate) fn needs_no_entry(item: &ItemImpl) -> bool {
    let items = handoff::items().ok();
    let is_replaced =
        |function: &ImplItemFn| items.as_ref().is_some_and(|items| replacement(items, item, function).is_some());
    constructors(item).any(|function| has_chain_closure(&function.block) || is_replaced(function))
}

/// The functions that the build script may have replaced.
fn constructors(item: &ItemImpl) -> impl Iterator<Item = &ImplItemFn> {
    item.items.iter().filter_map(|inner| match inner {
        ImplItem::Fn(function) if item.trait_.is_none() && may_construct(&function.sig) => Some(function),
        _ => None,
    })
}

/// The impl in which such constructors call the ones beside it, and the files in which those are; none where there are none.
/// What was written stays as a method of another name, so that the compiler checks it and knows what it uses.
pub(crate) fn delegating(item: &ItemImpl) -> Option<(TokenStream, Vec<String>)> {
    let items = handoff::items().ok()?;
    let replaced: Vec<(Ident, String, String)> = constructors(item)
        .filter_map(|function| {
            let (file, other) = replacement(&items, item, function)?;
            Some((function.sig.ident.clone(), file, other))
        })
        .collect();
    if replaced.is_empty() {
        return None;
    }
    let mut item = item.clone();
    let mut written = Vec::new();
    for inner in &mut item.items {
        let ImplItem::Fn(function) = inner else { continue };
        let Some((_, _, other)) = replaced.iter().find(|(name, ..)| *name == function.sig.ident) else { continue };
        let other = Ident::new(other, function.sig.ident.span());
        let args: Vec<&Ident> = function.sig.inputs.iter().filter_map(argument).collect();
        let receiver = function.sig.receiver().map(|own| &own.self_token).into_iter();
        let call: syn::Block = parse_quote!({ Self::#other(#(#receiver,)* #(#args),*) });
        let own = std::mem::replace(&mut function.block, call);
        let mut sig = function.sig.clone();
        sig.ident = format_ident!("{}_as_written", function.sig.ident);
        written.push(ImplItem::Fn(parse_quote!(#[allow(dead_code, missing_docs)] #sig #own)));
    }
    item.items.extend(written);
    let files = replaced.into_iter().map(|(_, file, _)| file).collect();
    Some((function::strip(item.to_token_stream()), files))
}

/// The free function that makes a model as a call of the one beside it, and the file in which that is.
pub(crate) fn delegating_fn(item: &ItemFn) -> Option<(TokenStream, Vec<String>)> {
    let ItemFn { sig, block, .. } = item;
    let (file, other) = replacement_of(&handoff::items().ok()?, &Key::of_fn(sig, block), sig)?;
    Some((calling(item, &Ident::new(&other, sig.ident.span()))?, vec![file]))
}

/// The function as a call of another one. What was written stays inside, so that the compiler checks it and knows what it
/// uses.
pub(crate) fn calling(function: &ItemFn, other: &Ident) -> Option<TokenStream> {
    let ItemFn { attrs, vis, sig, block } = function;
    let args = sig.inputs.iter().map(argument).collect::<Option<Vec<_>>>()?;
    let written = Signature { ident: Ident::new("written", sig.ident.span()), ..sig.clone() };
    Some(quote! {
        #(#attrs)*
        #vis #sig {
            #[allow(dead_code)]
            #written #block
            #other(#(#args),*)
        }
    })
}

/// The generated file of the constructor, and the function in it that it is to call.
fn replacement(items: &Items, item: &ItemImpl, function: &ImplItemFn) -> Option<(String, String)> {
    replacement_of(items, &Key::of_constructor(&item.self_ty, &function.sig, &function.block), &function.sig)
}

fn replacement_of(items: &Items, key: &Key, sig: &Signature) -> Option<(String, String)> {
    match handoff::find(items, key, sig.ident.span()).ok()? {
        Found::Same(found) => Some((found.file.clone()?, found.calls.clone()?)),
        Found::Edited(_) => None,
    }
}
