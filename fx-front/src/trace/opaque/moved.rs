//! What opaque code moves out of variables that it has to hand back when it is done.

use std::collections::BTreeSet;

use quote::quote;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;

use crate::syntax::targets::{each_assigned, is_destructuring};
use crate::syntax::{bound_names, comma_operands, is_compound, names_of};
use crate::trace::{Tracer, Ty, Val};

/// The code with a second handle where it moves one of these tensors, which it has to hand back when it is done: variables
/// by their names, parts of tuples by the variable's name and their positions (`x.0`).
pub(in crate::trace) fn with_handles(expr: &syn::Expr, names: BTreeSet<String>) -> syn::Expr {
    let mut expr = expr.clone();
    if !names.is_empty() {
        Handles(names).visit_expr_mut(&mut expr);
    }
    expr
}

/// The variables of which the code moves a part (`x.0`, as a value), tensors of the first list left out.
pub(in crate::trace) fn moved_parts(expr: &syn::Expr, names: &[String]) -> BTreeSet<(String, usize)> {
    let mut parts = Parts { names, found: BTreeSet::new() };
    parts.visit_expr(expr);
    parts.found
}

struct Parts<'n> {
    names: &'n [String],
    found: BTreeSet<(String, usize)>,
}

impl Parts<'_> {
    /// What is looked at or written where it is.
    fn place(&mut self, expr: &syn::Expr) {
        if !matches!(expr, syn::Expr::Field(_)) {
            self.visit_expr(expr);
        }
    }
}

impl<'ast> Visit<'ast> for Parts<'_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Field(syn::ExprField { base, member: syn::Member::Unnamed(index), .. }) => {
                if let syn::Expr::Path(path) = &**base
                    && let Some(name) = path.path.get_ident().map(ToString::to_string)
                    && self.names.contains(&name)
                {
                    self.found.insert((name, index.index as usize));
                }
            }
            syn::Expr::MethodCall(call) => {
                self.place(&call.receiver);
                call.args.iter().for_each(|arg| self.visit_expr(arg));
            }
            syn::Expr::Reference(borrowed) => self.place(&borrowed.expr),
            syn::Expr::Field(field) => self.place(&field.base),
            syn::Expr::Assign(assign) => {
                each_assigned(&assign.left, &mut |target| self.place(target));
                self.visit_expr(&assign.right);
            }
            syn::Expr::Macro(list) if list.mac.path.is_ident("vec") => {
                comma_operands(&list.mac).iter().flatten().for_each(|item| self.visit_expr(item));
            }
            other => syn::visit::visit_expr(self, other),
        }
    }
}

impl Tracer<'_> {
    /// Whether the code moves the struct in the variable and leaves none there: behind the code nobody reads the variable.
    pub(in crate::trace) fn moves_away(&self, expr: &syn::Expr, name: &str) -> bool {
        let Some(ty @ Ty::Struct(_)) = self.env.read(name).map(Val::ty) else { return false };
        !bound_names(expr).contains(name)
            && is_moved_away(expr, name, &|call| {
                let method = self.index.method(&ty, &call.method.to_string());
                let receiver = method.and_then(|id| self.index.fns[id].sig.receiver());
                receiver.is_some_and(|receiver| receiver.reference.is_none())
            })
    }
}

/// Whether the code moves the whole of what the variable holds and gives it no other value. `takes_self` says of a method that
/// it takes what it is called on by value.
fn is_moved_away(expr: &syn::Expr, name: &str, takes_self: &dyn Fn(&syn::ExprMethodCall) -> bool) -> bool {
    let mut moves = Moves { name, takes_self, found: false, is_given: false };
    moves.visit_expr(expr);
    moves.found && !moves.is_given
}

struct Moves<'m> {
    name: &'m str,
    takes_self: &'m dyn Fn(&syn::ExprMethodCall) -> bool,
    found: bool,
    /// Whether it is given another value.
    is_given: bool,
}

impl Moves<'_> {
    fn is_it(&self, expr: &syn::Expr) -> bool {
        matches!(expr, syn::Expr::Path(path) if path.path.is_ident(self.name))
    }

    /// What is looked at or written where it is.
    fn place(&mut self, expr: &syn::Expr) {
        if !self.is_it(expr) {
            self.visit_expr(expr);
        }
    }
}

