//! Calls of ops: by method, by function, and in place.

use fx_ir::{Arg, Effect, Host, HostOp, Op, OpId, catalog};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::diag::{Code, Severity};
use crate::syntax::peeled;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    Result, Tracer, Ty, Val,
    tensor::{op_type::result_type, operator},
    unsupported,
};

impl Tracer<'_> {
    /// `xs.i((.., 1..n))`.
    pub(in crate::trace) fn indexed(&mut self, receiver: &Val, index: &syn::Expr, span: Span) -> Result<Val> {
        let args = vec![self.operand(receiver, span)?, self.index_operand(index)?];
        Ok(self.host_node(HostOp::Index, args, "i", Ty::Tensor, span))
    }

    /// An index as tch takes it: a number, a range, a tensor, or a tuple of these.
    fn index_operand(&mut self, index: &syn::Expr) -> Result<Arg> {
        match index {
            syn::Expr::Paren(inner) => self.index_operand(&inner.expr),
            syn::Expr::Tuple(tuple) => {
                let parts: Result<Vec<Arg>> = tuple.elems.iter().map(|part| self.index_operand(part)).collect();
                Ok(HostOp::Tuple.of(parts?))
            }
            syn::Expr::Range(range) => {
                let mut end =
                    |end: &Option<Box<syn::Expr>>| end.as_ref().map_or(Ok(Arg::None), |end| self.index_operand(end));
                let ends = [end(&range.start)?, end(&range.end)?];
                let dots = if matches!(range.limits, syn::RangeLimits::Closed(_)) { "..=" } else { ".." };
                Ok(HostOp::IndexRange(dots.to_owned()).of(ends))
            }
            other => {
                let value = self.expr(other)?;
                if !value.is_tensor() && !operator::is_number(&value) {
                    return unsupported(other.span(), "an index of this form");
                }
                let operand = self.operand(&value, other.span())?;
                Ok(if value.is_tensor() { HostOp::Ref.on(operand) } else { operand })
            }
        }
    }

    /// `xs.size()`, `xs.dim()`, ...: what a tensor says of itself.
    pub(in crate::trace) fn host_query(
        &mut self,
        name: &str,
        receiver: &Val,
        (args, ty): (&[Val], Ty),
        call: &syn::ExprMethodCall,
    ) -> Result<Val> {
        let Some(id) = receiver.node() else { return unsupported(call.span(), "a tensor of this form") };
        let host = Host::pure(HostOp::Method(name.to_owned()));
        let host = if matches!(ty, Ty::Result(_)) { host.fallible() } else { host };
        let operands = self.operands_of_call(vec![id.into()], &call.args, args)?;
        Ok(self.push(Op::Host(host), operands, name, ty, call.span()))
    }

    /// A call of an op with its arguments checked against the catalog.
    pub(in crate::trace) fn op_call(
        &mut self,
        op: OpId,
        name: &str,
        receiver: Option<&Val>,
        exprs: &[&syn::Expr],
        span: Span,
    ) -> Result<Val> {
        let Some(entry) = catalog::lookup(name).or_else(|| catalog::lookup(name.trim_start_matches("f_"))) else {
            return unsupported(span, format!("the op `{name}`"));
        };
        if receiver.is_some() && entry.receiver == catalog::Receiver::Free {
            return unsupported(span, format!("`{name}` as a method, of a trait of the program's"));
        }
        if entry.params.len() != exprs.len() {
            let message = format!("`{name}` takes {} arguments, not {}", entry.params.len(), exprs.len());
            let names: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
            let help = if names.is_empty() { String::new() } else { format!("they are: {}", names.join(", ")) };
            self.report(Code::WrongArity, Severity::Error, span, message.clone(), &help);
            return unsupported(span, message);
        }
        if let Some(position) = entry.params.iter().position(|param| param.kind == catalog::Kind::Other) {
            return unsupported(
                exprs[position].span(),
                format!("the argument `{}` of `{name}`", entry.params[position].name),
            );
        }
        let mut args = Vec::new();
        if let Some(receiver) = receiver {
            let Some(arg) = receiver.arg() else { return unsupported(span, "a tensor of this form") };
            args.push(arg);
        }
        for (expr, param) in exprs.iter().zip(entry.params) {
            let is_tensor = param.kind == catalog::Kind::Tensor;
            let value = if is_tensor { self.tensor_argument(expr)? } else { self.expr(expr)? };
            if value.ty() == Ty::Unknown && value.node().is_some() {
                return unsupported(expr.span(), format!("an argument of `{name}` of a type that is not known"));
            }
            let value = self.numbers_of_used_type(value, &Ty::Rust("i64".to_owned()));
            let value = self.snapshot(as_sizes(value), expr.span());
            if let Some(arg) = value.arg() {
                args.push(arg);
            } else {
                let operand = self.operand(&value, expr.span())?;
                let made = self.materialize(operand, "argument", value.ty(), expr.span());
                args.extend(made.arg());
            }
        }
        if let (Effect::InPlace(0), Some(receiver)) = (op.effect(), receiver) {
            let value = self.in_place(op, receiver, args, span);
            return Ok(if name.starts_with("f_") { self.as_result(value) } else { value });
        }
        let base = op.name().split('.').next().unwrap_or(name);
        let ty = result_type(entry);
        let ty = if name.starts_with("f_") { Ty::Result(Box::new(ty)) } else { ty };
        Ok(self.push(Op::Call(op), args, base, ty, span))
    }

    fn tensor_argument(&mut self, expr: &syn::Expr) -> Result<Val> {
        let value = self.expr(converted(expr).as_ref().unwrap_or(expr))?;
        self.as_tensor(value, expr.span())
    }

    /// A list as it is now, for an op that knows nothing of code that writes to it later.
    fn snapshot(&mut self, value: Val, span: Span) -> Val {
        match &value {
            Val::Node(id, Ty::List(element), _) if is_copy(element) && self.is_spilled(&value) => {
                self.host_node_with(Effect::Io, HostOp::Clone, vec![(*id).into()], "sizes", value.ty(), span)
            }
            _ => value,
        }
    }

    /// The tensor as the `Result` of a call in place, which is taken off by itself.
    fn as_result(&mut self, value: Val) -> Val {
        if let Some(id) = value.node() {
            self.facts.set_unwrapped(id);
        }
        value.with_ty(Ty::Result(Box::new(Ty::Tensor)))
    }

    /// On a tensor that nobody else can see, an in-place op is the op itself, and its variable the result.
    fn in_place(&mut self, op: OpId, receiver: &Val, args: Vec<Arg>, span: Span) -> Val {
        let functional = op.row().and_then(|row| row.functional).and_then(OpId::lookup);
        match functional {
            Some(functional) if self.is_fresh(receiver) => {
                let value = self.push(Op::Call(functional), args, functional.name(), Ty::Tensor, span);
                self.env.replace(receiver, &value);
                value
            }
            _ => {
                self.push(Op::Call(op), args, op.name(), Ty::Tensor, span);
                receiver.clone()
            }
        }
    }
}

/// `(b, -1)` as the list `[b, -1]`, which says the same wherever sizes are asked for.
fn as_sizes(value: Val) -> Val {
    let is_size = |part: &Val| matches!(part.ty(), Ty::Rust(ty) if ty == "i64" || ty == "integer");
    match value {
        Val::Tuple(parts) if !parts.is_empty() && parts.iter().all(is_size) => Val::List(parts),
        other => other,
    }
}

/// `Tensor::from(x)` of `&x.into()` where a tensor is expected.
fn converted(expr: &syn::Expr) -> Option<syn::Expr> {
    let syn::Expr::Reference(borrowed) = expr else { return None };
    let syn::Expr::MethodCall(call) = peeled(&borrowed.expr) else { return None };
    let receiver = Some(&call.receiver).filter(|_| call.method == "into" && call.args.is_empty())?;
    Some(syn::parse_quote_spanned!(expr.span()=> &::fx_runtime::Tensor::from(#receiver)))
}
