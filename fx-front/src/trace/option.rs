//! Options of which the live call decides: `mask.map(|mask| ..)` is a `match`, and a branch may end in `Some(..)`.

use fx_ir::{Arg, Code, NodeId, Op};
use syn::spanned::Spanned;

use super::{Form, Result, Tracer, Val, unknown};

impl Tracer<'_> {
    /// `option.map(|pattern| body)` as `match option { Some(pattern) => Some(body), None => None }`.
    pub(super) fn map_option(&mut self, option: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let Some(syn::Expr::Closure(closure)) = call.args.first() else {
            return unknown(call.span(), "`map` with something other than a closure");
        };
        let (Some(pattern), 1) = (closure.inputs.first(), closure.inputs.len()) else {
            return unknown(call.span(), "a closure of this form");
        };
        let pattern = match pattern {
            syn::Pat::Type(typed) => &*typed.pat,
            other => other,
        };
        let body = &closure.body;
        if let Val::Some(inner) = option {
            return Ok(Val::Some(Box::new(self.call_closure(closure, vec![*inner])?)));
        }
        let choice: syn::ExprMatch =
            syn::parse_quote_spanned!(call.span()=> match mapped_option { Some(#pattern) => Some(#body), None => None });
        self.env.open();
        self.env.declare("mapped_option", option);
        let value = self.choice(&choice, false);
        self.env.close();
        value
    }

    /// Is it `None`, or a `Some(..)` that [`Self::some_as_value`] made, and not an option that may lend what it holds?
    pub(super) fn is_own_option(&self, value: &Val) -> bool {
        match value {
            Val::Lit(arg, _) => *arg == Arg::None,
            Val::Node(id, ..) => {
                matches!(&self.graph.node(*id).op, Op::Rust(code) if code.opaque.is_none() && code.template.starts_with("Some("))
            }
            _ => false,
        }
    }

    /// A `Some(..)` that a region hands over, as one value.
    pub(super) fn some_as_value(&mut self, value: Val, owner: NodeId) -> Result<Val> {
        let Val::Some(inner) = value else { return Ok(value) };
        let some = Val::Some(Box::new(inner.with_form(Form::Owned)));
        let mut args = Vec::new();
        let text = self.spell(&some, &mut args, proc_macro2::Span::call_site())?;
        let (ty, origin) = (some.ty(), self.graph.node(owner).origin.clone());
        let ir = self.index.ir_type(&ty);
        let id = self.graph.push(self.region, Op::Rust(Code::pure(text)), args, "some", ir, origin);
        Ok(Val::Node(id, ty, Form::Owned))
    }
}
