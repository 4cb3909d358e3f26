// Tells when this was built.
fn main() {
    // nothing else
    println!("cargo:rerun-if-changed=build.rs");
}
