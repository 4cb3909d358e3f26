//! The form that a `#[traceable]` item must have, as far as its tokens alone can tell.

use fx_front::{
    attrs::{TraceableOptions, method},
    closure_conversion::{makes_model, returns_module},
    diag::Code,
    key::Key,
    report::Faults,
};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{FnArg, ImplItem, ImplItemFn, Item, ItemImpl, Signature};

use crate::constructors;

/// The function to trace.
pub(crate) struct Entry<'a> {
    pub(crate) key: Key,
    pub(crate) sig: &'a Signature,
    pub(crate) block: &'a syn::Block,
}

impl<'a> Entry<'a> {
    /// The entries of an item; what is wrong with the item goes to `faults`.
    pub(crate) fn all(item: &'a Item, options: &TraceableOptions, faults: &mut Faults) -> Vec<Entry<'a>> {
        let entries = match item {
            Item::Impl(item) => of_impl(item, options, faults),
            Item::Fn(item) if item.sig.receiver().is_some() => {
                let help = if returns_module(&item.sig) {
                    as_function(&item.sig)
                } else {
                    "put it on the impl that the method is in".to_owned()
                };
                faults.push(Code::NotTraceable, &item.sig.ident, "`#[traceable]` stands on a method", &help);
                return Vec::new();
            }
            Item::Fn(item) if makes_model(&item.sig) => Vec::new(),
            Item::Fn(item) => {
                let key = Key::of_fn(&item.sig, &item.block);
                vec![Entry { key, sig: &item.sig, block: &item.block }]
            }
            other => {
                let (kind, tokens) = kind(other);
                let help = "put it on the impl that holds `forward`, or on a free function";
                faults.push(Code::NotTraceable, tokens, &format!("`#[traceable]` stands on {kind}"), help);
                return Vec::new();
            }
        };
        check_specialized(&entries, options, faults);
        entries
    }
}

fn of_impl<'a>(item: &'a ItemImpl, options: &TraceableOptions, faults: &mut Faults) -> Vec<Entry<'a>> {
    let entries = options.entry_fns(item);
    if options.entry.is_empty() && entries.is_empty() && !constructors::needs_no_entry(item) {
        no_entry(item, "`forward` or `forward_t`", item.self_ty.to_token_stream(), faults);
    }
    for name in options.entry.iter().filter(|name| method(item, &name.value()).is_none()) {
        no_entry(item, &format!("`{}`", name.value()), name.to_token_stream(), faults);
    }
    let entry = |method: &'a ImplItemFn| {
        let key = Key::of_method(&item.self_ty, &method.sig, &method.block);
        Entry { key, sig: &method.sig, block: &method.block }
    };
    entries.into_iter().map(entry).collect()
}

fn no_entry(item: &ItemImpl, wanted: &str, at: TokenStream, faults: &mut Faults) {
    let named = |inner: &ImplItem| match inner {
        ImplItem::Fn(function) => Some(format!("`{}`", function.sig.ident)),
        _ => None,
    };
    let has: Vec<String> = item.items.iter().filter_map(named).collect();
    let help = match has.as_slice() {
        [] => "it holds no function; put `#[traceable]` on the impl that holds the forward pass".to_owned(),
        has => format!("it holds {}; name the one to trace: `#[traceable(entry = \"..\")]`", has.join(", ")),
    };
    faults.push(Code::NoEntry, at, &format!("the impl has no function {wanted}"), &help);
}

fn check_specialized(entries: &[Entry], options: &TraceableOptions, faults: &mut Faults) {
    let param = |input: &FnArg| match input {
        FnArg::Typed(typed) => match &*typed.pat {
            syn::Pat::Ident(name) => Some(name.ident.clone()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    };
    let mut params: Vec<syn::Ident> = Vec::new();
    for param in entries.iter().flat_map(|entry| &entry.sig.inputs).filter_map(param) {
        if !params.contains(&param) {
            params.push(param);
        }
    }
    let names: Vec<String> = entries.iter().map(|entry| format!("`{}`", entry.sig.ident)).collect();
    let (have, their) = if names.len() > 1 { ("have", "their") } else { ("has", "its") };
    for (name, _) in options.specialize.0.iter().filter(|(name, _)| !entries.is_empty() && !params.contains(name)) {
        let known: Vec<String> = params.iter().map(|param| format!("`{param}`")).collect();
        let message = format!("{} {have} no parameter `{name}`", names.join(" and "));
        faults.push(Code::UnknownOption, name, &message, &format!("{their} parameters: {}", known.join(", ")));
    }
}

/// How a method that makes a model of closures is written as the function that `#[traceable]` takes.
fn as_function(sig: &Signature) -> String {
    let name = &sig.ident;
    let receiver = if sig.receiver().is_some_and(|receiver| receiver.reference.is_none()) { "Self" } else { "&Self" };
    format!(
        "a model of closures is made by a free function: move the body into `fn {name}(config: {receiver}, ..)`, with the \
         type's name for `Self`, mark that, and call it from the method"
    )
}

/// The kind of an item, and the tokens that say so.
fn kind(item: &Item) -> (&'static str, TokenStream) {
    match item {
        Item::Struct(item) => ("a struct", with_name(&item.struct_token, &item.ident)),
        Item::Enum(item) => ("an enum", with_name(&item.enum_token, &item.ident)),
        Item::Union(item) => ("a union", with_name(&item.union_token, &item.ident)),
        Item::Trait(item) => ("a trait", with_name(&item.trait_token, &item.ident)),
        Item::Mod(item) => ("a module", with_name(&item.mod_token, &item.ident)),
        Item::Const(item) => ("a constant", with_name(&item.const_token, &item.ident)),
        Item::Static(item) => ("a static", with_name(&item.static_token, &item.ident)),
        Item::Type(item) => ("a type alias", with_name(&item.type_token, &item.ident)),
        Item::Use(item) => ("a `use`", item.use_token.to_token_stream()),
        other => ("a thing that is neither an impl nor a function", other.to_token_stream()),
    }
}

fn with_name(keyword: &dyn ToTokens, name: &syn::Ident) -> TokenStream {
    quote!(#keyword #name)
}
