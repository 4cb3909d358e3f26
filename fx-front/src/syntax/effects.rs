//! What a piece of code does to its surroundings: the variables it writes to, and whether it leaves them.

use std::collections::BTreeSet;

use fx_ir::{OpId, host::methods::methods_named};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{spanned::Spanned, visit::Visit};

use crate::syntax::comma_operands;
use crate::syntax::targets::{each_deref_in_scope, each_target, each_target_in_scope};

/// Where the expression leaves its surroundings: `return`, or `?` and jumps that are not its own.
pub(crate) fn escape(expr: &syn::Expr) -> Option<Span> {
    let mut find = Escape::default();
    find.visit_expr(expr);
    find.found
}

/// Whether the expression leaves its surroundings with an error alone: by `?`, `return Err(..)` or a macro of an error crate.
pub(crate) fn leaves_with_errors(expr: &syn::Expr) -> bool {
    let mut find = Escape { errors_leave: true, ..Escape::default() };
    find.visit_expr(expr);
    find.found.is_none() && escape(expr).is_some()
}

/// Macros of error crates that hold a `return`.
const RETURNING: [&str; 4] = ["bail", "ensure", "ensure_eq", "whatever"];

/// Whether the rules of a macro hold a `return`, a `?` or a macro that does.
pub(crate) fn returns_by(rules: TokenStream) -> bool {
    rules.into_iter().any(|token| match token {
        TokenTree::Group(group) => returns_by(group.stream()),
        TokenTree::Ident(word) => word == "return" || RETURNING.iter().any(|name| word == name),
        TokenTree::Punct(mark) => mark.as_char() == '?',
        TokenTree::Literal(_) => false,
    })
}

/// Where a macro of one of these names stands in the expression.
pub(crate) fn calls_macro(expr: &syn::Expr, names: &BTreeSet<String>) -> Option<Span> {
    struct Find<'n>(&'n BTreeSet<String>, Option<Span>);
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_macro(&mut self, mac: &'ast syn::Macro) {
            let is_one = mac.path.segments.last().is_some_and(|last| self.0.contains(&last.ident.to_string()));
            self.1 = self.1.or(is_one.then(|| mac.span()));
            for operand in crate::syntax::macro_operands(mac) {
                self.1 = self.1.or(calls_macro(&operand, self.0));
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut find = Find(names, None);
    find.visit_expr(expr);
    find.1
}

/// Looks for the first place where code leaves what is around it.
#[derive(Default)]
struct Escape {
    found: Option<Span>,
    /// The loops and blocks around, by label; none for a loop that has none.
    targets: Vec<Option<syn::Lifetime>>,
    loops: u32,
    /// Whether an error may leave.
    errors_leave: bool,
}
impl Escape {
    fn note(&mut self, leaves: bool, span: Span) {
        self.found = self.found.or(leaves.then_some(span));
    }
    fn jump(&mut self, label: Option<&syn::Lifetime>, span: Span) {
        let stays = label.map_or(self.loops > 0, |label| self.targets.iter().flatten().any(|known| known == label));
        self.note(!stays, span);
    }
    fn within(&mut self, label: Option<&syn::Label>, is_loop: bool, visit: impl FnOnce(&mut Self)) {
        self.targets.push(label.map(|label| label.name.clone()));
        self.loops += u32::from(is_loop);
        visit(self);
        self.loops -= u32::from(is_loop);
        self.targets.pop();
    }
}
impl<'ast> Visit<'ast> for Escape {
    fn visit_expr_return(&mut self, ret: &'ast syn::ExprReturn) {
        let is_error = ret.expr.as_deref().is_some_and(crate::syntax::is_err);
        self.note(!(self.errors_leave && is_error), ret.span());
        syn::visit::visit_expr_return(self, ret);
    }
    fn visit_expr_try(&mut self, question: &'ast syn::ExprTry) {
        self.note(!self.errors_leave, question.span());
        syn::visit::visit_expr_try(self, question);
    }
    fn visit_expr_break(&mut self, jump: &'ast syn::ExprBreak) {
        self.jump(jump.label.as_ref(), jump.span());
        syn::visit::visit_expr_break(self, jump);
    }
    fn visit_expr_continue(&mut self, jump: &'ast syn::ExprContinue) {
        self.jump(jump.label.as_ref(), jump.span());
    }
    fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
        self.within(each.label.as_ref(), true, |find| syn::visit::visit_expr_for_loop(find, each));
    }
    fn visit_expr_while(&mut self, each: &'ast syn::ExprWhile) {
        self.within(each.label.as_ref(), true, |find| syn::visit::visit_expr_while(find, each));
    }
    fn visit_expr_loop(&mut self, each: &'ast syn::ExprLoop) {
        self.within(each.label.as_ref(), true, |find| syn::visit::visit_expr_loop(find, each));
    }
    fn visit_expr_block(&mut self, block: &'ast syn::ExprBlock) {
        self.within(block.label.as_ref(), false, |find| syn::visit::visit_expr_block(find, block));
    }
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let returns = RETURNING.iter().any(|name| mac.path.segments.last().is_some_and(|last| last.ident == name));
        self.note(returns && !self.errors_leave, mac.span());
        match comma_operands(mac) {
            Some(items) => items.iter().for_each(|item| self.visit_expr(item)),
            None => self.note(names_jump(mac.tokens.clone()), mac.span()),
        }
    }
}

/// Whether the tokens say anywhere that something is left.
fn names_jump(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => names_jump(group.stream()),
        TokenTree::Ident(word) => ["return", "break", "continue"].iter().any(|jump| word == jump),
        TokenTree::Punct(mark) => mark.as_char() == '?',
        TokenTree::Literal(_) => false,
    })
}

