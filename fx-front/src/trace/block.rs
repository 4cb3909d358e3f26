//! Statements: `let`, assignments, early returns.

use fx_ir::{Arg, Code, Effect, NodeId, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use super::{
    Form, Result, Tracer, Ty, Val, expr::never, iterators::is_lazy, labels::without_return, lending::is_kept, returns,
    signature, unknown,
};

impl Tracer<'_> {
    /// A function's body: `return` hands over its result.
    pub(super) fn body(&mut self, block: &syn::Block) -> Result<Val> {
        self.scoped(&block.stmts, true)
    }

    /// A block in the middle of a function.
    pub(super) fn block(&mut self, block: &syn::Block, tail: bool) -> Result<Val> {
        self.scoped(&block.stmts, tail)
    }

    fn scoped(&mut self, stmts: &[syn::Stmt], tail: bool) -> Result<Val> {
        self.env.open();
        let value = self.statements(stmts, tail);
        self.env.close();
        value
    }

    /// `tail` says that the value of these statements is the function's.
    fn statements(&mut self, stmts: &[syn::Stmt], tail: bool) -> Result<Val> {
        let (mut last, wanted) = (Val::Unit, self.wants.next.take());
        for (position, stmt) in stmts.iter().enumerate() {
            if let Some(attrs) = crate::cfg::attributes(&mut stmt.clone())
                && attrs.iter().any(|attr| attr.path().is_ident("cfg"))
            {
                return unknown(stmt.span(), "code under a condition that only rustc knows");
            }
            let rest = &stmts[position + 1..];
            if tail && let Some(value) = self.with_returns(stmt, rest) {
                return value;
            }
            if let syn::Stmt::Local(local) = stmt
                && let Some(asked) = self.asked_for(local)
            {
                return self.let_else(&asked, rest, tail);
            }
            last = match stmt {
                syn::Stmt::Local(local) if has_else(local) => return self.let_else(local, rest, tail),
                syn::Stmt::Local(local) => self.local(local)?,
                syn::Stmt::Macro(stmt) => self.macro_call(&stmt.mac)?,
                syn::Stmt::Item(item) => self.inner_item(item)?,
                syn::Stmt::Expr(syn::Expr::If(branch), _) if tail && !rest.is_empty() && returns_early(branch) => {
                    return self.early_return(branch, rest);
                }
                syn::Stmt::Expr(expr, semi) => {
                    let mark = (semi.is_some() && (self.is_stateful() || self.has_places())).then(|| self.mark());
                    self.wants.next = wanted.clone().filter(|_| rest.is_empty() && semi.is_none());
                    let value = match (self.last_expr(expr, tail && rest.is_empty()), mark) {
                        (Err(fault), Some(mark)) => {
                            self.rollback(mark);
                            if is_kept(expr) {
                                // It would be kept longer than the variables of the carried code live.
                                return unknown(expr.span(), "a container that keeps a reference");
                            }
                            self.carried_statement(expr, fault)?
                        }
                        (value, _) => value?,
                    };
                    if semi.is_some() && !matches!(value, Val::Never) && !is_return(expr) { Val::Unit } else { value }
                }
            };
            let returned = matches!(stmt, syn::Stmt::Expr(expr, _) if is_return(expr));
            if returned || matches!(last, Val::Never) {
                return Ok(last);
            }
        }
        Ok(last)
    }

    /// A statement that may return, with what stands behind it, where `return` cannot stay what it is.
    fn with_returns(&mut self, stmt: &syn::Stmt, rest: &[syn::Stmt]) -> Option<Result<Val>> {
        if self.is_entry() && self.yields_tensor() {
            return None;
        }
        if self.errors_leave() && returns::only_fails(stmt) {
            // Such an error leaves the frozen model where it is made.
            return None;
        }
        if returns::is_loop_with(stmt) && !self.is_entry() && self.yields_tensor() {
            return without_return(stmt, rest).map(|block| self.block(&block, true));
        }
        let whole = (!rest.is_empty() && returns::has(stmt)).then(|| returns::with_rest(stmt, rest)).flatten();
        whole.map(|whole| self.last_expr(&whole, true))
    }

    fn yields_tensor(&self) -> bool {
        let syn::ReturnType::Type(_, ty) = &self.function().sig.output else { return false };
        self.index.ty(self.module(), self.function().owner.as_ref(), ty) == Ty::Tensor
    }

    /// An expression that may be the function's result.
    pub(super) fn last_expr(&mut self, expr: &syn::Expr, tail: bool) -> Result<Val> {
        if tail && self.wants.next.is_none() {
            self.wants.next = self.wanted_of_function();
        }
        match expr {
            syn::Expr::Return(ret) if tail && ret.expr.as_ref().is_some_and(|value| is_err(value)) => {
                self.refusal(expr)
            }
            syn::Expr::Call(_) if tail && is_err(expr) => self.refusal(expr),
            syn::Expr::Return(ret) if tail => ret.expr.as_ref().map_or(Ok(Val::Unit), |value| self.expr(value)),
            syn::Expr::If(branch) if tail && contains_return(expr) => self.branch(branch, true),
            syn::Expr::Match(choice) if tail && contains_return(expr) => self.choice(choice, true),
            syn::Expr::Block(block) if tail => self.block(&block.block, true),
            _ => self.expr(expr),
        }
    }

    /// `let pattern = value else { .. }; rest` is `if let pattern = value { rest } else { .. }`.
    fn let_else(&mut self, local: &syn::Local, rest: &[syn::Stmt], tail: bool) -> Result<Val> {
        let Some(syn::LocalInit { expr, diverge: Some((_, other)), .. }) = &local.init else {
            return unknown(local.span(), "`let ... else`");
        };
        let pat = &local.pat;
        let branch: syn::ExprIf =
            syn::parse_quote_spanned!(local.span()=> if let #pat = #expr { #(#rest)* } else #other);
        self.branch(&branch, tail)
    }

    /// `return` of the entry where it is not the function's end: Rust's own `return` in the generated function.
    pub(super) fn leave(&mut self, ret: &syn::ExprReturn) -> Result<Val> {
        let Some(value) = &ret.expr else { return unknown(ret.span(), "`return` here is not understood") };
        if is_err(value) {
            return self.refusal(&syn::Expr::Return(ret.clone()));
        }
        let value = self.expr(value)?;
        let value = self.settled(value, ret.span())?;
        let mut args = Vec::new();
        let text = self.left(&value, &mut args, ret.span())?;
        let template = format!("return ::std::result::Result::Ok({text})");
        let code = Code { template, effect: Effect::Io, fallible: false, opaque: None };
        self.push(Op::Rust(code), args, "left", never(), ret.span());
        Ok(Val::Never)
    }

    /// What leaves by `return`, as the caller expects it.
    fn left(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        match value {
            Val::Node(_, Ty::Tensor, _) => {
                Ok(format!("scope.output({}.shallow_clone())?", self.spell(value, args, span)?))
            }
            Val::Tuple(parts) => {
                let parts: Result<Vec<String>> = parts.iter().map(|part| self.left(part, args, span)).collect();
                Ok(format!("({},)", parts?.join(", ")))
            }
            Val::Some(inner) => Ok(format!("Some({})", self.left(inner, args, span)?)),
            Val::Lit(Arg::None, _) => Ok("None".to_owned()),
            Val::List(items) if signature::value_type(&self.function().sig.output).is_some_and(signature::is_vec) => {
                let items: Result<Vec<String>> = items.iter().map(|item| self.left(item, args, span)).collect();
                Ok(format!("vec![{}]", items?.join(", ")))
            }
            other => self.spell_exactly(other, args, span),
        }
    }

    /// `return Err(..)` of the entry: an error that leaves the frozen model.
    fn refusal(&mut self, expr: &syn::Expr) -> Result<Val> {
        let (syn::ReturnType::Type(_, whole), true) = (&self.function().sig.output, self.errors_leave()) else {
            return unknown(expr.span(), "`Err` here");
        };
        let value = if let syn::Expr::Return(syn::ExprReturn { expr: Some(value), .. }) = expr { value } else { expr };
        let (whole, (code, args)) = if self.is_home() {
            (whole.to_token_stream().to_string(), self.captured(value, expr.span())?)
        } else {
            let mut args = Vec::new();
            ("::std::result::Result<(), _>".to_owned(), (self.closed_but_texts(value, &mut args)?, args))
        };
        Ok(self.refuse(&code, &whole, args, expr.span()))
    }

    /// Leaves the frozen model with the error that the code makes, which is a `whole`.
    pub(super) fn refuse(&mut self, code: &str, whole: &str, args: Vec<Arg>, span: Span) -> Val {
        let place = self.function().place(span);
        let template =
            format!("{{ let refused: {whole} = {code}; refused.at(\"return\", \"{place}\")?; ::std::unreachable!() }}");
        let code = Code { template, effect: Effect::Io, fallible: false, opaque: None };
        self.push(Op::Rust(code), args, "refused", never(), span);
        Val::Never
    }

    /// `if c { ..; return a } rest` is `if c { ..; a } else { rest }`.
    fn early_return(&mut self, branch: &syn::ExprIf, rest: &[syn::Stmt]) -> Result<Val> {
        self.branch_with(branch, true, &mut |tracer| tracer.scoped(rest, true))
    }

    fn local(&mut self, local: &syn::Local) -> Result<Val> {
        let Some(init) = &local.init else {
            return match &local.pat {
                // `let ys;` is declared by its first assignment.
                syn::Pat::Ident(ident) => {
                    self.env.declare(&ident.ident.to_string(), Val::Never);
                    Ok(Val::Unit)
                }
                syn::Pat::Type(typed) if matches!(&*typed.pat, syn::Pat::Ident(_)) => {
                    if let syn::Pat::Ident(ident) = &*typed.pat {
                        self.env.declare(&ident.ident.to_string(), Val::Never);
                    }
                    Ok(Val::Unit)
                }
                other => unknown(other.span(), "a declaration without a value"),
            };
        };
        if let Some((_, diverge)) = &init.diverge {
            return unknown(diverge.span(), "`let ... else`");
        }
        let is_vec = match &local.pat {
            syn::Pat::Type(typed) => typed.ty.to_token_stream().to_string().starts_with("Vec"),
            _ => true,
        };
        let outer = std::mem::replace(&mut self.wants_vec, is_vec);
        self.wants.next = match &local.pat {
            syn::Pat::Type(typed) => self.written(&typed.ty),
            _ => None,
        };
        let value = self.initial(&init.expr);
        self.wants_vec = outer;
        let value = value?;
        if matches!(value, Val::Never) {
            return Ok(value);
        }
        if is_lazy(&init.expr) && value.node().is_some() {
            // It would borrow what the carried code has variables of its own for.
            return unknown(init.expr.span(), "a variable that holds an iterator");
        }
        if self.lends_a_copy(&init.expr, &value) {
            // What is written through it would reach a variable of the carried code alone.
            return unknown(init.expr.span(), "a variable that borrows another to write to it");
        }
        let mut value = value;
        if let syn::Pat::Type(typed) = &local.pat {
            self.annotate(&value, &typed.ty)?;
            value = self.typed_none(value, typed);
            let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &typed.ty);
            value = self.of_written_type(value, &ty);
            if matches!(&*typed.pat, syn::Pat::Ident(ident) if ident.mutability.is_some()) {
                value = self.typed_list(value, &ty, typed.ty.span());
            }
        }
        let is_empty = matches!(&value, Val::List(items) if items.is_empty());
        self.bind(&local.pat, value)?;
        if is_empty {
            self.remember_type(&local.pat);
        }
        Ok(Val::Unit)
    }

    /// The node of a value; of what code yields beside the variables that it writes to, that of both.
    pub(super) fn whole_of(&self, value: &Val) -> Option<NodeId> {
        let id = value.node()?;
        let node = self.graph.node(id);
        Some(if matches!(node.op, Op::TupleGet(0)) { node.input(0) } else { Some(id) }.unwrap_or(id))
    }

    /// `let mut last: Option<Tensor> = None`: a variable of a known type, which a loop may carry.
    fn typed_none(&mut self, value: Val, typed: &syn::PatType) -> Val {
        let is_none = matches!(&value, Val::Lit(fx_ir::Arg::None, _));
        let is_mutable = matches!(&*typed.pat, syn::Pat::Ident(ident) if ident.mutability.is_some());
        let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &typed.ty);
        let known = Some(ty).filter(|_| is_none && is_mutable);
        let none = known.and_then(|ty| self.none_of(&ty, typed.ty.span()));
        // The user's code copies an option of a reference where this one would be moved.
        let lends = signature::holds_reference(&typed.ty);
        none.map_or(value, |none| if lends { none.with_form(Form::Ref) } else { none })
    }

    /// `None` of an option of tensors.
    pub(super) fn none_of(&mut self, ty: &Ty, span: Span) -> Option<Val> {
        let spelling = self.spelling(ty).filter(|_| *ty == Ty::Option(Box::new(Ty::Tensor)))?;
        let template = format!("({spelling}::None)").replace("Option<", "Option::<");
        let code = Code { effect: Effect::Io, ..Code::pure(template) };
        Some(self.push(Op::Rust(code), Vec::new(), "none", ty.clone(), span))
    }

    /// Code that is carried along may be of the type that is written, and of no other, only because it is written.
    pub(super) fn annotate(&mut self, value: &Val, ty: &syn::Type) -> Result<()> {
        let whole = self.whole_of(value);
        let is_home = self.is_home();
        let Some(id) = whole.filter(|&id| self.graph.scope_of(id) == Some(self.region)) else { return Ok(()) };
        let Op::Rust(code) = &mut self.graph.node_mut(id).op else { return Ok(()) };
        if code.opaque.is_none() || code.fallible || code.template.contains("(value, ") {
            return Ok(());
        }
        if !is_home {
            return unknown(ty.span(), "a type of another module");
        }
        let ty = ty.to_token_stream();
        code.template = format!("{{ let typed: {ty} = {}; typed }}", code.template);
        Ok(())
    }

    fn inner_item(&mut self, item: &syn::Item) -> Result<Val> {
        match item {
            syn::Item::Use(_) => Ok(Val::Unit),
            syn::Item::Const(item) => {
                let value = self.expr(&item.expr)?;
                let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &item.ty);
                let value = self.of_written_type(value, &ty);
                self.env.declare(&item.ident.to_string(), value);
                Ok(Val::Unit)
            }
            other => unknown(other.span(), "an item inside a function body"),
        }
    }
}

/// Is it `Err(..)`?
pub(super) fn is_err(expr: &syn::Expr) -> bool {
    matches!(expr, syn::Expr::Call(call) if matches!(&*call.func, syn::Expr::Path(path) if path.path.is_ident("Err")))
}

pub(super) fn has_else(local: &syn::Local) -> bool {
    local.init.as_ref().is_some_and(|init| init.diverge.is_some())
}

fn is_return(expr: &syn::Expr) -> bool {
    matches!(expr, syn::Expr::Return(_))
}

/// Does the branch end in `return`, with nothing on the other side?
fn returns_early(branch: &syn::ExprIf) -> bool {
    branch.else_branch.is_none()
        && matches!(branch.then_branch.stmts.last(), Some(syn::Stmt::Expr(expr, _)) if is_return(expr))
}

/// Does a `return` of this function stand anywhere in the expression?
pub(super) fn contains_return(expr: &syn::Expr) -> bool {
    struct Find(bool);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_expr_return(&mut self, _: &'ast syn::ExprReturn) {
            self.0 = true;
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    let mut find = Find(false);
    syn::visit::Visit::visit_expr(&mut find, expr);
    find.0
}
