//! libtorch: found where the user says it is, or fetched into the workspace.
//!
//! `LIBTORCH_USE_PYTORCH` and `LIBTORCH` mean what they mean to the build script of torch-sys, in its order: the first
//! takes the PyTorch of the active Python, the second names a folder. With neither, the workspace's own `.libtorch` is
//! used, and filled from PyTorch's wheel on the first call.

mod fetch;
mod folder;
pub(crate) mod nvrtc;
mod python;

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Result;
use crate::workspace::Workspace;

/// The version that tch 0.24 is written for.
pub(crate) const VERSION: &str = "2.11.0";

/// Which libraries are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// What runs on the CPU.
    Cpu,
    /// The full set with CUDA.
    Cuda,
}

/// Where a libtorch came from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The folder that the user's `LIBTORCH` names.
    Folder(PathBuf),
    /// The active Python's PyTorch, by `LIBTORCH_USE_PYTORCH`.
    PyTorch,
    /// The workspace's `.libtorch`.
    Workspace,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder(_) => "named by LIBTORCH",
            Self::PyTorch => "by LIBTORCH_USE_PYTORCH",
            Self::Workspace => "the workspace's own",
        })
    }
}

/// A libtorch that was found complete and of the right version.
#[derive(Debug)]
pub(crate) struct Libtorch {
    /// The folder that holds `lib` and `include`.
    pub(crate) home: PathBuf,
    pub(crate) source: Source,
}

impl Libtorch {
    /// A cargo command in the workspace that will find this libtorch.
    ///
    /// The workspace's own folder is *not* exported: cargo takes it from `.cargo/config.toml`. Exporting it would give
    /// torch-sys another environment than plain `cargo build` does, and each change between the two costs its four
    /// minutes of C++.
    pub(crate) fn cargo(&self, workspace: &Workspace, args: &[&str]) -> Command {
        let mut cargo = workspace.cargo(args);
        match &self.source {
            Source::Folder(home) => cargo.env("LIBTORCH", home),
            Source::Workspace | Source::PyTorch => cargo.env_remove("LIBTORCH"),
        };
        cargo
    }
}

/// What the machine offers: read from the environment once, put together by hand in tests.
#[derive(Clone, Debug)]
struct Host {
    path: OsString,
    libtorch: Option<PathBuf>,
    use_pytorch: bool,
}

impl Host {
    fn of_this_process() -> Self {
        Self {
            path: env::var_os("PATH").unwrap_or_default(),
            libtorch: env::var_os("LIBTORCH").map(PathBuf::from),
            use_pytorch: env::var_os("LIBTORCH_USE_PYTORCH").is_some(),
        }
    }
}

/// Finds libtorch, or fetches it.
pub(crate) fn ensure(workspace: &Workspace, variant: Variant) -> Result<Libtorch> {
    ensure_on(&Host::of_this_process(), &workspace.libtorch(), variant)
}

fn ensure_on(host: &Host, own: &Path, variant: Variant) -> Result<Libtorch> {
    if host.use_pytorch {
        let home = python::Python::find(host)?.pytorch()?;
        return Ok(Libtorch { home, source: Source::PyTorch });
    }
    // cargo hands on the folder of `.cargo/config.toml` as if the user had set it.
    if let Some(home) = host.libtorch.as_ref().filter(|home| home.as_path() != own) {
        folder::check(home).map_err(|failure| {
            failure.help("or unset LIBTORCH: `cargo xtask setup` then fetches what is needed into the workspace")
        })?;
        return Ok(Libtorch { home: home.clone(), source: Source::Folder(home.clone()) });
    }
    if let Err(failure) = folder::check(own).and_then(|()| folder::check_variant(own, variant)) {
        if own.exists() {
            eprintln!("{}", failure.to_string().replacen("error", "note", 1));
            eprintln!("  fetching it anew");
        }
        fetch::fetch(&python::Python::find(host)?, own, variant)?;
        folder::check(own)?;
    }
    Ok(Libtorch { home: own.to_path_buf(), source: Source::Workspace })
}

/// PyTorch's list of operators, where this libtorch has it: our own folder keeps it, and so does an installed wheel.
pub(crate) fn native_functions(libtorch: &Libtorch) -> Option<PathBuf> {
    let packaged = "torchgen/packaged/ATen/native/native_functions.yaml";
    let own = libtorch.home.join("native_functions.yaml");
    let wheel = libtorch.home.parent().map(|site| site.join(packaged));
    [Some(own), wheel].into_iter().flatten().find(|path| path.is_file())
}

#[cfg(test)]
mod tests;
