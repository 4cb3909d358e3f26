//! Code that stands in no function.

/// What a constant or a static begins with, or what a macro is given that stands where items do.
#[derive(Debug)]
pub struct Initializer {
    /// The module.
    pub module: String,
    /// The type that the impl around it is for.
    pub owner: Option<syn::Type>,
    /// The code.
    pub code: InitializerCode,
}

/// The code of an [`Initializer`].
#[derive(Debug)]
pub enum InitializerCode {
    /// An expression.
    Expr(Box<syn::Expr>),
    /// What a macro is given that is no expression.
    Tokens(proc_macro2::TokenStream),
}
