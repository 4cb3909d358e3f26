//! The crates of fx together, from the user's side; one program, so that libtorch is linked once.
//!
//! The models are those of `tests/src`, whose `lib.rs` says which test has which. `folder`, `subject` and `values` are
//! what the tests share.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that fails may do so by panicking")]
#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]

mod arms;
mod bad_input;
mod cuda_graphs;
mod determinism;
mod differential;
mod effects;
mod folder;
mod folding;
mod goldens;
mod graph_module;
mod incremental;
mod instance;
mod masks;
mod merging;
mod quantized;
mod rules;
mod saved;
mod subject;
mod threads;
mod timing;
mod torch_fx;
mod values;
