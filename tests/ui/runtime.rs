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

    /// How the derive tells parts from other fields.
    pub mod probe {
        use super::{Place, Visitor};
        use crate::Error;

        /// A field.
        #[derive(Debug)]
        pub struct Probe<'a, T: ?Sized>(pub &'a T);

        /// A part.
        pub trait ViaField {}

        /// What is cloned.
        pub trait ViaClone {}

        /// What is behind a lock.
        pub trait ViaLock {}

        /// Shows nothing.
        pub trait VisitNothing {
            /// Does nothing.
            fn visit(&self, _name: &str, _visitor: &mut dyn Visitor<'_>) {}
        }

        impl<T: ?Sized> VisitNothing for Probe<'_, T> {}

        /// Clones nothing.
        pub trait CloneNothing<T> {
            /// Refuses.
            fn place_as(&self, _name: &str, _place: &mut Place<'_>) -> Result<T, Error> {
                Err(Error)
            }
        }

        impl<T> CloneNothing<T> for Probe<'_, T> {}
    }
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
        /// Saves a part.
        pub fn field(&mut self, _name: &str, part: &impl State) -> Result<()> {
            part.save(self)
        }
    }

    /// Hands out what was saved.
    #[derive(Debug)]
    pub struct Loader;

    impl Loader {
        /// Loads a part.
        pub fn field<T: State>(&mut self, _name: &str) -> Result<T> {
            T::load(self)
        }
    }

    macro_rules! numbers {
        ($($number:ident)+) => {
            $(impl State for $number {
                fn save(&self, _: &mut Saver) -> Result<()> {
                    Ok(())
                }

                fn load(_: &mut Loader) -> Result<Self> {
                    Err(crate::Error)
                }
            })+
        };
    }

    numbers!(bool f32 f64 i32 i64 u64 usize);

    /// Values of types that may have no state.
    pub mod own {
        use std::marker::PhantomData;

        use super::{Loader, Saver};
        use crate::Result;

        /// Stands for a type.
        #[derive(Debug)]
        pub struct OfType<T>(PhantomData<T>);

        impl<T> OfType<T> {
            /// The stand-in.
            #[allow(clippy::new_without_default, reason = "the type is always written out")]
            pub fn new() -> Self {
                Self(PhantomData)
            }
        }

        /// A type with a state.
        pub trait ViaState {}

        /// Saves and loads nothing.
        pub trait Otherwise<T> {
            /// Saves nothing.
            fn save(&self, _: &T, _: &mut Saver) -> Result<()> {
                Ok(())
            }

            /// Loads nothing.
            fn load(&self, _: &mut Loader) -> Result<T> {
                Err(crate::Error)
            }

            /// Saves nothing.
            fn save_field(&self, _: &str, _: &T, _: &mut Saver) -> Result<()> {
                Ok(())
            }

            /// Loads nothing.
            fn load_field(&self, _: &str, _: &mut Loader) -> Result<T> {
                Err(crate::Error)
            }
        }

        impl<T> Otherwise<T> for OfType<T> {}
    }
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
