//! `return` in the middle of a function as the value of a branch: `if c { return a } rest` is `if c { a } else { rest }`.
//!
//! What stands behind such a statement goes into every branch that does not leave. Where several do not, it would be
//! written several times: more than two are not taken apart.

use std::collections::BTreeSet;

use syn::{Expr, Stmt, parse_quote_spanned, spanned::Spanned, visit::Visit};

use crate::syntax::{contains_return, is_err, mentions, panics};
use crate::trace::desugar::labels::is_loop;

/// Whether it is an `if` or a `match`, or a `let` of one, with a `return` in it.
pub(in crate::trace) fn has(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Expr(expr @ (Expr::If(_) | Expr::Match(_)), _) => contains_return(expr),
        Stmt::Local(local) => local.init.as_ref().is_some_and(|init| {
            init.diverge.is_none() && matches!(&*init.expr, Expr::If(_) | Expr::Match(_)) && contains_return(&init.expr)
        }),
        _ => false,
    }
}

/// Whether it leaves the function by `return Err(..)` alone.
pub(in crate::trace) fn only_fails(stmt: &Stmt) -> bool {
    struct Find(bool);
    impl<'ast> Visit<'ast> for Find {
        fn visit_expr_return(&mut self, ret: &'ast syn::ExprReturn) {
            self.0 &= ret.expr.as_deref().is_some_and(is_err);
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    let mut find = Find(true);
    find.visit_stmt(stmt);
    find.0
}

/// Whether it is a loop with a `return` in it.
pub(in crate::trace) fn is_loop_with(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Expr(expr, _) if is_loop(stmt) && contains_return(expr))
}

/// The statement and what stands behind it as one expression; `None` where too much would be written twice, or where
/// what stands behind it would see a variable of a branch in place of its own.
pub(in crate::trace) fn with_rest(stmt: &Stmt, rest: &[Stmt], is_declared: &dyn Fn(&str) -> bool) -> Option<Expr> {
    if hides(stmt, rest, is_declared) {
        return None;
    }
    let mut whole = Whole { rest, target: None, copies: 0 };
    let expr = match stmt {
        Stmt::Expr(expr, _) => expr,
        Stmt::Local(local) => {
            whole.target = Some(&local.pat);
            &*local.init.as_ref()?.expr
        }
        _ => return None,
    };
    let expr = whole.expr(expr)?;
    (whole.copies <= 2).then_some(expr)
}

/// Whether a branch of the statement binds the name of a variable that is declared, which `rest` mentions and the statement
/// itself does not bind.
pub(in crate::trace) fn hides(stmt: &Stmt, rest: &[Stmt], is_declared: &dyn Fn(&str) -> bool) -> bool {
    let names = |of: &dyn Fn(&mut Names)| {
        let mut names = Names(BTreeSet::new());
        of(&mut names);
        names.0
    };
    let (inside, own) = match stmt {
        Stmt::Local(local) => (
            names(&|names| local.init.iter().for_each(|init| names.visit_local_init(init))),
            names(&|names| names.visit_pat(&local.pat)),
        ),
        other => (names(&|names| names.visit_stmt(other)), BTreeSet::new()),
    };
    let mentioned = |name: &&syn::Ident| rest.iter().any(|stmt| mentions(stmt, name));
    inside.difference(&own).filter(mentioned).any(|name| is_declared(&name.to_string()))
}

/// The names that patterns bind for what stands behind them; closures and loops keep theirs to themselves.
struct Names(BTreeSet<syn::Ident>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        self.0.insert(pat.ident.clone());
        syn::visit::visit_pat_ident(self, pat);
    }
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_for_loop(&mut self, _: &'ast syn::ExprForLoop) {}
    fn visit_expr_while(&mut self, _: &'ast syn::ExprWhile) {}
    fn visit_expr_loop(&mut self, _: &'ast syn::ExprLoop) {}
}

struct Whole<'s> {
    rest: &'s [Stmt],
    /// What a branch's value is bound to.
    target: Option<&'s syn::Pat>,
    copies: u32,
}

impl Whole<'_> {
    fn expr(&mut self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::If(branch) => {
                let (cond, then) = (&branch.cond, self.branch(&branch.then_branch.stmts));
                let other = match &branch.else_branch {
                    Some((_, other)) => match &**other {
                        Expr::Block(block) => self.branch(&block.block.stmts),
                        nested => vec![Stmt::Expr(self.expr(nested)?, None)],
                    },
                    None => self.branch(&[]),
                };
                Some(parse_quote_spanned!(branch.if_token.span=> if #cond { #(#then)* } else { #(#other)* }))
            }
            Expr::Match(choice) => {
                let mut choice = choice.clone();
                for arm in &mut choice.arms {
                    let stmts = match &*arm.body {
                        Expr::Block(block) if block.label.is_none() => self.branch(&block.block.stmts),
                        body => self.branch(&[Stmt::Expr(body.clone(), None)]),
                    };
                    *arm.body = parse_quote_spanned!(arm.body.span()=> { #(#stmts)* });
                }
                Some(Expr::Match(choice))
            }
            _ => None,
        }
    }

    /// The statements of a branch, and behind them the rest.
    fn branch(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut all = stmts.to_vec();
        if leaves(stmts) {
            return all;
        }
        self.copies += 1;
        match (all.pop(), self.target) {
            (Some(Stmt::Expr(value, None)), Some(target)) => {
                all.push(parse_quote_spanned!(value.span()=> let #target = #value;));
            }
            (Some(Stmt::Expr(value, _)), None) => all.push(Stmt::Expr(value, Some(<syn::Token![;]>::default()))),
            (last, _) => all.extend(last),
        }
        all.extend_from_slice(self.rest);
        all
    }
}

/// Whether the statements end in a `return`, or in a panic.
fn leaves(stmts: &[Stmt]) -> bool {
    match stmts.last() {
        Some(Stmt::Expr(Expr::Return(_), _)) => true,
        Some(Stmt::Expr(Expr::Macro(call), _)) => panics(&call.mac),
        Some(Stmt::Macro(call)) => panics(&call.mac),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    fn check(source: &str, want: Option<&str>) {
        let body: syn::Block = syn::parse_str(source).expect("a block");
        let found =
            with_rest(&body.stmts[0], &body.stmts[1..], &|_| true).map(|expr| expr.to_token_stream().to_string());
        let want = want.map(|want| syn::parse_str::<Expr>(want).expect("an expression").to_token_stream().to_string());
        assert_eq!(found, want);
    }

    #[test]
    fn what_follows_goes_into_the_branches_that_do_not_leave() {
        check(
            "{ match x { A => return a, B => { b(); } C => panic!() } rest(); c }",
            Some("match x { A => { return a }, B => { b(); rest(); c } C => { panic!() } }"),
        );
        check(
            "{ let y = match x { Some(y) => y, None => return a }; y + 1 }",
            Some("match x { Some(y) => { let y = y; y + 1 }, None => { return a } }"),
        );
        check(
            "{ if p { if q { return a; } } else { b(); } c }",
            Some("if p { if q { return a; }; c } else { b(); c }"),
        );
        check("{ match x { A => return a, B => {} C => {} D => {} } rest }", None);
    }

    #[test]
    fn what_follows_does_not_see_the_variables_of_a_branch() {
        check("{ let y = if p { let x = 10; if q { return a; } x } else { 1 }; y * x }", None);
        check("{ match p { Some(x) => { if x { return a; } } None => {} } x }", None);
    }
}
