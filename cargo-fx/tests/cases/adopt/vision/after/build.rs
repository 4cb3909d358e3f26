// Tells when this was built.
fn main() {
    fx_passes::Build::new().run();
    // nothing else
    println!("cargo:rerun-if-changed=build.rs");
}
