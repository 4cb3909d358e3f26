//! The traits of the standard library's operators.

/// The operator that a method of such a trait stands for: `xs.add(ys)`.
pub(in crate::trace) fn operator_of_method(method: &str) -> Option<syn::BinOp> {
    let of: [(&str, syn::BinOp); 5] = [
        ("Add", syn::parse_quote!(+)),
        ("Sub", syn::parse_quote!(-)),
        ("Mul", syn::parse_quote!(*)),
        ("Div", syn::parse_quote!(/)),
        ("Rem", syn::parse_quote!(%)),
    ];
    of.into_iter().find(|(name, _)| name.to_lowercase() == method).map(|(_, operator)| operator)
}
