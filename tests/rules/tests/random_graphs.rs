//! Random graphs, all passes that leave ops behind, the verifier after each: the results stay what they were.

use fx_ir::{Arg, Graph, Op, OpId, Origin, TensorType, Type};
use fx_passes::pass::PassContext;
use fx_passes::pipeline::Pipeline;
use fx_rule_tests::{Compare, assert_same};
use tch::Kind;

/// Numbers without a pattern, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or_default()
    }
}

const UNARY: &[&str] =
    &["sigmoid", "neg", "relu", "tanh", "square", "contiguous", "relu6", "silu", "hardsigmoid", "erf", "relu_"];
const BINARY: &[&str] = &["mul", "add", "sub", "matmul", "mul", "add_"];
const SCALAR: &[(&str, &[f64])] = &[
    ("mul.Scalar", &[1.0, 0.5, 2.0]),
    ("add.Scalar", &[0.0, 3.0, 1.0]),
    ("div.Scalar", &[1.0, 6.0]),
    ("pow_tensor_scalar", &[2.0, 1.0, 3.0]),
];

/// A straight line of `size` ops over an input and two weights, all of `[2, 2, 4, 4]`.
fn graph(seed: u64, size: usize) -> Graph {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut graph = Graph::new("random");
    let body = graph.body();
    let shape = ["2", "2", "4", "4"].map(str::to_owned).to_vec();
    let tensor = Type::Tensor(TensorType { dtype: Some("f32".to_owned()), shape: Some(shape) });
    let model = graph.add_param(body, "self", Type::Module("Model".to_owned()), Origin::default());
    let mut values = vec![graph.add_param(body, "x", tensor.clone(), Origin::default())];
    for name in ["v", "w"] {
        let args = vec![Arg::Node(model)];
        values.push(graph.push(body, Op::GetAttr(name.to_owned()), args, name, tensor.clone(), Origin::default()));
    }
    for _ in 0..size {
        // What was made last is read most, so that chains grow.
        let pick = |dice: &mut Dice| {
            let from_end = dice.roll(4).min(dice.roll(values.len()));
            Arg::Node(values[values.len() - 1 - from_end])
        };
        let (name, args) = match dice.roll(8) {
            0..3 => (UNARY[dice.roll(UNARY.len())], vec![pick(&mut dice)]),
            3..5 => {
                let (name, first, mut second) = (BINARY[dice.roll(BINARY.len())], pick(&mut dice), pick(&mut dice));
                if let ("add_", Some(copy)) = (name, OpId::lookup("sigmoid")) {
                    // libtorch refuses to add a tensor to a view of itself.
                    let origin = Origin::default();
                    second = Arg::Node(graph.push(body, Op::Call(copy), vec![second], "sigmoid", Type::TENSOR, origin));
                }
                (name, vec![first, second])
            }
            5 => {
                let (name, numbers) = SCALAR[dice.roll(SCALAR.len())];
                (name, vec![pick(&mut dice), Arg::Float(numbers[dice.roll(numbers.len())])])
            }
            6 => ("transpose", vec![pick(&mut dice), Arg::Int(-2), Arg::Int(-1)]),
            _ => ("permute", vec![pick(&mut dice), Arg::ints(&[0, 1, 3, 2])]),
        };
        // Whether `contiguous` copies depends on the order in memory, so whether a write to it is seen does too: no graph
        // has both.
        let (writes, may_copy) = (name.ends_with('_'), name == "contiguous");
        if seed.is_multiple_of(2) && writes || !seed.is_multiple_of(2) && may_copy {
            continue;
        }
        let Some(op) = OpId::lookup(name) else { continue };
        // Every other value is of unknown type, as in a traced graph.
        let ty = if dice.roll(2) == 0 { Type::TENSOR } else { tensor.clone() };
        values.push(graph.push(body, Op::Call(op), args, name, ty, Origin::default()));
    }
    let results = vec![Arg::Node(values[values.len() - 1]), Arg::Node(values[values.len() - 2])];
    graph.push(body, Op::Yield, results, "output", Type::Unknown, Origin::default());
    graph
}

#[test]
fn two_thousand_random_graphs_compute_what_they_did() {
    // The last pass that leaves nothing but ops.
    let pipeline = Pipeline::inference().stop_after("linears");
    let mut changed = 0;
    for seed in 1..=2_000 {
        let before = graph(seed, 4 + usize::try_from(seed % 28).unwrap_or_default());
        assert_eq!(before.lint(), Ok(()));
        let mut after = before.clone();
        let report =
            pipeline.run(&mut after, &PassContext::new(true)).unwrap_or_else(|error| panic!("{seed}: {error}"));
        changed += usize::from(report.applied().any(|(_, count)| count > 0));
        assert_eq!(report.exhausted().count(), 0, "{before}");
        assert_same(&before, &after, Kind::Double, Compare::Values);
    }
    assert!(changed > 500, "rules applied in {changed} graphs only");
}
