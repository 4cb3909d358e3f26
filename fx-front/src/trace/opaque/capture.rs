//! The tokens of opaque code: rewritten so that they mean the same in the generated function.
//!
//! `self.fc` becomes `(*self_fc)`, `Self` the model's type, and a variable that can only be reached where it is a
//! placeholder for that place.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::VisitMut;

use crate::syntax::{add_words, format_names};

/// What opaque code mentions.
#[derive(Default)]
pub(in crate::trace) struct Capture {
    /// Variables that it gets as variables of its own.
    pub(in crate::trace) variables: BTreeSet<String>,
    /// Variables that it reaches where they are, in the order of their placeholders.
    pub(in crate::trace) places: Vec<String>,
    /// Those among both that stand inside of a format string.
    pub(in crate::trace) formatted: BTreeSet<String>,
    /// Fields of the receiver.
    pub(in crate::trace) fields: BTreeSet<String>,
    /// Whether the receiver itself is mentioned.
    pub(in crate::trace) whole_self: bool,
    owner: Option<TokenStream>,
    /// All names in the code.
    words: BTreeSet<String>,
}

/// What a name is to the code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) enum Mention {
    /// No variable.
    None,
    /// A variable that can be copied or shared.
    Variable,
    /// A variable that can only be reached where it is.
    Place,
}

type Lookup<'l> = &'l dyn Fn(&str) -> Mention;

impl Capture {
    /// The tokens of the expression, rewritten.
    pub(in crate::trace) fn rewrite(
        &mut self,
        expr: &syn::Expr,
        owner: Option<TokenStream>,
        lookup: Lookup<'_>,
    ) -> TokenStream {
        self.owner = owner;
        let mut expr = expr.clone();
        Explicit.visit_expr_mut(&mut expr);
        add_words(expr.to_token_stream(), &mut self.words);
        self.rewrite_tokens(expr.to_token_stream(), lookup)
    }

    /// The name of a variable that the code gets for a part of the model: one that it has no variable of its own by.
    pub(in crate::trace) fn own_name(&self, name: &str) -> String {
        let mut own = name.to_owned();
        while self.words.contains(&own) {
            own.push('_');
        }
        own
    }

    /// The name of the variable for a field of the receiver.
    pub(in crate::trace) fn field_name(&self, field: &str) -> String {
        self.own_name(&format!("self_{}", field.trim_start_matches("r#")))
    }

    /// The name of the variable for the receiver itself.
    pub(in crate::trace) fn receiver_name(&self) -> String {
        self.own_name("this")
    }

    /// What stands for the place of that position until the place is known.
    pub(in crate::trace) fn placeholder(position: usize) -> String {
        format!("fx_place_{position}_")
    }

