//! Tokens with other tokens in place of the parameters.

use std::collections::BTreeMap;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};

/// What stands for each parameter, by its name, and for the associated types of parameters, by names like `R::Item`.
pub(crate) type Substitution = BTreeMap<String, TokenStream>;

/// The tokens with each parameter replaced; what is put in has the place of the parameter.
pub(crate) fn substituted(tokens: TokenStream, values: &Substitution) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut out = TokenStream::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let (before, mut after) = (&tokens[..at], &tokens[at + 1..]);
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), substituted(group.stream(), values));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            TokenTree::Ident(name) if !is_part(before) => {
                let associated = associated_name(name, after).and_then(|name| values.get(&name));
                if associated.is_some() {
                    after = &after[3..];
                }
                match associated.or_else(|| values.get(&name.to_string())) {
                    Some(value) if is_path(after) => out.extend(as_head(placed(value.clone(), name.span()))),
                    Some(value) => out.extend(placed(value.clone(), name.span())),
                    None => out.extend([token.clone()]),
                }
            }
            other => out.extend([other.clone()]),
        }
        at = tokens.len() - after.len();
    }
    out
}

/// `R::Item`, if the tokens go on with `::Item`.
fn associated_name(name: &Ident, after: &[TokenTree]) -> Option<String> {
    match after.get(2) {
        Some(TokenTree::Ident(item)) if is_path(after) => Some(format!("{name}::{item}")),
        _ => None,
    }
}

/// Whether what follows these tokens is the name of a part of something: `x.T`, `a::T`.
fn is_part(before: &[TokenTree]) -> bool {
    let is = |back: usize, sign: char| {
        let token = before.len().checked_sub(back).and_then(|at| before.get(at));
        matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
    };
    (is(1, '.') && !is(2, '.')) || (is(1, ':') && is(2, ':')) || is(1, '\'')
}

/// Whether the tokens go on with `::`.
fn is_path(after: &[TokenTree]) -> bool {
    let is = |at: usize| matches!(after.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is(0) && is(1)
}

/// A type in front of `::new`: a path without arguments as it is, any other in angle brackets.
fn as_head(ty: TokenStream) -> TokenStream {
    let is_plain = ty.clone().into_iter().all(|token| match token {
        TokenTree::Ident(_) => true,
        TokenTree::Punct(punct) => punct.as_char() == ':',
        _ => false,
    });
    if is_plain { ty } else { quote::quote!(<#ty>) }
}

/// The tokens, all of them at one place.
pub(crate) fn placed(tokens: TokenStream, span: Span) -> TokenStream {
    let placed = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            token = TokenTree::Group(Group::new(group.delimiter(), placed(group.stream(), span)));
        }
        token.set_span(span);
        token
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_replaced_where_they_are_meant() {
        let tokens = |text: &str| text.parse::<TokenStream>().expect("tokens");
        let values = BTreeMap::from([
            ("B".to_owned(), tokens("crate::Basic")),
            ("W".to_owned(), tokens("crate::W<i64>")),
            ("N".to_owned(), tokens("3")),
            ("B::Act".to_owned(), tokens("crate::Relu")),
            ("B::Of".to_owned(), tokens("crate::Of<i64>")),
        ]);
        let check = |before: &str, after: &str| {
            let plain = |tokens: TokenStream| tokens.to_string().replace(' ', "");
            assert_eq!(plain(substituted(tokens(before), &values)), plain(tokens(after)));
        };
        check("let x: [B; N] = B::new(p, N);", "let x: [crate::Basic; 3] = crate::Basic::new(p, 3);");
        check("W::new(x.N, other::B, vec![N])", "<crate::W<i64>>::new(x.N, other::B, vec![3])");
        check("let a: B::Act = B::Act::new(B::DIM)", "let a: crate::Relu = crate::Relu::new(crate::Basic::DIM)");
        check("f::<B::Of>(B::Of::new())", "f::<crate::Of<i64>>(<crate::Of<i64>>::new())");
        check("for i in 0..N { f::<W>(i) }", "for i in 0..3 { f::<crate::W<i64>>(i) }");
    }
}
