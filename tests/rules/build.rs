//! Tells the tests where libtorch lies.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(lib) = std::env::var("DEP_FX_RUNTIME_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    }
}
