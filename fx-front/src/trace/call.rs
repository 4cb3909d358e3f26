//! Calls by path: `Tensor::cat(..)`, free functions, constructors of `Option` and `Result`.

use fx_ir::{Arg, Code, Effect, Op, OpId};
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::{Result, Tracer, Ty, Val, unknown};
use crate::index::{Name, Resolved, path_text};

impl Tracer<'_> {
    pub(super) fn call(&mut self, call: &syn::ExprCall) -> Result<Val> {
        let syn::Expr::Path(path) = &*call.func else {
            return self.call_value(call);
        };
        let text = path_text(&path.path);
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        match (text.as_str(), args.as_slice()) {
            ("Ok", [value]) => return self.expr(value),
            ("Some", [value]) => return Ok(Val::Some(Box::new(self.expr(value)?))),
            _ => {}
        }
        if let Some(Val::Closure(closure)) = self.env.read(&text).cloned() {
            let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
            return self.call_closure(&closure, args);
        }
        self.call_path(&path.path, &text, call)
    }

    fn call_value(&mut self, call: &syn::ExprCall) -> Result<Val> {
        match self.expr(&call.func)? {
            Val::Closure(closure) => {
                let args = call.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
                self.call_closure(&closure, args)
            }
            _ => unknown(call.func.span(), "a call of a value"),
        }
    }

    fn call_path(&mut self, path: &syn::Path, text: &str, call: &syn::ExprCall) -> Result<Val> {
        if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(self.module(), text) {
            return self.call_fn(id, path, call);
        }
        let (head, name) = text.rsplit_once("::").unwrap_or(("", text));
        if head.is_empty() {
            return self.foreign_call(path, call);
        }
        let owner: Option<Ty> = match head {
            "Self" => self.function().owner.as_ref().map(|owner| self.index.ty(self.module(), None, owner)),
            _ => syn::parse_str::<syn::Type>(head).ok().map(|ty| self.index.ty(self.module(), None, &ty)),
        };
        match owner {
            Some(Ty::Tensor) => self.tensor_function(name, call),
            Some(ty @ Ty::Struct(_)) => match self.index.method(&ty, name) {
                Some(id) => self.call_fn(id, path, call),
                None => self.foreign_call(path, call),
            },
            _ => self.foreign_call(path, call),
        }
    }

    /// `Tensor::cat(&[a, b], 1)`, and `Tensor::relu(&x)` for `x.relu()`.
    fn tensor_function(&mut self, name: &str, call: &syn::ExprCall) -> Result<Val> {
        let exprs: Vec<&syn::Expr> = call.args.iter().collect();
        let Some(op) = OpId::of_method(name) else { return self.foreign_method(name, call) };
        let takes_self = op.entry().is_some_and(|entry| entry.receiver != fx_ir::catalog::Receiver::Free);
        match exprs.as_slice() {
            [receiver, rest @ ..] if takes_self => {
                let receiver = self.expr(receiver)?;
                self.op_call(op, name, Some(receiver), rest, call.span())
            }
            all => self.op_call(op, name, None, all, call.span()),
        }
    }

    fn foreign_method(&mut self, name: &str, call: &syn::ExprCall) -> Result<Val> {
        let span = call.span();
        self.template(&format!("::fx_runtime::Tensor::{name}"), call, Effect::Io, &format!("`Tensor::{name}` is not known"), span)
    }

    fn call_fn(&mut self, id: usize, path: &syn::Path, call: &syn::ExprCall) -> Result<Val> {
        let mark = self.mark();
        let callee = &self.index.fns[id];
        let mut args = call.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
        let receiver = if callee.sig.receiver().is_some() && !args.is_empty() { Some(args.remove(0)) } else { None };
        match self.inline(id, receiver, args, call.span()) {
            Ok(value) => Ok(value),
            Err(fault) => {
                self.rollback(mark);
                let head = self.qualified(path)?;
                let value = self.template(&head, call, Effect::Io, &fault.reason, call.span())?;
                Ok(self.with_return_type(value, id))
            }
        }
    }

    /// The value with the type that the callee's signature gives it.
    pub(super) fn with_return_type(&mut self, value: Val, id: usize) -> Val {
        let callee = &self.index.fns[id];
        let syn::ReturnType::Type(_, written) = &callee.sig.output else { return value };
        let ty = self.index.ty(&callee.module, callee.owner.as_ref(), written);
        match value {
            Val::Node(node, Ty::Unknown, form) => {
                self.graph.node_mut(node).ty = self.index.ir_type(&ty);
                if let (Ty::Result(_), Op::Rust(code)) = (&ty, &mut self.graph.node_mut(node).op) {
                    code.fallible = true;
                }
                let ty = if let Ty::Result(inner) = ty { *inner } else { ty };
                Val::Node(node, ty, form)
            }
            other => other,
        }
    }

    fn foreign_call(&mut self, path: &syn::Path, call: &syn::ExprCall) -> Result<Val> {
        let head = self.qualified(path)?;
        let pure = is_pure_function(&head);
        let (effect, reason) = if pure { (Effect::Pure, String::new()) } else { (Effect::Io, format!("the function `{head}`")) };
        self.template(&head, call, effect, &reason, call.span())
    }

    /// A call carried along, its arguments understood one by one.
    fn template(&mut self, head: &str, call: &syn::ExprCall, effect: Effect, reason: &str, span: Span) -> Result<Val> {
        let (template, args) = self.template_call(head.to_owned(), Vec::new(), &call.args, span)?;
        Ok(self.carried_template(template, args, effect, reason, span))
    }

    /// A node of carried code; reported unless its effect is known to be none.
    pub(super) fn carried_template(&mut self, template: String, args: Vec<Arg>, effect: Effect, reason: &str, span: Span) -> Val {
        let opaque = (effect != Effect::Pure).then(|| reason.to_owned());
        if opaque.is_some() {
            self.report_opaque(span, reason);
        }
        let code = Code { template, effect, fallible: false, opaque };
        self.push(Op::Rust(code), args, "call", Ty::Unknown, span)
    }
}

/// Functions of the standard library and of `tch` that only compute.
fn is_pure_function(path: &str) -> bool {
    const PURE: &[&str] =
        &["f64::from", "i64::from", "usize::from", "i64::try_from", "usize::try_from", "std::cmp::max", "std::cmp::min", "Scalar::from"];
    PURE.iter().any(|known| path == *known || path.ends_with(&format!("::{known}")))
}
