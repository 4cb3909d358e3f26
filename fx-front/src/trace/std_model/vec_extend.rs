//! Lists that are extended, element by element.

use syn::spanned::Spanned;

use crate::syntax::enclosed::{in_head, operand};
use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    desugar::{iterator_chain::is_chain, slice_split::concatenated},
};

impl Tracer<'_> {
    /// `list.extend(items)` as a `push` for each of the items.
    pub(in crate::trace) fn extended(&mut self, items: &syn::Expr, call: &syn::ExprMethodCall) -> Result<Val> {
        let list = &call.receiver;
        let pushed: syn::Expr = match items {
            syn::Expr::Array(syn::ExprArray { elems, .. }) => {
                let elems = elems.iter();
                syn::parse_quote_spanned!(call.span()=> { #(#list.push(#elems);)* })
            }
            items => {
                let items = in_head(items);
                syn::parse_quote_spanned!(call.span()=> for fx_extended in #items { #list.push(fx_extended); })
            }
        };
        self.expr(&pushed)
    }

    /// `[a, b].concat()` of lists of numbers; `None` of anything else.
    pub(in crate::trace) fn concatenated_numbers(&mut self, call: &syn::ExprMethodCall) -> Option<Val> {
        let joined = concatenated(call)?;
        let mark = self.checkpoint();
        match self.expr(&joined) {
            Ok(numbers) if matches!(numbers.ty(), Ty::List(held) if is_copy(&held) && !is_untyped(&held)) => {
                Some(numbers)
            }
            _ => {
                self.rollback(mark);
                None
            }
        }
    }

    /// `list.extend(option)` of an option that owns a tensor as a `push` of what it holds; `None` of anything else.
    pub(in crate::trace) fn extended_by_option(&mut self, call: &syn::ExprMethodCall) -> Option<Result<Val>> {
        let (items, list) = (call.args.first().filter(|_| call.method == "extend")?, &call.receiver);
        let mark = self.checkpoint();
        let option = self.expr(items).ok();
        let is_owned = match &option {
            Some(Val::Some(held)) => held.is_tensor() && held.ref_kind() == Some(RefKind::Value),
            Some(Val::Node(id, Ty::Option(held), RefKind::Value)) => {
                **held == Ty::Tensor && !self.holds_references(*id)
            }
            _ => false,
        };
        let Some(option) = option.filter(|_| is_owned) else {
            self.rollback(mark);
            return None;
        };
        let name = self.fresh_name("extension", call.span());
        let pushed: syn::Expr =
            syn::parse_quote_spanned!(call.span()=> if let Some(fx_extended) = #name { #list.push(fx_extended); });
        Some(self.with_variables(&[(name.to_string(), option)], |tracer| tracer.expr(&pushed)))
    }
}

/// What goes to a list one by one: the values of a chain, and to a list of tensors what is written out, or references. A
/// list that owns tensors takes no references.
pub(in crate::trace) fn extension(element: &Ty, call: &syn::ExprMethodCall) -> Option<syn::Expr> {
    let items = call.args.first()?;
    let is_slice = call.method == "extend_from_slice";
    if !is_slice && yields_values(items) {
        return Some(items.clone());
    }
    match items {
        _ if *element != Ty::Tensor => None,
        syn::Expr::Array(_) => Some(items.clone()),
        syn::Expr::Reference(borrowed) => match &*borrowed.expr {
            written @ syn::Expr::Array(_) if is_slice => Some(written.clone()),
            list => {
                let copied = is_slice.then(|| quote::quote_spanned!(call.span()=> .copied()));
                let list = operand(list);
                Some(syn::parse_quote_spanned!(call.span()=> #list.iter() #copied))
            }
        },
        syn::Expr::MethodCall(inner) if inner.method == "iter" && inner.args.is_empty() => Some(items.clone()),
        _ => None,
    }
}

/// Whether it is a chain of adaptors that makes what it yields.
fn yields_values(chain: &syn::Expr) -> bool {
    let syn::Expr::MethodCall(last) = chain else { return false };
    ["map", "filter_map", "flat_map"].iter().any(|name| last.method == name) && is_chain(chain)
}
