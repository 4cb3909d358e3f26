//! NVRTC, with which tests compile CUDA C where there is no GPU: beside libtorch, or fetched by itself.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::fetch::{check_platform, platform, wheel};
use super::python::Python;
use super::{Host, Libtorch};
use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

/// The wheel that torch depends on.
const WHEEL: &str = "nvidia-cuda-nvrtc==13.0.88";

/// The library, and what it opens by name when it compiles.
const PARTS: [&str; 2] = ["libnvrtc.so.13", "libnvrtc-builtins.so.13.0"];

/// Where NVRTC was put for `FX_NVRTC` to name; none where fx-runtime finds it by itself.
pub(crate) fn ensure(workspace: &Workspace, libtorch: &Libtorch) -> Result<Option<PathBuf>> {
    let lib = fs::canonicalize(libtorch.home.join("lib")).unwrap_or_else(|_| libtorch.home.join("lib"));
    let beside = lib.join("../../nvidia/cu13/lib").join(PARTS[0]);
    if env::var_os("FX_NVRTC").is_some() || beside.exists() {
        return Ok(None);
    }
    let folder = workspace.root.join("target/nvrtc");
    let library = folder.join(PARTS[0]);
    if !library.exists() {
        check_platform(env::consts::OS)?;
        let partial = folder.with_extension("partial");
        let outcome = fill(&Python::find(&Host::of_this_process())?, &partial);
        let outcome = outcome.and_then(|()| {
            fs::rename(partial.join("lib"), &folder).map_err(|error| Failure::file("put in place", &folder, &error))
        });
        // What is left is of no use.
        let _ = fs::remove_dir_all(&partial);
        outcome?;
    }
    Ok(Some(library))
}

fn fill(python: &Python, partial: &Path) -> Result<()> {
    python.check_pip()?;
    let (wheels, scratch) = (partial.join("wheels"), partial.join("scratch"));
    fs::create_dir_all(&scratch).map_err(|error| Failure::file("create", &scratch, &error))?;
    eprintln!("fetching NVRTC, CUDA's compiler (90 MB)");
    let folder = wheels.to_string_lossy();
    python.pip(&["download", "--no-deps", "--dest", &folder, WHEEL], &platform(), &scratch)?;
    let wheel = wheel(&wheels, "nvidia_cuda_nvrtc-")?;
    let [library, builtins] = PARTS.map(|part| (format!("nvidia/cu13/lib/{part}"), partial.join("lib").join(part)));
    python.unpack(&wheel, &[(&library.0, &library.1), (&builtins.0, &builtins.1)])
}
