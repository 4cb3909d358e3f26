//! Packages that a package depends on by path: of what they declare the build knows the signatures.
#![allow(clippy::unwrap_used, reason = "a test may fail so")]

use std::{fs, path::Path};

use fx_passes::Build;

const LAYERS: &str = r#"
pub mod attention {
    use tch::{Tensor, nn};

    pub struct Attention { q: nn::Linear, heads: i64 }

    impl Attention {
        pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
            let ys = xs.apply(&self.q);
            mask.map_or_else(|| ys.shallow_clone(), |mask| &ys + mask)
        }

        pub fn heads(&self) -> i64 { self.heads }

        pub fn width(heads: i64) -> i64 { heads * 4 }
    }
}

pub enum Activation { Relu, Gelu }

impl Activation {
    pub fn of(&self, xs: &tch::Tensor) -> tch::Tensor {
        match self { Activation::Relu => xs.relu(), Activation::Gelu => xs.gelu("none") }
    }
}

pub fn split(xs: &tch::Tensor, heads: i64) -> (tch::Tensor, i64) {
    let width = xs.size()[1] / heads;
    (xs.view([-1, heads, width]), width)
}
"#;

const NET: &str = r"use fx_runtime::{Module, Tensor, nn, traceable};
use blocks::{Activation, attention::Attention};

#[derive(Debug, Module)]
pub struct Net { fc: nn::Linear, attention: Attention, activation: Activation }

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let ys = self.fc.forward(xs).relu();
        let ys = self.activation.of(&self.attention.forward(&ys, mask));
        let (ys, width) = blocks::split(&ys.tanh(), self.attention.heads());
        let ys = ys.sum_dim_intlist([1i64].as_slice(), false, None) / width;
        ys.sin() * (Attention::width(2) + 1)
    }
}
";

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A workspace with a package of layers, and one with a net, whose manifest has that line.
fn workspace(dependency: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let members =
        "[workspace]\nmembers = [\"net\", \"layers\"]\n[workspace.dependencies]\nlayers = { path = \"layers\" }";
    write(root.path(), "Cargo.toml", members);
    let layers = "[package]\nname = \"layers\"\n[lib]\nname = \"blocks\"\n[dependencies]\ntch = \"0.24\"";
    write(root.path(), "layers/Cargo.toml", layers);
    write(root.path(), "layers/src/lib.rs", LAYERS);
    let net = format!("[package]\nname = \"net\"\n[dependencies]\nfx-runtime = \"0.1\"\n{dependency}\n");
    write(root.path(), "net/Cargo.toml", &net);
    write(root.path(), "net/src/lib.rs", NET);
    root
}

/// The operations that are understood, all of them, and how many pieces of code are not.
fn understood(dependency: &str) -> (usize, usize, usize) {
    let root = workspace(dependency);
    let all = Build::new().report(&root.path().join("net"));
    assert_eq!(all.len(), 1, "{all:?}");
    let net = &all[0];
    (net.known, net.known + net.carried, net.opaque.len())
}

#[test]
fn signatures_of_packages_by_path_are_known() {
    let unknown = understood("layers = \"1\"");
    assert_eq!((unknown.0, unknown.2), (0, 1), "{unknown:?}");
    for dependency in ["layers = { path = \"../layers\" }", "layers = { workspace = true }"] {
        let known = understood(dependency);
        assert_eq!((known.0, known.2), (7, 3), "{dependency}: {known:?}");
    }
}

#[test]
fn an_entry_may_give_the_package_another_name() {
    let known = understood("blocks = { package = \"layers\", path = \"../layers\" }");
    assert_eq!((known.0, known.2), (7, 3), "{known:?}");
}

#[test]
fn a_manifest_that_cannot_be_read_is_none_of_ours() {
    let root = workspace("layers = { path = \"../layers\" }");
    write(root.path(), "net/Cargo.toml", "[package");
    assert_eq!(Build::new().report(&root.path().join("net")).len(), 1);
}

#[test]
fn their_sources_are_watched() {
    let root = workspace("layers = { path = \"../layers\" }");
    let out = tempfile::tempdir().unwrap();
    let lines = Build::new().generate(&root.path().join("net"), out.path());
    assert!(lines.iter().any(|line| line == "cargo::rerun-if-changed=../layers/src/lib.rs"), "{lines:?}");
}

#[test]
fn programs_know_the_library_of_their_package() {
    let root = workspace("tch = \"0.24\"");
    let net = root.path().join("net");
    write(&net, "src/lib.rs", LAYERS);
    write(&net, "src/main.rs", &NET.replace("blocks", "net"));
    let all = Build::new().report(&net);
    assert_eq!((all.len(), all[0].known, all[0].opaque.len()), (1, 7, 3), "{all:?}");
}

#[test]
fn methods_of_theirs_that_write_are_told_from_others() {
    let root = workspace("layers = { path = \"../layers\" }");
    let counter = r"
#[derive(Clone)]
pub struct Counter { n: i64 }
impl Counter {
    pub fn step(&mut self, xs: &tch::Tensor) -> tch::Tensor { self.n += 1; xs * self.n }
    pub fn look(&self, xs: &tch::Tensor) -> tch::Tensor { xs * self.n }
}
";
    write(root.path(), "layers/src/lib.rs", counter);
    let net = r"use fx_runtime::{Module, Tensor, nn, traceable};
use blocks::Counter;
#[derive(Debug, Module)]
pub struct Net { fc: nn::Linear, counter: Counter }
#[traceable]
impl Net {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = self.counter.step(&xs.apply(&self.fc));
        ys.relu() + self.counter.look(xs)
    }
}
";
    write(root.path(), "net/src/lib.rs", net);
    let out = tempfile::tempdir().unwrap();
    let _ = Build::new().generate(&root.path().join("net"), out.path());
    let text = fs::read_to_string(out.path().join("fx/Net.rs")).unwrap();
    assert!(text.contains("let self_counter = &mut *held_counter;"), "{text}");
}
