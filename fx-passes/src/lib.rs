//! The build-script door of fx: traces a crate, runs the passes, prints the generated Rust.
//!
//! A build script's whole body is `fx_passes::Build::new().run()`. What it does is a page: [scan](fx_front::scan) the
//! sources, [trace](fx_front::trace) every `#[traceable]` item, run the [pipeline], [emit] the code,
//! write it to `OUT_DIR`, from where `#[traceable]` includes it.
//!
//! The rewrite engine and the passes are [`fx_rewrite`]'s; they are re-exported here, so that a build script names one
//! crate.
//!
//! **Invariant:** nothing here links libtorch; weights do not exist yet, so passes move computations to freeze time and
//! never carry them out.

mod build;
pub mod emit;
mod out;

pub use build::{Build, Coverage, Opaque};
pub use fx_macros::fx_pass;
pub use fx_rewrite::{Graph, inference, library, parts, pass, passes, pipeline, rewrite};
