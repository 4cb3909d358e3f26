//! Finds libtorch for the program; this crate has no models of its own.

fn main() {
    fx_passes::Build::new().run();
}
