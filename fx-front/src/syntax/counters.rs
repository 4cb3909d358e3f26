//! What the code around a counter says of its type: what it indexes, and what it is compared with.

use syn::visit::Visit;
use syn::visit_mut::VisitMut;

use crate::pattern::bound;

/// Whether the code indexes with the variable, bare or in a sum, so that it is a `usize`.
pub(crate) fn indexes(block: &syn::Block, name: &syn::Ident) -> bool {
    struct Find<'n> {
        name: &'n syn::Ident,
        found: bool,
    }
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
            self.found |= is_counted(&index.index, self.name);
            syn::visit::visit_expr_index(self, index);
        }
    }
    let mut find = Find { name, found: false };
    find.visit_block(&visible(block, name));
    find.found
}

/// What the code compares the variable with, or adds to it, and the types of which variables are that begin with it.
pub(crate) fn counted_with(block: &syn::Block, name: &syn::Ident) -> (Vec<syn::Expr>, Vec<syn::Type>) {
    struct Find<'n>(&'n syn::Ident, Vec<syn::Expr>, Vec<syn::Type>);
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
            let is_one = |expr: &syn::Expr| is_counted(expr, self.0);
            match (is_one(&binary.left), is_one(&binary.right)) {
                (true, false) => self.1.push((*binary.right).clone()),
                (false, true) => self.1.push((*binary.left).clone()),
                _ => {}
            }
            syn::visit::visit_expr_binary(self, binary);
        }
        fn visit_local(&mut self, local: &'ast syn::Local) {
            if let (syn::Pat::Type(typed), Some(init)) = (&local.pat, &local.init)
                && is_counted(&init.expr, self.0)
            {
                self.2.push((*typed.ty).clone());
            }
            syn::visit::visit_local(self, local);
        }
    }
    let mut find = Find(name, Vec::new(), Vec::new());
    find.visit_block(&visible(block, name));
    (find.1, find.2)
}

/// Whether it is the variable, or arithmetic on it, which has its type.
fn is_counted(expr: &syn::Expr, name: &syn::Ident) -> bool {
    match expr {
        syn::Expr::Path(path) => path.path.is_ident(name),
        syn::Expr::Paren(inner) => is_counted(&inner.expr, name),
        syn::Expr::Binary(binary) => is_counted(&binary.left, name) || is_counted(&binary.right, name),
        _ => false,
    }
}

/// The block without the code that has another variable of that name.
fn visible(block: &syn::Block, name: &syn::Ident) -> syn::Block {
    struct Hide<'n>(&'n syn::Ident);
    impl Hide<'_> {
        fn is_bound_by(&self, pat: &syn::Pat) -> bool {
            bound(pat).iter().any(|bound| self.0 == bound)
        }
    }
    impl VisitMut for Hide<'_> {
        fn visit_block_mut(&mut self, block: &mut syn::Block) {
            let shadows = |stmt: &syn::Stmt| matches!(stmt, syn::Stmt::Local(local) if self.is_bound_by(&local.pat));
            if let Some(at) = block.stmts.iter().position(shadows) {
                block.stmts.truncate(at + 1);
            }
            syn::visit_mut::visit_block_mut(self, block);
        }
        fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
            if self.is_bound_by(&each.pat) {
                each.body.stmts.clear();
            }
            syn::visit_mut::visit_expr_for_loop_mut(self, each);
        }
        fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
            if closure.inputs.iter().any(|input| self.is_bound_by(input)) {
                *closure.body = syn::parse_quote!(());
            }
            syn::visit_mut::visit_expr_closure_mut(self, closure);
        }
        fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
            if self.is_bound_by(&arm.pat) {
                arm.guard = None;
                *arm.body = syn::parse_quote!(());
            }
            syn::visit_mut::visit_arm_mut(self, arm);
        }
        fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
            if matches!(&*branch.cond, syn::Expr::Let(test) if self.is_bound_by(&test.pat)) {
                branch.then_branch.stmts.clear();
            }
            syn::visit_mut::visit_expr_if_mut(self, branch);
        }
    }
    let mut block = block.clone();
    Hide(name).visit_block_mut(&mut block);
    block
}
