//! Whether a folder is a complete libtorch of the right version.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{VERSION, Variant};
use crate::failure::{Failure, Result};

/// What every libtorch folder must hold; each is named in the failure when it is missing.
const NEEDED: [&str; 4] = ["lib/libtorch_cpu.so", "lib/libc10.so", "lib/libtorch.so", "include/ATen/ATen.h"];

/// Checks that `home` is a libtorch that tch can be built with.
pub(super) fn check(home: &Path) -> Result<()> {
    let shown = home.display();
    if !home.is_dir() {
        return Err(Failure::new(format!("there is no libtorch at `{shown}`"))
            .looked("looked for a folder with `lib` and `include` in it")
            .help("run `cargo xtask setup`, or let LIBTORCH name the folder of an unpacked libtorch"));
    }
    let missing: Vec<_> = NEEDED.iter().filter(|name| !home.join(name).exists()).collect();
    if !missing.is_empty() {
        return Err(Failure::new(format!("`{shown}` is not a complete libtorch"))
            .looked_all(missing.iter().map(|name| format!("missing: `{}`", home.join(name).display())))
            .help("let LIBTORCH name the folder that holds `lib` and `include`"));
    }
    match version(home) {
        Some(found) if !is_right(&found) => Err(wrong_version(&format!("the libtorch at `{shown}`"), &found)),
        _ => Ok(()),
    }
}

/// Checks that `home`, a complete libtorch, has CUDA's part where that is wanted.
pub(super) fn check_variant(home: &Path, variant: Variant) -> Result<()> {
    let cuda = home.join("lib/libtorch_cuda.so");
    if variant == Variant::Cpu || cuda.exists() {
        return Ok(());
    }
    Err(Failure::new("the libtorch here is without CUDA").looked(format!("looked for `{}`", cuda.display())))
}

/// What a libtorch of another version is met with.
pub(super) fn wrong_version(whose: &str, found: &str) -> Failure {
    Failure::new(format!("{whose} is version {found}, and tch 0.24 needs {VERSION}"))
        .looked(format!("a build against {found} would fail, or crash when it runs"))
        .help(format!("install {VERSION} (`pip install torch=={VERSION}`)"))
}

/// Whether a version, with or without its `+cpu` or `+cu130`, is ours.
pub(super) fn is_right(version: &str) -> bool {
    version.trim().split('+').next() == Some(VERSION)
}

/// The version that a folder says it is: a libtorch archive has `build-version`, an installed wheel `version.py`.
fn version(home: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(home.join("build-version")) {
        return Some(text.trim().to_owned());
    }
    let text = fs::read_to_string(home.join("version.py")).ok()?;
    let line = text.lines().find(|line| line.starts_with("__version__"))?;
    Some(line.split('\'').nth(1)?.to_owned())
}

/// Libraries that `libtorch_cpu.so` names and the loader does not find, by ldd; none where there is no ldd.
pub(super) fn unresolved(home: &Path) -> Vec<String> {
    let Ok(output) = Command::new("ldd").arg(home.join("lib/libtorch_cpu.so")).output() else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.contains("not found"))
        .map(|line| line.trim().to_owned())
        .collect()
}
