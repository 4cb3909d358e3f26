//! Blocks that are left before their end: `'a: { if c { break 'a x; } y }` as the call of a closure, `(|| { if c { return x; } y
//! })()`.

use syn::{Expr, ExprBlock, Lifetime, parse_quote_spanned, spanned::Spanned, visit_mut::VisitMut};

/// The call; `None` for a block without a label, and for one out of which something else jumps.
pub(in crate::trace) fn as_call(block: &ExprBlock) -> Option<Expr> {
    let label = &block.label.as_ref()?.name;
    let mut body = block.block.clone();
    let mut jumps = Jumps { label, inner: Vec::new(), depth: 0, leaves: false };
    jumps.visit_block_mut(&mut body);
    (!jumps.leaves).then(|| parse_quote_spanned!(block.span()=> (|| #body)()))
}

/// Puts a `return` in place of each jump out of the block.
struct Jumps<'l> {
    label: &'l Lifetime,
    /// The labels of what stands in the block, around what is visited.
    inner: Vec<Lifetime>,
    /// How many loops of the block stand around what is visited.
    depth: u32,
    /// Whether something else jumps out of the block.
    leaves: bool,
}

impl Jumps<'_> {
    fn jump(&mut self, label: Option<&Lifetime>) {
        self.leaves |= match label {
            Some(label) => !self.inner.contains(label),
            None => self.depth == 0,
        };
    }

    fn inside(&mut self, label: Option<&syn::Label>, is_loop: bool, visit: impl FnOnce(&mut Self)) {
        // Within it the name would mean another block.
        self.leaves |= label.is_some_and(|label| label.name == *self.label);
        self.inner.extend(label.map(|label| label.name.clone()));
        self.depth += u32::from(is_loop);
        visit(self);
        self.depth -= u32::from(is_loop);
        self.inner.truncate(self.inner.len() - usize::from(label.is_some()));
    }
}

impl VisitMut for Jumps<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Break(jump) = expr
            && jump.label.as_ref() == Some(self.label)
        {
            if let Some(value) = &mut jump.expr {
                self.visit_expr_mut(value);
            }
            let value = &jump.expr;
            *expr = parse_quote_spanned!(jump.span()=> return #value);
            return;
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_break_mut(&mut self, jump: &mut syn::ExprBreak) {
        self.jump(jump.label.as_ref());
        syn::visit_mut::visit_expr_break_mut(self, jump);
    }

    fn visit_expr_continue_mut(&mut self, jump: &mut syn::ExprContinue) {
        self.jump(jump.label.as_ref());
    }

    fn visit_expr_return_mut(&mut self, _: &mut syn::ExprReturn) {
        self.leaves = true;
    }

    fn visit_expr_try_mut(&mut self, _: &mut syn::ExprTry) {
        self.leaves = true;
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        // What a macro does with its tokens is not known.
        let plain = ["assert", "assert_eq", "debug_assert", "vec", "format", "panic", "unreachable"];
        self.leaves |= !plain.iter().any(|name| mac.path.is_ident(name));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        let label = each.label.clone();
        self.inside(label.as_ref(), true, |jumps| jumps.visit_block_mut(&mut each.body));
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        let label = each.label.clone();
        self.inside(label.as_ref(), true, |jumps| {
            jumps.visit_expr_mut(&mut each.cond);
            jumps.visit_block_mut(&mut each.body);
        });
    }

    fn visit_expr_loop_mut(&mut self, each: &mut syn::ExprLoop) {
        let label = each.label.clone();
        self.inside(label.as_ref(), true, |jumps| jumps.visit_block_mut(&mut each.body));
    }

    fn visit_expr_block_mut(&mut self, block: &mut ExprBlock) {
        let label = block.label.clone();
        self.inside(label.as_ref(), false, |jumps| jumps.visit_block_mut(&mut block.block));
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
