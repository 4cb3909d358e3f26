//! Tells the linker where libtorch lies, and would trace models if this crate had any of its own.

fn main() {
    fx_passes::Build::new().run();
}
