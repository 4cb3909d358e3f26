//! Closures that a chain is given and that capture variables: each becomes a layer, of a struct of its own.

use fx_ir::catalog::ChainMethod;
use quote::format_ident;
use syn::parse_quote;

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
        let entry = match ChainMethod::of_name(&call.method.to_string())? {
            ChainMethod::AddFn => "forward",
            ChainMethod::AddFnT => "forward_t",
            _ => return None,
        };
        let (Some(syn::Expr::Closure(closure)), 1) = (call.args.first(), call.args.len()) else { return None };
        // The struct is another `Self`.
        if mentions(&closure.body, &format_ident!("Self")) {
            return None;
        }
        let (body, captured) = captures::rewritten(closure, &locals.names()).ok()?;
        let typed = captured.iter().map(|name| {
            let ty = locals.ty(name).filter(infer::is_complete)?;
            Some((format_ident!("{name}"), ty))
        });
        let fields: Vec<(syn::Ident, syn::Type)> = typed.collect::<Option<_>>()?;
        if fields.is_empty() {
            return None;
        }
        let maker =
            self.index.fns[site.id].owner.as_ref().map_or_else(|| site.sig.ident.to_string(), crate::key::type_name);
        let wanted = format!("{}Closure", fx_ir::camel(&maker));
        let name = self.free_name(&site.module, &wanted, "");
        let ident = format_ident!("{name}", span = closure.or1_token.span);
        let forward = forward_sig(closure, &format_ident!("{entry}", span = closure.or1_token.span)).ok()?;
        let body = match body {
            syn::Expr::Block(block) => block.block,
            body => parse_quote!({ #body }),
        };
        self.source(site.root, &struct_source(&site.sig.ident, &ident, &fields, None, (&forward, &body)));
        self.declare(site, &name, &fields);
        self.add_fn(site, Some(parse_quote!(#ident)), forward, body);
        let names = fields.iter().map(|(name, _)| name);
        Some(parse_quote!(#ident { #(#names),* }))
    }
}
