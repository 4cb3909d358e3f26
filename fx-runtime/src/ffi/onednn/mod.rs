//! oneDNN, called directly.
//!
//! **Why.** libtorch's entry points for its fused convolutions build every descriptor of a call anew, hash them to find
//! the compiled kernel in oneDNN's cache, and allocate and free some dozens of small C++ objects on the way. That costs
//! as much time as the kernels of a small network take themselves. oneDNN's own interface is made for the opposite: a
//! primitive is compiled once, and a call then names it and the buffers.
//!
//! **What it gives.** A convolution of one number takes 3 µs, result tensor included. In whole models on two cores of a
//! Sapphire Rapids, against libtorch's entry points: `MobileNetV2` 6.7 → 4.4 ms (bf16 5.8 → 2.9 ms), at batch 10
//! 85 → 45 ms, of which [`results`](super::results) gives 20; `ResNet`-50 48 → 40 ms (bf16 20 → 14 ms).
//!
//! **How.** `libtorch_cpu.so` contains a whole oneDNN but exports none of its functions. Their names are in the file's
//! symbol table all the same, if it was not stripped, and [`symbols`] finds them there.
//!
//! **Why it is sound.** The functions are called only if the file is the one that was loaded (an exported function lies
//! where the loader has it), if each name is there exactly once, and if `dnnl_version` names the release whose headers
//! [`api`] was written from; libtorch ships these headers itself. They are `extern "C"` functions of an archive that the
//! linker made local, so that they have the platform's calling convention like any other. oneDNN reports by status;
//! what its C++ might throw unwinds as a foreign exception, which the declarations allow.
//!
//! Where any of this does not hold, nothing here is used, and the callers take libtorch's entry points.

mod api;
mod convolution;
mod eltwise;
mod numbers;
mod objects;
mod plan;
#[cfg(target_os = "linux")]
mod symbols;
mod weight;

pub(crate) use convolution::DirectConv;
pub(crate) use numbers::{Int8Numbers, Int8Result};

/// `major.minor.patch` of the oneDNN that is called directly, or why it is not.
pub(crate) fn release() -> Result<String, &'static str> {
    match api::found() {
        api::Found::Release(_, (major, minor, patch)) => Ok(format!("{major}.{minor}.{patch}")),
        api::Found::Not(why) => Err(why),
    }
}

/// Whether convolutions and linear layers of eight bits are computed here, or why not.
pub(crate) fn int8() -> Result<(), &'static str> {
    match api::found() {
        api::Found::Release(api, _) if api::has_vnni(api) => Ok(()),
        api::Found::Release(..) => Err("this CPU has no VNNI instructions"),
        api::Found::Not(why) => Err(why),
    }
}
