//! What a declaration says by itself: the fields of a variant, the number that is written there.

use crate::index::Variant;

/// A variant of an enum as it is declared.
pub(super) fn variant(variant: &syn::Variant) -> Variant {
    let fields = variant.fields.iter().enumerate().map(|(position, field)| {
        (field.ident.as_ref().map_or_else(|| position.to_string(), ToString::to_string), field.ty.clone())
    });
    Variant { name: variant.ident.to_string(), fields: fields.collect() }
}