    fn rewrite_tokens(&mut self, tokens: TokenStream, lookup: Lookup<'_>) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut out = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            at += self.token(&tokens, at, lookup, &mut out);
        }
        out.into_iter().collect()
    }

    /// Takes the tokens from `at` on that belong together; yields how many.
    fn token(&mut self, all: &[TokenTree], at: usize, lookup: Lookup<'_>, out: &mut Vec<TokenTree>) -> usize {
        match &all[at] {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self.rewrite_tokens(group.stream(), lookup));
                inner.set_span(group.span());
                out.push(TokenTree::Group(inner));
            }
            // A path in the module.
            TokenTree::Ident(ident) if ident == "self" && is_path(all, at) => out.push(all[at].clone()),
            TokenTree::Ident(ident) if ident == "self" => return self.rewrite_receiver(all, at, out),
            TokenTree::Ident(ident) if ident == "Self" && self.owner.is_some() => {
                let owner = self.owner.clone().unwrap_or_default();
                let is_path = all.get(at + 1).is_some_and(is_colon);
                out.extend(if is_path { beginning(&owner) } else { owner });
            }
            TokenTree::Ident(ident) => out.push(TokenTree::Ident(self.name(ident, all, at, lookup))),
            TokenTree::Literal(literal) => {
                self.inline_format(&literal.to_string(), lookup);
                out.push(all[at].clone());
            }
            TokenTree::Punct(_) => out.push(all[at].clone()),
        }
        1
    }

    fn name(&mut self, ident: &Ident, all: &[TokenTree], at: usize, lookup: Lookup<'_>) -> Ident {
        let name = ident.to_string();
        let is_path = is_path(all, at);
        let is_label = all.get(at + 1).is_some_and(is_colon) && !is_path;
        // A path may begin with a parameter of the function that is inlined.
        let is_generic = is_path && matches!(lookup(&name), Mention::Place);
        if is_member(all, at) || is_label || is_path && !is_generic {
            return ident.clone();
        }
        match lookup(&name) {
            Mention::None => ident.clone(),
            Mention::Variable => {
                self.variables.insert(name);
                ident.clone()
            }
            Mention::Place => Ident::new(&Self::placeholder(self.place(name)), ident.span()),
        }
    }

    fn place(&mut self, name: String) -> usize {
        self.places.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.places.push(name);
            self.places.len() - 1
        })
    }

    fn rewrite_receiver(&mut self, all: &[TokenTree], at: usize, out: &mut Vec<TokenTree>) -> usize {
        let field = match (all.get(at + 1), all.get(at + 2), all.get(at + 3)) {
            (_, Some(_), Some(TokenTree::Group(group))) if group.delimiter() == Delimiter::Parenthesis => None,
            (_, Some(_), Some(colon)) if is_colon(colon) => None,
            (Some(dot), Some(TokenTree::Ident(name)), _) if is_dot(dot) => Some(name.to_string()),
            (Some(dot), Some(TokenTree::Literal(index)), _) if is_dot(dot) => Some(index.to_string()),
            _ => None,
        };
        let span = all[at].span();
        if let Some(name) = field {
            // The place, not a reference to it: `&self.fc` stays a `&Linear`.
            let reference = Ident::new(&self.field_name(&name), span);
            out.push(TokenTree::Group(Group::new(Delimiter::Parenthesis, quote::quote!(*#reference))));
            self.fields.insert(name);
            return 3;
        }
        self.whole_self = true;
        out.push(TokenTree::Ident(Ident::new(&self.receiver_name(), span)));
        1
    }

    /// `"{x}"` mentions `x`.
    fn inline_format(&mut self, literal: &str, lookup: Lookup<'_>) {
        for name in format_names(literal) {
            match lookup(name) {
                Mention::None => continue,
                Mention::Variable => _ = self.variables.insert(name.to_owned()),
                Mention::Place => _ = self.place(name.to_owned()),
            }
            self.formatted.insert(name.to_owned());
        }
    }
}

/// `Point { x }` as `Point { x: x }`, so that the value can be another expression.
struct Explicit;

impl VisitMut for Explicit {
    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        field.colon_token.get_or_insert_with(|| syn::Token![:](Span::call_site()));
        syn::visit_mut::visit_field_value_mut(self, field);
    }
}

/// Whether a path begins there.
pub(in crate::trace) fn is_path(all: &[TokenTree], at: usize) -> bool {
    all.get(at + 1).is_some_and(is_colon) && all.get(at + 2).is_some_and(is_colon)
}

/// Whether it is a field or a method.
pub(in crate::trace) fn is_member(all: &[TokenTree], at: usize) -> bool {
    at > 0 && is_dot(&all[at - 1]) && !(at > 1 && is_dot(&all[at - 2]))
}

pub(in crate::trace) fn is_dot(token: &TokenTree) -> bool {
    is_punct(token, '.')
}

pub(in crate::trace) fn is_colon(token: &TokenTree) -> bool {
    is_punct(token, ':')
}

pub(in crate::trace) fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// The type as a path begins with it, in a pattern too, which takes no `<Type>::Variant`.
fn beginning(ty: &TokenStream) -> TokenStream {
    let Ok(syn::Type::Path(syn::TypePath { qself: None, mut path })) = syn::parse2(ty.clone()) else {
        return quote::quote!(<#ty>);
    };
    for segment in &mut path.segments {
        if let syn::PathArguments::AngleBracketed(given) = &mut segment.arguments {
            given.colon2_token = Some(<syn::Token![::]>::default());
        }
    }
    path.to_token_stream()
}
