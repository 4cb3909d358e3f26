//! Statements: `let`, assignments, early returns.

use fx_ir::{Arg, Effect, HostOp, Op};
use proc_macro2::Span;
use syn::{parse_quote, spanned::Spanned};

use crate::index::Resolved;
use crate::syntax::{
    contains_return,
    effects::{escape, leaves_with_errors},
    has_else, is_call_of, is_err,
};
use crate::trace::types::ty::{is_copy, never};
use crate::trace::{
    Env, RefKind, Result, Tracer, Ty, Val,
    asked::propagating,
    desugar::{
        borrowed_part::without_borrow,
        labels::without_return,
        lazy_variable::without_lazy,
        let_else::as_branch,
        ok_or::{let_else, let_else_none},
        range_variable::without_range,
        result_chain::{mapped, without_result_name},
        returns,
    },
    entry::signature,
    unsupported,
};

impl Tracer<'_> {
    /// A function's body: `return` hands over its result.
    pub(in crate::trace) fn body(&mut self, block: &syn::Block) -> Result<Val> {
        self.scoped(&block.stmts, true)
    }

    /// A block in the middle of a function.
    pub(in crate::trace) fn block(&mut self, block: &syn::Block, tail: bool) -> Result<Val> {
        self.scoped(&block.stmts, tail)
    }

    fn scoped(&mut self, stmts: &[syn::Stmt], tail: bool) -> Result<Val> {
        let before = (tail && self.closures == 0).then(|| self.env.clone());
        self.env.open();
        let value = self.statements(stmts, tail);
        self.env.close();
        if let Some(before) = before {
            self.forget_since(&before);
        }
        value
    }

    /// What variables stand for is read by nobody behind a function's end, but for what it was borrowed.
    fn forget_since(&mut self, before: &Env) {
        for name in self.env.changed_since(before) {
            let is_lent = matches!(self.env.read(&name), Some(Val::MutRef(..)));
            if let Some(old) = before.read(&name).filter(|_| !is_lent) {
                self.env.assign(&name, old.clone());
            }
        }
    }

    /// `tail` says that the value of these statements is the function's.
    fn statements(&mut self, stmts: &[syn::Stmt], tail: bool) -> Result<Val> {
        let (mut last, expected) = (Val::Unit, self.expects.next.take());
        for (position, stmt) in stmts.iter().enumerate() {
            if is_conditional(stmt) {
                last = self.conditional_statement(stmt)?;
                continue;
            }
            self.refuse_dropped(stmt)?;
            let rest = &stmts[position + 1..];
            if self.turns_gradients_off(stmt, rest) {
                return self.without_gradients(stmt.span(), |tracer| {
                    tracer.expects.next = expected;
                    tracer.statements(rest, tail)
                });
            }
            if tail && let Some(value) = self.with_returns(stmt, rest) {
                return value;
            }
            if let syn::Stmt::Local(local) = stmt {
                if let Some(test) = self.let_else_of(local) {
                    return self.branch(&as_branch(&test, rest)?, tail);
                }
                if let Some(stmts) = without_range(local, rest)
                    .or_else(|| without_lazy(local, rest))
                    .or_else(|| without_result_name(local, rest))
                    .or_else(|| self.without_borrowed_part(local, rest))
                {
                    self.expects.next = expected;
                    return self.statements(&stmts, tail);
                }
            }
            last = match stmt {
                syn::Stmt::Local(local) if has_else(local) => return self.branch(&as_branch(local, rest)?, tail),
                syn::Stmt::Local(local) => self.refuse_written_copy(local, rest).and_then(|()| self.local(local))?,
                syn::Stmt::Macro(stmt) => self.macro_call(&stmt.mac)?,
                syn::Stmt::Item(item) => self.inner_item(item)?,
                syn::Stmt::Expr(syn::Expr::If(branch), _) if tail && !rest.is_empty() && returns_early(branch) => {
                    return self.early_return(branch, rest);
                }
                syn::Stmt::Expr(expr, semi) => {
                    self.expects.next = expected.clone().filter(|_| rest.is_empty() && semi.is_none());
                    let value = match semi {
                        Some(_) => self.statement(expr, |tracer| tracer.last_expr(expr, tail && rest.is_empty()))?,
                        None => self.last_expr(expr, tail && rest.is_empty())?,
                    };
                    if semi.is_some() && !matches!(value, Val::Never) && !is_return(expr) { Val::Unit } else { value }
                }
            };
            let returned = matches!(stmt, syn::Stmt::Expr(expr, _) if is_return(expr));
            if self.env.is_unreachable() {
                return Ok(Val::Never);
            }
            if returned || matches!(last, Val::Never) {
                return Ok(last);
            }
        }
        Ok(last)
    }

    /// The statements behind a `let` that borrows a part of a variable of the function's own.
    fn without_borrowed_part(&self, local: &syn::Local, rest: &[syn::Stmt]) -> Option<Vec<syn::Stmt>> {
        let (root, rest) = without_borrow(local, rest)?;
        let value = self.env.read(&root)?;
        let is_variable = match value {
            Val::Tuple(_) | Val::Fields(..) | Val::MutRef(..) => true,
            Val::Node(_, ty, RefKind::Value) => {
                is_whole(local) && (*ty == Ty::Tensor || is_copy(ty) || self.is_apart(value))
            }
            Val::Lit(_, ty) => is_whole(local) && is_copy(ty),
            _ => false,
        };
        is_variable.then_some(rest)
    }

    /// A `let` with a `?` on an option as the test that it is.
    fn let_else_of(&self, local: &syn::Local) -> Option<syn::Local> {
        let or_error = let_else(local).filter(|_| self.errors_propagate());
        or_error.or_else(|| let_else_none(local, &self.function().sig.output).filter(|_| self.closures == 0))
    }

    /// A statement that may return, with what stands behind it, where `return` cannot stay what it is.
    fn with_returns(&mut self, stmt: &syn::Stmt, rest: &[syn::Stmt]) -> Option<Result<Val>> {
        if self.is_entry() && self.yields_tensor() {
            return None;
        }
        if self.errors_propagate() && returns::only_fails(stmt) {
            // Such an error leaves the frozen model where it is made.
            return None;
        }
        // What a closure yields its body says.
        let yields: syn::Type = if self.closures > 0 { parse_quote!(_) } else { parse_quote!(::fx_runtime::Tensor) };
        if returns::is_loop_with(stmt) && (self.closures > 0 || !self.is_entry() && self.yields_tensor()) {
            return without_return(stmt, rest, &yields).map(|block| self.block(&block, true));
        }
        let is_declared =
            |name: &str| self.env.has(name) || matches!(self.index.resolve(self.module(), name), Resolved::Item(..));
        let whole = (!rest.is_empty() && returns::has(stmt)).then(|| returns::with_rest(stmt, rest, &is_declared));
        let whole = whole.flatten();
        whole.map(|whole| self.last_expr(&whole, true))
    }

    fn yields_tensor(&self) -> bool {
        let syn::ReturnType::Type(_, ty) = &self.function().sig.output else { return false };
        self.index.ty(self.module(), self.function().owner.as_ref(), ty) == Ty::Tensor
    }

    /// An expression that may be the function's result.
    pub(in crate::trace) fn last_expr(&mut self, expr: &syn::Expr, tail: bool) -> Result<Val> {
        if tail && self.expects.next.is_none() {
            self.expects.next = self.expected_of_function();
        }
        if tail && let Some(decision) = self.split_by_option(expr)? {
            return self.last_expr(&decision, tail);
        }
        match expr {
            syn::Expr::Return(ret) if tail && ret.expr.as_ref().is_some_and(|value| is_err(value)) => {
                self.refusal(expr)
            }
            syn::Expr::Call(_) if tail && is_err(expr) => self.refusal(expr),
            syn::Expr::Return(ret) if tail => ret.expr.as_ref().map_or(Ok(Val::Unit), |value| self.expr(value)),
            syn::Expr::If(branch) if tail && contains_return(expr) => self.branch(branch, true),
            syn::Expr::Match(choice) if tail && contains_return(expr) => self.choice(choice, true),
            syn::Expr::Block(block) if tail && block.label.is_none() => self.block(&block.block, true),
            _ if tail && self.errors_propagate() && self.returns_result() => self.with_question(expr),
            _ => self.expr(expr),
        }
    }

    /// The value of an expression that yields the function's `Result`, as behind the caller's `?`. What is not understood
    /// so is a `Result` like any other.
    fn with_question(&mut self, expr: &syn::Expr) -> Result<Val> {
        let mark = self.checkpoint();
        let value = match expr {
            syn::Expr::If(branch) => self.branch(branch, true),
            syn::Expr::Match(choice) => self.choice(choice, true),
            syn::Expr::MethodCall(call) => match mapped(call) {
                Some(block) => self.expr(&block),
                None => self.method_with_question(expr),
            },
            _ => self.expr(propagating(expr)),
        };
        value.and_then(|value| self.unwrapped(value, expr.span())).or_else(|_| {
            self.rollback(mark);
            // What the function's signature says of what is in the `Result` is not what the expression evaluates to.
            self.expects.next = None;
            let is_call = matches!(expr, syn::Expr::MethodCall(_) | syn::Expr::Call(_));
            if is_call && !is_call_of(expr, "Ok") && escape(expr).is_some() && leaves_with_errors(expr) {
                // A closure stands around what leaves with an error: it yields what is in the `Result`.
                let asked: syn::Expr = syn::parse_quote_spanned!(expr.span()=> #expr?);
                let value = self.expr(&asked)?;
                return Ok(self.of_signature(value, true));
            }
            let value = self.expr(expr)?;
            let is_ok = is_call_of(expr, "Ok");
            let value = self.of_signature(value, is_ok);
            let is_whole = value.node().is_some_and(|id| matches!(self.graph.node(id).op, Op::Rust(_)));
            if is_whole && value.ty() == Ty::Unknown && !is_ok {
                // It is a `Result`, where the other branches are what is in theirs.
                return unsupported(expr.span(), "a result of a type that is not known");
            }
            Ok(value)
        })
    }

    /// A method of a `Result` or of an option, as with a `?` behind it.
    fn method_with_question(&mut self, expr: &syn::Expr) -> Result<Val> {
        if let Some(value) = self.question_on_option(expr)? {
            return Ok(value);
        }
        match self.in_other_words(expr)? {
            Some(value) => Ok(value),
            None => self.expr(propagating(expr)),
        }
    }

    /// Opaque code at the end of a function is the `Result` that the function's signature names, or within `Ok(..)` what is
    /// in that; one of a reference would be into what the code holds for itself.
    fn of_signature(&mut self, value: Val, is_in_ok: bool) -> Val {
        let Val::Node(id, Ty::Unknown, _) = value else { return value };
        let is_whole = matches!(self.graph.node(id).op, Op::Rust(_));
        let held = signature::value_type(&self.function().sig.output);
        let Some(held) = held.filter(|held| is_whole && !signature::holds_reference(held)) else { return value };
        let held = self.index.ty(self.module(), self.function().owner.as_ref(), held);
        let ty = if is_in_ok { held } else { Ty::Result(Box::new(held)) };
        self.edit_node(id).ty = self.index.ir_type(&ty);
        if !is_in_ok {
            self.facts.set_result(id);
        }
        value.with_ty(ty)
    }

    /// `return` of the entry where it is not the function's end: Rust's own `return` in the generated function.
    pub(in crate::trace) fn leave(&mut self, ret: &syn::ExprReturn) -> Result<Val> {
        let Some(value) = &ret.expr else { return unsupported(ret.span(), "`return` here is not understood") };
        if is_err(value) {
            return self.refusal(&syn::Expr::Return(ret.clone()));
        }
        let value = self.expr(value)?;
        let value = self.unwrapped(value, ret.span())?;
        let result = self.left(&value, ret.span())?;
        self.host_node_with(Effect::Io, HostOp::Return, vec![result], "left", never(), ret.span());
        Ok(Val::Never)
    }

    /// What leaves by `return`, as the caller expects it.
    fn left(&mut self, value: &Val, span: Span) -> Result<Arg> {
        match value {
            Val::Node(_, Ty::Tensor, _) => Ok(HostOp::Output.on(HostOp::Handle.on(self.operand(value, span)?))),
            Val::Tuple(parts) => {
                let parts: Result<Vec<Arg>> = parts.iter().map(|part| self.left(part, span)).collect();
                Ok(HostOp::Tuple.of(parts?))
            }
            Val::Some(inner) => Ok(HostOp::Some.on(self.left(inner, span)?)),
            Val::Lit(Arg::None, _) => Ok(Arg::None),
            Val::List(items) if signature::value_type(&self.function().sig.output).is_some_and(signature::is_vec) => {
                let items: Result<Vec<Arg>> = items.iter().map(|item| self.left(item, span)).collect();
                let element = signature::value_type(&self.function().sig.output).map(|ty| self.element_of(ty));
                Ok(self.vec_of(items?, &element.unwrap_or(Ty::Unknown)))
            }
            other => self.exact_operand(other, span),
        }
    }

    /// `if c { ..; return a } rest` is `if c { ..; a } else { rest }`.
    fn early_return(&mut self, branch: &syn::ExprIf, rest: &[syn::Stmt]) -> Result<Val> {
        self.branch_with(branch, true, &mut |tracer| tracer.scoped(rest, true))
    }
}

fn is_return(expr: &syn::Expr) -> bool {
    matches!(expr, syn::Expr::Return(_))
}

/// Whether the branch ends in `return`, with nothing on the other side.
fn returns_early(branch: &syn::ExprIf) -> bool {
    branch.else_branch.is_none()
        && matches!(branch.then_branch.stmts.last(), Some(syn::Stmt::Expr(expr, _)) if is_return(expr))
}

/// Whether the statement is there under a condition that only rustc knows.
fn is_conditional(stmt: &syn::Stmt) -> bool {
    let mut stmt = stmt.clone();
    crate::cfg::attributes(&mut stmt).is_some_and(|attrs| attrs.iter().any(|attr| attr.path().is_ident("cfg")))
}

/// Whether the `let` borrows a variable as a whole.
fn is_whole(local: &syn::Local) -> bool {
    let borrowed = local.init.as_ref().map(|init| &*init.expr);
    matches!(borrowed, Some(syn::Expr::Reference(borrowed)) if matches!(*borrowed.expr, syn::Expr::Path(_)))
}
