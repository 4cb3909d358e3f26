//! What expressions and types of builder functions say by themselves.

use fx_ir::{OpId, catalog};
use syn::{Expr, Type, parse_quote};

use crate::syntax::path_text;

/// What is in an option or a result; what a function makes that may fail is told as its own type already.
pub(super) fn held(ty: Type) -> Type {
    let Type::Path(path) = &ty else { return ty };
    let last = path.path.segments.last();
    let inner = last.filter(|last| last.ident == "Option" || last.ident == "Result").and_then(|last| {
        let syn::PathArguments::AngleBracketed(list) = &last.arguments else { return None };
        match list.args.first()? {
            syn::GenericArgument::Type(inner) => Some(inner.clone()),
            _ => None,
        }
    });
    inner.unwrap_or(ty)
}

/// The type that a reference refers to, or the type itself.
pub(super) fn unreferenced(ty: Type) -> Type {
    match ty {
        Type::Reference(lent) => unreferenced(*lent.elem),
        other => other,
    }
}

/// The type of the elements of an array, a slice or a `Vec`, or of a reference to one.
pub(super) fn listed(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(lent) => listed(&lent.elem),
        Type::Array(list) => Some(&list.elem),
        Type::Slice(list) => Some(&list.elem),
        Type::Path(path) => {
            let last = path.path.segments.last().filter(|last| last.ident == "Vec")?;
            let syn::PathArguments::AngleBracketed(list) = &last.arguments else { return None };
            list.args.iter().find_map(|arg| if let syn::GenericArgument::Type(ty) = arg { Some(ty) } else { None })
        }
        _ => None,
    }
}

/// Whether it is `Tensor` or a reference to one.
pub(super) fn is_tensor(ty: &Type) -> bool {
    match ty {
        Type::Reference(lent) => is_tensor(&lent.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Tensor"),
        _ => false,
    }
}

/// Whether it is a number that is written without its type, which is that of what it is computed with.
pub(super) fn is_bare_number(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(inner) => is_bare_number(&inner.expr),
        Expr::Unary(unary) => is_bare_number(&unary.expr),
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) => int.suffix().is_empty(),
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(float), .. }) => float.suffix().is_empty(),
        _ => false,
    }
}

/// Returns whether the expression makes a list without elements.
pub(super) fn is_new_list(expr: &Expr) -> bool {
    match expr {
        Expr::Macro(list) => list.mac.path.is_ident("vec") && list.mac.tokens.is_empty(),
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if matches!(path_text(&path.path).as_str(), "Vec::new" | "Vec::with_capacity"))
        }
        _ => false,
    }
}

pub(super) fn named(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident(name))
}

pub(super) fn tensor_result(method: &str) -> Option<Type> {
    let is_tensor = OpId::of_method(method).is_some()
        && catalog::lookup(method).is_some_and(|entry| entry.results == catalog::Results::Tensor);
    is_tensor.then(|| parse_quote!(::fx_runtime::Tensor))
}

pub(super) fn literal(lit: &syn::Lit) -> Option<Type> {
    match lit {
        syn::Lit::Bool(_) => Some(parse_quote!(bool)),
        syn::Lit::Float(float) if float.suffix().is_empty() => Some(parse_quote!(f64)),
        syn::Lit::Int(int) if !int.suffix().is_empty() => syn::parse_str(int.suffix()).ok(),
        _ => None,
    }
}

/// Whether nothing is left to be inferred, and nothing is borrowed.
pub(super) fn is_complete(ty: &Type) -> bool {
    struct Find(bool);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_type_infer(&mut self, _: &'ast syn::TypeInfer) {
            self.0 = false;
        }
        fn visit_type_reference(&mut self, _: &'ast syn::TypeReference) {
            self.0 = false;
        }
        fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
            self.0 = false;
        }
    }
    let mut find = Find(true);
    syn::visit::Visit::visit_type(&mut find, ty);
    find.0
}
