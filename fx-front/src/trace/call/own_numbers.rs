//! Numbers that `move` closures write to: each has copies of its own, made where the closure stands.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::syntax::substitute::{Substitution, substituted};
use crate::syntax::{format_names, names_of};
use crate::trace::types::ty::is_copy;
use crate::trace::{Result, Tracer, Ty, Val, unsupported};

impl Tracer<'_> {
    /// A `move` closure with variables of its own in place of the numbers that it writes to, of which it has copies; `None`
    /// where it writes to none.
    pub(in crate::trace) fn with_own_numbers(
        &mut self,
        closure: &syn::ExprClosure,
    ) -> Result<Option<syn::ExprClosure>> {
        if closure.capture.is_none() {
            return Ok(None);
        }
        let bound: BTreeSet<String> = closure.inputs.iter().flat_map(names_of).collect();
        let mut own = Substitution::new();
        for name in self.writes(&closure.body).into_iter().filter(|name| !bound.contains(name)) {
            let Some(value) = self.env.read(&name).filter(|value| self.may_be_copied(value, &name)).cloned() else {
                continue;
            };
            let copy = self.fresh_name(&name, closure.span());
            self.env.declare(&copy.to_string(), value);
            own.insert(name, copy.to_token_stream());
        }
        if own.is_empty() {
            return Ok(None);
        }
        if shows(closure.to_token_stream(), &own) {
            return unsupported(closure.span(), "a format string that shows a number of the closure's own");
        }
        match syn::parse2(substituted(closure.to_token_stream(), &own)) {
            Ok(closure) => Ok(Some(closure)),
            Err(_) => unsupported(closure.span(), "a closure that writes to numbers of its own"),
        }
    }

    /// Whether a `move` closure has a copy of the variable's value, or the value itself, which nothing else has then. What is
    /// borrowed is written to where it lies.
    fn may_be_copied(&self, value: &Val, name: &str) -> bool {
        match value {
            Val::MutRef(..) | Val::Place(_) | Val::Closure(..) | Val::Chosen(_) | Val::Never => false,
            value => is_copy(&value.ty()) || value.ty() != Ty::Tensor && !self.is_vec_variable(name),
        }
    }

    /// The call with such closures in place of those that it and the calls that it is made on are given; `None` where there
    /// are none.
    pub(in crate::trace) fn with_own_captures(
        &mut self,
        call: &syn::ExprMethodCall,
    ) -> Result<Option<syn::ExprMethodCall>> {
        let receiver = match &*call.receiver {
            syn::Expr::MethodCall(inner) => self.with_own_captures(inner)?,
            _ => None,
        };
        let mut args = call.args.clone();
        let mut is_changed = receiver.is_some();
        for arg in &mut args {
            let syn::Expr::Closure(closure) = arg else { continue };
            if let Some(own) = self.with_own_numbers(closure)? {
                // What it writes to is its own already.
                *closure = syn::ExprClosure { capture: None, ..own };
                is_changed = true;
            }
        }
        let receiver = receiver.map_or_else(|| call.receiver.clone(), |receiver| Box::new(receiver.into()));
        Ok(is_changed.then(|| syn::ExprMethodCall { receiver, args, ..call.clone() }))
    }

    /// The same of an expression that is such a call.
    pub(in crate::trace) fn with_own_captures_in(&mut self, expr: &syn::Expr) -> Result<Option<syn::Expr>> {
        match expr {
            syn::Expr::MethodCall(call) => Ok(self.with_own_captures(call)?.map(syn::Expr::MethodCall)),
            _ => Ok(None),
        }
    }
}

/// Whether a format string in the tokens shows one of the variables by its name.
fn shows(tokens: TokenStream, names: &Substitution) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Literal(text) => format_names(&text.to_string()).any(|name| names.contains_key(name)),
        TokenTree::Group(group) => shows(group.stream(), names),
        TokenTree::Ident(_) | TokenTree::Punct(_) => false,
    })
}
