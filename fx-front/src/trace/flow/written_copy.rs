//! Copies of variables, of which one is written to later.

use syn::spanned::Spanned;

use crate::syntax::{effects, mentions};
use crate::trace::{RefKind, Result, Tracer, Ty, Val, desugar::closure_form::plain, unsupported};

impl Tracer<'_> {
    /// `let u = t;` is one value under two names. Of a type of which it is not known whether it is `Copy`, it may be a copy, which
    /// is not what it was copied from any more once the code writes to one of them.
    pub(in crate::trace) fn refuse_written_copy(&self, local: &syn::Local, rest: &[syn::Stmt]) -> Result<()> {
        let (syn::Pat::Ident(copy), Some(init)) = (plain(&local.pat), &local.init) else { return Ok(()) };
        let syn::Expr::Path(path) = &*init.expr else { return Ok(()) };
        let Some(name) = path.path.get_ident() else { return Ok(()) };
        let value = self.env.read(&name.to_string());
        let is_list = |part: &Val| matches!(part, Val::Node(_, Ty::List(_), RefKind::Value) | Val::List(_));
        let is_whole = match value {
            Some(Val::Node(_, ty, RefKind::Value)) => matches!(ty, Ty::Unknown | Ty::Struct(_)),
            Some(Val::Tuple(parts) | Val::Fields(_, parts)) => parts.iter().any(is_list),
            _ => false,
        };
        if !is_whole || !rest.iter().any(|stmt| mentions(stmt, name)) {
            return Ok(());
        }
        let block = syn::Block { brace_token: syn::token::Brace::default(), stmts: rest.to_vec() };
        let whole = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block });
        let written = effects::written(&whole, &|call| effects::is_mutator(&call.method.to_string()));
        if written.iter().any(|written| name == written || copy.ident == written) {
            return unsupported(
                init.expr.span(),
                "a variable that may be a copy of another, of which one is written to",
            );
        }
        Ok(())
    }
}
