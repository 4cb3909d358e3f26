//! Layers under tch's names, open to the tracer.
//!
//! Replace `use tch::nn` by `use fx_runtime::nn` and a model compiles as before: constructors, configurations,
//! defaults, parameter names and the order in which parameters are drawn are tch's, and the computing traits
//! ([`Module`], [`ModuleT`]), `VarStore`, optimizers and closures are tch's own. Three things are
//! added: every layer keeps its configuration in public fields, has an inherent `forward`, and implements
//! [`crate::Module`] and [`Layer`], whose `f_forward` returns its errors. The stateless layers that tch leaves to closures (activations, pooling, dropout) exist as types.
//!
//! # Training and inference
//!
//! `forward_t(xs, train)` obeys its argument. The plain `forward(xs)` of [`BatchNorm`], [`Dropout`] and [`SequentialT`]
//! follows a mode kept in the layer, which [`crate::Module::train`] and [`crate::Module::eval`] set for a whole model.
//! The mode starts as **inference**, unlike PyTorch's: in tch a model that trains passes `train` explicitly, and a call
//! that does not say so is one that predicts.

mod activation;
mod batch_norm;
#[doc(hidden)]
pub mod chain;
mod closure;
mod conv;
mod conv_transpose;
mod dropout;
mod embedding;
mod group_norm;
mod layer;
mod layer_entry;
mod layer_norm;
mod leaf;
mod linear;
mod mode;
mod pool;
mod recurrent;
mod sequential;
mod shape;
mod spatial;
mod stack;

pub use closure::Closure;
pub use tch::nn::{
    Adam, AdamW, Func, FuncT, GRUState, Id, Init, LSTMState, Module, ModuleT, Optimizer, OptimizerConfig, Path, RNN,
    RNNConfig, RmsProp, Sgd, VarStore, Variables, adam, adamw, f_init, func, func_t, init, rms_prop, sgd,
};

pub use activation::*;
pub use batch_norm::*;
pub use conv::*;
pub use conv_transpose::*;
pub use dropout::*;
pub use embedding::*;
pub use group_norm::*;
pub use layer::Layer;
pub(crate) use layer::sealed;
pub(crate) use layer_entry::{HeldLayer, held_layer, load_held, shared_layer};
pub use layer_norm::*;
pub use linear::*;
pub use pool::*;
pub use recurrent::*;
pub use sequential::*;
pub use shape::*;
pub use spatial::Spatial;
pub use stack::Chain;
#[doc(hidden)]
pub(crate) use stack::Stack;

#[cfg(test)]
mod tests;
