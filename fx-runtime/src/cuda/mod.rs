//! What a frozen model does on CUDA besides libtorch's operators: forwards recorded as CUDA graphs.
//!
//! A forward of a small model is a hundred kernels of a few microseconds each, and the processor takes longer to start
//! them than the device to run them. A CUDA graph is started as one. [`graphs`] keeps one for each shape of inputs;
//! [`device`] records them with libtorch's own class, which [`shim`] makes reachable.

mod cache;
mod device;
mod graphs;
mod shim;

pub use graphs::{Arguments, Example, GraphOutputs, GraphReport, Graphs, Outputs};
