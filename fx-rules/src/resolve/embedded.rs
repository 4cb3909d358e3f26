//! Rust inside a replacement: `rust!(..)`, in which captures stand for their values.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;

use super::Resolver;
use crate::parse::spelled;
use crate::term::Tmpl;

impl Resolver<'_> {
    /// `rust!(path(&conv.ws, bn)?; Type)`: Rust as it is, in which captures stand for their values; without a type it
    /// yields a tensor.
    pub(crate) fn tmpl_rust(&mut self, tokens: &TokenStream) -> Tmpl {
        let mut tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let is_semicolon = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';');
        let ty = tokens.iter().position(is_semicolon).map(|at| {
            let ty: TokenStream = tokens.drain(at..).skip(1).collect();
            spelled(ty)
        });
        let fallible = matches!(tokens.last(), Some(TokenTree::Punct(sign)) if sign.as_char() == '?');
        if fallible {
            tokens.pop();
        }
        let mut args = Vec::new();
        let filled = self.holes(tokens.into_iter().collect(), &mut args);
        let template = spelled(filled).replace("__hole", "$");
        Tmpl::Rust { template, args, fallible, tensors: 1, ty }
    }

    /// The tokens with every capture replaced by its hole.
    fn holes(&mut self, tokens: TokenStream, args: &mut Vec<Tmpl>) -> TokenStream {
        let mut after_dot = false;
        let mut out = TokenStream::new();
        for token in tokens {
            let is_dot = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '.');
            let token = match token {
                TokenTree::Group(group) => {
                    let inner = self.holes(group.stream(), args);
                    TokenTree::Group(proc_macro2::Group::new(group.delimiter(), inner))
                }
                TokenTree::Ident(name) if !after_dot => self.hole(&name, args).unwrap_or(TokenTree::Ident(name)),
                other => other,
            };
            after_dot = is_dot;
            token.to_tokens(&mut out);
        }
        out
    }

    fn hole(&mut self, name: &Ident, args: &mut Vec<Tmpl>) -> Option<TokenTree> {
        let known = self.let_names.iter().rev().find(|(known, _)| name == known).map(|(_, value)| value.clone());
        let value = if let Some(value) = known {
            value
        } else {
            let slot = self.slot_of(name)?;
            self.captures[slot].used += 1;
            Tmpl::Capture(slot)
        };
        args.push(value);
        Some(TokenTree::Ident(Ident::new(&format!("__hole{}", args.len() - 1), name.span())))
    }
}