impl<'ast> Visit<'ast> for Moves<'_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            one if self.is_it(one) => self.found = true,
            syn::Expr::MethodCall(call) => {
                if (self.takes_self)(call) {
                    self.visit_expr(&call.receiver);
                } else {
                    self.place(&call.receiver);
                }
                call.args.iter().for_each(|arg| self.visit_expr(arg));
            }
            syn::Expr::Reference(borrowed) => self.place(&borrowed.expr),
            syn::Expr::Field(field) => self.place(&field.base),
            syn::Expr::Index(item) => {
                self.place(&item.expr);
                self.visit_expr(&item.index);
            }
            syn::Expr::Unary(unary) => self.place(&unary.expr),
            syn::Expr::Binary(binary) if is_compound(&binary.op) => {
                self.place(&binary.left);
                self.visit_expr(&binary.right);
            }
            syn::Expr::Match(choice) => {
                self.place(&choice.expr);
                choice.arms.iter().for_each(|arm| self.visit_arm(arm));
            }
            syn::Expr::Let(test) => self.place(&test.expr),
            syn::Expr::Assign(assign) => {
                each_assigned(&assign.left, &mut |target| {
                    self.is_given |= self.is_it(target);
                    self.place(target);
                });
                self.visit_expr(&assign.right);
            }
            syn::Expr::Closure(_) => {}
            other => syn::visit::visit_expr(self, other),
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let is_whole = matches!(&local.pat, syn::Pat::Ident(_) | syn::Pat::Type(_));
        match &local.init {
            Some(init) if !is_whole && self.is_it(&init.expr) => {}
            _ => syn::visit::visit_local(self, local),
        }
    }

    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
}

struct Handles(BTreeSet<String>);

impl Handles {
    fn is_one(&self, expr: &syn::Expr) -> bool {
        let named = |expr: &syn::Expr| match expr {
            syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let name = match expr {
            syn::Expr::Field(syn::ExprField { base, member: syn::Member::Unnamed(index), .. }) => {
                named(base).map(|base| format!("{base}.{}", index.index))
            }
            other => named(other),
        };
        name.is_some_and(|name| self.0.contains(&name))
    }

    /// Visits code in which these names stand for other variables.
    fn within(&mut self, bound: &BTreeSet<String>, visit: impl FnOnce(&mut Self)) {
        let outer = self.0.clone();
        self.hide(bound);
        visit(self);
        self.0 = outer;
    }

    fn hide(&mut self, bound: &BTreeSet<String>) {
        self.0.retain(|name| !bound.contains(name.split('.').next().unwrap_or(name)));
    }

    /// What is looked at or written where it is.
    fn place(&mut self, expr: &mut syn::Expr) {
        if !self.is_one(expr) {
            self.visit_expr_mut(expr);
        }
    }
}

impl VisitMut for Handles {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let outer = self.0.clone();
        for stmt in &mut block.stmts {
            self.visit_stmt_mut(stmt);
            if let syn::Stmt::Local(local) = stmt {
                self.hide(&names_of(&local.pat));
            }
        }
        self.0 = outer;
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.within(&names_of(&arm.pat), |inner| {
            if let Some((_, guard)) = &mut arm.guard {
                inner.visit_expr_mut(guard);
            }
            inner.visit_expr_mut(&mut arm.body);
        });
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        let bound = closure.inputs.iter().flat_map(names_of).collect();
        self.within(&bound, |inner| inner.visit_expr_mut(&mut closure.body));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        self.within(&names_of(&each.pat), |inner| inner.visit_block_mut(&mut each.body));
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        self.visit_expr_mut(&mut branch.cond);
        self.within(&bound_names(&branch.cond), |inner| inner.visit_block_mut(&mut branch.then_branch));
        if let Some((_, otherwise)) = &mut branch.else_branch {
            self.visit_expr_mut(otherwise);
        }
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.visit_expr_mut(&mut each.cond);
        self.within(&bound_names(&each.cond), |inner| inner.visit_block_mut(&mut each.body));
    }

    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        match expr {
            moved if self.is_one(moved) => *moved = syn::parse_quote!(#moved.shallow_clone()),
            syn::Expr::MethodCall(call) => {
                self.place(&mut call.receiver);
                call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
            }
            syn::Expr::Reference(borrowed) => self.place(&mut borrowed.expr),
            syn::Expr::Field(field) => self.place(&mut field.base),
            syn::Expr::Index(index) => {
                self.place(&mut index.expr);
                self.visit_expr_mut(&mut index.index);
            }
            syn::Expr::Assign(assign) if !is_destructuring(&assign.left) => {
                self.place(&mut assign.left);
                self.visit_expr_mut(&mut assign.right);
            }
            syn::Expr::Assign(assign) => self.visit_expr_mut(&mut assign.right),
            syn::Expr::Macro(list) if list.mac.path.is_ident("vec") => {
                if let Some(mut items) = comma_operands(&list.mac) {
                    for item in &mut items {
                        self.visit_expr_mut(item);
                    }
                    list.mac.tokens = quote!(#(#items),*);
                }
            }
            syn::Expr::Binary(binary) if is_compound(&binary.op) => {
                self.place(&mut binary.left);
                self.visit_expr_mut(&mut binary.right);
            }
            other => syn::visit_mut::visit_expr_mut(self, other),
        }
    }
}
