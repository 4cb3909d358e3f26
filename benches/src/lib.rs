//! Well-known models, eager and frozen, ready to be timed.
//!
//! [`models`] is the list of them. The binary `fx-bench` serves one of them to a script that compares contenders
//! ([`protocol`]); the criterion benches measure all.

pub mod feed_forward;
pub mod grid;
pub mod models;
pub mod protocol;
