//! Each way in which libtorch can be missing, and the words that say so.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::fetch::{Mebibytes, check_platform, check_space};
use super::{Host, Source, Variant, ensure_on};

/// A folder that stands for a machine, and goes away with its value.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A `python3` that is this shell script.
    fn python(self, script: &str) -> Self {
        crate::script::write(&self.0.path().join("python3"), script);
        self
    }

    /// A libtorch folder that looks complete.
    fn libtorch(&self, version: &str) -> PathBuf {
        let home = self.0.path().join("torch");
        for name in ["lib/libtorch_cpu.so", "lib/libc10.so", "lib/libtorch.so", "include/ATen/ATen.h"] {
            fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            fs::write(home.join(name), "").unwrap();
        }
        fs::write(home.join("build-version"), version).unwrap();
        home
    }

    /// A machine whose PATH is this folder alone.
    fn host(&self) -> Host {
        Host { path: self.0.path().into(), libtorch: None, use_pytorch: false }
    }

    fn own(&self) -> PathBuf {
        self.0.path().join(".libtorch")
    }

    fn failure(&self, host: &Host) -> String {
        ensure_on(host, &self.own(), Variant::Cpu).unwrap_err().to_string()
    }
}

#[track_caller]
fn says(failure: &str, words: &[&str]) {
    for words in words {
        assert!(failure.contains(words), "`{words}` is not in:\n{failure}");
    }
}

#[test]
fn no_python() {
    let scratch = Scratch::new();
    let path = scratch.0.path().display().to_string();
    says(
        &scratch.failure(&scratch.host()),
        &["no Python 3", "`python3` and `python` on PATH", &path, "apt install", "LIBTORCH"],
    );
}

#[test]
fn no_pip() {
    let scratch = Scratch::new().python("echo 'No module named pip' >&2; exit 1");
    says(&scratch.failure(&scratch.host()), &["no pip", "-m pip --version", "| No module named pip", "python3-pip"]);
}

#[test]
fn no_network() {
    let script = "case \"$*\" in *--version) exit 0;; esac
        for i in 1 2 3 4 5 6 7 8; do echo \"line $i\" >&2; done
        echo 'ERROR: Temporary failure in name resolution' >&2; exit 1";
    let scratch = Scratch::new().python(script);
    let failure = scratch.failure(&scratch.host());
    says(
        &failure,
        &["could not fetch", "torch==2.11.0", "| line 8", "name resolution", "check the network", "LIBTORCH"],
    );
    assert!(!failure.contains("line 3"), "only the last lines belong in:\n{failure}");
    assert!(!scratch.own().with_extension("partial").exists(), "what was begun must be removed");
}

#[test]
fn no_index() {
    let script = "case \"$*\" in *--version) exit 0;; esac
        echo 'ERROR: No matching distribution (from versions: none)' >&2; exit 1";
    let scratch = Scratch::new().python(script);
    says(&scratch.failure(&scratch.host()), &["the package index was not reached", "PIP_INDEX_URL"]);
}

#[test]
fn pip_fails_otherwise() {
    let script = "case \"$*\" in *--version) exit 0;; esac; echo 'no such option: --platform' >&2; exit 2";
    let scratch = Scratch::new().python(script);
    says(&scratch.failure(&scratch.host()), &["exit status: 2", "no such option", "upgrade pip"]);
}

#[test]
fn pip_fetches_nothing() {
    let scratch = Scratch::new().python("exit 0");
    says(&scratch.failure(&scratch.host()), &["another set of wheels", "`torch-*.whl`", "pip config list"]);
}

#[test]
fn folder_without_libtorch() {
    let scratch = Scratch::new();
    let host = |home: &Path| Host { libtorch: Some(home.to_path_buf()), ..scratch.host() };
    says(&scratch.failure(&host(Path::new("/nowhere/torch"))), &["no libtorch at `/nowhere/torch`", "unset LIBTORCH"]);
    let home = scratch.libtorch("2.11.0+cpu");
    fs::remove_file(home.join("lib/libtorch_cpu.so")).unwrap();
    says(
        &scratch.failure(&host(&home)),
        &["not a complete libtorch", "missing: `", "lib/libtorch_cpu.so`", "unset LIBTORCH"],
    );
}

#[test]
fn wrong_version() {
    let scratch = Scratch::new();
    let host = Host { libtorch: Some(scratch.libtorch("2.9.1+cpu\n")), ..scratch.host() };
    says(
        &scratch.failure(&host),
        &["is version 2.9.1+cpu", "needs 2.11.0", "pip install torch==2.11.0", "unset LIBTORCH"],
    );
}

#[test]
fn right_folder_is_taken() {
    let scratch = Scratch::new();
    let home = scratch.libtorch("2.11.0+cu130");
    let host = Host { libtorch: Some(home.clone()), ..scratch.host() };
    assert_eq!(ensure_on(&host, &scratch.own(), Variant::Cpu).unwrap().source, Source::Folder(home));
}

#[test]
fn configured_folder_is_our_own() {
    let scratch = Scratch::new();
    fs::rename(scratch.libtorch("2.11.0"), scratch.own()).unwrap();
    let host = Host { libtorch: Some(scratch.own()), ..scratch.host() };
    assert_eq!(ensure_on(&host, &scratch.own(), Variant::Cpu).unwrap().source, Source::Workspace);
}

#[test]
fn pytorch_of_the_active_python() {
    let scratch = Scratch::new().python("echo '2.11.0+cu130'; echo /site/torch");
    let host = Host { use_pytorch: true, ..scratch.host() };
    assert_eq!(ensure_on(&host, &scratch.own(), Variant::Cpu).unwrap().home, Path::new("/site/torch"));

    let scratch = Scratch::new().python("echo '2.8.0'; echo /site/torch");
    let host = Host { use_pytorch: true, ..scratch.host() };
    says(&scratch.failure(&host), &["the PyTorch of `", "is version 2.8.0", "needs 2.11.0"]);

    let scratch = Scratch::new().python("echo \"No module named 'torch'\" >&2; exit 1");
    let host = Host { use_pytorch: true, ..scratch.host() };
    says(&scratch.failure(&host), &["has no PyTorch", "| No module named 'torch'", "unset LIBTORCH_USE_PYTORCH"]);
}

#[test]
fn no_room() {
    let failure = check_space(Path::new("/x"), Mebibytes(1_700), |_| Some(Mebibytes(12))).unwrap_err().to_string();
    says(&failure, &["not enough room", "needs 1700 MiB in `/x`, which has 12 MiB", "make room"]);
    assert!(check_space(Path::new("/x"), Mebibytes(1), |_| Some(Mebibytes(1))).is_ok());
    assert!(check_space(Path::new("/x"), Mebibytes(1), |_| None).is_ok());
}

#[test]
fn not_linux() {
    says(&check_platform("macos").unwrap_err().to_string(), &["on Linux only", "macos", "LIBTORCH"]);
}
