//! What opaque code is handed: operands of a call that compute tensors, and are understood by themselves, are traced ahead of
//! it, so that what they run stays no part of the opaque code.

use fx_ir::{NodeId, Type};
use syn::Expr;
use syn::visit::{self, Visit};

use crate::syntax::effects::escape;
use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{RefKind, Result, Tracer, Ty, Val};

/// What traces an expression.
type Trace<'t> = &'t mut dyn FnMut(&mut Tracer<'_>, &Expr) -> Result<Val>;

/// The variables that stand for such operands, and their values.
pub(in crate::trace) type Operands = Vec<(String, Val)>;

impl Tracer<'_> {
    /// The code with a variable in place of each such operand.
    pub(in crate::trace) fn traced_operands(&mut self, expr: &Expr, trace: Trace<'_>) -> (Expr, Operands) {
        let (mut expr, mut operands) = (expr.clone(), Vec::new());
        if self.writes(&expr).is_empty() && !writes_in_place(&expr) {
            self.trace_operands_of(&mut expr, &mut operands, trace);
        }
        (expr, operands)
    }

    /// Looks for operands in what is evaluated whenever the expression is.
    fn trace_operands_of(&mut self, expr: &mut Expr, operands: &mut Operands, trace: Trace<'_>) {
        match expr {
            Expr::Call(call) => call.args.iter_mut().for_each(|arg| self.trace_operand(arg, operands, trace)),
            Expr::MethodCall(call) => {
                self.trace_operand(&mut call.receiver, operands, trace);
                call.args.iter_mut().for_each(|arg| self.trace_operand(arg, operands, trace));
            }
            Expr::Binary(binary) if !matches!(binary.op, syn::BinOp::And(_) | syn::BinOp::Or(_)) => {
                self.trace_operand(&mut binary.left, operands, trace);
                self.trace_operand(&mut binary.right, operands, trace);
            }
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|part| self.trace_operand(part, operands, trace)),
            Expr::Array(array) => array.elems.iter_mut().for_each(|part| self.trace_operand(part, operands, trace)),
            Expr::Reference(borrowed) if borrowed.mutability.is_none() => {
                self.trace_operand(&mut borrowed.expr, operands, trace);
            }
            Expr::Paren(inner) => self.trace_operand(&mut inner.expr, operands, trace),
            Expr::Field(field) => self.trace_operand(&mut field.base, operands, trace),
            Expr::Try(question) => self.trace_operand(&mut question.expr, operands, trace),
            Expr::Cast(cast) => self.trace_operand(&mut cast.expr, operands, trace),
            _ => {}
        }
    }

    fn trace_operand(&mut self, expr: &mut Expr, operands: &mut Operands, trace: Trace<'_>) {
        match self.computed(expr, trace) {
            Some(value) => {
                let name = format!("fx_operand_{}", operands.len());
                let ident = syn::Ident::new(&name, syn::spanned::Spanned::span(expr));
                *expr = syn::parse_quote!(#ident);
                operands.push((name, value));
            }
            None => self.trace_operands_of(expr, operands, trace),
        }
    }

    /// The value of an expression that computes tensors, does nothing else, and is understood whole.
    fn computed(&mut self, expr: &Expr, trace: Trace<'_>) -> Option<Val> {
        let is_tensor = |expr: &Expr| self.infer_ty(expr) == Ty::Tensor;
        let computes = match expr {
            Expr::Call(_) | Expr::Binary(_) => is_tensor(expr),
            Expr::MethodCall(call) => is_tensor(expr) || is_tensor(&call.receiver),
            _ => false,
        };
        if !computes || escape(expr).is_some() {
            return None;
        }
        let (mark, expected) = (self.checkpoint(), self.expects.next.take());
        let (first, opaque) = (self.graph.region(self.region).nodes.len(), self.opaque.len());
        self.trials += 1;
        let value = trace(self, expr);
        self.trials -= 1;
        self.expects.next = expected;
        let nodes: Vec<NodeId> = self.graph.region(self.region).nodes.iter().skip(first).copied().collect();
        let is_tensor = |id: &NodeId| matches!(self.graph.node(*id).ty, Type::Tensor(_));
        let is_pure = nodes.iter().any(is_tensor) && !nodes.iter().any(|&id| self.graph.is_impure(id));
        let value = value.ok().filter(|value| is_pure && self.opaque.len() == opaque && is_value(value));
        if value.is_none() {
            self.rollback(mark);
        }
        value
    }
}

/// Whether it is a tensor, or a number whose type is known, of the code's own.
fn is_value(value: &Val) -> bool {
    let Val::Node(_, ty, form) = value else { return false };
    *form == RefKind::Value && (*ty == Ty::Tensor || is_copy(ty) && !is_untyped(ty))
}

/// Whether the code calls a method that writes to a tensor, as names tell.
fn writes_in_place(expr: &Expr) -> bool {
    struct InPlace(bool);
    impl<'ast> Visit<'ast> for InPlace {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            self.0 |= call.method.to_string().ends_with('_');
            visit::visit_expr_method_call(self, call);
        }
    }
    let mut found = InPlace(false);
    found.visit_expr(expr);
    found.0
}
