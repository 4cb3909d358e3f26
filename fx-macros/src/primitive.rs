//! Fields of types of the language, for which derives write less.

use syn::Type;

/// Returns whether this is the name of a type of the language, which is `Copy` and no part of a model. Such fields are
/// most of those of a model's configuration, and what is written for them is compiled for every type.
pub(crate) fn is_primitive(ty: &Type) -> bool {
    const NAMES: [&str; 14] =
        ["bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];
    matches!(ty, Type::Path(path) if path.path.get_ident().is_some_and(|ident| NAMES.iter().any(|name| ident == name)))
}
