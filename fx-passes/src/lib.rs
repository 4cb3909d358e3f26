//! The build-script door of fx: traces a crate, runs the passes, prints the generated Rust.
//!
//! A build script's whole body is `fx_passes::Build::new().run()`. What it does is a page: [scan](fx_front::scan) the
//! sources, [trace](fx_front::trace) every `#[traceable]` item, run the [pipeline], [emit] the code,
//! write it to `OUT_DIR`, from where `#[traceable]` includes it.
//!
//! **Invariant:** nothing here links libtorch; weights do not exist yet, so passes move computations to freeze time and
//! never carry them out.

// What `fx_pass!` expands to names this crate, here too.
extern crate self as fx_passes;

mod build;
pub mod emit;
pub mod library;
mod out;
pub mod parts;
pub mod pass;
pub mod passes;
pub mod pipeline;
pub mod rewrite;

pub use build::{Build, Opaque, Understood};
pub use fx_ir::Graph;
pub use fx_macros::fx_pass;
