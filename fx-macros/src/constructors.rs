//! Constructors that the build script has written anew, of layers that can be frozen: the user's own call those.

use fx_front::{closure_conversion::argument, handoff::Items, key::Key};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident};
use syn::{ImplItem, ImplItemFn, ItemImpl, parse_quote};

use crate::{
    entry::constructors,
    function,
    handoff::{self, Found},
};

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
        let call: syn::Block = parse_quote!({ Self::#other(#(#args),*) });
        let own = std::mem::replace(&mut function.block, call);
        let mut sig = function.sig.clone();
        sig.ident = format_ident!("{}_as_written", function.sig.ident);
        written.push(ImplItem::Fn(parse_quote!(#[allow(dead_code, missing_docs)] #sig #own)));
    }
    item.items.extend(written);
    let files = replaced.into_iter().map(|(_, file, _)| file).collect();
    Some((function::strip(item.to_token_stream()), files))
}

/// The generated file of the constructor, and the function in it that it is to call.
fn replacement(items: &Items, item: &ItemImpl, function: &ImplItemFn) -> Option<(String, String)> {
    let key = Key::of_constructor(&item.self_ty, &function.sig, &function.block);
    match handoff::find(items, &key, function.sig.ident.span()).ok()? {
        Found::Same(found) => Some((found.file.clone()?, found.calls.clone()?)),
        Found::Edited(_) => None,
    }
}
