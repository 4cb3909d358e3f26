//! Bodies of functions with one spelling for what Rust has several for: `Option::Some(x)` is `Some(x)`, a name that a `use`
//! inside the body brings in is its path, and a function inside the body is a closure without captures.

use syn::visit_mut::VisitMut;

use crate::syntax::{bound_names, imported::imported};

/// Rewrites the body.
pub(super) fn canonical(block: &mut syn::Block) {
    let whole = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: block.clone() });
    let bound = bound_names(&whole);
    let uses = block.stmts.iter().filter_map(|stmt| match stmt {
        syn::Stmt::Item(syn::Item::Use(item)) => Some(imported(item)),
        _ => None,
    });
    let names = uses.flatten().filter(|(name, path)| path.segments.len() > 1 && !bound.contains(&name.to_string()));
    Canonical { names: names.collect() }.visit_block_mut(block);
}

struct Canonical {
    /// Names that stand for paths.
    names: Vec<(syn::Ident, syn::Path)>,
}

impl VisitMut for Canonical {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        if let Some(variant) = of_prelude(path) {
            *path = variant.into();
        }
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
        let uses = block.stmts.iter().take_while(|stmt| matches!(stmt, syn::Stmt::Item(syn::Item::Use(_)))).count();
        block.stmts.splice(uses..uses, closures);
        syn::visit_mut::visit_block_mut(self, block);
    }
}

/// `Some` of `Option::Some`, and the like, with the path of the type or without.
fn of_prelude(path: &syn::Path) -> Option<syn::Ident> {
    let count = path.segments.len();
    let plain = path.segments.iter().all(|segment| segment.arguments.is_none());
    let last = path.segments.last().filter(|_| plain && count > 1)?;
    let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let owner = match last.ident.to_string().as_str() {
        "Some" | "None" => ["option", "Option"],
        "Ok" | "Err" => ["result", "Result"],
        _ => return None,
    };
    let before: Vec<&str> = words[..count - 1].iter().map(String::as_str).collect();
    let is_it = match before.as_slice() {
        [name] => *name == owner[1] && path.leading_colon.is_none(),
        [krate, module, name] => ["std", "core"].contains(krate) && [*module, *name] == owner,
        _ => false,
    };
    is_it.then(|| last.ident.clone())
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
