//! What a piece of code does to its surroundings: the variables it writes to, and whether it leaves them.

use std::collections::BTreeSet;

use proc_macro2::Span;
use quote::ToTokens;
use syn::{spanned::Spanned, visit::Visit};

/// Where the expression leaves its surroundings: `return`, or `?` and jumps that are not its own.
pub(super) fn escape(expr: &syn::Expr) -> Option<Span> {
    struct Find {
        found: Option<Span>,
        loops: u32,
    }
    impl<'ast> Visit<'ast> for Find {
        fn visit_expr_return(&mut self, ret: &'ast syn::ExprReturn) {
            self.found = self.found.or(Some(ret.span()));
        }
        fn visit_expr_try(&mut self, question: &'ast syn::ExprTry) {
            self.found = self.found.or(Some(question.span()));
        }
        fn visit_expr_break(&mut self, jump: &'ast syn::ExprBreak) {
            if self.loops == 0 {
                self.found = self.found.or(Some(jump.span()));
            }
        }
        fn visit_expr_continue(&mut self, jump: &'ast syn::ExprContinue) {
            if self.loops == 0 {
                self.found = self.found.or(Some(jump.span()));
            }
        }
        fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
            self.loops += 1;
            syn::visit::visit_expr_for_loop(self, each);
            self.loops -= 1;
        }
        fn visit_expr_while(&mut self, each: &'ast syn::ExprWhile) {
            self.loops += 1;
            syn::visit::visit_expr_while(self, each);
            self.loops -= 1;
        }
        fn visit_expr_loop(&mut self, each: &'ast syn::ExprLoop) {
            self.loops += 1;
            syn::visit::visit_expr_loop(self, each);
            self.loops -= 1;
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    }
    let mut find = Find { found: None, loops: 0 };
    find.visit_expr(expr);
    find.found
}

/// Methods that change what they are called on, as far as their names tell.
#[rustfmt::skip]
const MUTATORS: &[&str] = &[
    "push", "push_back", "push_front", "pop_back", "pop_front", "push_str", "extend", "extend_from_slice", "insert",
    "pop", "clear", "truncate", "append", "remove", "drain", "split_off", "take", "replace", "reverse", "sort",
    "sort_by", "sort_unstable", "sort_by_key", "swap", "resize", "retain", "dedup", "fill", "rotate_left",
    "rotate_right", "as_mut", "iter_mut", "get_or_insert_with", "splice", "entry", "swap_remove", "get_mut",
    "first_mut", "last_mut", "next", "get_or_insert", "get_or_insert_default", "take_if", "fill_with", "resize_with",
    "dedup_by", "dedup_by_key", "copy_from_slice", "clone_from_slice", "copy_within", "extend_from_within",
    "sort_unstable_by", "sort_unstable_by_key", "sort_by_cached_key", "make_ascii_lowercase", "make_ascii_uppercase",
    "make_contiguous", "retain_mut", "swap_with_slice", "select_nth_unstable", "insert_str", "replace_range",
];

/// Does a method of that name change what it is called on, as far as names tell?
pub(super) fn is_mutator(name: &str) -> bool {
    MUTATORS.contains(&name) || name.ends_with("_mut")
}

/// The fields of `self` that the expression may write to; `mutates` knows the methods of the crate that do.
pub(super) fn fields(expr: &syn::Expr, mutates: &dyn Fn(&syn::ExprMethodCall) -> bool) -> BTreeSet<String> {
    fn add(expr: &syn::Expr, all: &mut BTreeSet<String>) {
        match expr {
            syn::Expr::Field(field) if matches!(&*field.base, syn::Expr::Path(path) if path.path.is_ident("self")) => {
                all.insert(field.member.to_token_stream().to_string());
            }
            syn::Expr::Field(field) => add(&field.base, all),
            syn::Expr::Index(index) => add(&index.expr, all),
            syn::Expr::Paren(inner) => add(&inner.expr, all),
            syn::Expr::Unary(inner) => add(&inner.expr, all),
            syn::Expr::MethodCall(call) => add(&call.receiver, all),
            syn::Expr::Tuple(parts) => parts.elems.iter().for_each(|part| add(part, all)),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    let mutates = |call: &syn::ExprMethodCall| {
        let name = call.method.to_string();
        is_mutator(&name) || name.ends_with('_') || mutates(call)
    };
    each_target(expr, &mutates, &mut |target| add(target, &mut all));
    all
}

/// The plain variables that the expression writes to.
pub(super) fn writes(expr: &syn::Expr) -> Vec<String> {
    fn add(expr: &syn::Expr, all: &mut BTreeSet<String>) {
        match expr {
            syn::Expr::Path(path) => all.extend(path.path.get_ident().map(ToString::to_string)),
            syn::Expr::Tuple(parts) => parts.elems.iter().for_each(|part| add(part, all)),
            syn::Expr::Index(index) => add(&index.expr, all),
            syn::Expr::Field(field) => add(&field.base, all),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    each_target(expr, &|call| is_mutator(&call.method.to_string()), &mut |target| add(target, &mut all));
    all.into_iter().collect()
}

/// Hands over every expression that is written to: by an assignment, through `&mut`, or by a method that `mutates`.
fn each_target(expr: &syn::Expr, mutates: &dyn Fn(&syn::ExprMethodCall) -> bool, target: &mut dyn FnMut(&syn::Expr)) {
    struct Find<'f> {
        mutates: &'f dyn Fn(&syn::ExprMethodCall) -> bool,
        target: &'f mut dyn FnMut(&syn::Expr),
    }
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
            (self.target)(&assign.left);
            syn::visit::visit_expr_assign(self, assign);
        }
        fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
            if super::operator::is_compound(&binary.op) {
                (self.target)(&binary.left);
            }
            syn::visit::visit_expr_binary(self, binary);
        }
        fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
            if reference.mutability.is_some() {
                (self.target)(&reference.expr);
            }
            syn::visit::visit_expr_reference(self, reference);
        }
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            if (self.mutates)(call) {
                (self.target)(&call.receiver);
            }
            syn::visit::visit_expr_method_call(self, call);
        }
    }
    Find { mutates, target }.visit_expr(expr);
}
