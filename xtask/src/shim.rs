//! The small C++ library through which fx-runtime reaches libtorch's CUDA graphs, built beside libtorch.
//!
//! For programs that were built where there were no headers of CUDA; the others have it in them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::libtorch::Libtorch;
use crate::workspace::Workspace;

/// What fx-runtime looks for beside libtorch.
const NAME: &str = "libfx_cuda_shim.so";

/// Builds it; a machine without a C++ compiler or CUDA's headers is told so and goes on.
pub(crate) fn build(workspace: &Workspace, libtorch: &Libtorch) -> Result<()> {
    let lib = libtorch.home.join("lib");
    // The folder may be a link into a wheel's, beside which CUDA's headers lie.
    let lib = fs::canonicalize(&lib).map_err(|error| Failure::file("read", &lib, &error))?;
    let cuda = cuda_headers(&lib);
    let has = |name: &&str| cuda.iter().any(|folder| folder.join(name).exists());
    if !["cuda_runtime_api.h", "crt/host_defines.h"].iter().all(has) {
        eprintln!("note: CUDA's headers were not found, so that CUDA graphs are not available; set CUDA_HOME");
        return Ok(());
    }
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O1", "-fPIC", "-shared", "-I"]).arg(lib.join("../include"));
    command.args(cuda.iter().flat_map(|folder| [OsStr::new("-I"), folder.as_os_str()]));
    command.arg(workspace.root.join("fx-runtime/cpp/cuda_graph.cpp")).arg("-o").arg(lib.join(NAME));
    match command.output() {
        Ok(output) if output.status.success() => eprintln!("CUDA graphs: built {}", lib.join(NAME).display()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let first = said.lines().find(|line| line.contains("error")).unwrap_or_default().to_owned();
            return Err(Failure::new(format!("cannot build `{NAME}`")).looked(first));
        }
        Err(error) => {
            let compiler = compiler.to_string_lossy();
            eprintln!("note: there is no C++ compiler (`{compiler}`: {error}), so that CUDA graphs are not available");
        }
    }
    Ok(())
}

/// Folders that may hold CUDA's headers, in which one may have what another lacks: of the wheels beside libtorch, and of a
/// CUDA that was installed.
fn cuda_headers(lib: &Path) -> Vec<PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let installed = homes.chain([PathBuf::from("/usr/local/cuda")]).map(|home| home.join("include"));
    let wheels = ["nvidia/cu13", "nvidia/cuda_runtime", "triton/backends/nvidia"];
    let wheels = wheels.map(|wheel| lib.join("../..").join(wheel).join("include"));
    wheels.into_iter().chain(installed).collect()
}
