//! Closures that a chain is given and that capture variables: each becomes a layer, of a struct of its own.

use quote::format_ident;
use syn::{parse_quote, visit::Visit};

use super::{
    Lowering, Site, captures, infer,
    source::{forward_sig, struct_source},
};

/// The variables of a builder function.
pub(super) struct Variables {
    /// Those at the end of its statements, with their types.
    pub(super) locals: infer::Locals,
    /// Each name that a pattern in it binds, as often as one does.
    pub(super) bound: Vec<String>,
}

impl Lowering<'_> {
    /// The variables of a function with these statements.
    pub(super) fn variables(&mut self, site: &Site<'_>, stmts: &[syn::Stmt]) -> Variables {
        let mut bound = Bound(Vec::new());
        site.sig.inputs.iter().for_each(|input| bound.visit_fn_arg(input));
        for stmt in stmts {
            bound.visit_stmt(stmt);
        }
        Variables { locals: self.locals(site, stmts), bound: bound.0 }
    }

    /// The layer of `seq.add_fn_t(move |xs, train| xs.dropout(p, train))`, as `SeqClosure { p }`; nothing where the
    /// closure captures nothing, or a variable whose type is not certain.
    pub(super) fn capturing_layer(
        &mut self,
        site: &Site<'_>,
        call: &syn::ExprMethodCall,
        variables: &Variables,
    ) -> Option<syn::Expr> {
        let entry = match call.method.to_string().as_str() {
            "add_fn" => "forward",
            "add_fn_t" => "forward_t",
            _ => return None,
        };
        let (Some(syn::Expr::Closure(closure)), 1) = (call.args.first(), call.args.len()) else { return None };
        let (body, captured) = captures::rewritten(closure, &variables.bound).ok()?;
        let mut names: Vec<&String> = captured.iter().collect();
        names.dedup();
        let is_one = |name: &String| variables.bound.iter().filter(|bound| *bound == name).count() == 1;
        let typed = names.iter().filter(|name| is_one(name)).map(|name| {
            let ty = variables.locals.ty(name).filter(infer::is_complete)?;
            Some((format_ident!("{name}"), ty))
        });
        let fields: Vec<(syn::Ident, syn::Type)> = typed.collect::<Option<_>>()?;
        if fields.is_empty() || fields.len() < names.len() {
            return None;
        }
        let wanted = format!("{}Closure", fx_ir::camel(&site.sig.ident.to_string()));
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

struct Bound(Vec<String>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat(&mut self, pat: &'ast syn::Pat) {
        self.0.extend(crate::pattern::bound(pat));
    }
}
