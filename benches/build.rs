//! Tells the linker where libtorch lies, and traces the models of this crate's own.

fn main() {
    fx_passes::Build::new().run();
}
