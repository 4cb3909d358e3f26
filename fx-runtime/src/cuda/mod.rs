//! What there is on CUDA besides libtorch's operators: forwards recorded as CUDA graphs, kernels compiled at run time.
//!
//! A forward of a small model is a hundred kernels of a few microseconds each, and the processor takes longer to start
//! them than the device to run them. A CUDA graph is started as one. [`graphs`] keeps one for each shape of inputs;
//! [`device`] records them into libtorch's memory, which [`shim`] makes reachable. [`compile`] turns CUDA C into
//! kernels for the device at hand.

mod cache;
mod compile;
mod device;
mod graphs;
mod key;
mod shim;
mod turns;
mod values;

pub use graphs::Graphs;
pub(crate) use turns::measuring;
#[cfg(test)]
pub(crate) use turns::recording;
pub use values::{Arguments, Example, Outputs};
