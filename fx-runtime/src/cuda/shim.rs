//! The small C++ library through which CUDA graphs are reached: found beside libtorch, or built at first use.
//!
//! `cargo xtask setup --cuda` builds it. Elsewhere it is built by the C++ compiler at hand, once for each libtorch, into
//! the user's cache folder; that takes about six seconds. Where there is no compiler, or no headers of CUDA, the reason is
//! told and forwards run as they are.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use super::cache;
use crate::ffi::cuda;
use crate::ffi::cuda_graph::Shim;

/// The library's source, which holds for the libtorch that tch is pinned to.
const SOURCE: &str = include_str!("shim.cpp");

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
    let path = Places::of_this_machine(&libtorch).find_or_build()?;
    Shim::open(&path).map_err(|reason| format!("`{}` cannot be used: {reason}", path.display()))
}

/// Where things lie.
#[derive(Debug)]
struct Places {
    /// The folder of libtorch's libraries.
    libtorch: PathBuf,
    /// Folders that may hold CUDA's headers, the best first.
    cuda_headers: Vec<PathBuf>,
    /// The C++ compiler.
    compiler: OsString,
    /// The folder for what is built.
    cache: Option<PathBuf>,
}

impl Places {
    fn of_this_machine(libtorch: &Path) -> Self {
        let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
        let homes = homes.chain([PathBuf::from("/usr/local/cuda")]).map(|home| home.join("include"));
        // Where pip puts the wheels that torch depends on: beside the folder `torch`. Those of CUDA lack the folder `crt`,
        // which triton's has.
        let wheels = ["nvidia/cu13", "nvidia/cuda_runtime", "triton/backends/nvidia"]
            .map(|wheel| libtorch.join("../..").join(wheel));
        let wheels = wheels.map(|wheel| wheel.join("include"));
        Self {
            libtorch: libtorch.to_owned(),
            cuda_headers: wheels.into_iter().chain(homes).collect(),
            compiler: env::var_os("CXX").unwrap_or_else(|| "c++".into()),
            cache: cache::folder(),
        }
    }

    fn find_or_build(&self) -> Result<PathBuf, String> {
        let beside = self.libtorch.join(NAME);
        if beside.exists() {
            return Ok(beside);
        }
        let help = "`cargo xtask setup --cuda` builds what CUDA graphs need";
        let cache = self.cache.as_ref().ok_or_else(|| format!("there is no cache folder to build in; {help}"))?;
        let built = cache.join(format!("{}.so", self.key()));
        if built.exists() {
            return Ok(built);
        }
        self.build(&built).map_err(|reason| format!("{reason}; {help}"))?;
        Ok(built)
    }

    /// A name for what is built: of the source and of the libtorch that it is built for.
    fn key(&self) -> String {
        let libtorch = self.libtorch.to_string_lossy();
        cache::key("shim", &[SOURCE, env!("CARGO_PKG_VERSION"), &libtorch])
    }

