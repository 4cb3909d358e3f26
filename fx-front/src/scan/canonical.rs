//! Bodies of functions with one spelling for what Rust has several for: a name that a `use` inside the body brings in is its
//! path, and a function inside the body is a closure without captures.

use std::collections::BTreeSet;

use syn::visit_mut::VisitMut;

use crate::syntax::{bound_names, imported::imported};

/// Rewrites the body, with paths for names that it is said to know.
pub(super) fn canonical(block: &mut syn::Block, names: Vec<(syn::Ident, syn::Path)>) {
    let whole = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: block.clone() });
    let bound = bound_names(&whole);
    Canonical { bound, names, constants: Vec::new() }.visit_block_mut(block);
}

struct Canonical {
    /// The names that patterns bind anywhere, which mean those variables.
    bound: BTreeSet<String>,
    /// Names that stand for paths.
    names: Vec<(syn::Ident, syn::Path)>,
    /// Constants of the body that are numbers.
    constants: Vec<(syn::Ident, syn::LitInt)>,
}

impl Canonical {
    /// Takes in what the items of a block declare.
    fn declare(&mut self, block: &syn::Block) {
        for stmt in &block.stmts {
            match stmt {
                syn::Stmt::Item(syn::Item::Use(item)) => {
                    let known = imported(item).into_iter().filter(|(_, path)| path.segments.len() > 1);
                    let free = known.filter(|(name, _)| !self.bound.contains(&name.to_string()));
                    self.names.extend(free.collect::<Vec<_>>());
                }
                syn::Stmt::Item(syn::Item::Const(item)) => {
                    self.constants.extend(whole_number(item).map(|number| (item.ident.clone(), number)));
                }
                _ => {}
            }
        }
    }
}

/// The number that the constant is, with its type.
fn whole_number(item: &syn::ItemConst) -> Option<syn::LitInt> {
    let (syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }), syn::Type::Path(ty)) =
        (&*item.expr, &*item.ty)
    else {
        return None;
    };
    let ty = ty.path.get_ident()?.to_string();
    let is_whole = fx_ir::scalar::is_integer(&ty) && number.suffix().is_empty();
    is_whole.then(|| syn::LitInt::new(&format!("{}{ty}", number.base10_digits()), number.span()))
}

impl VisitMut for Canonical {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        syn::visit_mut::visit_path_mut(self, path);
        if path.leading_colon.is_some() {
            return;
        }
        let Some(first) = path.segments.first() else { return };
        let Some((_, full)) = self.names.iter().find(|(name, _)| first.ident == *name) else { return };
        let mut whole = full.clone();
        for segment in &mut whole.segments {
            segment.ident.set_span(first.ident.span());
        }
        if let Some(last) = whole.segments.last_mut() {
            last.arguments = first.arguments.clone();
        }
        whole.segments.extend(path.segments.iter().skip(1).cloned());
        *path = whole;
    }

    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        if let syn::Expr::Path(path) = expr
            && let Some((_, number)) = self.constants.iter().find(|(name, _)| path.path.is_ident(name))
        {
            *expr = syn::Expr::Lit(syn::ExprLit { attrs: Vec::new(), lit: syn::Lit::Int(number.clone()) });
            return;
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_item_use_mut(&mut self, _: &mut syn::ItemUse) {}

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let mut closures: Vec<syn::Stmt> = Vec::new();
        block.stmts.retain(|stmt| match stmt {
            syn::Stmt::Item(syn::Item::Fn(item)) => match as_closure(item) {
                Some(closure) => {
                    closures.push(syn::Stmt::Local(closure));
                    false
                }
                None => true,
            },
            _ => true,
        });
        let (names, constants) = (self.names.len(), self.constants.len());
        self.declare(block);
        // The code before an item sees it too.
        let (uses, rest): (Vec<syn::Stmt>, Vec<syn::Stmt>) =
            block.stmts.drain(..).partition(|stmt| matches!(stmt, syn::Stmt::Item(syn::Item::Use(_))));
        let (values, rest): (Vec<syn::Stmt>, Vec<syn::Stmt>) = rest
            .into_iter()
            .partition(|stmt| matches!(stmt, syn::Stmt::Item(syn::Item::Const(_) | syn::Item::Static(_))));
        block.stmts = [uses, values, closures, rest].concat();
        syn::visit_mut::visit_block_mut(self, block);
        self.names.truncate(names);
        self.constants.truncate(constants);
    }
}

/// Whether a closure can stand for the function inside a body.
pub(super) fn is_closure(item: &syn::ItemFn) -> bool {
    as_closure(item).is_some()
}

/// `let name = |a: A| -> B { .. };` of a function inside a body; none of one that a closure cannot stand for.
fn as_closure(item: &syn::ItemFn) -> Option<syn::Local> {
    let syn::ItemFn { attrs, sig, block, .. } = item;
    let syn::Signature { ident, inputs, output, generics, .. } = sig;
    let is_plain = attrs.iter().all(|attr| attr.path().is_ident("inline") || attr.path().is_ident("doc"))
        && generics.params.is_empty()
        && sig.asyncness.is_none()
        && sig.unsafety.is_none();
    // A closure's output borrows nothing of its parameters, and it cannot call itself.
    let lends = matches!(output, syn::ReturnType::Type(_, ty) if mentions_reference(ty));
    if !is_plain || lends || calls(block, ident) {
        return None;
    }
    let closure: syn::ExprClosure = syn::parse_quote_spanned!(ident.span()=> |#inputs| #output #block);
    let stmt: syn::Stmt = syn::parse_quote_spanned!(ident.span()=> let #ident = #closure;);
    match stmt {
        syn::Stmt::Local(local) => Some(local),
        _ => None,
    }
}

/// Whether the name stands in the block as a path.
fn calls(block: &syn::Block, name: &syn::Ident) -> bool {
    struct Find<'n>(&'n syn::Ident, bool);
    impl<'ast> syn::visit::Visit<'ast> for Find<'_> {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            self.1 |= path.is_ident(self.0);
            syn::visit::visit_path(self, path);
        }
    }
    let mut find = Find(name, false);
    syn::visit::Visit::visit_block(&mut find, block);
    find.1
}

fn mentions_reference(ty: &syn::Type) -> bool {
    struct Find(bool);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_type_reference(&mut self, _: &'ast syn::TypeReference) {
            self.0 = true;
        }
        fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
            self.0 = true;
        }
        fn visit_lifetime(&mut self, _: &'ast syn::Lifetime) {
            self.0 = true;
        }
    }
    let mut find = Find(false);
    syn::visit::Visit::visit_type(&mut find, ty);
    find.0
}
