//! `while i < layers.len() { ..; i += 1; }` as a `for` over the numbers, which is packed as one.
//!
//! ```text
//! while i < bound { body; i += 1; }    =>    { for i in i..bound { body } i = i.max(bound); }
//! ```
//!
//! That is the same where nothing but the last statement writes to the number, nothing writes to what the bound reads,
//! and no jump leaves the loop or its iteration.

use syn::{
    BinOp, Expr, ExprWhile, Stmt, parse_quote, parse_quote_spanned,
    visit::{self, Visit},
};

use crate::syntax::{integer_literal, peeled, targets::each_target};
use crate::trace::desugar::Surroundings;

/// The loop as a block with a `for`; `None` where it does not count so.
pub(in crate::trace) fn counted(each: &ExprWhile, around: &dyn Surroundings) -> Option<syn::Block> {
    let Expr::Binary(condition) = peeled(&each.cond) else { return None };
    let (number, bound) = match condition.op {
        BinOp::Lt(_) => (&*condition.left, &*condition.right),
        BinOp::Gt(_) => (&*condition.right, &*condition.left),
        _ => return None,
    };
    let Expr::Path(path) = number else { return None };
    let (number, roots) = (path.path.get_ident()?, roots(bound)?);
    let (last, body) = each.body.stmts.split_last()?;
    if !is_increment(last, number) || roots.iter().any(|root| root == number) {
        return None;
    }
    let span = each.while_token.span;
    keeps(body.iter(), &|name| name == number || roots.contains(name), around).then(
        || parse_quote_spanned!(span=> { for #number in #number..#bound { #(#body)* } #number = #number.max(#bound); }),
    )
}

/// Returns whether the statements neither jump nor write to one of the variables.
pub(super) fn keeps<'s>(
    stmts: impl Iterator<Item = &'s Stmt> + Clone,
    is_variable: &dyn Fn(&syn::Ident) -> bool,
    around: &dyn Surroundings,
) -> bool {
    let mut jumps = Jumps(false);
    stmts.clone().for_each(|stmt| jumps.visit_stmt(stmt));
    let block: Expr = parse_quote!({ #(#stmts)* });
    let mut is_written = false;
    each_target(&block, &|call| around.may_mutate(call), &mut |target| {
        is_written |= root(target).is_none_or(|root| is_variable(&root));
    });
    !jumps.0 && !is_written
}

/// Whether it is `i += 1;` or `i = i + 1;`.
pub(super) fn is_increment(stmt: &Stmt, number: &syn::Ident) -> bool {
    let is_number = |expr: &Expr| matches!(expr, Expr::Path(path) if path.path.is_ident(number));
    match stmt {
        Stmt::Expr(Expr::Binary(sum), _) if matches!(sum.op, BinOp::AddAssign(_)) => {
            is_number(&sum.left) && integer_literal(&sum.right) == Some(1)
        }
        Stmt::Expr(Expr::Assign(assign), _) => match &*assign.right {
            Expr::Binary(sum) if matches!(sum.op, BinOp::Add(_)) => {
                is_number(&assign.left) && is_number(&sum.left) && integer_literal(&sum.right) == Some(1)
            }
            _ => false,
        },
        _ => false,
    }
}

/// The variables that a bound reads which is the same in each iteration where none of them is written; `None` of any other.
fn roots(bound: &Expr) -> Option<Vec<syn::Ident>> {
    match bound {
        Expr::Lit(_) => Some(Vec::new()),
        Expr::Path(path) => path.path.get_ident().map(|name| vec![name.clone()]),
        Expr::Field(field) => roots(&field.base),
        Expr::Paren(inner) => roots(&inner.expr),
        Expr::Cast(cast) => roots(&cast.expr),
        Expr::MethodCall(call) if call.method == "len" && call.args.is_empty() => roots(&call.receiver),
        Expr::Binary(binary) if matches!(binary.op, BinOp::Add(_) | BinOp::Sub(_)) => {
            Some([roots(&binary.left)?, roots(&binary.right)?].concat())
        }
        _ => None,
    }
}

/// The variable that is written to, as a whole or in a part.
fn root(target: &Expr) -> Option<syn::Ident> {
    match peeled(target) {
        Expr::Path(path) => path.path.get_ident().cloned(),
        Expr::Field(field) => root(&field.base),
        Expr::Index(index) => root(&index.expr),
        Expr::MethodCall(call) => root(&call.receiver),
        Expr::Unary(unary) => root(&unary.expr),
        _ => None,
    }
}

/// Whether code jumps, out of a loop of its own or out of the one that it stands in.
struct Jumps(bool);

impl<'ast> Visit<'ast> for Jumps {
    fn visit_expr_break(&mut self, _: &'ast syn::ExprBreak) {
        self.0 = true;
    }
    fn visit_expr_continue(&mut self, _: &'ast syn::ExprContinue) {
        self.0 = true;
    }
    fn visit_expr_return(&mut self, _: &'ast syn::ExprReturn) {
        self.0 = true;
    }
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        // What a macro does with its tokens is not known.
        self.0 |= !["assert", "assert_eq", "debug_assert", "vec", "format"].iter().any(|name| mac.path.is_ident(name));
        visit::visit_macro(self, mac);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    struct Nothing;
    impl Surroundings for Nothing {
        fn may_mutate(&self, call: &syn::ExprMethodCall) -> bool {
            call.method == "push"
        }
    }

    fn check(source: &str, want: &str) {
        let each: ExprWhile = syn::parse_str(source).expect("a loop");
        let want = syn::parse_str::<syn::Block>(want).ok().map(|block| block.to_token_stream().to_string());
        assert_eq!(counted(&each, &Nothing).map(|block| block.to_token_stream().to_string()), want);
    }

    #[test]
    fn a_counted_loop_goes_over_the_numbers() {
        check(
            "while i < self.convs.len() { x = x.apply(&self.convs[i]); i += 1; }",
            "{ for i in i..self.convs.len() { x = x.apply(&self.convs[i]); } i = i.max(self.convs.len()); }",
        );
        check("while n > i { f(i); i = i + 1; }", "{ for i in i..n { f(i); } i = i.max(n); }");
    }

    #[test]
    fn a_loop_that_counts_otherwise_stays() {
        for source in [
            "while i < n { x = f(x); i += 2; }",
            "while i < n { if c { continue; } i += 1; }",
            "while i < n { n = n - 1; i += 1; }",
            "while i < list.len() { list.push(x); i += 1; }",
            "while i < n { i += 1; x = f(x); }",
            "while i <= n { x = f(x); i += 1; }",
            "while i < f(n) { x = f(x); i += 1; }",
        ] {
            check(source, "");
        }
    }
}
