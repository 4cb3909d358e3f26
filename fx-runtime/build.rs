//! Passes on where libtorch lies (to this crate's own tests as an rpath, to dependents' build scripts as
//! `DEP_FX_RUNTIME_LIBTORCH_LIB`), and compiles `cpp/`, against the headers beside it.
//!
//! A link argument reaches only the targets of the package whose build script prints it, so that every binary that
//! ends up with libtorch needs the three lines below in a build script of its own. `fx_passes::Build` prints them for
//! users.
//!
//! And it tells the crate whether it is optimised, as `cfg(fx_optimized)`: loops of its own that replace a kernel of
//! libtorch's, which always is, would otherwise make a debug build many times slower.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(fx_optimized, fx_cuda_graphs)");
    if env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo::rustc-cfg=fx_optimized");
    }
    let Ok(lib) = env::var("DEP_TCH_LIBTORCH_LIB") else {
        println!("cargo::warning=torch-sys did not say where libtorch lies; set LIBTORCH to its folder");
        return;
    };
    println!("cargo::metadata=libtorch_lib={lib}");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    let lib = Path::new(&lib);
    if let Some(include) = headers(lib) {
        shim("cpp/dispatch.cpp", "fx_dispatch", &include);
        shim("cpp/operator.cpp", "fx_operator", &include);
        shim("cpp/tensor.cpp", "fx_tensor", &include);
        cuda_graphs(lib, &include);
    }
}

/// Compiles a source of C++ against libtorch's headers, as torch-sys compiles its own.
fn shim(source: &str, name: &str, include: &Path) {
    if let Err(error) = cpp(source, &[include.to_owned()]).try_compile(name) {
        println!("cargo::error=cannot compile fx-runtime's `{source}` against libtorch's headers: {error}");
        println!("cargo::error=it needs the C++ compiler that torch-sys needs; CXX names another one");
    }
}

/// Compiles what reaches libtorch's CUDA graphs, where CUDA's headers are. It is a library that is opened while a program
/// runs, since the program also has to start where there is no CUDA.
fn cuda_graphs(lib: &Path, include: &Path) {
    const SOURCE: &str = "cpp/cuda_graph.cpp";
    let cuda = cuda_headers(lib);
    // One folder may have what another lacks; of what several have, the first one's counts.
    let is_there = |name: &str| cuda.iter().chain([&include.to_owned()]).any(|folder| folder.join(name).exists());
    let wanted = ["ATen/cuda/CUDAGraph.h", "cuda_runtime_api.h", "crt/host_defines.h"];
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from).filter(|_| wanted.into_iter().all(is_there)) else {
        return;
    };
    let include: Vec<_> = [include.to_owned()].into_iter().chain(cuda).collect();
    let built = cpp(SOURCE, &include).try_get_compiler().map_err(|error| error.to_string()).and_then(|compiler| {
        let mut command = compiler.to_command();
        command.args(["-shared", SOURCE, "-o"]).arg(out.join("fx_cuda_graphs.so"));
        let status = command.status().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the compiler ended with {status}")) }
    });
    match built {
        Ok(()) => println!("cargo::rustc-cfg=fx_cuda_graphs"),
        Err(error) => println!("cargo::warning=CUDA graphs are left out: cannot compile `{SOURCE}`: {error}"),
    }
}

/// Folders that may hold CUDA's headers, the best first: of the wheels beside torch's, and of a CUDA that was installed.
fn cuda_headers(lib: &Path) -> Vec<PathBuf> {
    let lib = lib.canonicalize().unwrap_or_else(|_| lib.to_owned());
    let wheels = ["nvidia/cu13", "nvidia/cuda_runtime", "triton/backends/nvidia"];
    let wheels = wheels.map(|wheel| lib.join("../..").join(wheel));
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).map(PathBuf::from);
    let homes = wheels.into_iter().chain(homes).chain([PathBuf::from("/usr/local/cuda")]);
    homes.map(|home| home.join("include")).filter(|include| include.exists()).collect()
}

fn cpp(source: &str, include: &[PathBuf]) -> cc::Build {
    println!("cargo::rerun-if-changed={source}");
    let mut build = cc::Build::new();
    build.cpp(true).pic(true).warnings(false).includes(include).file(source);
    // Debug information of libtorch's templates would be many times the code, and the code is on the way of every call.
    build.debug(false).opt_level(2);
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "windows") {
        build.flag("/std:c++17");
    } else {
        let abi = variable("LIBTORCH_CXX11_ABI").unwrap_or_else(|| "1".to_owned());
        build.flag("-std=c++17").flag(format!("-D_GLIBCXX_USE_CXX11_ABI={abi}"));
    }
    build
}

/// The folder of libtorch's headers: where torch-sys is told to look, else beside the libraries.
fn headers(lib: &Path) -> Option<PathBuf> {
    const HEADER: &str = "ATen/core/dispatch/Dispatcher.h";
    let named = ["LIBTORCH_INCLUDE", "LIBTORCH"].into_iter().filter_map(variable).map(PathBuf::from);
    let beside =
        [lib.to_owned()].into_iter().chain(lib.canonicalize()).filter_map(|lib| Some(lib.parent()?.to_owned()));
    // With LIBTORCH_USE_PYTORCH torch-sys does not look at the folders that are named.
    let homes: Vec<_> = match variable("LIBTORCH_USE_PYTORCH") {
        Some(_) => beside.collect(),
        None => named.chain(beside).collect(),
    };
    let folders: Vec<_> = homes.into_iter().map(|home| home.join("include")).collect();
    let found = folders.iter().find(|folder| folder.join(HEADER).exists());
    if found.is_none() {
        let looked: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        println!("cargo::error=libtorch's header `{HEADER}` is not in {}", looked.join(", "));
        println!("cargo::error=set LIBTORCH_INCLUDE to the folder that holds libtorch's folder `include`");
    }
    found.cloned()
}

fn variable(name: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).ok()
}
