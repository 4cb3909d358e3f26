//! What `layered` brings in by `pub use zoo::*`, so that its modules have two names.

pub mod blocks;
pub mod shared;
