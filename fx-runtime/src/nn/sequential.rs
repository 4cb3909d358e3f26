//! Layers one after the other.
//!
//! The layers of a [`Sequential`] take no mode; those of a [`SequentialT`] do. Both remember the types of their layers:
//! they can be listed, looked at and taken out again.

use std::rc::Rc;
use std::sync::Mutex;

use tch::{TchError, Tensor};

use super::chain::{ChainMatch, Part};
use super::closure::Closure;
use super::layer::sealed::Freezable;
use super::leaf::{computes, unwrap};
use super::mode::Mode;
use super::stack::{Chain, Run, Stack};
use super::{Layer, Module, ModuleT};
use crate::Error;
use crate::module::{Place, Visitor};
use crate::saved::State;

/// Layers one after the other, for layers that behave the same in training and inference.
///
/// ```
/// use fx_runtime::{Device, Kind, Tensor, nn};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let net = nn::seq()
///     .add(nn::linear(vs.root() / "0", 4, 3, nn::LinearConfig::default()))
///     .add(nn::relu())
///     .add_fn(|xs| xs * 2);
/// assert_eq!(net.forward(&Tensor::ones([2, 4], (Kind::Float, Device::Cpu))).size(), [2, 3]);
/// assert_eq!(net.layer::<nn::Linear>(0)?.ws.size(), [3, 4]);
/// # Ok::<(), fx_runtime::Error>(())
/// ```
#[derive(Debug, State)]
pub struct Sequential {
    layers: Stack,
}

/// An empty [`Sequential`].
pub fn seq() -> Sequential {
    Sequential { layers: Stack::default() }
}

/// Layers one after the other, some of which behave differently in training and inference.
#[derive(Debug, State)]
pub struct SequentialT {
    layers: Stack,
    #[state(default = Mode::default())]
    mode: Mode,
}

/// An empty [`SequentialT`].
pub fn seq_t() -> SequentialT {
    SequentialT { layers: Stack::default(), mode: Mode::default() }
}

/// The line and column of the call.
#[track_caller]
fn caller() -> String {
    let place = std::panic::Location::caller();
    format!("{}:{}", place.line(), place.column())
}

/// What both have.
macro_rules! stack_methods {
    ($sequential:ident, $module:ident) => {
        impl $sequential {
            /// Number of layers.
            #[allow(clippy::cast_possible_wrap)]
            pub fn len(&self) -> i64 {
                self.layers.len() as i64
            }

            /// True if there are no layers, and the output is the input.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Appends a layer.
            #[allow(clippy::should_implement_trait)]
            #[must_use]
            pub fn add<M: $module + 'static>(mut self, layer: M) -> Self {
                self.layers.push(layer);
                self
            }

            /// Appends a closure.
            #[must_use]
            #[track_caller]
            pub fn add_fn<F>(self, f: F) -> Self
            where
                F: 'static + Fn(&Tensor) -> Tensor + Send,
            {
                self.add_fn_at(&caller(), f)
            }

            /// [`Self::add_fn`] as if it stood at `place` (`31:18`) in the source.
            #[doc(hidden)]
            #[must_use]
            pub fn add_fn_at<F>(mut self, place: &str, f: F) -> Self
            where
                F: 'static + Fn(&Tensor) -> Tensor + Send,
            {
                self.layers.push(Closure::new(move |xs, _train| f(xs)).added_at(place));
                self
            }

            /// The layers, matched against the form that their constructor gives them in the source.
            ///
            /// # Errors
            ///
            /// [`Error::Layer`] if they are not of that form.
            #[doc(hidden)]
            pub fn parse(&self, parts: &[Part<'_>]) -> Result<ChainMatch, Error> {
                self.layers.parse(parts)
            }

            /// The layer at `index`, which must be a `T`.
            ///
            /// # Errors
            ///
            /// [`Error::Layer`] if there is no such layer or it is of another type.
            pub fn layer<T: 'static>(&self, index: usize) -> Result<&T, Error> {
                self.layers.layer(index)
            }

            /// The same in a chain that must be of `count` layers.
            ///
            /// # Errors
            ///
            /// [`Error::Layer`] as well for the first layer that there should not be.
            #[doc(hidden)]
            pub fn layer_of<T: 'static>(&self, index: usize, count: usize) -> Result<&T, Error> {
                self.layers.layer_of(index, count)
            }

            /// All layers, each of which must be a `T`.
            ///
            /// # Errors
            ///
            /// [`Error::Layer`] for the first one of another type.
            pub fn layers_as<T: 'static>(&self) -> Result<Vec<&T>, Error> {
                self.layers.layers_as()
            }

            /// The layers between the first `first` and the last `last`, each of which must be a `T`.
            ///
            /// # Errors
            ///
            /// [`Error::Layer`] for the first one of another type, or if there are fewer than `first + last` layers.
            pub fn layers_between<T: 'static>(&self, first: usize, last: usize) -> Result<Vec<&T>, Error> {
                self.layers.layers_between(first, last)
            }

            /// The layer that `behind` others follow, which must be a `T`.
            ///
            /// # Errors
            ///
            /// [`Error::Layer`] if there is no such layer or it is of another type.
            pub fn layer_from_end<T: 'static>(&self, behind: usize) -> Result<&T, Error> {
                self.layers.layer_from_end(behind)
            }

            /// Every layer: its index, the layer if its type is registered, and the name of its type.
            pub fn layers(&self) -> impl Iterator<Item = (usize, Option<&dyn crate::Module>, &'static str)> {
                self.layers.layers()
            }

            /// The chain itself, whatever pointer it lies behind.
            #[doc(hidden)]
            pub fn as_chain(&self) -> &Self {
                self
            }

            /// A second handle on the layer at `index`, whatever its type.
            ///
            /// # Errors
            ///
            /// [`Error::Layer`] if there is no such layer, [`Error::Unsupported`] if its type is not registered.
            pub fn clone_layer(&self, index: usize) -> Result<Box<dyn ModuleT>, Error> {
                self.layers.clone_layer(index)
            }
        }

        impl Chain for $sequential {
            fn len(&self) -> usize {
                self.layers.len()
            }

            fn shared_layer(&self, index: usize) -> Result<Option<Rc<dyn Layer>>, Error> {
                self.layers.shared_layer(index)
            }

            fn erased_layer(&self, index: usize) -> Result<Box<dyn ModuleT>, Error> {
                self.layers.clone_layer(index)
            }

            fn type_name_of(&self, index: usize) -> &'static str {
                self.layers.type_name_of(index)
            }
        }

        crate::nn::layer_entry::register_layer!($sequential);
    };
}

