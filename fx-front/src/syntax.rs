//! What syntax says by itself, without knowledge of types.

pub(crate) mod arguments;
pub(crate) mod counters;
pub(crate) mod effects;
pub(crate) mod element_access;
pub(crate) mod enclosed;
pub(crate) mod guard;
pub(crate) mod imported;
pub(crate) mod iterator_method;
pub(crate) mod lifetimes;
pub(crate) mod params;
pub(crate) mod substitute;
pub(crate) mod targets;
pub(crate) mod words;
pub(crate) mod written_types;

use std::collections::BTreeSet;

use fx_ir::Arg;
use quote::ToTokens;
use syn::{BinOp, visit::Visit};

pub(crate) use self::words::{add_words, count_of, format_names, mentions, unused_name};

/// Whether the operator yields a truth value.
pub(crate) fn yields_bool(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Gt(_)
            | BinOp::Ge(_)
            | BinOp::And(_)
            | BinOp::Or(_)
    )
}

pub(crate) fn is_compound(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// Whether a `return` of this function stands anywhere in the expression.
pub(crate) fn contains_return(expr: &syn::Expr) -> bool {
    any(expr, |expr| matches!(expr, syn::Expr::Return(_)))
}

/// Whether the test holds for the expression or one inside it, closures and items inside left out.
pub(crate) fn any(expr: &syn::Expr, test: impl Fn(&syn::Expr) -> bool) -> bool {
    struct Find<F> {
        test: F,
        found: bool,
    }
    impl<'ast, F: Fn(&syn::Expr) -> bool> Visit<'ast> for Find<F> {
        fn visit_expr(&mut self, expr: &'ast syn::Expr) {
            self.found = self.found || (self.test)(expr);
            if !self.found {
                syn::visit::visit_expr(self, expr);
            }
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
        fn visit_item(&mut self, _: &'ast syn::Item) {}
    }
    let mut find = Find { test, found: false };
    find.visit_expr(expr);
    find.found
}

pub(crate) fn has_else(local: &syn::Local) -> bool {
    local.init.as_ref().is_some_and(|init| init.diverge.is_some())
}

/// May a value be matched by both patterns? Only what is certain says no.
pub(crate) fn may_both(a: &syn::Pat, b: &syn::Pat) -> bool {
    let head = |pat: &syn::Pat| match pat {
        syn::Pat::Ident(name) if is_item(&name.ident.to_string()) => Some(name.ident.to_string()),
        syn::Pat::Path(path) => Some(path_text(&path.path)),
        syn::Pat::TupleStruct(pat) => Some(path_text(&pat.path)),
        syn::Pat::Struct(pat) => Some(path_text(&pat.path)),
        _ => None,
    };
    let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
    match (a, b) {
        (syn::Pat::Paren(a), b) => may_both(&a.pat, b),
        (syn::Pat::Reference(a), b) => may_both(&a.pat, b),
        (a, syn::Pat::Paren(b)) => may_both(a, &b.pat),
        (a, syn::Pat::Reference(b)) => may_both(a, &b.pat),
        (syn::Pat::Or(or), other) | (other, syn::Pat::Or(or)) => or.cases.iter().any(|case| may_both(case, other)),
        (syn::Pat::Lit(a), syn::Pat::Lit(b)) => a.to_token_stream().to_string() == b.to_token_stream().to_string(),
        (syn::Pat::Tuple(a), syn::Pat::Tuple(b)) => {
            let has_rest = |tuple: &syn::PatTuple| tuple.elems.iter().any(|elem| matches!(elem, syn::Pat::Rest(_)));
            has_rest(a) || has_rest(b) || a.elems.iter().zip(&b.elems).all(|(a, b)| may_both(a, b))
        }
        (a, b) => match (head(a), head(b)) {
            (Some(a), Some(b)) => last(&a) == last(&b),
            _ => true,
        },
    }
}

/// Whether the pattern matches every value.
pub(crate) fn matches_all(pat: &syn::Pat) -> bool {
    match pat {
        syn::Pat::Wild(_) => true,
        syn::Pat::Ident(name) => name.subpat.is_none() && !is_item(&name.ident.to_string()),
        syn::Pat::Tuple(tuple) => tuple.elems.iter().all(|elem| matches!(elem, syn::Pat::Rest(_)) || matches_all(elem)),
        syn::Pat::Paren(inner) => matches_all(&inner.pat),
        syn::Pat::Reference(inner) => matches_all(&inner.pat),
        _ => false,
    }
}

/// Whether the name stands for a constant or a variant, so that a pattern of it binds nothing.
pub(crate) fn is_item(name: &str) -> bool {
    name.starts_with(|c: char| c.is_uppercase())
}

/// Returns whether the macro panics, whatever it is given.
pub(crate) fn panics(mac: &syn::Macro) -> bool {
    let name = mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    ["panic", "unreachable", "todo", "unimplemented"].contains(&name.as_str())
}

/// Whether it is `Err(..)`.
pub(crate) fn is_err(expr: &syn::Expr) -> bool {
    is_call_of(expr, "Err")
}

/// Whether it calls the function, or makes the variant, of that name.
pub(crate) fn is_call_of(expr: &syn::Expr, name: &str) -> bool {
    let syn::Expr::Call(call) = expr else { return false };
    let syn::Expr::Path(path) = &*call.func else { return false };
    // Types may be written behind it.
    path.path.leading_colon.is_none() && path.path.segments.len() == 1 && path.path.segments[0].ident == name
}

/// Whether it is an operator, a cast or a call behind an expression that ends in a block: `match x { .. } as f64`.
pub(crate) fn begins_with_block(expr: &syn::Expr) -> bool {
    fn first(expr: &syn::Expr) -> Option<&syn::Expr> {
        Some(match expr {
            syn::Expr::Cast(cast) => &cast.expr,
            syn::Expr::Binary(binary) => &binary.left,
            syn::Expr::MethodCall(call) => &call.receiver,
            syn::Expr::Field(field) => &field.base,
            syn::Expr::Index(index) => &index.expr,
            syn::Expr::Call(call) => &call.func,
            syn::Expr::Try(question) => &question.expr,
            _ => return None,
        })
    }
    let is_block = |expr: &syn::Expr| {
        matches!(
            expr,
            syn::Expr::Match(_) | syn::Expr::If(_) | syn::Expr::Block(_) | syn::Expr::Unsafe(_) | syn::Expr::Loop(_)
        )
    };
    first(expr).is_some_and(|left| is_block(left) || begins_with_block(left))
}

/// Whether the value is made by `Ok(..)` or `Err(..)`, which elsewhere stand for what is in them.
pub(crate) fn makes_result(init: &syn::Expr) -> bool {
    let of_block =
        |block: &syn::Block| matches!(block.stmts.last(), Some(syn::Stmt::Expr(value, None)) if makes_result(value));
    match init {
        syn::Expr::Call(_) => is_call_of(init, "Ok") || is_err(init),
        syn::Expr::Paren(inner) => makes_result(&inner.expr),
        syn::Expr::Block(block) => of_block(&block.block),
        syn::Expr::If(branch) => {
            of_block(&branch.then_branch) || branch.else_branch.as_ref().is_some_and(|(_, other)| makes_result(other))
        }
        syn::Expr::Match(choice) => choice.arms.iter().any(|arm| makes_result(&arm.body)),
        _ => false,
    }
}

/// The names that patterns inside of the expression bind.
pub(crate) fn bound_names(expr: &syn::Expr) -> BTreeSet<String> {
    let mut bound = Bound(BTreeSet::new());
    bound.visit_expr(expr);
    bound.0
}

/// The names that the pattern binds.
pub(crate) fn names_of(pat: &syn::Pat) -> BTreeSet<String> {
    match pat {
        syn::Pat::Or(_) => bound_names(&syn::parse_quote!(|(#pat)| ())),
        _ => bound_names(&syn::parse_quote!(|#pat| ())),
    }
}

struct Bound(BTreeSet<String>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        self.0.insert(pat.ident.to_string());
        syn::visit::visit_pat_ident(self, pat);
    }
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        for operand in &macro_operands(mac) {
            self.visit_expr(operand);
        }
    }
}

pub(crate) fn peeled(expr: &syn::Expr) -> &syn::Expr {
    match expr {
        syn::Expr::Paren(inner) => peeled(&inner.expr),
        other => other,
    }
}

/// A path through fields and elements, which yields the same place whenever it is asked for.
pub(crate) fn is_chain(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Path(path) => path.path.get_ident().is_some(),
        syn::Expr::Field(field) => is_chain(&field.base),
        syn::Expr::Index(index) => is_chain(&index.expr),
        syn::Expr::Paren(inner) => is_chain(&inner.expr),
        _ => false,
    }
}

/// A path without its generic arguments: `nn::Conv2D`.
pub(crate) fn path_text(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    names.join("::")
}

/// The expression that is all of the block.
pub(crate) fn only_expr(block: &syn::Block) -> Option<&syn::Expr> {
    match block.stmts.as_slice() {
        [syn::Stmt::Expr(expr, None)] => Some(expr),
        _ => None,
    }
}

/// Whether the full path is this one, or ends in it: `tch::no_grad` by whatever crate tch is named.
pub(crate) fn is_path_to(full: &str, path: &str) -> bool {
    full.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

/// The expressions that a macro is given between commas, as in `vec![a, b]`; `None` where that is not what it is given.
pub(crate) fn comma_operands(mac: &syn::Macro) -> Option<Vec<syn::Expr>> {
    let list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
    mac.parse_body_with(list).ok().map(|operands| operands.into_iter().collect())
}

/// The expressions that a macro is given, as `vec![a, b]`, `vec![a; n]` and `format!("{a}", a = b)` write them.
pub(crate) fn macro_operands(mac: &syn::Macro) -> Vec<syn::Expr> {
    let repeated = syn::punctuated::Punctuated::<syn::Expr, syn::Token![;]>::parse_terminated;
    let operands = comma_operands(mac)
        .or_else(|| mac.parse_body_with(repeated).ok().map(|operands| operands.into_iter().collect()));
    let unnamed = |operand: syn::Expr| match operand {
        syn::Expr::Assign(named) if matches!(*named.left, syn::Expr::Path(_)) => *named.right,
        operand => operand,
    };
    operands.unwrap_or_default().into_iter().map(unnamed).collect()
}

/// Where a method is called, as the call itself would tell: line and column, both from 1.
pub(crate) fn call_position(method: &syn::Ident) -> String {
    let start = method.span().start();
    format!("{}:{}", start.line, start.column + 1)
}

/// The value of an expression that is a literal, with or without a sign.
pub(crate) fn literal(expr: &syn::Expr) -> Option<Arg> {
    match expr {
        syn::Expr::Lit(syn::ExprLit { lit, .. }) => match lit {
            syn::Lit::Int(number) => number.base10_parse().ok().map(Arg::Int),
            syn::Lit::Float(number) => number.base10_parse().ok().map(Arg::Float),
            syn::Lit::Bool(is) => Some(Arg::Bool(is.value)),
            syn::Lit::Str(text) => Some(Arg::Str(text.value())),
            _ => None,
        },
        syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => match literal(expr)? {
            Arg::Int(number) => Some(Arg::Int(-number)),
            Arg::Float(number) => Some(Arg::Float(-number)),
            _ => None,
        },
        _ => None,
    }
}

/// The integer that the expression is a literal of.
pub(crate) fn integer_literal(expr: &syn::Expr) -> Option<i64> {
    match expr {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    }
}
