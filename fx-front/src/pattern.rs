//! The names that patterns bind.

/// The variables that a pattern binds; a name with a capital stands for a constant or a variant.
pub(crate) fn bound(pat: &syn::Pat) -> Vec<String> {
    struct Find(Vec<String>);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
            let name = pat.ident.to_string();
            if !name.starts_with(|c: char| c.is_uppercase()) {
                self.0.push(name);
            }
            if let Some((_, inner)) = &pat.subpat {
                self.visit_pat(inner);
            }
        }
    }
    let mut find = Find(Vec::new());
    syn::visit::Visit::visit_pat(&mut find, pat);
    find.0
}

/// The variables that patterns bind anywhere in an expression.
pub(crate) fn bound_in(expr: &syn::Expr) -> Vec<String> {
    let mut find = Find(Vec::new());
    syn::visit::Visit::visit_expr(&mut find, expr);
    find.0
}

/// The variables that patterns bind anywhere in a block.
pub(crate) fn bound_within(block: &syn::Block) -> Vec<String> {
    let mut find = Find(Vec::new());
    syn::visit::Visit::visit_block(&mut find, block);
    find.0
}

struct Find(Vec<String>);

impl<'ast> syn::visit::Visit<'ast> for Find {
    fn visit_pat(&mut self, pat: &'ast syn::Pat) {
        self.0.extend(bound(pat));
    }
}
