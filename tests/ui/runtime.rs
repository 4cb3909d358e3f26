//! As much of fx-runtime as the compile-fail cases name: types without content.

pub use fx_macros::{Module, fx, traceable};
pub use module::Module;

/// A tensor.
#[derive(Debug)]
pub struct Tensor;

impl Tensor {
    /// A second handle.
    #[must_use]
    pub fn shallow_clone(&self) -> Tensor {
        Tensor
    }

    /// `max(x, 0)`.
    #[must_use]
    pub fn relu(&self) -> Tensor {
        Tensor
    }

    /// The sum of all elements is one.
    #[must_use]
    pub fn softmax(&self, _dim: i64) -> Tensor {
        Tensor
    }
}

impl std::fmt::Display for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tensor")
    }
}

/// What to freeze for.
#[derive(Debug, Default)]
pub struct Freeze;

/// What a model computes.
#[derive(Debug)]
pub struct Graph;

/// What goes wrong.
#[derive(Debug)]
pub struct Error;

/// What the derive names.
pub mod module {
    use crate::Error;

    /// A part of a model.
    pub trait Module {
        /// The name of the type.
        fn type_name(&self) -> &'static str;
        /// Shows the parts.
        fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>);
        /// A copy.
        fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error>
        where
            Self: Sized;
    }

    /// What a copy has in place of each tensor.
    pub type Place<'p> = dyn FnMut(&crate::Tensor) -> Result<crate::Tensor, Error> + 'p;

    /// Receives the parts.
    pub trait Visitor<'a> {}

    /// What may be a field.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is no part of a model",
        note = "derive `Module` for it; where it is a hyper-parameter, put `#[module(skip)]` on the field that it stands in"
    )]
    pub trait Field {}

    /// Shows nothing.
    #[macro_export]
    macro_rules! visit_nothing {
        ($($any:tt)*) => {
            ()
        };
    }

    /// Clones nothing.
    #[macro_export]
    macro_rules! clone_nothing {
        ($($any:tt)*) => {
            ::core::result::Result::Err($crate::Error)
        };
    }

    pub use clone_nothing as place_field;
    pub use visit_nothing as visit_field;
}

/// Registers nothing.
#[macro_export]
macro_rules! register_module {
    ($module:ty) => {};
}

/// What is tried.
pub type Result<T> = std::result::Result<T, Error>;

/// How values are saved.
pub mod frozen {
    use crate::Result;

    /// What can be saved.
    pub trait State: Sized {
        /// Saves it.
        fn save(&self, to: &mut Saver) -> Result<()>;
        /// Loads it.
        fn load(from: &mut Loader) -> Result<Self>;
    }

    /// Gathers what is saved.
    #[derive(Debug)]
    pub struct Saver;

    impl Saver {
        /// One step down in the names.
        pub fn within<R>(&mut self, _name: &str, f: impl FnOnce(&mut Self) -> R) -> R {
            f(self)
        }
    }

    /// Hands out what was saved.
    #[derive(Debug)]
    pub struct Loader;

    impl Loader {
        /// One step down in the names.
        pub fn within<R>(&mut self, _name: &str, f: impl FnOnce(&mut Self) -> R) -> R {
            f(self)
        }
    }
}

/// Saves nothing.
#[macro_export]
macro_rules! save_own {
    ($to:expr, $type:ty, $value:expr) => {{
        let _ = ($to, $value);
        $crate::Result::<()>::Ok(())
    }};
}

/// Loads nothing.
#[macro_export]
macro_rules! load_own {
    ($from:expr, $type:ty) => {{
        let _ = $from;
        $crate::Result::<$type>::Err($crate::Error)
    }};
}

/// Layers.
pub mod nn {
    use super::Tensor;

    /// What computes.
    pub trait Module {
        /// Computes.
        fn forward(&self, xs: &Tensor) -> Tensor;
    }

    macro_rules! layers {
        ($($layer:ident)+) => {
            $(
                /// A layer.
                #[derive(Debug)]
                pub struct $layer;

                impl Module for $layer {
                    fn forward(&self, xs: &Tensor) -> Tensor {
                        xs.shallow_clone()
                    }
                }
            )+
        };
    }

    layers!(Conv2D Linear);
}