stack_methods!(Sequential, Module);
stack_methods!(SequentialT, ModuleT);

impl Sequential {
    /// The output of each layer, or of each of the first `n` (at least one).
    #[track_caller]
    pub fn forward_all(&self, xs: &Tensor, n: Option<usize>) -> Vec<Tensor> {
        unwrap(self.layers.f_forward_all(xs, Run::Told(false), n))
    }
}

/// A layer that is only tch's [`Module`] runs its plain `forward`, which panics.
impl Layer for Sequential {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.layers.f_forward(xs, Run::Told(false))
    }
}

computes! {
    /// Applies all layers.
    Sequential
}

impl Freezable for Sequential {
    type Held = Mutex<Self>;
}

impl crate::Module for Sequential {
    fn type_name(&self) -> &'static str {
        "Sequential"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.layers.visit(visitor);
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        Ok(Self { layers: self.layers.placed(place)? })
    }
}

impl SequentialT {
    /// Appends a closure that takes the mode.
    #[must_use]
    #[track_caller]
    pub fn add_fn_t<F>(self, f: F) -> Self
    where
        F: 'static + Fn(&Tensor, bool) -> Tensor + Send,
    {
        self.add_fn_t_at(&caller(), f)
    }

    /// [`Self::add_fn_t`] as if it stood at `place` (`31:18`) in the source.
    #[doc(hidden)]
    #[must_use]
    pub fn add_fn_t_at<F>(mut self, place: &str, f: F) -> Self
    where
        F: 'static + Fn(&Tensor, bool) -> Tensor + Send,
    {
        self.layers.push(Closure::new(f).added_at(place));
        self
    }

    /// Applies all layers, each in the mode that it keeps; layers that keep none run in the mode of this one.
    ///
    /// Inference is the mode at the start; see [`crate::nn`].
    #[track_caller]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        unwrap(self.layers.f_forward(xs, Run::Kept(self.mode.training())))
    }

    /// Applies all layers in the mode `train`.
    #[track_caller]
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        unwrap(self.f_forward_t(xs, train))
    }

    /// The output of each layer in the mode `train`, or of each of the first `n` (at least one).
    #[track_caller]
    pub fn forward_all_t(&self, xs: &Tensor, train: bool, n: Option<usize>) -> Vec<Tensor> {
        unwrap(self.layers.f_forward_all(xs, Run::Told(train), n))
    }
}

/// A layer that is only tch's [`ModuleT`] runs its plain `forward_t`, which panics.
impl Layer for SequentialT {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.f_forward_t(xs, false)
    }

    fn f_forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor, TchError> {
        self.layers.f_forward(xs, Run::Told(train))
    }
}

impl Freezable for SequentialT {
    type Held = Mutex<Self>;
}

impl ModuleT for SequentialT {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.forward_t(xs, train)
    }
}

impl crate::Module for SequentialT {
    fn type_name(&self) -> &'static str {
        "SequentialT"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.layers.visit(visitor);
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        Ok(Self { layers: self.layers.placed(place)?, mode: self.mode.clone() })
    }

    fn set_training(&self, training: bool) {
        self.mode.set(training);
        for (_, child) in self.children() {
            child.set_training(training);
        }
    }

    fn training(&self) -> Option<bool> {
        Some(self.mode.training())
    }
}
