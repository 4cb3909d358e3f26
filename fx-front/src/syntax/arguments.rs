//! Where a variable is handed to a function as it is.

use syn::visit::Visit;

/// The functions and methods that the variable is an argument of, by name, each with its position among the arguments.
pub(crate) fn handed_to(block: &syn::Block, name: &syn::Ident) -> Vec<(String, usize)> {
    struct Find<'n>(&'n syn::Ident, Vec<(String, usize)>);
    impl Find<'_> {
        fn note<'e>(&mut self, callee: &syn::Ident, args: impl Iterator<Item = &'e syn::Expr>) {
            let is_it = |arg: &syn::Expr| matches!(arg, syn::Expr::Path(path) if path.path.is_ident(self.0));
            let found: Vec<usize> = args.enumerate().filter(|(_, arg)| is_it(arg)).map(|(at, _)| at).collect();
            self.1.extend(found.into_iter().map(|at| (callee.to_string(), at)));
        }
    }
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            self.note(&call.method, call.args.iter());
            syn::visit::visit_expr_method_call(self, call);
        }
        fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
            if let syn::Expr::Path(path) = &*call.func
                && let Some(last) = path.path.segments.last()
            {
                self.note(&last.ident, call.args.iter());
            }
            syn::visit::visit_expr_call(self, call);
        }
    }
    let mut find = Find(name, Vec::new());
    find.visit_block(block);
    find.1
}