    fn build(&self, to: &Path) -> Result<(), String> {
        let headers = self.libtorch.join("../include");
        if !headers.join("ATen/cuda/CUDAGraph.h").exists() {
            return Err(format!("libtorch's headers are not in `{}`", headers.display()));
        }
        // One folder may have what another lacks; of what several have, the first one's counts.
        let has = |name: &&str| self.cuda_headers.iter().any(|folder| folder.join(name).exists());
        if !["cuda_runtime_api.h", "crt/host_defines.h"].iter().all(has) {
            let looked: Vec<_> = self.cuda_headers.iter().map(|folder| folder.display().to_string()).collect();
            let looked = looked.join(", ");
            return Err(format!("CUDA's headers (cuda_runtime_api.h, crt/host_defines.h) are not in {looked}"));
        }
        cache::write_with(to, |partial| {
            let source = partial.with_extension("cpp");
            fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
            let mut command = Command::new(&self.compiler);
            command.args(["-std=c++17", "-O1", "-fPIC", "-shared", "-I"]).arg(&headers);
            command.args(self.cuda_headers.iter().flat_map(|folder| [OsStr::new("-I"), folder.as_os_str()]));
            let outcome = command.arg(&source).arg("-o").arg(partial).output();
            let _ = fs::remove_file(&source);
            let compiler = self.compiler.to_string_lossy();
            let outcome = outcome.map_err(|error| format!("cannot start the C++ compiler `{compiler}`: {error}"))?;
            if outcome.status.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&outcome.stderr);
            let first = said.lines().find(|line| line.contains("error")).unwrap_or_default();
            Err(format!("`{compiler}` cannot build it: {first}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Where all is looked for: below one folder, which is removed with its value.
    fn places() -> (Places, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("lib")).unwrap();
        let places = Places {
            libtorch: root.join("lib"),
            cuda_headers: vec![root.join("cuda"), root.join("triton")],
            compiler: root.join("c++").into(),
            cache: Some(root.join("cache")),
        };
        (places, folder)
    }

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    fn compiler(root: &Path, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = root.join("c++");
        // Not written by this process: a child that another test starts meanwhile would hold it open, and a program that
        // is open for writing cannot be started.
        let print = "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\"";
        let status = Command::new("sh").args(["-c", print, "sh"]).arg(&path).arg(script).status();
        assert!(status.unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn every_missing_thing_is_named() {
        let (places, folder) = places();
        let root = folder.path();
        let error = places.find_or_build().unwrap_err();
        assert!(error.contains("libtorch's headers") && error.contains("cargo xtask setup --cuda"), "{error}");
        touch(&root.join("include/ATen/cuda/CUDAGraph.h"));
        assert!(places.find_or_build().unwrap_err().contains("CUDA's headers"));
        touch(&root.join("cuda/cuda_runtime_api.h"));
        assert!(places.find_or_build().unwrap_err().contains("crt/host_defines.h"));
        // Another wheel's.
        touch(&root.join("triton/crt/host_defines.h"));
        assert!(places.find_or_build().unwrap_err().contains("cannot start the C++ compiler"));
        compiler(root, "echo 'shim.cpp:5: error: no such thing' >&2; exit 1");
        assert!(places.find_or_build().unwrap_err().contains("shim.cpp:5: error: no such thing"));
        assert!(Places { cache: None, ..places }.find_or_build().unwrap_err().contains("no cache folder"));
    }

    /// Not CUDA itself: which pools are held, who goes on recording, and on which device and stream a thread is left.
    #[test]
    fn it_leaves_libtorch_as_it_was() {
        let (_, folder) = places();
        let root = folder.path();
        let headers = SOURCE.lines().filter_map(|line| line.strip_prefix("#include <")?.strip_suffix(".h>"));
        for header in headers {
            touch(&root.join(header).with_extension("h"));
        }
        fs::write(root.join("shim.cpp"), SOURCE).unwrap();
        fs::write(root.join("test.cpp"), include_str!("shim_test.cpp")).unwrap();
        let (source, binary) = (root.join("test.cpp"), root.join("test"));
        let built =
            Command::new("c++").args(["-std=c++17", "-I"]).arg(root).arg(source).arg("-o").arg(&binary).output();
        let built = built.expect("a C++ compiler, without which there is no tch either");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(binary).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }

    #[test]
    fn it_is_built_once_and_the_one_beside_libtorch_comes_first() {
        let (places, folder) = places();
        let root = folder.path();
        for header in ["include/ATen/cuda/CUDAGraph.h", "cuda/cuda_runtime_api.h", "cuda/crt/host_defines.h"] {
            touch(&root.join(header));
        }
        compiler(root, "for last; do :; done; echo built >> \"$last\"");
        let built = places.find_or_build().unwrap();
        assert_eq!(fs::read_to_string(&built).unwrap(), "built\n");
        assert_eq!(places.find_or_build().unwrap(), built);
        assert_eq!(fs::read_to_string(&built).unwrap(), "built\n", "it was built again");
        touch(&root.join("lib").join(NAME));
        assert_eq!(places.find_or_build().unwrap(), root.join("lib").join(NAME));
    }
}
