//! Parameters that take a value or an option of it: `mask: impl Into<Option<&Tensor>>`.

use crate::syntax::written_types::type_args;
use crate::trace::{Tracer, Ty, Val};

/// The option that a parameter of that type is made into: of `impl Into<Option<T>>`, or of a type parameter that is bound so.
pub(in crate::trace) fn option_made<'s>(sig: &'s syn::Signature, ty: &'s syn::Type) -> Option<&'s syn::Type> {
    match ty {
        syn::Type::ImplTrait(given) => option_in(&given.bounds),
        syn::Type::Path(path) => {
            let name = path.path.get_ident()?;
            let param = sig.generics.type_params().find(|param| param.ident == *name)?;
            let predicates = sig.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
            let bounds = predicates.filter_map(|predicate| match predicate {
                syn::WherePredicate::Type(bound) if matches!(&bound.bounded_ty, syn::Type::Path(of) if of.path.is_ident(name)) => {
                    Some(&bound.bounds)
                }
                _ => None,
            });
            std::iter::once(&param.bounds).chain(bounds).find_map(option_in)
        }
        _ => None,
    }
}

type Bounds = syn::punctuated::Punctuated<syn::TypeParamBound, syn::Token![+]>;

/// `Option<T>` of the bound `Into<Option<T>>`.
fn option_in(bounds: &Bounds) -> Option<&syn::Type> {
    bounds.iter().find_map(|bound| {
        let syn::TypeParamBound::Trait(bound) = bound else { return None };
        let into = bound.path.segments.last().filter(|last| last.ident == "Into")?;
        let syn::PathArguments::AngleBracketed(list) = &into.arguments else { return None };
        let Some(syn::GenericArgument::Type(option @ syn::Type::Path(path))) = list.args.first() else { return None };
        let is_option = path.path.segments.last().is_some_and(|last| last.ident == "Option");
        (is_option && type_args(&path.path).next().is_some()).then_some(option)
    })
}

impl Tracer<'_> {
    /// The option that is made of what is handed over for such a parameter; the value itself where that is not known.
    pub(in crate::trace) fn made_option(&mut self, value: Val, option: &Ty) -> Val {
        let Ty::Option(held) = option else { return value };
        let value = if matches!(value, Val::Lit(..)) { self.of_written_type(value, held) } else { value };
        match value.ty() {
            ty if ty == **held && matches!(value, Val::Node(..) | Val::Lit(..)) => Val::Some(Box::new(value)),
            _ => value,
        }
    }

    /// Whether the expression names a parameter of the function that is an option already, of which `into()` makes nothing new.
    pub(in crate::trace) fn is_made_option(&self, expr: &syn::Expr) -> bool {
        let syn::Expr::Path(path) = expr else { return false };
        let sig = &self.function().sig;
        sig.inputs.iter().any(|input| match input {
            syn::FnArg::Typed(param) => {
                let is_it = matches!(&*param.pat, syn::Pat::Ident(name) if path.path.is_ident(&name.ident));
                is_it && option_made(sig, &param.ty).is_some()
            }
            syn::FnArg::Receiver(_) => false,
        })
    }
}
