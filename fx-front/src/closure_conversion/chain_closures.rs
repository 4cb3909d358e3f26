//! Closures that a chain is given and that capture variables: each becomes a layer, of a struct of its own.

use fx_ir::catalog::ChainMethod;
use quote::{format_ident, quote};
use syn::{parse_quote, visit_mut::VisitMut};

use super::{
    Lowering, Site, captures, infer,
    source::{forward_sig, struct_source},
};
use crate::syntax::mentions;

impl Lowering<'_> {
    /// The layer of `seq.add_fn_t(move |xs, train| xs.dropout(p, train))`, as `SeqClosure { p }`; nothing where the
    /// closure captures nothing, or a variable whose type is not certain.
    pub(super) fn capturing_layer(
        &mut self,
        site: &Site<'_>,
        call: &syn::ExprMethodCall,
        locals: &infer::Locals,
    ) -> Option<syn::Expr> {
        let (closure, entry) = self.added_closure(site, call)?;
        // The struct is another `Self`.
        if mentions(&closure.body, &format_ident!("Self")) {
            return None;
        }
        let (closure, parts) = self.with_parts(site, closure, locals)?;
        let (body, captured) = captures::rewritten(&closure, &locals.names()).ok()?;
        let typed = captured.iter().map(|name| {
            let ty = locals.ty(name).filter(infer::is_complete)?;
            let name = format_ident!("{name}");
            Some((name.clone(), ty, parse_quote!(#name)))
        });
        let mut captured: Vec<(syn::Ident, syn::Type, syn::Expr)> = typed.collect::<Option<_>>()?;
        captured.extend(parts);
        if captured.is_empty() {
            return None;
        }
        let fields: Vec<(syn::Ident, syn::Type)> =
            captured.iter().map(|(name, ty, _)| (name.clone(), ty.clone())).collect();
        let maker =
            self.index.fns[site.id].owner.as_ref().map_or_else(|| site.sig.ident.to_string(), crate::key::type_name);
        let wanted = format!("{}Closure", fx_ir::camel(&maker));
        let name = self.free_name(&site.module, &wanted, "");
        let ident = format_ident!("{name}", span = closure.or1_token.span);
        let forward = forward_sig(&closure, &format_ident!("{entry}", span = closure.or1_token.span)).ok()?;
        let body = match body {
            syn::Expr::Block(block) => block.block,
            body => parse_quote!({ #body }),
        };
        self.source(site.root, &struct_source(&site.sig.ident, &ident, &fields, None, (&forward, &body)));
        self.declare(site, &name, &fields);
        self.add_fn(site, Some(parse_quote!(#ident)), forward, body);
        let values = captured.iter().map(|(name, _, value)| quote!(#name: #value));
        Some(parse_quote!(#ident { #(#values),* }))
    }

    /// The closure that the call adds to a chain, by itself or within `nn::func(..)`, and the name of the forward that it
    /// stands for.
    fn added_closure<'e>(
        &self,
        site: &Site<'_>,
        call: &'e syn::ExprMethodCall,
    ) -> Option<(&'e syn::ExprClosure, &'static str)> {
        let arg = call.args.first().filter(|_| call.args.len() == 1)?;
        match (ChainMethod::of_name(&call.method.to_string())?, arg) {
            (ChainMethod::AddFn, syn::Expr::Closure(closure)) => Some((closure, "forward")),
            (ChainMethod::AddFnT, syn::Expr::Closure(closure)) => Some((closure, "forward_t")),
            (ChainMethod::Add, made) => self.closure_of(site, made),
            _ => None,
        }
    }

    /// The closure with `self.cfg_rate` for `cfg.rate`, of a variable of which it reads numbers alone: it captures those, and
    /// the variable stays whole. Nothing where it reads other fields, of which the rest of the function may read more.
    fn with_parts(
        &mut self,
        site: &Site<'_>,
        closure: &syn::ExprClosure,
        locals: &infer::Locals,
    ) -> Option<(syn::ExprClosure, Vec<Part>)> {
        let (mut closure, mut parts) = (closure.clone(), Vec::new());
        let (_, captured) = captures::rewritten(&closure, &locals.names()).ok()?;
        for name in captured {
            let variable = format_ident!("{name}");
            let mut read = FieldReads { variable: &variable, found: Vec::new() };
            let mut body = (*closure.body).clone();
            read.visit_expr_mut(&mut body);
            let is_hidden = crate::pattern::bound_in(&body).contains(&name);
            if read.found.is_empty() || is_hidden || mentions(&body, &variable) {
                continue;
            }
            for (field, value) in read.found {
                let ty = self.infer(site, &value, locals)?;
                let name =
                    if let syn::Type::Path(path) = &ty { path.path.get_ident().map(ToString::to_string) } else { None };
                name.filter(|name| fx_ir::scalar::is_scalar(name))?;
                parts.push((field, ty, value));
            }
            *closure.body = body;
        }
        Some((closure, parts))
    }
}

/// A field of a closure's struct, its type, and what it is made from.
type Part = (syn::Ident, syn::Type, syn::Expr);

/// Puts `self.cfg_rate` in the place of `cfg.rate`.
struct FieldReads<'v> {
    variable: &'v syn::Ident,
    found: Vec<(syn::Ident, syn::Expr)>,
}

impl VisitMut for FieldReads<'_> {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        if let syn::Expr::Field(syn::ExprField { base, member: syn::Member::Named(member), .. }) = expr
            && matches!(&**base, syn::Expr::Path(path) if path.path.is_ident(self.variable))
        {
            let field = format_ident!("{}_{member}", self.variable, span = member.span());
            let read = std::mem::replace(expr, parse_quote!(self.#field));
            if !self.found.iter().any(|(known, _)| *known == field) {
                self.found.push((field, read));
            }
            return;
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }
}
