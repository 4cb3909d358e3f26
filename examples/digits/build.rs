//! Traces the crate's models and writes their frozen types.

fn main() {
    fx_passes::Build::new().run();
}
