//! The names that code has, as words.

use std::collections::BTreeSet;

use quote::ToTokens;

/// Whether the code has the word.
pub(crate) fn mentions(code: &impl ToTokens, word: &syn::Ident) -> bool {
    fn has(tokens: proc_macro2::TokenStream, word: &syn::Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => ident == *word,
            proc_macro2::TokenTree::Group(group) => has(group.stream(), word),
            proc_macro2::TokenTree::Literal(text) => text.to_string().contains(&word.to_string()),
            proc_macro2::TokenTree::Punct(_) => false,
        })
    }
    has(code.to_token_stream(), word)
}

/// The name, or one that is made of it, which is no word of the code.
pub(crate) fn unused_name(name: &str, code: &impl ToTokens, span: proc_macro2::Span) -> syn::Ident {
    let mut name = syn::Ident::new(name, span);
    while mentions(code, &name) {
        name = quote::format_ident!("fx_{name}", span = span);
    }
    name
}

/// The names that a format string may mention: `x` of `"{x:?}"`.
pub(crate) fn format_names(literal: &str) -> impl Iterator<Item = &str> {
    let name = |piece: &str| piece.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(piece.len());
    let names = literal.split('{').skip(1).map(move |piece| &piece[..name(piece)]);
    names.filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Puts all words of the tokens among the others, and those that format strings show.
pub(crate) fn add_words(tokens: proc_macro2::TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(ident) => _ = words.insert(ident.to_string()),
            proc_macro2::TokenTree::Group(group) => add_words(group.stream(), words),
            proc_macro2::TokenTree::Literal(text) => {
                words.extend(format_names(&text.to_string()).map(str::to_owned));
            }
            proc_macro2::TokenTree::Punct(_) => {}
        }
    }
}

/// How often the tokens have the word.
pub(crate) fn count_of(tokens: proc_macro2::TokenStream, word: &str) -> usize {
    let each = |token| match token {
        proc_macro2::TokenTree::Ident(ident) => usize::from(ident == word),
        proc_macro2::TokenTree::Group(group) => count_of(group.stream(), word),
        proc_macro2::TokenTree::Literal(text) => usize::from(text.to_string().contains(word)),
        proc_macro2::TokenTree::Punct(_) => 0,
    };
    tokens.into_iter().map(each).sum()
}
