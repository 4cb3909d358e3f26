//! Tests a rewrite rule in one line: what its pattern computes against what its replacement does, in libtorch.
//!
//! ```ignore
//! #[test]
//! fn silu() {
//!     fx_rule_tests::self_test(&SigmoidToSilu);
//! }
//! ```

mod eval;

use std::collections::{BTreeMap, HashMap};

use fx_ir::{Graph, NodeId, Op, Type};
use fx_passes::pass::{Pass, PassContext};
use tch::{Device, Kind, Tensor};

pub use eval::{Value, Weights, eval};

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

/// The results of a graph and what it leaves in its inputs, or its results and the gradients of inputs and weights.
fn run(graph: &Graph, kind: Kind, seed: i64, compare: Compare) -> Vec<Tensor> {
    // A rewritten graph may read less, so a tensor's numbers follow from its name.
    let named = |name: &str| seed + 3 * name.bytes().map(i64::from).sum::<i64>();
    let (mut leaves, mut values, mut written) = (Vec::new(), HashMap::new(), Vec::new());
    for (name, (ids, shape)) in tensors(graph) {
        let leaf = numbers(&shape, named(name)).to_kind(kind).set_requires_grad(compare == Compare::Gradients);
        // A copy, so that what writes to it writes to no leaf.
        let copy = &leaf * 1.0;
        if compare == Compare::Values && ids.iter().any(|&id| graph.node(id).op == Op::Placeholder) {
            written.push(copy.shallow_clone());
        }
        values.extend(ids.into_iter().map(|id| (id, Value::Tensor(copy.shallow_clone()))));
        leaves.push(leaf);
    }
    for &id in &graph.region(graph.body()).params {
        let (node, chance) = (graph.node(id), named(&graph.node(id).name) / 3 + seed);
        let value = match &node.ty {
            Type::Rust(name) if name == "bool" => Value::Bool(chance % 2 == 0),
            #[allow(clippy::cast_precision_loss, reason = "small numbers")]
            Type::Rust(_) => Value::Number((chance % 4) as f64),
            Type::Option(_) if chance % 2 == 0 => Value::Absent,
            Type::Option(inner) => match sizes(inner) {
                Some(shape) => Value::Tensor(numbers(&shape, named(&node.name)).to_kind(kind)),
                None => Value::Absent,
            },
            _ => continue,
        };
        values.insert(id, value);
    }
    let weights = |path: &str, shape: &[i64]| numbers(shape, named(path)).to_kind(kind) * 0.5;
    let results = eval(graph, values, &weights);
    let sum = results.iter().filter(|one| one.requires_grad()).map(|one| one.sum(Kind::Double)).reduce(|a, b| a + b);
    let Some(sum) = sum else { return results.into_iter().chain(written).collect() };
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

/// The tensors that a graph reads, by name: inputs, and fields of its first parameter, each with the nodes that read it.
fn tensors(graph: &Graph) -> BTreeMap<&str, (Vec<NodeId>, Vec<i64>)> {
    let params = graph.region(graph.body()).params.iter().map(|&id| (graph.node(id).name.as_str(), id));
    let field =
        |id: NodeId| if let Op::GetAttr(field) = &graph.node(id).op { Some((field.as_str(), id)) } else { None };
    let mut all: BTreeMap<&str, (Vec<NodeId>, Vec<i64>)> = BTreeMap::new();
    for (name, id) in params.chain(graph.nodes().into_iter().filter_map(field)) {
        if let Some(sizes) = sizes(&graph.node(id).ty) {
            all.entry(name).or_insert((Vec::new(), sizes)).0.push(id);
        }
    }
    all
}

/// The sizes of a tensor, if its type says them all.
fn sizes(ty: &Type) -> Option<Vec<i64>> {
    match ty {
        Type::Tensor(ty) => ty.shape.as_ref()?.iter().map(|size| size.parse().ok()).collect(),
        _ => None,
    }
}
