//! Lists that code matches against slice patterns.

use syn::visit::Visit;

use crate::syntax::peeled;
use crate::trace::{Tracer, Val, entry::signature::is_vec};

impl Tracer<'_> {
    /// Whether the variable is a field that is a `Vec`, and the code matches it against slice patterns.
    pub(super) fn is_sliced_vec(&self, (name, value): (&str, &Val), code: &syn::Expr) -> bool {
        let field = value.node().and_then(|id| self.field_at(id));
        let field = field.and_then(|(owner, name)| self.index.field(owner, &name));
        field.is_some_and(|field| is_vec(&field.ty)) && is_sliced(code, name)
    }
}

/// Whether the code matches the variable against slice patterns.
fn is_sliced(expr: &syn::Expr, name: &str) -> bool {
    struct Find<'n> {
        name: &'n str,
        is_sliced: bool,
    }
    impl Find<'_> {
        fn look(&mut self, subject: &syn::Expr, pats: &[&syn::Pat]) {
            let is_it = matches!(peeled(subject), syn::Expr::Path(path) if path.path.is_ident(self.name));
            self.is_sliced |= is_it && pats.iter().any(|pat| matches!(pat, syn::Pat::Slice(_)));
        }
    }
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
            self.look(&choice.expr, &choice.arms.iter().map(|arm| &arm.pat).collect::<Vec<_>>());
            syn::visit::visit_expr_match(self, choice);
        }
        fn visit_expr_let(&mut self, condition: &'ast syn::ExprLet) {
            self.look(&condition.expr, &[&condition.pat]);
            syn::visit::visit_expr_let(self, condition);
        }
        fn visit_local(&mut self, local: &'ast syn::Local) {
            if let Some(init) = &local.init {
                self.look(&init.expr, &[&local.pat]);
            }
            syn::visit::visit_local(self, local);
        }
    }
    let mut find = Find { name, is_sliced: false };
    find.visit_expr(expr);
    find.is_sliced
}
