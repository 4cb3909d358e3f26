//! The run-time half of fx: layers, freezing, kernels; the only crate that links libtorch.
//!
//! A model is written with [`nn`], whose layers are tch's with their configuration in the open. [`Module`] sees into it
//! (parameters, buffers and children under PyTorch's names), [`load_weights`] fills it, and what `#[traceable]`
//! generates turns it into an inference type of its own.

// What the macros expand to names `::fx_runtime`, in this crate as well.
extern crate self as fx_runtime;

pub mod capabilities;
mod command;
mod cuda;
pub mod error;
mod ffi;
mod frame;
pub mod freeze;
pub mod frozen;
pub mod graph;
pub mod graph_module;
pub mod instance;
mod math;
pub mod module;
pub mod nn;
pub mod progress;
mod qparams;
pub mod quant;
pub mod registry;
mod report;
mod saved;
mod traceable;
pub mod weights;
mod whole_file;

pub use capabilities::{Capabilities, capabilities, cuda_if_available};
pub use command::command;
#[doc(hidden)]
pub use command::random_input;
pub use cuda::Example;
pub use error::{Error, Result};
pub use ffi::{CudaKernel, KernelArg, operator};
pub use freeze::{Backend, Freeze, GraphOutputs, MemoryFormat};
pub use fx_ir::Graph;
pub use fx_macros::{Module, fx, traceable};
pub use graph_module::GraphModule;
pub use module::Module;
pub use report::{GraphReport, Tuned};

/// The engine, the rules and the passes of a build, for graphs of live models: the same names as in `fx_passes`, so that a
/// pass that was written at run time moves to a build script as it is.
pub mod passes {
    pub use fx_macros::fx_runtime_pass as fx_pass;
    pub use fx_rewrite::{Graph, library, parts, pass, passes, pipeline, rewrite};
}

pub use tch::{self, Device, IndexOp, Kind, Tensor};
pub use traceable::Traceable;
pub use weights::{LoadReport, load_weights};
