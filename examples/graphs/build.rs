//! Traces the crate's models, with the pass that `src/passes.rs` was written for at run time.

#[path = "src/passes.rs"]
mod passes;

use fx_passes::pipeline::Pipeline;

fn main() {
    println!("cargo::rerun-if-changed=src/passes.rs");
    fx_passes::Build::new().pipeline(Pipeline::inference().with(passes::SquareOfSum)).run();
}
