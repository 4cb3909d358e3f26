//! What the tracer does not understand, and what it says of it: a line for each, by the body of a forward.
#![allow(clippy::needless_pass_by_value, reason = "an expectation is handed over")]
#![allow(clippy::needless_raw_string_hashes, reason = "expectations are written by expect-test")]

mod common;

use std::fmt::Write as _;

use common::traced;
use expect_test::{Expect, expect};
use fx_ir::Op;

/// A model with a field of each kind, and these bodies of its forward: the reasons for which code is carried along.
fn reasons(bodies: &[&str]) -> String {
    let mut all = String::new();
    for body in bodies {
        let source = format!(
            "use fx_runtime::{{Kind, Module, Tensor, nn, traceable}};
             fn recursive(xs: &Tensor, n: i64) -> Tensor {{ if n == 0 {{ xs.relu() }} else {{ recursive(xs, n - 1) }} }}
             fn count(n: &mut i64) {{}}
             #[derive(Module)] struct Net {{ fc: nn::Linear, drop: nn::Dropout, names: Vec<String>, any: Custom, state: std::num::NonZeroI64 }}
             #[traceable] impl Net {{ fn forward(&self, xs: &Tensor, opt: Option<&Tensor>) -> Tensor {{ {body} }} }}"
        );
        let (graph, _) = traced(&source);
        assert!(graph.lint().is_ok(), "{graph}");
        let found: Vec<String> = graph
            .nodes()
            .into_iter()
            .filter_map(|id| match &graph.node(id).op {
                Op::Rust(code) => code.opaque.clone(),
                _ => None,
            })
            .collect();
        assert!(!found.is_empty(), "it is understood: {body}");
        let _ = write!(all, "{body}\n    {}\n", found.join("; "));
    }
    all
}

fn check(bodies: &[&str], expected: Expect) {
    expected.assert_eq(&reasons(bodies));
}

#[test]
fn expressions() {
    check(
        &[
            "let ys = unsafe { xs.relu() }; ys",
            "let ys = xs.relu(); let f = helper as fn(&Tensor) -> Tensor; f(&ys)",
            "let text = format!(\"{:?}\", xs.size()); println!(\"{text}\"); xs.relu()",
            "let scales = vec![1.5; 3]; xs * scales[0]",
            "let n = self.state.get(); xs * n",
            "let ys = self.any.compute(xs); ys.relu()",
            "let t = std::time::Instant::now(); let ys = xs.relu(); drop(t); ys",
            "let n = 1.0; let ys = Tensor::from_slice(&[n, 2.0]); xs + ys",
            "let w = xs.size() as Custom; xs.relu()",
        ],
        expect![[r#"
            let ys = unsafe { xs.relu() }; ys
                `unsafe` code is not understood
            let ys = xs.relu(); let f = helper as fn(&Tensor) -> Tensor; f(&ys)
                a cast of a value whose type is not known; a call of a value
            let text = format!("{:?}", xs.size()); println!("{text}"); xs.relu()
                the macro `format!`
            let scales = vec![1.5; 3]; xs * scales[0]
                `vec![value; count]`; a tensor and a value that is not known to be a number
            let n = self.state.get(); xs * n
                the method `get`; a tensor and a value that is not known to be a number
            let ys = self.any.compute(xs); ys.relu()
                the method `compute`; the method `relu`
            let t = std::time::Instant::now(); let ys = xs.relu(); drop(t); ys
                the function `std::time::Instant::now`; the meaning of `drop` is not known
            let n = 1.0; let ys = Tensor::from_slice(&[n, 2.0]); xs + ys
                the argument `data` of `from_slice`
            let w = xs.size() as Custom; xs.relu()
                a cast of a value whose type is not known
        "#]],
    );
}

#[test]
fn calls() {
    check(
        &[
            "recursive(xs, 3)",
            "xs.no_such_method(1)",
            "Tensor::no_such_function(1)",
            "unknown_function(xs)",
            "self.missing(xs)",
            "crate::elsewhere::f(xs)",
            "xs.apply(&self.any)",
            "self.drop.forward_t(xs, true)",
        ],
        expect![[r#"
            recursive(xs, 3)
                `recursive` calls itself
            xs.no_such_method(1)
                the method `no_such_method` of a tensor
            Tensor::no_such_function(1)
                `Tensor::no_such_function` is not known
            unknown_function(xs)
                the meaning of `unknown_function` is not known
            self.missing(xs)
                the method `missing`
            crate::elsewhere::f(xs)
                the function `crate::elsewhere::f`
            xs.apply(&self.any)
                a module whose forward is not known
            self.drop.forward_t(xs, true)
                a layer in training
        "#]],
    );
}

#[test]
fn control_flow() {
    check(
        &[
            "let mut ys = xs.relu(); loop { ys = ys.relu(); } ys",
            "match xs.dim() { n if n > self.names.len() => xs.relu(), _ => self.any.f() }",
            "let mut ys = xs.relu(); for a in 0..3 { 'b: for b in 0..3 { match a { 1 => { break 'b; } _ => {} } } ys = ys.relu(); break 'c; } ys",
            "let mut ys = xs.relu(); for name in &self.names { ys = ys * name.capacity() as i64; } ys",
            "let n: usize = self.names.iter().map(|name| name.capacity()).sum(); xs * n as i64",
            "let mut ys = xs.relu(); for x in self.any.items() { ys = ys + x; } ys",
            "async fn f() {} xs.relu()",
        ],
        expect![[r#"
            let mut ys = xs.relu(); loop { ys = ys.relu(); } ys
                `loop` without a `break` that is understood
            match xs.dim() { n if n > self.names.len() => xs.relu(), _ => self.any.f() }
                the method `f`
            let mut ys = xs.relu(); for a in 0..3 { 'b: for b in 0..3 { match a { 1 => { break 'b; } _ => {} } } ys = ys.relu(); break 'c; } ys
                `break` is not understood
            let mut ys = xs.relu(); for name in &self.names { ys = ys * name.capacity() as i64; } ys
                the method `capacity`
            let n: usize = self.names.iter().map(|name| name.capacity()).sum(); xs * n as i64
                the method `sum`
            let mut ys = xs.relu(); for x in self.any.items() { ys = ys + x; } ys
                a loop over a value that is not known to be a list
            async fn f() {} xs.relu()
                an item inside a function body
        "#]],
    );
}

#[test]
fn layers_of_tchs_own_are_told() {
    let source = "
        use fx_runtime::{Module, Tensor, traceable};
        use tch::nn;
        #[derive(Module)] struct Net { fc: nn::Linear }
        #[traceable] impl Net { pub fn forward(&self, xs: &Tensor) -> Tensor { xs.apply(&self.fc) } }";
    let (_, diags) = common::traced(source);
    let told: String = diags.into_sorted().iter().map(ToString::to_string).collect();
    assert!(told.contains("`fc` of `Net` is tch's own `Linear`, which fx cannot see into [FX0014]"), "{told}");
    assert!(told.contains("take it from `fx_runtime::nn`"), "{told}");
}
