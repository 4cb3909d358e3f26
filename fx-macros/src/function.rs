//! `#[fx(..)]` on a function: checked here, read by the build script.

use fx_front::{attrs::FnOptions, diag::Code, report::Faults};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;

/// Checks the options and passes the function through.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    faults.options(FnOptions::parse(options));
    if let Ok(other) = syn::parse2::<syn::Item>(item.clone())
        && !matches!(other, syn::Item::Fn(_))
    {
        faults.push(
            Code::UnknownOption,
            &other,
            "`#[fx(..)]` is for functions",
            "put it on the function that is called",
        );
    }
    let mut out = item;
    faults.to_tokens(&mut out);
    out
}

/// Checks the `#[fx(..)]` on the functions of an impl.
pub(crate) fn check(item: &syn::ItemImpl, faults: &mut Faults) {
    let attrs = item.items.iter().flat_map(|inner| match inner {
        syn::ImplItem::Fn(function) => function.attrs.as_slice(),
        _ => &[],
    });
    check_all(attrs, faults);
}

/// Checks the `#[fx(..)]` among these attributes.
pub(crate) fn check_all<'a>(attrs: impl Iterator<Item = &'a syn::Attribute>, faults: &mut Faults) {
    for attr in attrs.filter(|attr| attr.path().is_ident("fx")) {
        if let syn::Meta::List(list) = &attr.meta {
            faults.options(FnOptions::parse(list.tokens.clone()));
        } else {
            let help = "known here: `inline`, `leaf`, `pure`";
            faults.push(Code::UnknownOption, attr, "`#[fx]` without options says nothing", help);
        }
    }
}

/// The impl without the `#[fx(..)]` on its functions, so that `fx` need not be imported for them.
pub(crate) fn strip(item: TokenStream) -> TokenStream {
    let tokens = item.into_iter().map(|token| match token {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
            let mut stripped = Group::new(Delimiter::Brace, strip_level(body.stream()));
            stripped.set_span(body.span());
            stripped.into()
        }
        other => other,
    });
    tokens.collect()
}

fn strip_level(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_fx = |at: usize| match (tokens.get(at), tokens.get(at + 1)) {
        (Some(TokenTree::Punct(hash)), Some(TokenTree::Group(group))) => {
            let first = group.stream().into_iter().next();
            hash.as_char() == '#' && matches!(first, Some(TokenTree::Ident(name)) if name == "fx")
        }
        _ => false,
    };
    let kept = (0..tokens.len()).filter(|&at| !(is_fx(at) || at > 0 && is_fx(at - 1)));
    kept.map(|at| tokens[at].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_its_own_attributes_only() {
        let item: TokenStream =
            "#[fx(a)] impl Net { #[fx(leaf)] #[doc = \"x\"] fn f() { #[fx] g() } fx! {} }".parse().expect("tokens");
        let want: TokenStream =
            "#[fx(a)] impl Net { #[doc = \"x\"] fn f() { #[fx] g() } fx! {} }".parse().expect("tokens");
        assert_eq!(strip(item).to_string(), want.to_string());
    }
}
