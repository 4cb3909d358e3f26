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

pub use activation::{
    GELU, GeluApproximation, HardSwish, LeakyReLU, ReLU, ReLU6, SiLU, Sigmoid, Softmax, Tanh, gelu, gelu_tanh,
    hard_swish, leaky_relu, relu, relu6, sigmoid, silu, softmax, tanh,
};
pub use batch_norm::{BatchNorm, BatchNormConfig, batch_norm1d, batch_norm2d, batch_norm3d};
pub use conv::{
    Conv, Conv1D, Conv2D, Conv3D, ConvConfig, ConvConfigND, PaddingMode, conv, conv1d, conv2d, conv3d, no_bias,
};
pub use conv_transpose::{
    ConvTranspose1D, ConvTranspose2D, ConvTranspose3D, ConvTransposeConfig, ConvTransposeConfigND, ConvTransposeND,
    conv_transpose1d, conv_transpose2d, conv_transpose3d,
};
pub use dropout::{Dropout, dropout};
pub use embedding::{Embedding, EmbeddingConfig, embedding};
pub use group_norm::{GroupNorm, GroupNormConfig, group_norm};
pub use layer::Layer;
pub(crate) use layer::sealed;
pub use layer_norm::{LayerNorm, LayerNormConfig, layer_norm};
pub use linear::{Linear, LinearConfig, linear};
pub use pool::{
    AdaptiveAvgPool2D, AvgPool2D, AvgPoolConfig, MaxPool2D, MaxPoolConfig, adaptive_avg_pool2d, avg_pool2d, max_pool2d,
};
pub use recurrent::{GRU, LSTM, gru, lstm};
pub use sequential::{Sequential, SequentialT, seq, seq_t};
pub use shape::{Flatten, Identity, flatten, identity};
pub use spatial::Spatial;
#[doc(hidden)]
pub(crate) use stack::Stack;

#[cfg(test)]
mod tests;
