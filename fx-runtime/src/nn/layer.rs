//! `Layer`: the form of a layer that returns its errors, and what freezing has to know of it.
//!
//! A layer writes its formula once, in [`Layer::f_forward`]; the doors without `f_` unwrap it. Freezing makes a copy of
//! a layer whose tensors lie elsewhere ([`sealed::Freezable`]) and shares it between threads ([`sealed::Held`]).

use tch::{TchError, Tensor};

/// A layer of this module, in tch's fallible convention. Sealed.
///
/// ```
/// use fx_runtime::{Device, Kind, Tensor, nn::{self, Layer as _}};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let fc = nn::linear(vs.root(), 4, 3, nn::LinearConfig::default());
/// assert!(fc.f_forward(&Tensor::ones([2, 5], (Kind::Float, Device::Cpu))).is_err());
/// ```
pub trait Layer: crate::Module + sealed::Freezable + sealed::AsAny {
    /// Applies the layer as in inference, whatever mode it keeps.
    ///
    /// # Errors
    ///
    /// What libtorch refuses, as a rule a shape.
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError>;

    /// Applies the layer in the mode `train`, which most layers do not ask for.
    ///
    /// # Errors
    ///
    /// As [`Self::f_forward`].
    fn f_forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor, TchError> {
        let _ = train;
        self.f_forward(xs)
    }
}

pub(crate) mod sealed {
    use std::any::Any;
    use std::sync::{Mutex, PoisonError};

    use tch::{TchError, Tensor};

    use super::Layer;
    use crate::Error;
    pub(crate) use crate::ffi::Plain;
    use crate::ffi::Shared;
    use crate::module::Place;

    /// A layer whose type can be asked for.
    pub trait AsAny {
        /// The layer, of a type that is not known.
        fn as_any(&self) -> &dyn Any;
    }

    impl<L: 'static> AsAny for L {
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    /// A layer that a frozen model can hold.
    pub trait Freezable {
        /// What lets several threads run it.
        type Held: Held<Self>
        where
            Self: Sized;
    }

    impl<L: Plain + Layer + Send> Freezable for L {
        type Held = Shared<L>;
    }

    /// A layer that several threads may run.
    pub trait Held<L>: Send + Sync {
        /// Takes the layer in.
        fn hold(layer: L) -> Self;

        /// [`Layer::f_forward`].
        fn run(&self, xs: &Tensor) -> Result<Tensor, TchError>;

        /// Looks at the layer.
        fn with<R>(&self, f: impl FnOnce(&L) -> R) -> R;
    }

    impl<L: Plain + Layer + Send> Held<L> for Shared<L> {
        fn hold(layer: L) -> Self {
            Shared::new(layer)
        }

        fn run(&self, xs: &Tensor) -> Result<Tensor, TchError> {
            self.layer().f_forward(xs)
        }

        fn with<R>(&self, f: impl FnOnce(&L) -> R) -> R {
            f(self.layer())
        }
    }

    /// For layers that may hold a stranger's, one thread at a time.
    impl<L: Layer + Send> Held<L> for Mutex<L> {
        fn hold(layer: L) -> Self {
            Mutex::new(layer)
        }

        fn run(&self, xs: &Tensor) -> Result<Tensor, TchError> {
            // A layer that panicked is as it was before: a forward in inference changes nothing.
            self.lock().unwrap_or_else(PoisonError::into_inner).f_forward(xs)
        }

        fn with<R>(&self, f: impl FnOnce(&L) -> R) -> R {
            f(&self.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    /// A tensor that a layer may be built without.
    pub(crate) trait MaybeTensor: Sized {
        /// The tensor.
        fn tensor(&self) -> Option<&Tensor>;
        /// The field with what `place` makes of its tensor.
        fn map(&self, place: &mut Place<'_>) -> Result<Self, Error>;
    }

    impl MaybeTensor for Tensor {
        fn tensor(&self) -> Option<&Tensor> {
            Some(self)
        }

        fn map(&self, place: &mut Place<'_>) -> Result<Self, Error> {
            place(self)
        }
    }

    impl MaybeTensor for Option<Tensor> {
        fn tensor(&self) -> Option<&Tensor> {
            self.as_ref()
        }

        fn map(&self, place: &mut Place<'_>) -> Result<Self, Error> {
            self.as_ref().map(place).transpose()
        }
    }

    /// A field that is not a tensor, and that threads may share.
    pub(crate) fn shareable<T: Sync>(field: &T) -> &T {
        field
    }
}
