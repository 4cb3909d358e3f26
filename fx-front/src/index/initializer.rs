//! Code that stands in no function.

/// What a constant or a static begins with, or what a macro is given that stands where items do.
#[derive(Debug)]
pub struct Initializer {
    /// The module.
    pub module: String,
    /// The type that the impl around it is for.
    pub owner: Option<syn::Type>,
    /// The code.
    pub tokens: proc_macro2::TokenStream,
}
