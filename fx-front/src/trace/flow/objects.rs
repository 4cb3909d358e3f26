//! References to trait objects that a variable holds, and says the type of.

use syn::spanned::Spanned;

use crate::index::called_as;

/// Whether it is a reference to a trait object: `&dyn Fn(&Tensor) -> Tensor`.
pub(super) fn is_object_reference(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Reference(reference) if matches!(*reference.elem, syn::Type::TraitObject(_)))
}

/// What a variable of such a type begins with, with its type: a cast lets what it borrows live as long as the variable does.
pub(super) fn as_object(pat: &syn::Pat, init: &syn::Expr) -> Option<syn::Expr> {
    let syn::Pat::Type(typed) = pat else { return None };
    is_object_reference(&typed.ty).then(|| cast(init, &typed.ty))
}

/// The expression as one of that type, each branch of it by itself.
fn cast(expr: &syn::Expr, ty: &syn::Type) -> syn::Expr {
    let cast_end = |block: &mut syn::Block| {
        if let Some(syn::Stmt::Expr(end, None)) = block.stmts.last_mut() {
            *end = cast(end, ty);
        }
    };
    let mut expr = expr.clone();
    match &mut expr {
        syn::Expr::Paren(inner) => *inner.expr = cast(&inner.expr, ty),
        syn::Expr::Block(block) => cast_end(&mut block.block),
        syn::Expr::If(branch) => {
            cast_end(&mut branch.then_branch);
            if let Some((_, other)) = &mut branch.else_branch {
                **other = cast(other, ty);
            }
        }
        syn::Expr::Match(choice) => choice.arms.iter_mut().for_each(|arm| *arm.body = cast(&arm.body, ty)),
        other => {
            if let syn::Expr::Reference(syn::ExprReference { expr, .. }) = other
                && let syn::Expr::Closure(closure) = &mut **expr
            {
                type_parameters(closure, ty);
            }
            return syn::parse_quote_spanned!(other.span()=> (#other) as #ty);
        }
    }
    expr
}

/// Writes the types of the object's parameters into the closure, which a cast does not tell.
fn type_parameters(closure: &mut syn::ExprClosure, ty: &syn::Type) {
    let syn::Type::Reference(reference) = ty else { return };
    let syn::Type::TraitObject(object) = &*reference.elem else { return };
    let Some(called) = called_as(object) else { return };
    for (input, ty) in closure.inputs.iter_mut().zip(&called.inputs) {
        if !matches!(input, syn::Pat::Type(_)) {
            *input = syn::Pat::Type(syn::PatType {
                attrs: Vec::new(),
                colon_token: syn::Token![:](input.span()),
                pat: Box::new(input.clone()),
                ty: Box::new(ty.clone()),
            });
        }
    }
}
