//! Lifetimes that are left to inference, in code that is moved out of the function which declares them.

use syn::visit_mut::{self, VisitMut};

/// Replaces the named lifetimes of the types in the code by `'_`; those that a `for<'a>` declares stay, and so do labels.
pub(crate) struct ElideLifetimes;

impl VisitMut for ElideLifetimes {
    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        reference.lifetime = reference.lifetime.take().filter(is_static);
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_generic_argument_mut(&mut self, arg: &mut syn::GenericArgument) {
        match arg {
            syn::GenericArgument::Lifetime(lifetime) if !is_static(lifetime) => {
                *lifetime = syn::Lifetime::new("'_", lifetime.span());
            }
            other => visit_mut::visit_generic_argument_mut(self, other),
        }
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut syn::TraitBound) {
        if bound.lifetimes.is_none() {
            visit_mut::visit_trait_bound_mut(self, bound);
        }
    }

    fn visit_type_bare_fn_mut(&mut self, function: &mut syn::TypeBareFn) {
        if function.lifetimes.is_none() {
            visit_mut::visit_type_bare_fn_mut(self, function);
        }
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

fn is_static(lifetime: &syn::Lifetime) -> bool {
    lifetime.ident == "static"
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;

    use super::*;

    #[test]
    fn named_lifetimes_of_types_are_left_to_inference() {
        let elided = |text: &str| {
            let mut expr: syn::Expr = syn::parse_str(text).unwrap();
            ElideLifetimes.visit_expr_mut(&mut expr);
            expr.to_token_stream().to_string()
        };
        let expected = |text: &str| syn::parse_str::<syn::Expr>(text).unwrap().to_token_stream().to_string();
        let cases = [
            ("{ let a: Cow<'a, [&'t T]> = x; a }", "{ let a: Cow<'_, [&T]> = x; a }"),
            ("'a: loop { break 'a f::<&'static str>(); }", "'a: loop { break 'a f::<&'static str>(); }"),
            ("x as fn(&'a T) -> &'a T", "x as fn(&T) -> &T"),
            ("x as for<'b> fn(&'b T)", "x as for<'b> fn(&'b T)"),
        ];
        for (written, wanted) in cases {
            assert_eq!(elided(written), expected(wanted));
        }
    }
}
