//! The traits of the standard library's operators.

fn binary_operators() -> [(&'static str, syn::BinOp); 10] {
    [
        ("Add", syn::parse_quote!(+)),
        ("Sub", syn::parse_quote!(-)),
        ("Mul", syn::parse_quote!(*)),
        ("Div", syn::parse_quote!(/)),
        ("Rem", syn::parse_quote!(%)),
        ("BitAnd", syn::parse_quote!(&)),
        ("BitOr", syn::parse_quote!(|)),
        ("BitXor", syn::parse_quote!(^)),
        ("Shl", syn::parse_quote!(<<)),
        ("Shr", syn::parse_quote!(>>)),
    ]
}

fn unary_operators() -> [(&'static str, syn::UnOp); 2] {
    [("Neg", syn::parse_quote!(-)), ("Not", syn::parse_quote!(!))]
}

/// The trait of the operator.
pub(in crate::trace) fn trait_of_operator(operator: &syn::BinOp) -> Option<&'static str> {
    binary_operators().into_iter().find(|(_, of)| of == operator).map(|(name, _)| name)
}

/// The trait of the operator in front of one operand.
pub(in crate::trace) fn trait_of_unary(operator: &syn::UnOp) -> Option<&'static str> {
    unary_operators().into_iter().find(|(_, of)| of == operator).map(|(name, _)| name)
}

/// The operator that a method of such a trait stands for: `xs.add(ys)`.
pub(in crate::trace) fn operator_of_method(method: &str) -> Option<syn::BinOp> {
    binary_operators().into_iter().find(|(name, _)| name.to_lowercase() == method).map(|(_, operator)| operator)
}

/// The operator in front of one operand that a method of such a trait stands for: `xs.neg()`.
fn unary_operator_of_method(method: &str) -> Option<syn::UnOp> {
    unary_operators().into_iter().find(|(name, _)| name.to_lowercase() == method).map(|(_, operator)| operator)
}

/// Returns whether the method is one of such a trait, which takes what it is called on.
pub(in crate::trace) fn is_operator_method(method: &str) -> bool {
    operator_of_method(method).is_some() || unary_operator_of_method(method).is_some()
}

#[cfg(test)]
mod tests {
    use super::is_operator_method;

    #[test]
    fn operators_are_methods_of_traits() {
        assert!(["add", "sub", "mul", "div", "rem", "neg", "not"].into_iter().all(is_operator_method));
        assert!(!["Add", "adds", "relu", "deref"].into_iter().any(is_operator_method));
    }
}
