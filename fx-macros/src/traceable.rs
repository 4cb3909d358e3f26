//! `#[traceable]`: the user's item as it is, the code that the build script generated for it, and what was wrong.

use fx_front::{
    attrs::TraceableOptions,
    diag::Code,
    handoff::Item,
    key::leaves,
    report::{self, Faults},
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::Signature;

use crate::{
    constructors,
    entry::Entry,
    function,
    handoff::{self, Found, Missing},
    stand_in,
};

/// The whole expansion.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let options = faults.options(TraceableOptions::parse(options));
    let parsed = match syn::parse2::<syn::Item>(item.clone()) {
        Ok(parsed) => parsed,
        // Half-typed code in an editor.
        Err(_) if handoff::is_editor() => return item,
        Err(error) => {
            faults.add(error);
            return quote!(#item #faults);
        }
    };
    let item = match &parsed {
        syn::Item::Impl(parsed) => {
            function::check(parsed, &mut faults);
            function::strip(item)
        }
        _ => item,
    };
    // Of options that are not understood nobody knows which entry they ask for.
    let entries = options.map(|options| Entry::all(&parsed, &options, &mut faults)).unwrap_or_default();
    if !faults.is_empty() {
        return quote!(#item #faults);
    }
    let files = entries.iter().map(|entry| generated(entry, &mut faults)).collect::<Result<Vec<_>, _>>();
    let files = files.unwrap_or_else(|missing| {
        let at = entries.first().map_or_else(Span::call_site, |entry| entry.sig.ident.span());
        faults.push(Code::NoBuildScript, report::attribute(at), &missing.message, &missing.help);
        Vec::new()
    });
    let whole = files.len() == entries.len() && files.iter().all(Option::is_some);
    let signatures: Vec<&Signature> = entries.iter().map(|entry| entry.sig).collect();
    let stand_in = if whole { None } else { stand_in::of(&parsed, &signatures, is_first(&entries)) };
    let item = if whole { delegating(&parsed, &entries).unwrap_or(item) } else { item };
    let (item, constructed) = match &parsed {
        syn::Item::Impl(parsed) if faults.is_empty() => constructors::delegating(parsed).unwrap_or((item, Vec::new())),
        syn::Item::Fn(parsed) if entries.is_empty() && faults.is_empty() => {
            constructors::delegating_fn(parsed).unwrap_or((item, Vec::new()))
        }
        _ => (item, Vec::new()),
    };
    let constructed = constructed.iter().map(|file| include(file));
    let files = files.into_iter().flatten().filter(|_| whole).chain(constructed);
    quote!(#item #(#files)* #stand_in #faults)
}

/// A function that makes a chain of layers as a call of the one that makes the same of layers that can be frozen.
fn delegating(item: &syn::Item, entries: &[Entry]) -> Option<TokenStream> {
    let (syn::Item::Fn(function), [entry]) = (item, entries) else { return None };
    let items = handoff::items().ok()?;
    let Found::Same(found) = handoff::find(&items, &entry.key, entry.sig.ident.span()).ok()? else { return None };
    let other = Ident::new(found.calls.as_deref()?, entry.sig.ident.span());
    constructors::calling(function, &other)
}

/// Returns whether none of its type's other items was expanded before it, so that what stands for the type stands here.
fn is_first(entries: &[Entry]) -> bool {
    let (Some(entry), Ok(items)) = (entries.first(), handoff::items()) else { return true };
    let Ok(Found::Same(own) | Found::Edited(own)) = handoff::find(&items, &entry.key, entry.sig.ident.span()) else {
        return true;
    };
    let mut alike = items.iter().filter(|item| item.key.name == own.key.name && item.place.file == own.place.file);
    alike.next().is_none_or(|first| entries.iter().any(|entry| entry.key == first.key))
}

/// The inclusion of the generated file; what the build script found wrong goes to `faults`.
fn generated(entry: &Entry, faults: &mut Faults) -> Result<Option<TokenStream>, Missing> {
    let items = handoff::items()?;
    let file = match handoff::find(&items, &entry.key, entry.sig.ident.span())? {
        Found::Same(item) => {
            report(item, entry, faults);
            // While anything is wrong with any item, nothing is generated.
            if item.file.is_none() && items.iter().all(|item| item.faults.is_empty()) {
                let message = format!("the build script generated nothing for `{}`", entry.key.name);
                return Err(Missing { message, help: "this is a bug of fx, please report it".to_owned() });
            }
            &item.file
        }
        Found::Edited(item) => &item.file,
    };
    Ok(file.as_deref().map(include))
}

fn report(item: &Item, entry: &Entry, faults: &mut Faults) {
    let leaves = leaves(entry.sig, entry.block);
    let token = |at: usize| Ident::new("leaf", leaves.get(at).map_or_else(|| entry.sig.ident.span(), |leaf| leaf.span));
    for fault in &item.faults {
        let (first, last) = (token(fault.leaves.0), token(fault.leaves.1));
        faults.push(fault.code, quote!(#first #last), &fault.message, &fault.help);
    }
}

fn include(file: &str) -> TokenStream {
    let path = format!("/fx/{file}");
    quote!(::core::include!(::core::concat!(::core::env!("OUT_DIR"), #path));)
}
