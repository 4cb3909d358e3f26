//! Closures in variables that only chains are given, put where those are given them.
//!
//! ```text
//! let gate = move |xs: &Tensor| xs.apply(&fc);     =>    seq.add_fn(move |xs: &Tensor| xs.apply(&fc))
//! seq.add_fn(gate)
//! ```
//!
//! What makes a closure has no effect, and what it captures is the same later on, unless a name means another variable
//! there, or the variable was written to meanwhile.

use fx_ir::catalog::ChainMethod;
use syn::{
    visit::Visit,
    visit_mut::{self, VisitMut},
};

use super::captures::rewritten;
use crate::{
    pattern::{bound, bound_in},
    syntax::{count_of, effects},
};

/// Puts the closures of the block's variables where chains are given them.
pub(crate) fn in_place(block: &mut syn::Block) {
    Blocks.visit_block_mut(block);
}

/// Returns whether the path is that of `nn::func` or of `nn::func_t`.
pub(super) fn is_func(path: &syn::Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "func" || last.ident == "func_t")
}

struct Blocks;

impl VisitMut for Blocks {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let mut at = 0;
        while at < block.stmts.len() {
            let (done, rest) = block.stmts.split_at_mut(at + 1);
            match done.last().and_then(closure_variable).and_then(|(name, value)| placed(name, value, rest)) {
                Some(placed) => {
                    block.stmts.truncate(at);
                    block.stmts.extend(placed);
                }
                None => at += 1,
            }
        }
        visit_mut::visit_block_mut(self, block);
    }
}

/// `let gate = |xs| ..;` or `let gate = nn::func(|xs| ..);`.
fn closure_variable(stmt: &syn::Stmt) -> Option<(&syn::Ident, &syn::Expr)> {
    let syn::Stmt::Local(syn::Local { pat: syn::Pat::Ident(name), init: Some(init), .. }) = stmt else { return None };
    let is_plain = name.subpat.is_none() && name.by_ref.is_none() && init.diverge.is_none();
    (is_plain && closure_in(&init.expr).is_some()).then_some((&name.ident, &*init.expr))
}

fn closure_in(value: &syn::Expr) -> Option<&syn::ExprClosure> {
    match value {
        syn::Expr::Closure(closure) => Some(closure),
        syn::Expr::Call(call) => match (&*call.func, call.args.first()) {
            (syn::Expr::Path(path), Some(syn::Expr::Closure(closure))) if is_func(&path.path) => Some(closure),
            _ => None,
        },
        _ => None,
    }
}

/// The statements with the value in the place of the variable; none where something else than a chain uses it, or where
/// the value would be another there, or the name another variable.
fn placed(name: &syn::Ident, value: &syn::Expr, rest: &[syn::Stmt]) -> Option<Vec<syn::Stmt>> {
    let block = syn::Block { brace_token: syn::token::Brace::default(), stmts: rest.to_vec() };
    let mentions = mentions(&block, name);
    let mut place = Place { name, value, placed: 0 };
    let mut stmts = rest.to_vec();
    for stmt in &mut stmts {
        place.visit_stmt_mut(stmt);
    }
    if place.placed == 0 || place.placed != mentions {
        return None;
    }
    let whole = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block });
    let mut other = bound_in(&whole);
    if other.iter().any(|other| name == other) {
        return None;
    }
    other.extend(effects::written(&whole, &|call| effects::is_mutator(&call.method.to_string())));
    let (_, changed) = rewritten(closure_in(value)?, &other).ok()?;
    changed.is_empty().then_some(stmts)
}

/// How often the code reads the variable.
pub(super) fn mentions(block: &syn::Block, name: &syn::Ident) -> usize {
    struct Find<'n>(&'n syn::Ident, usize);
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
            self.1 += usize::from(path.path.is_ident(self.0));
        }
        fn visit_macro(&mut self, call: &'ast syn::Macro) {
            self.1 += count_of(call.tokens.clone(), &self.0.to_string());
        }
    }
    let mut find = Find(name, 0);
    find.visit_block(block);
    find.1
}

struct Place<'v> {
    name: &'v syn::Ident,
    value: &'v syn::Expr,
    placed: usize,
}

impl Place<'_> {
    fn put(&mut self, arg: Option<&mut syn::Expr>) {
        if let Some(arg) = arg
            && matches!(arg, syn::Expr::Path(path) if path.path.is_ident(self.name))
        {
            *arg = self.value.clone();
            self.placed += 1;
        }
    }
}

impl VisitMut for Place<'_> {
    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        visit_mut::visit_expr_method_call_mut(self, call);
        let method = ChainMethod::of_name(&call.method.to_string());
        match (method, self.value) {
            (Some(ChainMethod::AddFn | ChainMethod::AddFnT), syn::Expr::Closure(_))
            | (Some(ChainMethod::Add), syn::Expr::Call(_)) => self.put(call.args.first_mut()),
            _ => {}
        }
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        visit_mut::visit_expr_call_mut(self, call);
        let takes_closure = matches!(&*call.func, syn::Expr::Path(path) if is_func(&path.path));
        if takes_closure && matches!(self.value, syn::Expr::Closure(_)) {
            self.put(call.args.first_mut());
        }
    }

    /// Inside a closure that has a variable of that name, it is another one.
    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        if !closure.inputs.iter().flat_map(bound).any(|name| *self.name == name) {
            visit_mut::visit_expr_closure_mut(self, closure);
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;

    use super::*;

    fn check(before: &str, after: &str) {
        let mut block: syn::Block = syn::parse_str(before).expect("a block");
        in_place(&mut block);
        let after: syn::Block = syn::parse_str(after).expect("a block");
        assert_eq!(block.to_token_stream().to_string(), after.to_token_stream().to_string());
    }

    #[test]
    fn closures_of_chains() {
        check(
            "{ let f = move |xs| xs.apply(&fc); let g = |xs, t| xs; seq().add_fn(f).add_fn_t(g) }",
            "{ seq().add_fn(move |xs| xs.apply(&fc)).add_fn_t(|xs, t| xs) }",
        );
        check("{ let f = |xs| xs; let g = Net { f: nn::func(f) }; g }", "{ let g = Net { f: nn::func(|xs| xs) }; g }");
        check(
            "{ let f = |xs| xs; let layer = nn::func(f); for i in 0..2 { seq = seq.add(layer); } seq }",
            "{ for i in 0..2 { seq = seq.add(nn::func(|xs| xs)); } seq }",
        );
    }

    #[test]
    fn what_means_the_same_nowhere_else_stays() {
        for same in [
            "{ let f = move |xs| xs * n; let n = 2; seq.add_fn(f) }",
            "{ let f = move |xs| xs * n; n += 1; seq.add_fn(f) }",
            "{ let f = |xs| xs; f(&x); seq.add_fn(f) }",
            "{ let f = make(); seq.add_fn(f) }",
            "{ let f = |xs| xs; let f = make(); seq.add_fn(f) }",
            "{ let f = |xs| xs; if let Some(f) = g { seq.add_fn(f) } else { seq } }",
        ] {
            check(same, same);
        }
    }
}
