//! Calls that stay calls: of a function or a submodule under `#[fx(leaf)]`, or `#[fx(pure)]` where it cannot be inlined.

use fx_ir::{Arg, Code, Effect, Op};
use proc_macro2::Span;
use quote::ToTokens;

use super::{Result, Tracer, Ty, Val, unknown};
use crate::{attrs::FnOptions, index::is_within};

impl Tracer<'_> {
    /// One node that calls the function of the crate, which is not looked into.
    pub(super) fn leaf_call(
        &mut self,
        function: usize,
        fx: FnOptions,
        receiver: Option<&Val>,
        args: &[Val],
        span: Span,
    ) -> Result<Val> {
        let callee = &self.index.fns[function];
        let mut nodes = Vec::new();
        let head = self.callee(function, receiver, &mut nodes, span)?;
        let params = callee.sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(&*typed.ty),
            syn::FnArg::Receiver(_) => None,
        });
        let mut spelled = Vec::new();
        for (ty, value) in params.zip(args) {
            spelled.push(self.argument(value, ty, &mut nodes, span)?);
        }
        let ty = match &callee.sig.output {
            syn::ReturnType::Type(_, ty) => self.index.ty(&callee.module, callee.owner.as_ref(), ty),
            syn::ReturnType::Default => Ty::Tuple(Vec::new()),
        };
        let effect = if fx.pure.is_present() { Effect::Pure } else { Effect::Io };
        let code = Code { template: format!("{head}({})", spelled.join(", ")), effect, fallible: false, opaque: None };
        let is_result = matches!(ty, Ty::Result(_));
        let label = receiver.map_or(String::new(), |receiver| self.label_of(receiver, ""));
        let name = callee.sig.ident.to_string();
        let label = if label.is_empty() { name.clone() } else { label };
        let value = self.push_labelled(Op::Rust(code), nodes, &name, &label, ty, span);
        if is_result {
            self.results.extend(value.node());
        }
        Ok(value)
    }

    /// The function as generated code names it.
    fn callee(&mut self, function: usize, receiver: Option<&Val>, nodes: &mut Vec<Arg>, span: Span) -> Result<String> {
        let callee = &self.index.fns[function];
        let name = &callee.sig.ident;
        let home = self.home();
        if !callee.is_visible && !is_within(home, &callee.module) {
            return unknown(span, format!("`{name}` is private to its module"));
        }
        if let Some(receiver) = receiver {
            return Ok(format!("{}.{name}", self.spell(receiver, nodes, span)?));
        }
        let owner = callee.owner.as_ref().map(|owner| self.index.ty(&callee.module, None, owner));
        match owner {
            Some(owner) => match self.spelling(&owner) {
                Some(owner) => Ok(format!("<{owner}>::{name}")),
                None => unknown(span, format!("the type of `{name}` cannot be named")),
            },
            // A variable of the generated code may have the function's name.
            None if home == callee.module => Ok(format!("self::{name}")),
            None => Ok(format!("{}::{name}", callee.module)),
        }
    }

    /// An argument for a parameter of that type.
    pub(super) fn argument(&mut self, value: &Val, ty: &syn::Type, nodes: &mut Vec<Arg>, span: Span) -> Result<String> {
        let borrows = ty.to_token_stream().into_iter().any(|token| token.to_string() == "&");
        match value {
            Val::Some(inner) => Ok(format!(
                "Some({})",
                if borrows { self.borrowed(inner, nodes, span)? } else { self.spell_owned(inner, nodes, span)? }
            )),
            value if matches!(ty, syn::Type::Reference(_)) => self.borrowed(value, nodes, span),
            value => self.spell_owned(value, nodes, span).map(|text| text.trim_start_matches('&').to_owned()),
        }
    }

    fn borrowed(&mut self, value: &Val, nodes: &mut Vec<Arg>, span: Span) -> Result<String> {
        let text = self.spell(value, nodes, span)?;
        Ok(if text.starts_with('"') { text } else { format!("&{text}") })
    }
}
