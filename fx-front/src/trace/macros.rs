//! Calls of macros of the standard library.

use fx_ir::{Code, Effect, Op};
use syn::spanned::Spanned;

use super::{Result, Tracer, Ty, Val, expr::never, unknown};

impl Tracer<'_> {
    pub(super) fn macro_call(&mut self, mac: &syn::Macro) -> Result<Val> {
        let name = mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let parse = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        match name.as_str() {
            "vec" => match mac.parse_body_with(parse) {
                Ok(items) => Ok(Val::List(self.all(&items)?)),
                Err(_) => unknown(mac.span(), "`vec![value; count]`"),
            },
            "panic" | "unreachable" | "todo" | "unimplemented" => {
                self.statement_macro(mac, never())?;
                Ok(Val::Never)
            }
            "assert" | "assert_eq" | "assert_ne" | "debug_assert" | "debug_assert_eq" | "debug_assert_ne"
            | "println" | "eprintln" | "print" | "eprint" => {
                self.statement_macro(mac, Ty::Tuple(Vec::new()))?;
                Ok(Val::Unit)
            }
            _ => unknown(mac.span(), format!("the macro `{name}!`")),
        }
    }

    /// A macro that is run for its effect: its arguments are spelled out, the rest stays as written.
    fn statement_macro(&mut self, mac: &syn::Macro, ty: Ty) -> Result<()> {
        let tokens = syn::Expr::Macro(syn::ExprMacro { attrs: Vec::new(), mac: mac.clone() });
        let (template, args) = self.captured(&tokens, mac.span())?;
        let code = Code { template, effect: Effect::Io, fallible: false, opaque: None };
        self.push(Op::Rust(code), args, "effect", ty, mac.span());
        Ok(())
    }
}
