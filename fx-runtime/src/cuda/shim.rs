//! The small C++ library through which CUDA graphs are reached: beside libtorch, or in the program itself.
//!
//! The build script compiles it where it finds CUDA's headers, and `cargo xtask setup --cuda` puts it beside libtorch. The
//! loader opens files alone, so that the program's own is written to the user's cache folder first. Where there is none,
//! the reason is told and forwards run as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::cache;
use crate::ffi::cuda;
use crate::ffi::cuda_graph::Shim;

/// The library as it was built with this crate.
#[cfg(fx_cuda_graphs)]
const BUILT: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/fx_cuda_graphs.so")));
#[cfg(not(fx_cuda_graphs))]
const BUILT: Option<&[u8]> = None;

/// What the library is called beside libtorch.
const NAME: &str = "libfx_cuda_shim.so";

/// The library, opened once; `Err` says why there is none.
pub(super) fn shim() -> Result<&'static Shim, String> {
    static SHIM: OnceLock<Result<Shim, String>> = OnceLock::new();
    SHIM.get_or_init(open).as_ref().map_err(Clone::clone)
}

fn open() -> Result<Shim, String> {
    if !cuda::is_available() {
        return Err("there is no CUDA device".to_owned());
    }
    let libtorch = cuda::library_folder().ok_or("the folder of libtorch is not known")?;
    let path = find(&libtorch, BUILT, cache::folder().as_deref())?;
    Shim::open(&path).map_err(|reason| format!("`{}` cannot be used: {reason}", path.display()))
}

/// The library's file: beside libtorch, else of the program, in the cache folder.
fn find(libtorch: &Path, built: Option<&[u8]>, cache: Option<&Path>) -> Result<PathBuf, String> {
    const HELP: &str = "`cargo xtask setup --cuda` builds what CUDA graphs need";
    let beside = libtorch.join(NAME);
    if beside.exists() {
        return Ok(beside);
    }
    let built = built.ok_or_else(|| {
        format!("the program was built without CUDA's headers (cuda_runtime_api.h, crt/host_defines.h); {HELP}")
    })?;
    let cache = cache.ok_or_else(|| format!("there is no cache folder to write a library to; {HELP}"))?;
    let path = cache.join(format!("{}.so", cache::key("shim", &[built])));
    if !path.exists() {
        let write = |partial: &Path| fs::write(partial, built).map_err(|error| error.to_string());
        cache::write_with(&path, write).map_err(|reason| format!("{reason}; {HELP}"))?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn folder() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("lib")).unwrap();
        root
    }

    #[test]
    fn every_missing_thing_is_named() {
        let folder = folder();
        let root = folder.path();
        let error = find(&root.join("lib"), None, Some(root)).unwrap_err();
        assert!(error.contains("CUDA's headers") && error.contains("cargo xtask setup --cuda"), "{error}");
        let error = find(&root.join("lib"), Some(b"elf"), None).unwrap_err();
        assert!(error.contains("no cache folder") && error.contains("cargo xtask setup --cuda"), "{error}");
    }

    #[test]
    fn the_one_beside_libtorch_comes_first() {
        let folder = folder();
        let root = folder.path();
        let (lib, cache) = (root.join("lib"), root.join("cache"));
        let of_program = find(&lib, Some(b"one"), Some(&cache)).unwrap();
        assert_eq!(fs::read(&of_program).unwrap(), b"one");
        assert_ne!(find(&lib, Some(b"two"), Some(&cache)).unwrap(), of_program);
        fs::write(lib.join(NAME), "").unwrap();
        assert_eq!(find(&lib, Some(b"one"), Some(&cache)).unwrap(), lib.join(NAME));
    }

    /// Not CUDA itself: which pools are held, who goes on recording, and on which device and stream a thread is left.
    #[test]
    fn it_leaves_libtorch_as_it_was() {
        const SOURCE: &str = include_str!("../../cpp/cuda_graph.cpp");
        let folder = folder();
        let root = folder.path();
        let headers = SOURCE.lines().filter_map(|line| line.strip_prefix("#include <")?.strip_suffix(".h>"));
        for header in headers {
            let path = root.join(header).with_extension("h");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(root.join("cuda_graph.cpp"), SOURCE).unwrap();
        fs::write(root.join("test.cpp"), include_str!("../../cpp/cuda_graph_test.cpp")).unwrap();
        let (source, binary) = (root.join("test.cpp"), root.join("test"));
        let built =
            Command::new("c++").args(["-std=c++17", "-I"]).arg(root).arg(source).arg("-o").arg(&binary).output();
        let built = built.expect("a C++ compiler, without which there is no tch either");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(binary).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
}
