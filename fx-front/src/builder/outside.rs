//! Structs that are made outside of functions, whose fields nobody reads: in constants, in statics and by macros that stand
//! where items do.

use proc_macro2::{TokenStream, TokenTree};

use super::{Impl, values_of};
use crate::index::{Index, InitializerCode};

/// Whether code outside of functions makes a struct that `makes` accepts, or may.
pub(super) fn makes(index: &Index, field: &str, makes: &dyn Fn(Impl<'_>, &syn::Path) -> bool) -> bool {
    index.initializers.iter().any(|initializer| {
        let of = Impl { module: &initializer.module, owner: initializer.owner.as_ref() };
        let makes = |path: &syn::Path| makes(of, path);
        match &initializer.code {
            InitializerCode::Expr(expr) => !values_of(expr, field, &makes).is_empty(),
            InitializerCode::Tokens(tokens) => mentions(tokens, &makes),
        }
    })
}

/// Whether the tokens name what `makes` accepts.
pub(super) fn mentions(tokens: &TokenStream, makes: &dyn Fn(&syn::Path) -> bool) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(name) => {
            syn::parse2::<syn::Path>(TokenTree::Ident(name).into()).is_ok_and(|path| makes(&path))
        }
        TokenTree::Group(group) => mentions(&group.stream(), makes),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
