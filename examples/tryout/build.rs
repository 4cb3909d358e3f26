//! Traces the crate's models and writes their frozen types, as a user's build script does.

fn main() {
    fx_passes::Build::new().run();
}
