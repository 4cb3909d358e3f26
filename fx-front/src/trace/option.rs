//! Options of which the live call decides: `mask.map(|mask| ..)` is a `match`, and a branch may end in `Some(..)`.

use fx_ir::{Arg, Code, NodeId, Op};
use syn::spanned::Spanned;

use super::{Env, Form, Result, Tracer, Val, block::contains_return, opaque::is_carried_param, unknown};

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
        let choice: syn::ExprMatch = syn::parse_quote_spanned!(call.span()=> match mapped_option { Some(#pattern) => Some(#body), None => None });
        self.env.open();
        self.env.declare("mapped_option", option);
        let value = self.choice(&choice, false);
        self.env.close();
        value
    }

    /// `flag.then(|| x)` as `if flag { Some(x) } else { None }`.
    pub(super) fn then_some(&mut self, flag: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let value = match call.args.first() {
            Some(closure @ syn::Expr::Closure(_)) if call.method == "then" => body_of(closure, 0)?.1,
            Some(value) if call.method == "then_some" && is_plain(value) => value.clone(),
            _ => return unknown(call.method.span(), format!("the method `{}`", call.method)),
        };
        let branch: syn::ExprIf = syn::parse_quote_spanned!(call.span()=> if asked_flag { Some(#value) } else { None });
        self.env.open();
        self.env.declare("asked_flag", flag);
        let value = self.branch(&branch, false);
        self.env.close();
        value
    }

    /// `option.unwrap_or(xs)`, `option.map_or_else(|| xs, |ys| ys + xs)` and the like as the `match` that they stand for.
    pub(super) fn option_as_match(&mut self, option: Val, name: &str, call: &syn::ExprMethodCall) -> Result<Val> {
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        let held: syn::Pat = syn::parse_quote!(held_value);
        let (some, none): ((syn::Pat, syn::Expr), syn::Expr) = match (name, args.as_slice()) {
            ("unwrap_or", [other]) if is_plain(other) => ((held, syn::parse_quote!(held_value)), (*other).clone()),
            ("unwrap_or_else", [other]) => ((held, syn::parse_quote!(held_value)), body_of(other, 0)?.1),
            ("map_or", [other, some]) if is_plain(other) => (body_of(some, 1)?, (*other).clone()),
            ("map_or_else", [other, some]) => (body_of(some, 1)?, body_of(other, 0)?.1),
            ("and_then", [some]) => (body_of(some, 1)?, syn::parse_quote!(None)),
            _ => return unknown(call.method.span(), format!("the method `{name}`")),
        };
        let (pattern, some) = some;
        let choice: syn::ExprMatch =
            syn::parse_quote_spanned!(call.span()=> match matched_option { Some(#pattern) => #some, None => #none });
        self.env.open();
        self.env.declare("matched_option", option);
        let value = self.choice(&choice, false);
        self.env.close();
        value
    }

    /// Is it an option that owns what it holds: `None`, a `Some(..)` that [`Self::some_as_value`] made, or a variable of the
    /// generated code's, and not one that may lend it?
    pub(super) fn is_own_option(&self, value: &Val) -> bool {
        match value {
            Val::Lit(arg, _) => *arg == Arg::None,
            Val::Node(id, ..) => match &self.graph.node(*id).op {
                Op::Rust(code) if code.opaque.is_none() && code.template.starts_with("Some(") => true,
                Op::Placeholder => is_carried_param(&self.graph, *id),
                _ => self.is_own_place(value),
            },
            _ => false,
        }
    }

    /// Every variable that a region sets to `Some(..)`, where it was an option of which only the call knows, as one value.
    pub(super) fn options_as_values(&mut self, before: &Env, owner: NodeId) -> Result<()> {
        for name in self.env.changed_since(before) {
            let was_open = matches!(before.read(&name), Some(Val::Node(..)));
            if let Some(value @ Val::Some(_)) = self.env.read(&name).filter(|_| was_open).cloned() {
                let whole = self.some_as_value(value, owner)?;
                self.env.assign(&name, whole);
            }
        }
        Ok(())
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

/// Is it there already, so that it does not matter whether it is asked for?
fn is_plain(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Path(_) | syn::Expr::Lit(_) => true,
        syn::Expr::Reference(inner) => is_plain(&inner.expr),
        syn::Expr::Field(inner) => is_plain(&inner.base),
        syn::Expr::MethodCall(call) => call.method == "shallow_clone" && is_plain(&call.receiver),
        _ => false,
    }
}

/// The parameter and the body of a closure with so many parameters.
fn body_of(closure: &syn::Expr, count: usize) -> Result<(syn::Pat, syn::Expr)> {
    match closure {
        syn::Expr::Closure(closure) if closure.inputs.len() == count && !contains_return(&closure.body) => {
            let pattern = match closure.inputs.first() {
                Some(syn::Pat::Type(typed)) => (*typed.pat).clone(),
                Some(pattern) => pattern.clone(),
                None => syn::parse_quote!(_),
            };
            Ok((pattern, (*closure.body).clone()))
        }
        other => unknown(other.span(), "a function in place of a closure"),
    }
}
