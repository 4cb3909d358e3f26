//! What users' attributes do, told by the graph: each source once with the attribute and once without.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use fx_front::{
    diag::{Diagnostics, Severity},
    scan, trace,
};
use fx_ir::{Effect, Graph, HostOp, ModuleKind, NodeId, Op};
use fx_passes::pass::PassContext;
use fx_passes::pipeline::Pipeline;

/// The first entry of a source as traced, and the faults found in it.
fn traced(source: &str) -> (Graph, Vec<String>) {
    let diags = Diagnostics::new();
    let index = scan::text(source, &diags);
    let item = index.fns.iter().position(|function| function.key.is_some()).expect("an entry");
    let graph = trace::item(&index, item, &diags).graph;
    assert!(graph.lint().is_ok(), "{graph}");
    let faults = diags.into_sorted().into_iter().filter(|one| one.severity == Severity::Error);
    (graph, faults.map(|one| one.to_string()).collect())
}

/// The graph of a source in which nothing is wrong.
fn graph(source: &str) -> Graph {
    let (graph, faults) = traced(source);
    assert_eq!(faults, [""; 0]);
    graph
}

/// The same after the passes for inference.
fn optimised(source: &str) -> Graph {
    let mut graph = graph(source);
    Pipeline::inference().run(&mut graph, &PassContext::new(false)).unwrap_or_else(|error| panic!("{error}"));
    graph
}

fn nodes(graph: &Graph, is: impl Fn(&Op) -> bool) -> Vec<NodeId> {
    graph.nodes().into_iter().filter(|&id| is(&graph.node(id).op)).collect()
}

/// The calls of a function or a method of the user's own.
fn calls(graph: &Graph, name: &str) -> Vec<NodeId> {
    nodes(graph, |op| match op.host() {
        Some(HostOp::Call(path)) => path.rsplit("::").next() == Some(name),
        Some(HostOp::CallMethod(method)) => method == name,
        _ => false,
    })
}

fn layers(graph: &Graph, kind: &str) -> usize {
    nodes(graph, |op| matches!(op, Op::CallModule(ModuleKind(called)) if called == kind)).len()
}

fn ops(graph: &Graph, name: &str) -> usize {
    nodes(graph, |op| matches!(op, Op::Call(op) if op.to_string() == name)).len()
}

fn loops(graph: &Graph) -> usize {
    nodes(graph, |op| matches!(op, Op::For(_) | Op::While)).len()
}

/// A model with a submodule, whose field has this attribute, and a function that has that one.
fn nested(field: &str, function: &str) -> String {
    format!(
        "use fx_runtime::{{Module, Tensor, fx, nn, traceable}};
        #[derive(Module)] pub struct Inner {{ fc: nn::Linear }}
        impl Inner {{ pub fn forward(&self, xs: &Tensor) -> Tensor {{ self.fc.forward(xs).tanh() }} }}
        #[derive(Module)] pub struct Net {{ {field} inner: Inner }}
        {function} fn bent(xs: &Tensor) -> Tensor {{ xs.relu() * 2.0 }}
        #[traceable] impl Net {{ pub fn forward(&self, xs: &Tensor) -> Tensor {{ bent(&self.inner.forward(xs)) }} }}"
    )
}

#[test]
fn a_leaf_is_one_call_that_is_not_looked_into() {
    let counts =
        |graph: &Graph| [layers(graph, "Linear"), ops(graph, "tanh"), ops(graph, "relu"), ops(graph, "mul.Scalar")];
    let whole = graph(&nested("", ""));
    assert_eq!((calls(&whole, "forward").len(), calls(&whole, "bent").len(), counts(&whole)), (0, 0, [1, 1, 1, 1]));
    let module = graph(&nested("#[fx(leaf)]", ""));
    assert_eq!((calls(&module, "forward").len(), calls(&module, "bent").len(), counts(&module)), (1, 0, [0, 0, 1, 1]));
    let function = graph(&nested("", "#[fx(leaf)]"));
    let (forward, bent) = (calls(&function, "forward").len(), calls(&function, "bent").len());
    assert_eq!((forward, bent, counts(&function)), (0, 1, [1, 1, 0, 0]));
    let forward = "pub fn forward(&self, xs: &Tensor) -> Tensor { self";
    let method = graph(&nested("", "").replace(forward, &format!("#[fx(leaf)] {forward}")));
    assert_eq!((calls(&method, "forward").len(), calls(&method, "bent").len(), counts(&method)), (1, 0, [0, 0, 1, 1]));
}

