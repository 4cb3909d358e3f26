//! Bodies of functions with one spelling for what Rust has several for: a name that a `use` inside the body brings in is its
//! path, and a function inside the body is a closure without captures.

use syn::visit_mut::{self, VisitMut};

use super::scopes::{Known, Scopes};
use crate::index::Index;
use crate::syntax::{
    comma_operands,
    imported::{globs, imported},
};

/// Rewrites the body, with paths for names that it is said to know.
pub(super) fn canonical(block: &mut syn::Block, names: Vec<(syn::Ident, syn::Path)>) {
    Canonical { scopes: Scopes::new(None), items: names }.visit_block_mut(block);
}

/// Rewrites names that a `use ..::*` inside a body of that module brings in, of what the crate declares, and constants in
/// patterns.
pub(super) fn with_imports(block: &mut syn::Block, index: &Index, module: &str) {
    Canonical { scopes: Scopes::new(Some((index, module))), items: Vec::new() }.visit_block_mut(block);
}

struct Canonical<'i> {
    scopes: Scopes<'i>,
    /// The paths of the items that have been taken out of the body.
    items: Vec<(syn::Ident, syn::Path)>,
}

impl Canonical<'_> {
    /// Takes in what the items of a block declare.
    fn declare(&mut self, block: &syn::Block) {
        let uses = || {
            block.stmts.iter().filter_map(|stmt| match stmt {
                syn::Stmt::Item(syn::Item::Use(item)) => Some(item),
                _ => None,
            })
        };
        for path in uses().flat_map(globs) {
            self.scopes.bring_all_of(path);
        }
        for (name, path) in std::mem::take(&mut self.items) {
            self.scopes.declare(&name, Known::Path(path));
        }
        for (name, path) in uses().flat_map(imported).filter(|(_, path)| path.segments.len() > 1) {
            self.scopes.declare(&name, Known::Path(path));
        }
        for stmt in &block.stmts {
            match stmt {
                syn::Stmt::Item(syn::Item::Const(item)) => {
                    let number = whole_number(item).map_or(Known::Local, Known::Number);
                    self.scopes.declare(&item.ident, number);
                }
                syn::Stmt::Item(syn::Item::Static(item)) => self.scopes.declare(&item.ident, Known::Local),
                syn::Stmt::Item(syn::Item::Fn(item)) => self.scopes.declare(&item.sig.ident, Known::Local),
                _ => {}
            }
        }
    }

    /// Runs within a scope of its own.
    fn scoped(&mut self, run: impl FnOnce(&mut Self)) {
        let mark = self.scopes.mark();
        run(self);
        self.scopes.leave(mark);
    }

    /// The path with what its first step stands for.
    fn spelled_out(&self, path: &syn::Path, is_value: bool) -> Option<syn::Path> {
        let first = path.segments.first().filter(|_| path.leading_colon.is_none())?;
        let Some(Known::Path(mut whole)) = self.scopes.meaning(&first.ident, is_value) else { return None };
        for segment in &mut whole.segments {
            segment.ident.set_span(first.ident.span());
        }
        if let Some(last) = whole.segments.last_mut() {
            last.arguments = first.arguments.clone();
        }
        whole.segments.extend(path.segments.iter().skip(1).cloned());
        Some(whole)
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

impl VisitMut for Canonical<'_> {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        visit_mut::visit_path_mut(self, path);
        if let Some(whole) = self.spelled_out(path, false) {
            *path = whole;
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        let name = match expr {
            syn::Expr::Path(path) if path.qself.is_none() => path.path.get_ident().cloned(),
            _ => None,
        };
        let Some(name) = name else { return visit_mut::visit_expr_mut(self, expr) };
        match self.scopes.meaning(&name, true) {
            Some(Known::Number(number)) => {
                *expr = syn::Expr::Lit(syn::ExprLit { attrs: Vec::new(), lit: syn::Lit::Int(number) });
            }
            Some(Known::Path(_)) => {
                if let (syn::Expr::Path(path), Some(whole)) = (expr, self.spelled_out(&name.into(), true)) {
                    path.path = whole;
                }
            }
            _ => {}
        }
    }

    fn visit_pat_mut(&mut self, pat: &mut syn::Pat) {
        visit_mut::visit_pat_mut(self, pat);
        let syn::Pat::Ident(name) = &*pat else { return };
        let may_be_constant = name.by_ref.is_none() && name.mutability.is_none() && name.subpat.is_none();
        if let Some(path) = may_be_constant.then(|| self.scopes.constant(&name.ident)).flatten() {
            *pat = syn::Pat::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path });
        }
    }

    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        visit_mut::visit_field_value_mut(self, field);
        if !matches!(&field.expr, syn::Expr::Path(path) if path.path.get_ident().is_some()) {
            field.colon_token.get_or_insert_default();
        }
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        let Some(mut operands) = comma_operands(mac).filter(|_| !mac.path.is_ident("matches")) else { return };
        let before = operands.clone();
        for operand in &mut operands {
            match operand {
                // `{name}` of a text may mean it.
                syn::Expr::Assign(named) => self.visit_expr_mut(&mut named.right),
                operand => self.visit_expr_mut(operand),
            }
        }
        if operands != before {
            mac.tokens = quote::quote!(#(#operands),*);
        }
    }

    fn visit_item_use_mut(&mut self, _: &mut syn::ItemUse) {}

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        if let Some(init) = &mut local.init {
            self.visit_local_init_mut(init);
        }
        self.visit_pat_mut(&mut local.pat);
        self.scopes.bind(&local.pat);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        self.scoped(|inner| {
            closure.inputs.iter_mut().for_each(|input| inner.visit_pat_mut(input));
            closure.inputs.iter().for_each(|input| inner.scopes.bind(input));
            inner.visit_return_type_mut(&mut closure.output);
            inner.visit_expr_mut(&mut closure.body);
        });
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.scoped(|inner| {
            inner.visit_pat_mut(&mut arm.pat);
            inner.scopes.bind(&arm.pat);
            if let Some((_, guard)) = &mut arm.guard {
                inner.visit_expr_mut(guard);
            }
            inner.visit_expr_mut(&mut arm.body);
        });
    }

    /// The variables are known in what follows of the condition, and in the block behind it.
    fn visit_expr_let_mut(&mut self, condition: &mut syn::ExprLet) {
        visit_mut::visit_expr_let_mut(self, condition);
        self.scopes.bind(&condition.pat);
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        self.scoped(|inner| {
            inner.visit_expr_mut(&mut branch.cond);
            inner.visit_block_mut(&mut branch.then_branch);
        });
        if let Some((_, other)) = &mut branch.else_branch {
            self.visit_expr_mut(other);
        }
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.scoped(|inner| visit_mut::visit_expr_while_mut(inner, each));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        self.scoped(|inner| {
            inner.visit_pat_mut(&mut each.pat);
            inner.scopes.bind(&each.pat);
            inner.visit_block_mut(&mut each.body);
        });
    }

    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        self.scoped(|inner| visit_mut::visit_item_fn_mut(inner, item));
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let mark = self.scopes.mark();
        self.declare(block);
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
        // The code before an item sees it too.
        let (uses, rest): (Vec<syn::Stmt>, Vec<syn::Stmt>) =
            block.stmts.drain(..).partition(|stmt| matches!(stmt, syn::Stmt::Item(syn::Item::Use(_))));
        let (values, rest): (Vec<syn::Stmt>, Vec<syn::Stmt>) = rest
            .into_iter()
            .partition(|stmt| matches!(stmt, syn::Stmt::Item(syn::Item::Const(_) | syn::Item::Static(_))));
        block.stmts = [uses, values, closures, rest].concat();
        visit_mut::visit_block_mut(self, block);
        self.scopes.leave(mark);
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
