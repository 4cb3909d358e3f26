//! Passes on where libtorch lies: to this crate's own tests as an rpath, to dependents' build scripts as
//! `DEP_FX_RUNTIME_LIBTORCH_LIB`.
//!
//! A link argument reaches only the targets of the package whose build script prints it, so that every binary that
//! ends up with libtorch needs the three lines below in a build script of its own. `fx_passes::Build` prints them for
//! users.
//!
//! And it tells the crate whether it is optimised, as `cfg(fx_optimized)`: loops of its own that replace a kernel of
//! libtorch's, which always is, would otherwise make a debug build many times slower.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(fx_optimized)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo::rustc-cfg=fx_optimized");
    }
    let Ok(lib) = std::env::var("DEP_TCH_LIBTORCH_LIB") else {
        println!("cargo::warning=torch-sys did not say where libtorch lies; set LIBTORCH to its folder");
        return;
    };
    println!("cargo::metadata=libtorch_lib={lib}");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
}
