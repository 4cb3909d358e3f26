//! What a build says it has understood: as values, and as the text of `report.txt`.
#![allow(clippy::unwrap_used, reason = "a test may fail so")]
#![allow(clippy::needless_raw_string_hashes, reason = "expectations are written by expect-test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use expect_test::expect;
use fx_passes::Build;

const SOURCE: &str = r#"use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Whole { fc: nn::Linear }

#[traceable]
impl Whole {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs).relu()
    }
}

#[derive(Debug, Module)]
pub struct Partly { fc: nn::Linear, table: std::collections::BTreeMap<String, Tensor> }

#[traceable]
impl Partly {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs).relu();
        let entry = self.table.get("bias").map(|bias| bias.shallow_clone());
        ys.tanh()
    }
}

#[derive(Debug, Module)]
pub struct Generic<M> { inner: M }

#[traceable]
impl<M: nn::Module> Generic<M> {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.inner.forward(xs)
    }
}

#[derive(Debug, Module)]
pub struct Counts { calls: i64 }

#[traceable]
impl Counts {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.calls += 1;
        xs * self.calls
    }
}

#[derive(Debug, Module)]
pub struct Stateful { fc: nn::Linear }

#[traceable]
impl Stateful {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.fc = self.fc.halved();
        self.fc.forward(xs)
    }
}

#[traceable]
pub fn last(xs: &[Tensor]) -> Tensor {
    let mut stack = Vec::new();
    for x in xs {
        stack.push(x.relu().tanh());
    }
    let last = stack.pop();
    let top = last.as_ref().unwrap();
    let sum = top + 1.0;
    sum.neg() + stack.len() as i64
}
"#;

fn package(test: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/lib.rs"), SOURCE).unwrap();
    root
}

