//! Closures that a chain is given and that capture variables: each becomes a layer, of a struct of its own.

use fx_ir::catalog::ChainMethod;
use quote::{ToTokens, format_ident, quote};
use syn::{parse_quote, visit_mut::VisitMut};

use super::{
    Lowering, Result, Site, captures,
    locals::Locals,
    source::{forward_sig, struct_source},
    type_facts::is_complete,
};
use crate::index::Ty;
use crate::syntax::mentions;

impl Lowering<'_> {
    /// The layer of `seq.add_fn_t(move |xs, train| xs.dropout(p, train))`, as `SeqClosure { p }`; nothing where the
    /// closure captures nothing, or where no layer can be made of it, whose reason is noted.
    pub(super) fn capturing_layer(
        &mut self,
        site: &Site<'_>,
        call: &syn::ExprMethodCall,
        locals: &Locals,
    ) -> Option<syn::Expr> {
        self.note_variable(site, call, locals);
        let (closure, entry) = self.added_closure(site, call)?;
        match self.captured(site, closure, locals) {
            Ok(captured) => self.closure_layer(site, entry, captured?),
            Err(why) => {
                self.index.note_unconverted(site.id, closure.or1_token.span, why);
                None
            }
        }
    }

    /// Notes that the chain is given a closure by a variable.
    fn note_variable(&mut self, site: &Site<'_>, call: &syn::ExprMethodCall, locals: &Locals) {
        let method = ChainMethod::of_name(&call.method.to_string());
        if let (Some(ChainMethod::AddFn | ChainMethod::AddFnT), Some(syn::Expr::Path(path))) =
            (method, call.args.first())
            && let Some(name) = path.path.get_ident().filter(|name| locals.names().contains(&name.to_string()))
        {
            let elsewhere = "a name that it mentions is another variable there";
            let why = format!("it stands in the variable `{name}`, which is not used by chains alone, or {elsewhere}");
            self.index.note_unconverted(site.id, name.span(), why);
        }
    }

    /// What the closure captures, and its code with that as fields of `self`; nothing where it captures nothing.
    fn captured(&mut self, site: &Site<'_>, closure: &syn::ExprClosure, locals: &Locals) -> Result<Option<Captured>> {
        let in_macro = |name: String| format!("it captures `{name}` in a macro");
        let (_, names) = captures::rewritten(closure, &locals.names()).map_err(in_macro)?;
        if mentions(&closure.body, &format_ident!("self")) {
            return Err("it captures `self`".to_owned());
        }
        if names.is_empty() {
            return Ok(None);
        }
        // The struct is another `Self`.
        if mentions(&closure.body, &format_ident!("Self")) {
            return Err("it names `Self`".to_owned());
        }
        let (closure, parts) = self.with_parts(site, closure, locals)?;
        let (body, captured) = captures::rewritten(&closure, &locals.names()).map_err(in_macro)?;
        let mut fields: Vec<Part> = Vec::new();
        for name in captured {
            let Some(ty) = locals.ty(&name).filter(is_complete) else {
                return Err(format!("the type of `{name}` is not known"));
            };
            let name = format_ident!("{name}");
            fields.push((name.clone(), ty, parse_quote!(#name)));
        }
        fields.extend(parts);
        Ok(Some(Captured { closure, body, fields }))
    }

    /// The struct of a closure that captures these.
    fn closure_layer(&mut self, site: &Site<'_>, entry: &str, captured: Captured) -> Option<syn::Expr> {
        let Captured { closure, body, fields: captured } = captured;
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

    /// The type by a path that means the same everywhere, where it is a number's or one of tch's that is copied.
    fn copied(&self, site: &Site<'_>, ty: syn::Type) -> Option<syn::Type> {
        let syn::Type::Path(path) = &ty else { return None };
        if path.path.get_ident().is_some_and(|name| fx_ir::scalar::is_scalar(&name.to_string())) {
            return Some(ty);
        }
        match self.index.ty(&site.module, None, &ty) {
            Ty::Rust(name) if fx_ir::scalar::is_of_tch(&name) => syn::parse_str(&name).ok(),
            _ => None,
        }
    }

    /// The closure with `self.cfg_rate` for `cfg.rate`, of a variable of which it reads numbers and the like alone: it captures
    /// those, and the variable stays whole. Nothing where it reads other fields, of which the rest of the function may read
    /// more.
    fn with_parts(
        &mut self,
        site: &Site<'_>,
        closure: &syn::ExprClosure,
        locals: &Locals,
    ) -> Result<(syn::ExprClosure, Vec<Part>)> {
        let (mut closure, mut parts) = (closure.clone(), Vec::new());
        let (_, captured) = captures::rewritten(&closure, &locals.names())?;
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
                let ty = self.infer(site, &value, locals).and_then(|ty| self.copied(site, ty));
                let read = value.to_token_stream().to_string().replace(' ', "");
                let ty = ty.ok_or_else(|| format!("`{read}` is not known to be a number, a `Kind` or a `Device`"))?;
                parts.push((field, ty, value));
            }
            *closure.body = body;
        }
        Ok((closure, parts))
    }
}

/// A closure, its code with what it captures as fields of `self`, and those fields.
struct Captured {
    closure: syn::ExprClosure,
    body: syn::Expr,
    fields: Vec<Part>,
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
