//! Lists that are extended, element by element.

use syn::spanned::Spanned;

use crate::trace::{Result, Tracer, Val, desugar::iterator_chain::is_chain};

impl Tracer<'_> {
    /// `list.extend(others.iter().map(|x| ..))`, element by element.
    pub(in crate::trace) fn extended(&mut self, call: &syn::ExprMethodCall) -> Result<Val> {
        let (list, chain) = (&call.receiver, call.args.first());
        self.expr(&syn::parse_quote_spanned!(call.span()=> for fx_extended in #chain { #list.push(fx_extended); }))
    }

    /// The same with elements that are written out, or of a list of references.
    pub(in crate::trace) fn extended_by(&mut self, items: &syn::Expr, call: &syn::ExprMethodCall) -> Result<Val> {
        let list = &call.receiver;
        self.expr(&match items {
            syn::Expr::Array(syn::ExprArray { elems, .. }) => {
                let elems = elems.iter();
                syn::parse_quote_spanned!(call.span()=> { #(#list.push(#elems);)* })
            }
            items => {
                syn::parse_quote_spanned!(call.span()=> for fx_extended in #items { #list.push(fx_extended); })
            }
        })
    }
}

/// What a list of tensors is extended with, where those are written out or references: a list that owns tensors takes no
/// references.
pub(in crate::trace) fn lent_items(call: &syn::ExprMethodCall) -> Option<syn::Expr> {
    let items = call.args.first()?;
    match items {
        syn::Expr::Array(_) => Some(items.clone()),
        syn::Expr::Reference(borrowed) if call.method == "extend" => {
            let list = &borrowed.expr;
            Some(syn::parse_quote_spanned!(call.span()=> #list.iter()))
        }
        syn::Expr::Reference(borrowed) => match &*borrowed.expr {
            written @ syn::Expr::Array(_) => Some(written.clone()),
            list => Some(syn::parse_quote_spanned!(call.span()=> #list.iter().copied())),
        },
        syn::Expr::MethodCall(inner) if inner.method == "iter" && inner.args.is_empty() => Some(items.clone()),
        _ => None,
    }
}

/// Whether it is a chain of adaptors that makes what it yields.
pub(in crate::trace) fn yields_values(chain: &syn::Expr) -> bool {
    let syn::Expr::MethodCall(last) = chain else { return false };
    ["map", "filter_map", "flat_map"].iter().any(|name| last.method == name) && is_chain(chain)
}