/// Two equal calls, one with another argument, and one whose result is not used.
fn four_calls(attribute: &str) -> String {
    format!(
        "use fx_runtime::{{Kind, Tensor, fx, traceable}};
        {attribute} fn positions(len: i64, like: &Tensor) -> Tensor {{ Tensor::arange(len, (Kind::Float, like.device())) }}
        #[traceable] pub fn forward(xs: &Tensor) -> Tensor {{
            let unused = positions(3, xs);
            let first = xs + positions(2, xs);
            let second = xs * positions(2, xs);
            first + second + positions(1, xs)
        }}"
    )
}

#[test]
fn pure_calls_are_merged_and_dropped() {
    let (leaf, pure) = (four_calls("#[fx(leaf)]"), four_calls("#[fx(leaf, pure)]"));
    for (source, effect, left) in [(leaf, Effect::Io, 4), (pure, Effect::Pure, 2)] {
        let traced = graph(&source);
        let effects: Vec<Effect> =
            calls(&traced, "positions").into_iter().map(|id| traced.node(id).op.effect()).collect();
        assert_eq!(effects, [effect; 4], "{traced}");
        let optimised = optimised(&source);
        assert_eq!(calls(&optimised, "positions").len(), left, "{optimised}");
    }
}

/// A function that cannot be inlined, since it reads what is private to its module, and one that can.
fn two_functions(attribute: &str, called: &str) -> String {
    format!(
        "use fx_runtime::{{Tensor, fx, traceable}};
        mod inner {{
            static SCALE: f64 = 3.0;
            {attribute} pub fn private(xs: &super::Tensor) -> super::Tensor {{ xs.relu() * SCALE }}
            {attribute} pub fn open(xs: &super::Tensor) -> super::Tensor {{ xs.relu() }}
        }}
        #[traceable] pub fn forward(xs: &Tensor) -> Tensor {{ {called}(xs).tanh() }}"
    )
}

#[test]
fn what_is_inlined_leaves_no_call_or_stops_the_build() {
    let open = graph(&two_functions("#[fx(inline)]", "inner::open"));
    assert_eq!((calls(&open, "open").len(), ops(&open, "relu"), ops(&open, "tanh")), (0, 1, 1), "{open}");
    assert_eq!(traced(&two_functions("", "inner::private")).1, [""; 0]);
    let (_, faults) = traced(&two_functions("#[fx(inline)]", "inner::private"));
    let told = "`private` cannot be inlined: `SCALE` is private to its module";
    assert!(matches!(&faults[..], [fault] if fault.contains(told)), "{faults:?}");
}

#[test]
fn a_pure_function_is_inlined_or_stays_a_pure_call() {
    let open = graph(&two_functions("#[fx(pure)]", "inner::open"));
    assert_eq!((calls(&open, "open").len(), ops(&open, "relu")), (0, 1), "{open}");
    let private = graph(&two_functions("#[fx(pure)]", "inner::private"));
    let effects: Vec<Effect> = calls(&private, "private").into_iter().map(|id| private.node(id).op.effect()).collect();
    assert_eq!(effects, [Effect::Pure], "{private}");
    assert_eq!(calls(&graph(&two_functions("", "inner::private")), "private").len(), 0);
}

/// A loop over an array of layers, and one over a range.
fn two_loops(option: &str) -> String {
    format!(
        "use fx_runtime::{{Module, Tensor, nn, traceable}};
        const DEPTH: usize = 3;
        #[derive(Module)] pub struct Net {{ blocks: [nn::Linear; DEPTH] }}
        #[traceable{option}] impl Net {{ pub fn forward(&self, xs: &Tensor) -> Tensor {{
            let mut ys = xs.shallow_clone();
            for block in &self.blocks {{ ys = block.forward(&ys).relu(); }}
            for at in 0..DEPTH {{ ys = self.blocks[at].forward(&ys).tanh(); }}
            ys
        }} }}"
    )
}

#[test]
fn unrolled_loops_are_their_turns() {
    let counts = |graph: &Graph| (loops(graph), layers(graph, "Linear"), ops(graph, "relu"), ops(graph, "tanh"));
    assert_eq!(counts(&graph(&two_loops(""))), (2, 2, 1, 1));
    assert_eq!(counts(&graph(&two_loops("(unroll)"))), (0, 6, 3, 3));
}
