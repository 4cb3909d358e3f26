//! libtorch's plain C entry points behind safe functions; the only module of the crate with `unsafe`.
//!
//! `libtorch_cpu.so` exports C functions for the code that `torch.compile` generates ahead of time (the header is
//! `torch/csrc/inductor/aoti_torch/c/shim_cpu.h`), oneDNN's fused convolution and linear kernels among them. tch binds none
//! of them. A tensor handle there is an `at::Tensor*`, the very pointer that a [`tch::Tensor`] holds, so that nothing is
//! copied on the way. The same pointers go to [`operator`], which calls any registered operator by name.
//!
//! The functions are looked up by name at first use, and only in the release of libtorch whose headers the types in
//! [`entry`] were written from. Where one is missing its caller gets `None` and composes ATen operators instead.
//!
//! [`onednn`] goes one step further down, to functions that `libtorch_cpu.so` has but does not export.
//!
//! **Invariant:** no C++ exception crosses into Rust. libtorch's entry points and those of `cpp/` catch them and return a
//! status.

#![allow(unsafe_code, reason = "this module is where it is allowed; each block says why it is sound")]

mod amx;
pub(crate) mod attention;
mod buffer;
mod coded;
mod convolution;
mod convolution_shim;
mod convolution_weight;
mod cublaslt;
pub(crate) mod cuda;
pub(crate) mod cuda_graph;
mod dispatch;
pub(crate) mod driver;
pub(crate) mod eight_bits;
mod entry;
mod epilogue;
mod gemm_unpacked;
pub(crate) mod int8;
mod kernel;
mod lanes;
mod library;
mod linear;
mod linear_shim;
mod memory_format;
mod mkl;
pub(crate) mod nvrtc;
mod omp_threads;
pub(crate) mod onednn;
mod operands;
pub mod operator;
pub(crate) mod ops;
mod output_pool;
mod panel;
pub(crate) mod pointwise;
mod post_op;
mod product;
mod shared;
mod sole;
mod tensor;
mod vector;
mod winograd;

pub(crate) use amx::{Amx, SplitMatrix};
pub(crate) use buffer::release_freed;
pub(crate) use coded::{ByteWeight, DeviceCodes, HalfByteWeight, ShortWeight};
pub(crate) use convolution::{Geometry, PackedConv};
pub(crate) use cublaslt::{LtActivation, LtWeight};
pub(crate) use dispatch::{Autograd, NoGrad};
pub(crate) use entry::{Presence, libtorch_version, presence};
pub(crate) use epilogue::Epilogue;
pub(crate) use gemm_unpacked::UnpackedWeight;
pub use kernel::{CudaKernel, KernelArg};
pub(crate) use lanes::lanes_width;
pub(crate) use linear::PackedLinear;
pub(crate) use memory_format::is_dense_in;
pub(crate) use mkl::{PackedGemm, is_available as mkl_is_available};
pub(crate) use omp_threads::{share, threads};
pub(crate) use onednn::{DirectConv, Int8Numbers, Int8Result};
pub(crate) use operands::WeightMatrix;
pub(crate) use output_pool::PoolUser;
pub(crate) use post_op::PostOp;
pub use shared::Param;
pub(crate) use shared::{Plain, Shared};
pub(crate) use sole::Sole;
pub(crate) use tensor::{Facts, Input, MAX_RANK, is_channels_last, refused};
pub(crate) use vector::VectorWidth;
pub(crate) use winograd::Winograd;