/// Whether the code computes gradients: calls `backward` or `run_backward`, in either form.
pub(crate) fn computes_gradients(code: &impl ToTokens) -> bool {
    const GRADIENTS: [&str; 2] = ["backward", "run_backward"];
    fn calls(tokens: TokenStream) -> bool {
        let mut was_named = false;
        tokens.into_iter().any(|token| {
            let is_called = match &token {
                TokenTree::Group(group) => was_named || calls(group.stream()),
                _ => false,
            };
            was_named = matches!(&token, TokenTree::Ident(name)
                if GRADIENTS.contains(&name.to_string().trim_start_matches("f_")));
            is_called
        })
    }
    calls(code.to_token_stream())
}

/// Whether the code only calls methods on these variables that look at a tensor.
pub(crate) fn only_asks(expr: &syn::Expr, names: &BTreeSet<String>) -> bool {
    struct Find<'n> {
        names: &'n BTreeSet<String>,
        asks_only: bool,
    }
    impl Find<'_> {
        fn is_one(&self, expr: &syn::Expr) -> bool {
            matches!(expr, syn::Expr::Path(path)
                if path.path.get_ident().is_some_and(|name| self.names.contains(&name.to_string())))
        }
    }
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr(&mut self, expr: &'ast syn::Expr) {
            match expr {
                syn::Expr::MethodCall(call) if self.is_one(&call.receiver) => {
                    let name = call.method.to_string();
                    let looks = name == "i" || OpId::of_method(&name).is_some();
                    self.asks_only &= looks && !name.ends_with('_');
                    call.args.iter().for_each(|arg| self.visit_expr(arg));
                }
                other => {
                    self.asks_only &= !self.is_one(other);
                    syn::visit::visit_expr(self, other);
                }
            }
        }
        fn visit_macro(&mut self, _: &'ast syn::Macro) {
            self.asks_only &= self.names.is_empty();
        }
    }
    let mut find = Find { names, asks_only: true };
    find.visit_expr(expr);
    find.asks_only
}

/// Methods that change what they are called on, as far as their names tell, beside those of which a row of
/// `fx_ir::host::methods` says so.
#[rustfmt::skip]
const MUTATORS: &[&str] = &[
    "push_back", "push_front", "pop_back", "pop_front", "append", "drain", "sort_by", "sort_by_key", "retain",
    "as_mut", "iter_mut", "get_or_insert_with", "splice", "entry", "get_mut", "first_mut", "last_mut", "next",
    "get_or_insert", "get_or_insert_default", "take_if", "fill_with", "resize_with", "dedup_by", "dedup_by_key",
    "copy_from_slice", "clone_from_slice", "copy_within", "extend_from_within", "sort_unstable_by",
    "sort_unstable_by_key", "sort_by_cached_key", "make_ascii_lowercase", "make_ascii_uppercase", "make_contiguous",
    "retain_mut", "swap_with_slice", "select_nth_unstable", "insert_str", "replace_range", "pop_first", "pop_last",
    "first_entry", "last_entry", "extract_if", "split_off", "write_str", "write_fmt", "write_char", "write_all",
];

/// Whether a method of that name changes what it is called on, as far as names tell.
pub(crate) fn is_mutator(name: &str) -> bool {
    methods_named(name).any(|method| method.mutates)
        || MUTATORS.contains(&name)
        || name.ends_with("_mut")
        || name.starts_with("as_mut_")
}

/// The fields of `self` that the expression may write to; `is_mutating` knows the methods of the crate that do.
pub(crate) fn fields(expr: &syn::Expr, is_mutating: &dyn Fn(&syn::ExprMethodCall) -> bool) -> BTreeSet<String> {
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
    let writes = |call: &syn::ExprMethodCall| {
        let name = call.method.to_string();
        is_mutator(&name) || name.ends_with('_') || is_mutating(call)
    };
    each_target(expr, &writes, &mut |target| add(target, &mut all));
    all
}

/// The variables of its surroundings that the expression writes to; `mutates` knows the methods that change what they are
/// called on.
pub(crate) fn written(expr: &syn::Expr, mutates: &dyn Fn(&syn::ExprMethodCall) -> bool) -> Vec<String> {
    fn add(expr: &syn::Expr, bound: &[String], all: &mut BTreeSet<String>) {
        match expr {
            syn::Expr::Path(path) => {
                let name = path.path.get_ident().map(ToString::to_string);
                all.extend(name.filter(|name| !bound.contains(name)));
            }
            syn::Expr::Tuple(parts) => parts.elems.iter().for_each(|part| add(part, bound, all)),
            syn::Expr::Index(index) => add(&index.expr, bound, all),
            syn::Expr::Field(field) => add(&field.base, bound, all),
            syn::Expr::Paren(inner) => add(&inner.expr, bound, all),
            syn::Expr::Unary(inner) => add(&inner.expr, bound, all),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    each_target_in_scope(expr, mutates, &mut |target, bound| add(target, bound, &mut all));
    all.into_iter().collect()
}

/// Whether the variable is reassigned or mutably borrowed.
pub(crate) fn gives(expr: &syn::Expr, name: &str) -> bool {
    let mut found = false;
    each_target(expr, &|_| false, &mut |target| {
        found |= matches!(target, syn::Expr::Path(path) if path.path.is_ident(name));
    });
    found
}

/// Whether the code dereferences the variable of its surroundings: `*name`.
pub(crate) fn derefs(expr: &syn::Expr, name: &str) -> bool {
    let mut found = false;
    each_deref_in_scope(expr, &mut |deref, bound| {
        let is_it = matches!(deref, syn::Expr::Path(path) if path.path.is_ident(name));
        found |= is_it && !bound.iter().any(|bound| bound == name);
    });
    found
}
