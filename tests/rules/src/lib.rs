//! Tests a rewrite rule in one line: what its pattern computes against what its replacement does, in libtorch.
//!
//! ```ignore
//! #[test]
//! fn silu() {
//!     fx_rule_tests::self_test(&SigmoidToSilu);
//! }
//! ```

mod eval;

use fx_ir::{Graph, NodeId, Op, Type};
use fx_passes::pass::{Pass, PassContext};
use tch::{Device, Kind, Tensor};

pub use eval::eval;

/// Tests every rule of a pass on random tensors of two dtypes, values and gradients; yields how many graphs that were.
///
/// # Panics
/// When a rule does not apply to its own pattern, or computes something else.
#[allow(clippy::panic, reason = "it is called in tests")]
pub fn self_test(pass: &dyn Pass) -> usize {
    let mut tested = 0;
    let Some(rules) = pass.rules() else { panic!("`{}` is not made of rules", pass.name()) };
    for rule in rules.rules() {
        let examples = rule.examples();
        assert!(!examples.is_empty(), "`{}` applies to nothing that it is tried on", rule.name);
        for graph in examples {
            let mut rewritten = graph.clone();
            rules.run(pass.name(), &mut rewritten, &PassContext::new(true));
            for kind in [Kind::Float, Kind::Double] {
                assert_same(&graph, &rewritten, kind, Compare::Gradients);
            }
            tested += 1;
        }
    }
    tested
}

/// What of two graphs has to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The results.
    Values,
    /// The results and the gradients of inputs and weights.
    Gradients,
}

/// Runs both graphs on the same random inputs and compares.
///
/// # Panics
/// When they do not agree.
pub fn assert_same(before: &Graph, after: &Graph, kind: Kind, compare: Compare) {
    for seed in [1, 2] {
        let (a, b) = (run(before, kind, seed, compare), run(after, kind, seed, compare));
        assert_eq!(a.len(), b.len());
        let (relative, absolute) = if kind == Kind::Double { (1e-6, 1e-7) } else { (1e-4, 1e-5) };
        for (x, y) in a.iter().zip(&b) {
            let (x, y) = (x.to_kind(Kind::Double), y.to_kind(Kind::Double));
            assert_eq!(x.size(), y.size(), "{before}\n{after}");
            assert!(x.allclose(&y, relative, absolute, true), "{kind:?}\n{before}\n{after}\n{x}\n{y}");
        }
    }
}

/// The results of a graph, and the gradients of its inputs and weights.
fn run(graph: &Graph, kind: Kind, seed: i64, compare: Compare) -> Vec<Tensor> {
    let mut leaves = Vec::new();
    let mut leaf = |id: NodeId, shape: &[i64]| {
        // A rewritten graph may read less, so a tensor's numbers follow from its name.
        let name: i64 = graph.node(id).name.bytes().map(i64::from).sum();
        let tensor = numbers(shape, seed + 3 * name);
        let tensor = tensor.to_kind(kind).set_requires_grad(compare == Compare::Gradients);
        leaves.push(tensor.shallow_clone());
        // A copy, so that what writes to it writes to no leaf.
        tensor * 1.0
    };
    let inputs = inputs(graph).into_iter().map(|(id, shape)| (id, leaf(id, &shape))).collect();
    let results: Vec<Tensor> = eval(graph, inputs);
    let sum = results.iter().filter(|one| one.requires_grad()).map(|one| one.sum(Kind::Double)).reduce(|a, b| a + b);
    let Some(sum) = sum else { return results };
    // What is only a mask has no gradient.
    let gradient = |(gradient, leaf): (Tensor, &Tensor)| if gradient.defined() { gradient } else { leaf.zeros_like() };
    let gradients = Tensor::run_backward(&[sum], &leaves, false, false).into_iter().zip(&leaves).map(gradient);
    results.into_iter().map(|one| one.detach()).chain(gradients).collect()
}

/// Numbers between -2 and 2 without a pattern; libtorch's own generator belongs to all threads.
#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn numbers(shape: &[i64], seed: i64) -> Tensor {
    let places = Tensor::arange(shape.iter().product::<i64>(), (Kind::Double, Device::Cpu));
    let waves = ((places + 1.0 + 7.3 * seed as f64) * 12.9898).sin() * 43_758.545_3;
    ((&waves - waves.floor()) * 4.0 - 2.0).reshape(shape)
}

/// The tensors that a graph reads: inputs, and fields of its first parameter, in the order of their names so that
/// a rewritten graph is given the same.
fn inputs(graph: &Graph) -> Vec<(NodeId, Vec<i64>)> {
    let params = graph.region(graph.body()).params.iter().copied();
    let fields = graph.nodes().into_iter().filter(|&id| matches!(graph.node(id).op, Op::GetAttr(_)));
    let shape = |id: NodeId| match &graph.node(id).ty {
        Type::Tensor(ty) => ty.shape.as_ref()?.iter().map(|size| size.parse().ok()).collect::<Option<Vec<i64>>>(),
        _ => None,
    };
    let mut all: Vec<(NodeId, Vec<i64>)> = params.chain(fields).filter_map(|id| Some((id, shape(id)?))).collect();
    all.sort_by_key(|(id, _)| graph.node(*id).name.clone());
    all
}
