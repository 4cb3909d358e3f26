//! Fetches PyTorch's wheel and makes a libtorch folder of it.
//!
//! The wheel is a CUDA build, but the CPU's part of it stands alone: `libtorch_cpu.so`, `libc10.so`, the `libgomp.so.1`
//! beside them, and two libraries of CUDA that `libtorch_cpu.so` names and two small wheels hold. Its run path ends in
//! `$ORIGIN`, so all of them lie in one folder. `libtorch.so`, which in the wheel would drag CUDA in, becomes a
//! linker script; `libgomp.so` is linked to the wheel's, so that linking with `-lgomp` and running meet the same file.
//!
//! The folder is built as `.libtorch.partial` and renamed when it is complete.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder::unresolved;
use super::python::Python;
use super::{VERSION, Variant};
use crate::failure::{Failure, Result};
use crate::progress::Progress;

/// The two small wheels, for libcudart and libcupti.
const CUDA_PARTS: [&str; 2] = ["nvidia-cuda-runtime==13.0.*", "nvidia-cuda-cupti==13.0.*"];

/// The headers that those of CUDA's runtime include, for the small library through which CUDA graphs are reached.
const CUDA_HEADERS: &str = "nvidia-cuda-crt==13.0.*";

/// The Python that wheels are chosen for: any that torch is published for, whichever runs here.
const PYTHON: &str = "3.12";

/// The versions of glibc 2 whose wheels are taken: from manylinux2014's to that of torch's own wheel.
const GLIBC: std::ops::RangeInclusive<u32> = 17..=28;

/// Fetches libtorch into `home`, which is replaced.
pub(super) fn fetch(python: &Python, home: &Path, variant: Variant) -> Result<()> {
    check_platform(std::env::consts::OS)?;
    python.check_pip()?;
    let needed = match variant {
        Variant::Cpu => Mebibytes(1_700),
        Variant::Cuda => Mebibytes(9_000),
    };
    check_space(home.parent().unwrap_or(home), needed, free_space)?;
    let partial = home.with_extension("partial");
    let outcome = fill(python, &partial, variant).and_then(|()| replace(home, &partial));
    if outcome.is_err() {
        // What is left is of no use, and the failure to be told is the first one.
        let _ = fs::remove_dir_all(&partial);
    }
    outcome
}

fn fill(python: &Python, partial: &Path, variant: Variant) -> Result<()> {
    remove(partial)?;
    let scratch = partial.join("scratch");
    create(&scratch)?;
    match variant {
        Variant::Cpu => fill_cpu(python, partial, &scratch)?,
        Variant::Cuda => fill_cuda(python, partial, &scratch)?,
    }
    remove(&scratch)?;
    // The linker takes the first libgomp.so on its way; this one has the name that libtorch_cpu.so asks for.
    link("libgomp.so.1", &partial.join("lib/libgomp.so"))?;
    write(&partial.join("build-version"), &format!("{VERSION}\n"))?;
    let unresolved = unresolved(partial);
    if unresolved.is_empty() {
        return Ok(());
    }
    Err(Failure::new("the fetched libtorch names libraries that are not on this machine")
        .looked(format!("looked with `ldd {}`", partial.join("lib/libtorch_cpu.so").display()))
        .looked_all(unresolved)
        .help("install them (Debian, Ubuntu: `apt install libstdc++6`) and run `cargo xtask setup` again"))
}

fn fill_cpu(python: &Python, partial: &Path, scratch: &Path) -> Result<()> {
    eprintln!("fetching libtorch {VERSION}: PyTorch's wheel (530 MB) and two small ones; usually a minute or two");
    let wheels = scratch.join("wheels");
    let torch = format!("torch=={VERSION}");
    let folder = wheels.to_string_lossy();
    let mut args = vec!["download", "--no-deps", "--dest", &folder, &torch];
    args.extend(CUDA_PARTS);
    python.pip(&args, &platform(), scratch)?;
    eprintln!("unpacking what the CPU needs (500 MB on disk); usually half a minute");
    let lib = partial.join("lib");
    // Pip has a bar of its own.
    let _spinner = Progress::spinner("unpacking");
    python.unpack(
        &wheel(&wheels, "torch-")?,
        &[
            ("torch/lib/libtorch_cpu.so", &lib.join("libtorch_cpu.so")),
            ("torch/lib/libc10.so", &lib.join("libc10.so")),
            ("torch/lib/libgomp.so.1", &lib.join("libgomp.so.1")),
            ("torch/include/", &partial.join("include")),
            ("torchgen/packaged/ATen/native/native_functions.yaml", &partial.join("native_functions.yaml")),
        ],
    )?;
    let cuda = "nvidia/cu13/lib";
    let [runtime, profiler] = ["libcudart.so.13", "libcupti.so.13"];
    python.unpack(&wheel(&wheels, "nvidia_cuda_runtime-")?, &[(&format!("{cuda}/{runtime}"), &lib.join(runtime))])?;
    python.unpack(&wheel(&wheels, "nvidia_cuda_cupti-")?, &[(&format!("{cuda}/{profiler}"), &lib.join(profiler))])?;
    write(&lib.join("libtorch.so"), "INPUT(libtorch_cpu.so)\n")
}

