//! Statements, and whole bodies, that are kept as opaque code.

use fx_ir::{Arg, Code, Op};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::index::Resolved;
use crate::syntax::effects::{calls_macro, escape};
use crate::syntax::targets::each_target;
use crate::trace::{
    Result, Tracer, Ty, Unsupported, Val,
    entry::signature::Signature,
    opaque::{capture::is_path, weight::is_of_debug_builds},
    place::may_borrow::is_kept,
    unsupported,
};

impl Tracer<'_> {
    /// An expression with a semicolon behind it, which `trace` traces; what of it must stay together is opaque code.
    pub(in crate::trace) fn statement(
        &mut self,
        expr: &syn::Expr,
        trace: impl FnOnce(&mut Self) -> Result<Val>,
    ) -> Result<Val> {
        let has_state = self.is_stateful() || self.has_places();
        let is_call = matches!(expr, syn::Expr::MethodCall(_) | syn::Expr::Call(_));
        let Some(mark) = (has_state || is_call).then(|| self.checkpoint()) else { return trace(self) };
        let first = self.graph.region(self.region).nodes.len();
        match trace(self) {
            Err(fault) if has_state => {
                self.rollback(mark);
                if is_kept(expr) {
                    // It would be kept longer than the variables of the opaque code live.
                    return unsupported(expr.span(), "a container that keeps a reference");
                }
                if is_call { self.opaque_statement(expr, fault) } else { Err(fault) }
            }
            Ok(value) if is_call => {
                let Some(reason) = self.kept_value(&value, first) else { return Ok(value) };
                self.rollback(mark);
                self.let_go(expr, reason)
            }
            value => value,
        }
    }

    /// Why the statement whose nodes begin at that position of the region is opaque code, where generated code would keep its
    /// value, which may hold on to what it was made of, beyond the statement.
    fn kept_value(&self, value: &Val, first: usize) -> Option<String> {
        let Val::Node(id, Ty::Unknown, _) = *value else { return None };
        let is_own = self.graph.region(self.region).nodes.iter().skip(first).any(|&node| node == id);
        let Op::Rust(code) = &self.graph.node(id).op else { return None };
        code.opaque.clone().filter(|_| is_own && !self.graph.has_users(id))
    }

    /// The body as it is, where not even a piece of it can be understood.
    pub(in crate::trace) fn opaque_body(
        &mut self,
        signature: &Signature,
        block: &syn::Block,
        fault: &Unsupported,
    ) -> Result<Arg> {
        let body = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: block.clone() });
        if let Some(escape) = escape(&body).or_else(|| calls_macro(&body, &self.index.returning_macros)) {
            return unsupported(escape, "code that leaves the function cannot be carried along");
        }
        if signature.output.is_ref {
            return unsupported(fault.span, "it yields a reference");
        }
        let (code, args) = self.captured(&body, fault.span)?;
        let operations = self.operations(&body, &code.text());
        let code = Code { fallible: signature.output.is_result, opaque: Some(fault.reason.clone()), ..code };
        self.report_opaque(fault.span, &fault.reason, operations);
        let value = self.push(Op::Rust(code), args, "forward", signature.output.ty.clone(), fault.span);
        Ok(value.arg().unwrap_or(Arg::None))
    }

    /// A statement under a `#[cfg(..)]` that only rustc can decide, which declares nothing and writes to no variable.
    pub(in crate::trace) fn conditional_statement(&mut self, stmt: &syn::Stmt) -> Result<Val> {
        if let Some(value) = self.debug_statement(stmt) {
            return Ok(value);
        }
        let (reason, span) = ("code under a condition that only rustc knows", stmt.span());
        let whole: syn::Expr = syn::parse_quote_spanned!(span=> { #stmt });
        let yields =
            matches!(stmt, syn::Stmt::Expr(expr, None) if !matches!(expr, syn::Expr::Block(_) | syn::Expr::If(_)));
        let declares = matches!(stmt, syn::Stmt::Local(_) | syn::Stmt::Item(_));
        if yields || declares || escape(&whole).or_else(|| calls_macro(&whole, &self.index.returning_macros)).is_some()
        {
            return unsupported(span, reason);
        }
        let is_debug = is_of_debug_builds(stmt);
        if is_debug && !self.is_home() && self.only_observes(&whole) {
            // It names what its module alone sees. The forward computes the same without it.
            self.report_opaque(span, "a check of debug builds, left out in another module", self.no_operations());
            return Ok(Val::Unit);
        }
        let (code, args) = self.captured(&whole, span)?;
        let operations = if is_debug { self.no_operations() } else { self.operations(&whole, &code.text()) };
        let code = Code { opaque: Some(reason.to_owned()), ..code };
        self.report_opaque(span, reason, operations);
        Ok(self.push(Op::Rust(code), args, "opaque", Ty::Tuple(Vec::new()), span))
    }

    /// Whether the code writes to nothing, as far as names tell, states nothing that must hold, and calls nothing of the crate,
    /// which might.
    fn only_observes(&self, code: &syn::Expr) -> bool {
        let writes = |call: &syn::ExprMethodCall| self.may_write(call);
        let mut looks = true;
        each_target(code, &writes, &mut |_| looks = false);
        let is_foreign = |head: &str| matches!(self.index.resolve(self.module(), head), Resolved::External(_));
        let is_own = |name: &str| self.index.fns.iter().any(|function| function.sig.ident == name);
        looks && !panics(code) && !calls_any(code.to_token_stream(), &is_own, &is_foreign)
    }

    /// A statement under `#[cfg(debug_assertions)]` as one behind `if cfg!(debug_assertions)`; `None` where not all of it
    /// is understood, since rustc reads what stands there whatever the profile.
    fn debug_statement(&mut self, stmt: &syn::Stmt) -> Option<Val> {
        if matches!(stmt, syn::Stmt::Local(_)) {
            return None;
        }
        let mut bare = stmt.clone();
        let attrs = std::mem::take(crate::cfg::attributes(&mut bare)?);
        let [attr] = attrs.as_slice() else { return None };
        let condition = attr.parse_args::<syn::Meta>().ok()?;
        let is_debug = condition == syn::parse_quote!(debug_assertions);
        if !is_debug && condition != syn::parse_quote!(not(debug_assertions)) {
            return None;
        }
        let span = stmt.span();
        let test: syn::Expr = syn::parse_quote_spanned!(span=> if ::core::cfg!(#condition) { #bare });
        let (mark, opaque) = (self.checkpoint(), self.opaque.len());
        let value = self.expr(&test).ok().filter(|value| matches!(value, Val::Unit) && self.opaque.len() == opaque);
        if value.is_none() {
            self.rollback(mark);
        }
        value
    }

    /// A call that is opaque code for that reason, as a statement.
    fn let_go(&mut self, expr: &syn::Expr, reason: String) -> Result<Val> {
        let fault = Unsupported { span: expr.span(), reason };
        let (done, unit) = (self.opaque_expr(&dropped(expr), fault)?, Ty::Tuple(Vec::new()));
        if let Some(id) = done.node().filter(|_| done.ty() == Ty::Unknown) {
            self.edit_node(id).ty = self.index.ir_type(&unit);
        }
        Ok(done.with_ty(unit))
    }

    /// A call that could not be traced, as a statement that is kept as opaque code because of `fault`.
    fn opaque_statement(&mut self, expr: &syn::Expr, fault: Unsupported) -> Result<Val> {
        if escape(expr).or_else(|| calls_macro(expr, &self.index.returning_macros)).is_some() {
            return Err(fault);
        }
        let (code, args) = self.captured(&dropped(expr), expr.span())?;
        let operations = self.operations(expr, &code.text());
        let code = Code { opaque: Some(fault.reason.clone()), ..code };
        self.report_opaque(fault.span, &fault.reason, operations);
        Ok(self.push(Op::Rust(code), args, "opaque", Ty::Tuple(Vec::new()), expr.span()))
    }
}

/// Whether the code calls a function or a method of such a name, of a type that `is_foreign` does not know.
fn calls_any(tokens: TokenStream, is_one: &dyn Fn(&str) -> bool, is_foreign: &dyn Fn(&str) -> bool) -> bool {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    all.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => calls_any(group.stream(), is_one, is_foreign),
        TokenTree::Ident(name) if matches!(all.get(at + 1), Some(TokenTree::Group(_))) => {
            let head = if at > 2 && is_path(&all, at - 3) { Some(all[at - 3].to_string()) } else { None };
            is_one(&name.to_string()) && !head.is_some_and(|head| is_foreign(&head))
        }
        _ => false,
    })
}

/// Whether the code calls a macro that panics.
fn panics(code: &syn::Expr) -> bool {
    const PANICKING: [&str; 7] = ["assert", "assert_eq", "assert_ne", "panic", "unreachable", "todo", "unimplemented"];
    let names = PANICKING.iter().flat_map(|name| [(*name).to_owned(), format!("debug_{name}")]).collect();
    calls_macro(code, &names).is_some()
}

/// The expression as a block that lets go of its value, which may be a reference into what is only borrowed to it.
fn dropped(expr: &syn::Expr) -> syn::Expr {
    syn::parse_quote_spanned!(expr.span()=> { let _ = #expr; })
}