#[test]
fn values_say_how_much_is_understood() {
    let report = Build::new().report(&package("report_values"));
    let rows: Vec<(&str, usize, usize, usize)> =
        report.iter().map(|item| (item.name.as_str(), item.known, item.carried, item.opaque.len())).collect();
    let expected = [
        ("Whole", 2, 0, 0),
        ("Partly", 3, 4, 1),
        ("Generic<M>", 0, 1, 1),
        ("Counts", 1, 0, 0),
        ("Stateful", 0, 1, 1),
        ("last", 5, 0, 0),
    ];
    assert_eq!(rows, expected);
    let shares: Vec<f64> = report.iter().map(fx_passes::Coverage::share).collect();
    assert_eq!(shares, [1.0, 3.0 / 7.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!((report[1].place.to_string().as_str(), report[1].opaque[0].place.line), ("src/lib.rs:18", 20));
}

#[test]
fn text_names_each_piece_with_its_place_and_reason() {
    let report = Build::new().report(&package("report_text"));
    let text = report.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
    expect![[r#"
        `Whole` (src/lib.rs:8): 2 of 2 operations understood, 100.0 %
        `Partly` (src/lib.rs:18): 3 of 7 operations understood, 42.8 %
          src/lib.rs:20: the method `map`
        `Generic<M>` (src/lib.rs:30): 0 of 1 operations understood, 0.0 %
          src/lib.rs:30: `Generic<M>` gets no frozen type and stays as it is: it has parameters, and nothing in the crate says what is put in for them
        `Counts` (src/lib.rs:40): 1 of 1 operations understood, 100.0 %
        `Stateful` (src/lib.rs:52): 0 of 1 operations understood, 0.0 %
          src/lib.rs:52: `Stateful` gets no frozen type and stays as it is: `forward` takes `&mut self`, and its writes cannot be followed: the forward writes to `fc`, which is a layer or holds one
        `last` (src/lib.rs:58): 5 of 5 operations understood, 100.0 %
    "#]].assert_eq(&text);
}

#[test]
fn the_file_holds_what_is_wrong_and_how_much_is_understood() {
    let root = package("report_file");
    let told = Build::new().generate(&root, &root.join("out"));
    let told: Vec<String> = told.into_iter().filter(|line| !line.starts_with("cargo::rerun")).collect();
    let told: Vec<String> = told.iter().map(|line| line.replace(&root.display().to_string(), "")).collect();
    expect![[r#"
        cargo::warning=src/lib.rs:30: `Generic<M>` gets no frozen type and stays as it is: it has parameters, and nothing in the crate says what is put in for them [FX0013]   help: an alias in the crate says which type to freeze: `type Small = Net<Block>;`
        cargo::warning=src/lib.rs:52: `Stateful` gets no frozen type and stays as it is: `forward` takes `&mut self`, and its writes cannot be followed: the forward writes to `fc`, which is a layer or holds one [FX0009]   help: assign to the fields themselves (`self.cache = Some(kv)`), or hand the state in and out of a `&self` forward
        cargo::warning=`Partly` (src/lib.rs:18): 4 of 7 operations are not understood and run as they are written, and `save` may refuse it: src/lib.rs:20: the method `map` (all: /out/fx/report.txt)"#]].assert_eq(&told.join("\n"));
    expect![[r#"
        src/lib.rs:20: carried along, not understood: the method `map` [FX0008]
          help: written with ops that are known it would be optimised with what stands around it
        src/lib.rs:30: `Generic<M>` gets no frozen type and stays as it is: it has parameters, and nothing in the crate says what is put in for them [FX0013]
          help: an alias in the crate says which type to freeze: `type Small = Net<Block>;`
        src/lib.rs:52: `Stateful` gets no frozen type and stays as it is: `forward` takes `&mut self`, and its writes cannot be followed: the forward writes to `fc`, which is a layer or holds one [FX0009]
          help: assign to the fields themselves (`self.cache = Some(kv)`), or hand the state in and out of a `&self` forward
        `Whole`: beside inputs and weights, at most 1 tensor of its own is alive at once, at `fc, relu` (src/lib.rs:9)
        `Partly`: beside inputs and weights, at most 2 tensors of its own are alive at once, at `tanh` (src/lib.rs:21)
        `Partly` is never recorded as a CUDA graph: `opaque` (src/lib.rs:20) is more than a computation
        `Counts`: beside inputs and weights, at most 1 tensor of its own is alive at once, at `mul` (src/lib.rs:42)
        `Counts` is never recorded as a CUDA graph: `forward` takes `&mut self`, and what it writes is not repeated with it
        `last`: beside inputs and weights, at most 2 tensors of its own are alive at once, at `tanh` (src/lib.rs:61)
        `last` is never recorded as a CUDA graph: `xs: & [Tensor]` is not a tensor
        `Whole` (src/lib.rs:8): 2 of 2 operations understood, 100.0 %
        `Partly` (src/lib.rs:18): 3 of 7 operations understood, 42.8 %
        `Generic<M>` (src/lib.rs:30): 0 of 1 operations understood, 0.0 %
        `Counts` (src/lib.rs:40): 1 of 1 operations understood, 100.0 %
        `Stateful` (src/lib.rs:52): 0 of 1 operations understood, 0.0 %
        `last` (src/lib.rs:58): 5 of 5 operations understood, 100.0 %
    "#]].assert_eq(&fs::read_to_string(root.join("out/fx/report.txt")).unwrap());
}

#[test]
fn a_skipped_item_has_a_type_without_values() {
    let root = package("report_skipped");
    Build::new().generate(&root, &root.join("out"));
    let (said, declared): (Vec<_>, Vec<_>) =
        ["Generic", "Stateful"].map(|name| last_lines(&root, name)).into_iter().unzip();
    assert_eq!(declared, ["pub enum GenericFrozen {}", "pub enum StatefulFrozen {}"]);
    assert!(
        said[1].contains("`Stateful` gets no frozen type and stays as it is: `forward` takes `&mut self`"),
        "{said:?}"
    );
}

/// What the file of an item says in its first line of documentation, and declares in its last line.
fn last_lines(root: &Path, name: &str) -> (String, String) {
    let text = fs::read_to_string(root.join(format!("out/fx/{name}.rs"))).unwrap();
    let doc = text.lines().find(|line| line.starts_with("#[doc")).unwrap();
    (doc.to_owned(), text.lines().last().unwrap().to_owned())
}

const HONEST: &str = r#"use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Block { a: nn::Linear, b: nn::Linear, table: std::collections::BTreeMap<String, Tensor> }

impl Block {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let scale = self.scale();
        xs.apply(&self.a).relu().apply(&self.b) * scale
    }

    fn scale(&self) -> &Tensor {
        loop { if let Some(scale) = self.table.get("scale") { return scale; } }
    }
}

#[derive(Debug, Module)]
pub struct Holds { blocks: Vec<Block>, fc: nn::Linear }

#[traceable]
impl Holds {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for block in &self.blocks {
            ys = block.forward(&ys);
        }
        ys
    }
}

#[derive(Debug, Module)]
pub struct Chained { chain: nn::Sequential, more: nn::Sequential }

impl Chained {
    pub fn of(chain: nn::Sequential, p: &nn::Path, slope: f64) -> Chained {
        Chained { chain, more: nn::seq().add(nn::linear(p, 2, 2, Default::default())).add_fn(move |xs| xs * slope) }
    }
}

#[traceable]
impl Chained {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.chain).apply(&self.more)
    }
}
"#;

/// The weight of opaque code is that of what it calls, and a layer whose code is not known is not understood.
#[test]
fn what_lies_below_opaque_code_counts() {
    let root = package("honest");
    fs::write(root.join("src/lib.rs"), HONEST).unwrap();
    let report = Build::new().report(&root).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
    expect![[r#"
        `Holds` (src/lib.rs:22): 5 of 10 operations understood, 50.0 %
          src/lib.rs:13: branches that hand over values of different forms
        `Chained` (src/lib.rs:42): 1 of 3 operations understood, 33.3 %
          src/lib.rs:43: a `Sequential` whose layers are not known, so that they run one by one: `chain` at src/lib.rs:36 could not be read
          src/lib.rs:43: a closure that captures values of the function that makes it; `#[traceable]` on that function, or on the impl that it is in, makes a layer of it
    "#]]
    .assert_eq(&report);
    let told = Build::new().generate(&root, &root.join("out")).join("\n").replace(&root.display().to_string(), "");
    let told: Vec<&str> = told.lines().filter(|line| line.starts_with("cargo::warning")).collect();
    expect![[r#"
        cargo::warning=`Holds` (src/lib.rs:22): 5 of 10 operations are not understood and run as they are written, and `save` may refuse it: src/lib.rs:13: branches that hand over values of different forms (all: /out/fx/report.txt)
        cargo::warning=`Chained` (src/lib.rs:42): 2 of 3 operations are not understood and run as they are written, and `save` may refuse it: src/lib.rs:43: a `Sequential` whose layers are not known, so that they run one by one: `chain` at src/lib.rs:36 could not be read; src/lib.rs:43: a closure that captures values of the function that makes it; `#[traceable]` on that function, or on the impl that it is in, makes a layer of it (all: /out/fx/report.txt)"#]].assert_eq(&told.join("\n"));
}

#[test]
fn a_forward_that_computes_gradients_gets_no_frozen_type() {
    let root = package("gradients");
    let source = "use fx_runtime::{Module, Tensor, nn, traceable};\n\n#[derive(Debug, Module)]\npub struct Slope { fc: nn::Linear }\n\n\
        #[traceable]\nimpl Slope {\n    pub fn forward(&self, xs: &Tensor) -> Tensor {\n        let ys = xs.apply(&self.fc);\n        \
        Tensor::run_backward(&[ys], &[xs], false, false).remove(0)\n    }\n}\n";
    fs::write(root.join("src/lib.rs"), source).unwrap();
    let told = Build::new().generate(&root, &root.join("out")).join("\n");
    assert!(
        told.contains("`Slope` gets no frozen type and stays as it is: it computes gradients (src/lib.rs:10)"),
        "{told}"
    );
}

#[test]
fn a_forward_of_a_trait_of_the_crate_is_not_taken_for_the_layers_own() {
    const OWN: &str = r#"use fx_runtime::{Module, Tensor, nn, traceable};

pub trait Forward {
    fn forward(&self, xs: &Tensor) -> Tensor;
}

impl Forward for nn::Linear {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(self).relu()
    }
}

#[derive(Debug, Module)]
pub struct InScope { fc: nn::Linear }

#[traceable]
impl InScope {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs)
    }
}

mod elsewhere {
    use fx_runtime::{Module, Tensor, nn, nn::Module as _, traceable};

    #[derive(Debug, Module)]
    pub struct OutOfScope { fc: nn::Linear }

    #[traceable]
    impl OutOfScope {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            self.fc.forward(xs)
        }
    }
}
"#;
    let root = package("own_forward");
    fs::write(root.join("src/lib.rs"), OWN).unwrap();
    let report = Build::new().report(&root);
    let carried: Vec<(&str, bool)> = report.iter().map(|item| (item.name.as_str(), item.carried > 0)).collect();
    assert_eq!(carried, [("InScope", true), ("OutOfScope", false)]);
}

#[test]
fn what_is_only_borrowed_is_not_dropped() {
    let root = package("borrowed");
    Build::new().generate(&root, &root.join("out"));
    let code = fs::read_to_string(root.join("out/fx/last.rs")).unwrap();
    assert!(code.contains("let top = &*") && !code.contains("drop(top)"), "{code}");
}

const LIVES: &str = r#"use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Layers { a: nn::Linear, b: nn::Linear, c: nn::Linear, more: Vec<nn::Linear> }

#[traceable]
impl Layers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.a.forward(xs).relu();
        let ys = self.b.forward(&ys).relu();
        self.c.forward(&ys)
    }
}

#[traceable]
pub fn together(xs: &Tensor) -> Tensor {
    let a = xs.softmax(-1, None::<fx_runtime::Kind>);
    let b = a.cumsum(-1, None::<fx_runtime::Kind>);
    let c = b.cumsum(-1, None::<fx_runtime::Kind>);
    Tensor::cat(&[&a, &b, &c], 1)
}

#[traceable]
pub fn turns(xs: &Tensor, count: i64) -> Tensor {
    let mut ys = xs.cumsum(-1, None::<fx_runtime::Kind>);
    for _ in 0..count {
        let zs = ys.cumsum(-1, None::<fx_runtime::Kind>);
        ys = Tensor::cat(&[&ys, &zs], 1);
    }
    ys.cumsum(0, None::<fx_runtime::Kind>)
}

#[traceable]
pub fn arms(xs: &Tensor, wide: bool) -> Tensor {
    let ys = xs.cumsum(-1, None::<fx_runtime::Kind>);
    if wide {
        let a = ys.cumsum(-1, None::<fx_runtime::Kind>);
        let b = a.cumsum(-1, None::<fx_runtime::Kind>);
        let c = b.cumsum(-1, None::<fx_runtime::Kind>);
        Tensor::cat(&[&ys, &a, &b, &c], 1)
    } else {
        ys.cumsum(0, None::<fx_runtime::Kind>)
    }
}
"#;

/// Counted by hand: what a call has made and not yet let go of, with what it is just making.
#[test]
fn the_most_tensors_that_are_alive_at_once() {
    let root = package("lives");
    fs::write(root.join("src/lib.rs"), LIVES).unwrap();
    Build::new().generate(&root, &root.join("out"));
    let report = fs::read_to_string(root.join("out/fx/report.txt")).unwrap();
    for line in [
        "`Layers`: beside inputs and weights, at most 2 tensors of its own are alive at once, at `b, relu` (src/lib.rs:10)",
        "`together`: beside inputs and weights, at most 4 tensors of its own are alive at once, at `cat` (src/lib.rs:20)",
        "`turns`: beside inputs and weights, at most 3 tensors of its own are alive at once, at `cat` (src/lib.rs:28)",
        "`arms`: beside inputs and weights, at most 5 tensors of its own are alive at once, at `cat` (src/lib.rs:40)",
    ] {
        assert!(report.lines().any(|found| found == line), "{line}\n{report}");
    }
}
