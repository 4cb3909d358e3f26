//! A variable that holds adaptors with closures, of which one place asks for elements: `let outs = layers.iter().map(..);
//! outs.rev().collect()` is `layers.iter().map(..).rev().collect()`.
//!
//! Nothing is computed where the variable is bound, and what the closures borrow nobody writes to until they are done.

use quote::ToTokens;
use syn::{Expr, Stmt, visit_mut::VisitMut};

use crate::pattern::{self, bound_within};
use crate::syntax::{bound_names, count_of, targets::each_target};
use crate::trace::desugar::iterator_chain::is_lazy;

/// The statements behind the `let` with the adaptors in place of the variable; `None` if it binds none, or is asked at
/// several places or in a loop.
pub(in crate::trace) fn without_lazy(local: &syn::Local, rest: &[Stmt]) -> Option<Vec<Stmt>> {
    let syn::Pat::Ident(syn::PatIdent { ident, subpat: None, by_ref: None, .. }) = &local.pat else { return None };
    let chain = &*local.init.as_ref().filter(|init| init.diverge.is_none())?.expr;
    if !is_lazy(chain) {
        return None;
    }
    // Behind a `let` of its name it is another variable.
    let hidden = rest.iter().position(|stmt| binds(stmt, ident));
    let (rest, behind) = rest.split_at(hidden.map_or(rest.len(), |at| at + 1));
    let asked = |stmt: &Stmt| match stmt {
        Stmt::Local(local) if binds(stmt, ident) => local.init.as_ref().map(|init| init.expr.to_token_stream()),
        other => Some(other.to_token_stream()),
    };
    let count = |stmt: &Stmt| asked(stmt).map_or(0, |tokens| count_of(tokens, &ident.to_string()));
    if rest.iter().map(count).sum::<usize>() != 1 {
        return None;
    }
    // What is copied or moved where the variable is bound may be another value later.
    let is_next = rest.first().is_some_and(|next| count(next) == 1 && !assigns(next));
    if !closures_of(chain, is_next)? {
        return None;
    }
    let block = block_of(rest);
    let own = bound_names(chain);
    let is_hidden = |name: &String| ident != name && !own.contains(name) && count_of(chain.to_token_stream(), name) > 0;
    if bound_within(&block).iter().any(is_hidden) {
        return None;
    }
    let mut put = Put { name: ident, chain, depth: 0, count: 0 };
    let mut rest = rest.to_vec();
    for stmt in &mut rest {
        put.visit_stmt_mut(stmt);
    }
    rest.extend_from_slice(behind);
    (put.count == 1).then_some(rest)
}

/// Whether it is a `let` of a variable of that name.
fn binds(stmt: &Stmt, name: &syn::Ident) -> bool {
    matches!(stmt, Stmt::Local(local) if pattern::bound(&local.pat).iter().any(|bound| name == bound))
}

/// Whether there are closures among the adaptors; `None` where one has copies of its own, and where something else is
/// copied or moved and may not be.
fn closures_of(chain: &Expr, may_move: bool) -> Option<bool> {
    let Expr::MethodCall(call) = chain else { return may_move.then_some(false) };
    let mut found = false;
    for arg in &call.args {
        match arg {
            Expr::Closure(closure) if closure.capture.is_none() => found = true,
            Expr::Closure(_) => return None,
            Expr::Lit(_) => {}
            _ if may_move => {}
            _ => return None,
        }
    }
    let borrows = call.method == "iter" && matches!(&*call.receiver, Expr::Path(_) | Expr::Field(_));
    if borrows {
        return Some(found);
    }
    Some(closures_of(&call.receiver, may_move)? || found)
}

/// Whether the statement writes to a variable.
fn assigns(stmt: &Stmt) -> bool {
    let block = block_of(std::slice::from_ref(stmt));
    let mut found = false;
    each_target(&Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block }), &|_| false, &mut |_| {
        found = true;
    });
    found
}

fn block_of(stmts: &[Stmt]) -> syn::Block {
    syn::Block { brace_token: syn::token::Brace::default(), stmts: stmts.to_vec() }
}

/// Puts the adaptors in place of the variable, outside of loops and closures.
struct Put<'n> {
    name: &'n syn::Ident,
    chain: &'n Expr,
    depth: usize,
    count: usize,
}

impl Put<'_> {
    fn deeper(&mut self, visit: impl FnOnce(&mut Self)) {
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }
}

impl VisitMut for Put<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if matches!(expr, Expr::Path(path) if path.path.is_ident(self.name)) && self.depth == 0 {
            *expr = self.chain.clone();
            self.count += 1;
            return;
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }
    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        self.deeper(|put| put.visit_block_mut(&mut each.body));
    }
    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.deeper(|put| syn::visit_mut::visit_expr_while_mut(put, each));
    }
    fn visit_expr_loop_mut(&mut self, each: &mut syn::ExprLoop) {
        self.deeper(|put| syn::visit_mut::visit_expr_loop_mut(put, each));
    }
    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        self.deeper(|put| syn::visit_mut::visit_expr_closure_mut(put, closure));
    }
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