/// The wheels find each other by their places in one site folder, so it is kept whole and linked to.
fn fill_cuda(python: &Python, partial: &Path, scratch: &Path) -> Result<()> {
    eprintln!("fetching libtorch {VERSION} with CUDA: 2.5 GB to fetch, 5 GB on disk; usually some minutes");
    let site = partial.join("site");
    let folder = site.to_string_lossy();
    let torch = format!("torch=={VERSION}");
    let args = ["install", "--no-compile", "--target", &folder, &torch, CUDA_HEADERS];
    python.pip(&args, &platform(), scratch)?;
    link("site/torch/lib", &partial.join("lib"))?;
    link("site/torch/include", &partial.join("include"))?;
    link("site/torchgen/packaged/ATen/native/native_functions.yaml", &partial.join("native_functions.yaml"))
}

/// The wheels' platform as pip's arguments, so that the version of the Python at hand does not matter.
pub(super) fn platform() -> Vec<String> {
    let arch = std::env::consts::ARCH;
    let mut args =
        ["--only-binary=:all:", "--implementation", "cp", "--python-version", PYTHON].map(String::from).to_vec();
    let platforms = GLIBC.rev().map(|minor| format!("manylinux_2_{minor}_{arch}"));
    for platform in platforms.chain([format!("manylinux2014_{arch}")]) {
        args.extend(["--platform".to_owned(), platform]);
    }
    args
}

/// The one wheel in `folder` whose name begins with `prefix`.
pub(super) fn wheel(folder: &Path, prefix: &str) -> Result<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
        .ok_or_else(|| {
            Failure::new("pip fetched another set of wheels than it was asked for")
                .looked(format!("looked for `{prefix}*.whl` in `{}`", folder.display()))
                .help("see whether a pip configuration (`pip config list`) changes what is fetched")
        })
}

/// Puts the finished folder in the old one's place.
fn replace(home: &Path, partial: &Path) -> Result<()> {
    let old = home.with_extension("old");
    remove(&old)?;
    if home.symlink_metadata().is_ok() {
        fs::rename(home, &old).map_err(|error| Failure::file("move away", home, &error))?;
    }
    fs::rename(partial, home).map_err(|error| Failure::file("put in place", home, &error))?;
    remove(&old)
}

pub(super) fn check_platform(os: &str) -> Result<()> {
    if os == "linux" {
        return Ok(());
    }
    Err(Failure::new(format!("libtorch is fetched on Linux only, and this is {os}"))
        .help(format!("unpack libtorch {VERSION} yourself and let LIBTORCH name its folder")))
}

/// A size in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mebibytes(pub(super) u64);

/// Checks that there is room before half a gigabyte is fetched. Where the room is unknown, pip will tell.
pub(super) fn check_space(folder: &Path, needed: Mebibytes, free: fn(&Path) -> Option<Mebibytes>) -> Result<()> {
    match free(folder) {
        Some(free) if free < needed => Err(Failure::new("there is not enough room on the disk for libtorch")
            .looked(format!("needs {} MiB in `{}`, which has {} MiB", needed.0, folder.display(), free.0))
            .help("make room, or let LIBTORCH name a libtorch that lies elsewhere")),
        _ => Ok(()),
    }
}

/// The room on the disk of `folder`, by `df`.
fn free_space(folder: &Path) -> Option<Mebibytes> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let kibibytes: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(Mebibytes(kibibytes / 1024))
}

fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| Failure::file("create", folder, &error))
}

/// Removes a folder or a link to one, if it is there.
fn remove(path: &Path) -> Result<()> {
    let Ok(found) = path.symlink_metadata() else {
        return Ok(());
    };
    let outcome = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    outcome.map_err(|error| Failure::file("remove", path, &error))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Failure::file("write", path, &error))
}

fn link(target: &str, path: &Path) -> Result<()> {
    symlink(target, path).map_err(|error| Failure::file("link", path, &error))
}
