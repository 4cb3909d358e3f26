//! Random graphs that branch, loop, call layers and write to what they are given, through all passes, the verifier behind
//! each: results, and what is left in the inputs, stay what they were.

use fastrand::Rng;
use fx_ir::{Arg, Graph, HostOp, ModuleKind, NodeId, Op, OpId, Origin, Pattern, RegionId, TensorType, Type};
use fx_passes::pass::PassContext;
use fx_passes::pipeline::Pipeline;
use fx_rule_tests::{Compare, assert_same};
use tch::Kind;

const UNARY: &[&str] =
    &["sigmoid", "neg", "relu", "tanh", "square", "contiguous", "relu6", "silu", "hardsigmoid", "erf", "relu_"];
const BINARY: &[&str] = &["mul", "add", "sub", "matmul", "mul", "add_"];
const SCALAR: &[(&str, &[f64])] = &[
    ("mul.Scalar", &[1.0, 0.5, 2.0]),
    ("add.Scalar", &[0.0, 3.0, 1.0]),
    ("div.Scalar", &[1.0, 6.0]),
    ("pow_tensor_scalar", &[2.0, 1.0, 3.0]),
];
/// Layers by the field and the type; `narrow` has no bias.
const LAYERS: &[(&str, &str)] =
    &[("wide", "Linear"), ("narrow", "Linear"), ("act", "ReLU"), ("gate", "Sigmoid"), ("skip", "Identity")];

/// What a region is given, by name and type.
type Params = Vec<(&'static str, Type)>;

/// How deep control flow is nested.
const DEPTH: usize = 2;

/// A graph while it grows; all tensors are of `[2, 2, 4, 4]`.
struct Maker {
    dice: Rng,
    graph: Graph,
    /// No graph has both writes and `contiguous`: whether that copies depends on the order in memory, so whether a write
    /// to it is seen does too.
    writes: bool,
    tensor: Type,
    model: NodeId,
    /// A truth value, a number from 0 to 3 and a tensor that may be absent, known at the call.
    flag: NodeId,
    count: NodeId,
    option: NodeId,
}

impl Maker {
    /// A graph over an input, two weights, a few layers and host values, with about `size` ops in its body.
    fn graph(seed: u64, size: usize) -> Graph {
        let mut graph = Graph::new("random");
        let body = graph.body();
        let shape = ["2", "2", "4", "4"].map(str::to_owned).to_vec();
        let tensor = Type::Tensor(TensorType { dtype: Some("f32".to_owned()), shape: Some(shape) });
        let mut param = |name: &str, ty: Type| graph.add_param(body, name, ty, Origin::default());
        let model = param("self", Type::Module("Model".to_owned()));
        let mut values = vec![param("x", tensor.clone())];
        let (flag, count) = (param("flag", Type::rust("bool")), param("count", Type::rust("i64")));
        let option = param("option", Type::Option(Box::new(tensor.clone())));
        let dice = Rng::with_seed(seed);
        let writes = !seed.is_multiple_of(2);
        let mut maker = Maker { dice, graph, writes, tensor, model, flag, count, option };
        for name in ["v", "w"] {
            values.push(maker.push(body, Op::GetAttr(name.to_owned()), vec![Arg::Node(model)], maker.tensor.clone()));
        }
        maker.fill(body, &mut values, size, 0);
        let results = values[values.len() - 2..].iter().rev().copied().map(Arg::Node).collect();
        maker.push(body, Op::Yield, results, Type::Unknown);
        maker.graph
    }

    fn push(&mut self, region: RegionId, op: Op, args: Vec<Arg>, ty: Type) -> NodeId {
        let name = match &op {
            Op::Call(op) => op.name().split('.').next().unwrap_or_default().to_owned(),
            Op::GetAttr(name) => name.clone(),
            other => other.opcode().to_owned(),
        };
        self.graph.push(region, op, args, &name, ty, Origin::default())
    }

    /// An operator between numbers.
    fn compute(&mut self, region: RegionId, sign: &str, numbers: [Arg; 2], ty: &str) -> NodeId {
        self.push(region, Op::Host(HostOp::Binary(sign.to_owned()).into()), numbers.to_vec(), Type::rust(ty))
    }

    /// What was made last is read most, so that chains grow.
    fn pick(&mut self, values: &[NodeId]) -> Arg {
        let from_end = self.dice.usize(..4).min(self.dice.usize(..values.len()));
        Arg::Node(values[values.len() - 1 - from_end])
    }

    /// Appends about `size` ops to a region, in which `values` can be read.
    fn fill(&mut self, region: RegionId, values: &mut Vec<NodeId>, size: usize, depth: usize) {
        for _ in 0..size {
            match self.dice.usize(..14) {
                0 if depth < DEPTH => self.control(region, values, depth + 1),
                1..3 => self.layer(region, values),
                _ => self.op(region, values),
            }
        }
    }

    fn op(&mut self, region: RegionId, values: &mut Vec<NodeId>) {
        let (name, args) = match self.dice.usize(..8) {
            0..3 => (UNARY[self.dice.usize(..UNARY.len())], vec![self.pick(values)]),
            3..5 => {
                let (name, first, mut second) =
                    (BINARY[self.dice.usize(..BINARY.len())], self.pick(values), self.pick(values));
                if let ("add_", Some(copy)) = (name, OpId::lookup("sigmoid")) {
                    // libtorch refuses to add a tensor to a view of itself.
                    second = Arg::Node(self.push(region, Op::Call(copy), vec![second], Type::TENSOR));
                }
                (name, vec![first, second])
            }
            5 => {
                let (name, numbers) = SCALAR[self.dice.usize(..SCALAR.len())];
                (name, vec![self.pick(values), Arg::Float(numbers[self.dice.usize(..numbers.len())])])
            }
            6 => ("transpose", vec![self.pick(values), Arg::Int(-2), Arg::Int(-1)]),
            _ => ("permute", vec![self.pick(values), Arg::ints(&[0, 1, 3, 2])]),
        };
        if self.writes && name == "contiguous" || !self.writes && name.ends_with('_') {
            return;
        }
        let Some(op) = OpId::lookup(name) else { return };
        // Every other value is of unknown type, as in a traced graph.
        let ty = if self.dice.usize(..2) == 0 { Type::TENSOR } else { self.tensor.clone() };
        values.push(self.push(region, Op::Call(op), args, ty));
    }

    fn layer(&mut self, region: RegionId, values: &mut Vec<NodeId>) {
        let (field, kind) = LAYERS[self.dice.usize(..LAYERS.len())];
        let (ty, model) = (Type::Module(kind.to_owned()), Arg::Node(self.model));
        let layer = self.push(region, Op::GetAttr(field.to_owned()), vec![model], ty);
        let args = vec![Arg::Node(layer), self.pick(values)];
        values.push(self.push(region, Op::CallModule(ModuleKind(kind.to_owned())), args, self.tensor.clone()));
        if let (0, Some(mul)) = (self.dice.usize(..4), OpId::lookup("mul")) {
            let shape = TensorType { dtype: Some("f32".to_owned()), shape: Some(vec!["4".to_owned()]) };
            let scale = Op::GetAttr("scale".to_owned());
            let scale = self.push(region, scale, vec![Arg::Node(self.model)], Type::Tensor(shape));
            let args = vec![Arg::Node(values[values.len() - 1]), Arg::Node(scale)];
            values.push(self.push(region, Op::Call(mul), args, self.tensor.clone()));
        }
    }

    /// Control flow of any kind with one result or two.
    fn control(&mut self, region: RegionId, values: &mut Vec<NodeId>, depth: usize) {
        let results = 1 + self.dice.usize(..2);
        let (tensor, int) = (self.tensor.clone(), Type::rust("i64"));
        let carried: Vec<Arg> = (0..results).map(|_| self.pick(values)).collect();
        let tensors = vec![("carried", tensor.clone()); results];
        let patterns = |all: &[Pattern]| Op::Match(all.to_vec());
        let (op, first, carried, arms): (Op, Arg, Vec<Arg>, Vec<Params>) = match self.dice.usize(..6) {
            0 => (Op::If, Arg::Node(self.flag), vec![], vec![vec![], vec![]]),
            1 => {
                let small = self.compute(region, "<", [Arg::Node(self.count), Arg::Int(2)], "bool");
                (Op::If, Arg::Node(small), vec![], vec![vec![], vec![]])
            }
            2 => (
                patterns(&[Pattern::some(Pattern::Bind(0)), Pattern::None]),
                Arg::Node(self.option),
                vec![],
                vec![vec![("v", tensor)], vec![]],
            ),
            3 => (
                patterns(&[Pattern::int(0), Pattern::int(1), Pattern::Wild]),
                Arg::Node(self.count),
                vec![],
                vec![vec![]; 3],
            ),
            4 => {
                let turn = [vec![("turn", int)], tensors].concat();
                (Op::For(fx_ir::ForLoop::new(Pattern::Bind(0), [])), Arg::Node(self.count), carried, vec![turn])
            }
            _ => {
                let turn = [vec![("turn", int)], tensors].concat();
                (Op::While, Arg::Int(0), carried, vec![turn.clone(), turn])
            }
        };
        let is_while = op == Op::While;
        let types =
            [if is_while { vec![Type::rust("i64")] } else { vec![] }, vec![self.tensor.clone(); results]].concat();
        let ty = if let [one] = &types[..] { one.clone() } else { Type::Tuple(types.clone()) };
        let args = [vec![first], carried].concat();
        let whole = self.push(region, op, args, ty);
        for (position, params) in arms.into_iter().enumerate() {
            let arm = self.graph.add_region_to(whole);
            let is_question = is_while && position == 0;
            self.arm(arm, values, &params, (is_while, is_question, results), depth);
        }
        if let [_] = types[..] {
            values.push(whole);
            return;
        }
        for (part, ty) in types.into_iter().enumerate().filter(|(_, ty)| ty.is_tensor()) {
            values.push(self.push(region, Op::TupleGet(part), vec![Arg::Node(whole)], ty));
        }
    }

    /// One region of control flow: some ops, and as many of its values as it hands on.
    fn arm(
        &mut self,
        arm: RegionId,
        values: &[NodeId],
        params: &[(&str, Type)],
        (is_while, is_question, results): (bool, bool, usize),
        depth: usize,
    ) {
        let param = |(name, ty): &(&str, Type)| self.graph.add_param(arm, name, ty.clone(), Origin::default());
        let params: Vec<NodeId> = params.iter().map(param).collect();
        let is_tensor = |id: &NodeId| self.graph.node(*id).ty.is_tensor();
        let mut inside: Vec<NodeId> = values.iter().chain(params.iter().filter(|id| is_tensor(id))).copied().collect();
        if is_question {
            let go = self.compute(arm, "<", [Arg::Node(params[0]), Arg::Int(2)], "bool");
            self.push(arm, Op::Yield, vec![Arg::Node(go)], Type::Unknown);
            return;
        }
        let size = 1 + self.dice.usize(..5);
        self.fill(arm, &mut inside, size, depth);
        let mut handed: Vec<Arg> = (0..results).map(|_| self.pick(&inside)).collect();
        if is_while {
            let next = self.compute(arm, "+", [Arg::Node(params[0]), Arg::Int(1)], "i64");
            handed.insert(0, Arg::Node(next));
        }
        self.push(arm, Op::Yield, handed, Type::Unknown);
    }
}

/// Which kinds of nodes a graph has.
fn opcodes(graph: &Graph) -> Vec<&'static str> {
    let mut codes: Vec<_> = graph.nodes().into_iter().map(|id| graph.node(id).op.opcode()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn two_thousand_random_graphs_compute_what_they_did() {
    let cx = PassContext::new(true);
    let whole = Pipeline::inference();
    // Kernels are values of the runtime's, which are tested where they are.
    let pipeline = Pipeline::inference().without("pack-kernels");
    let (mut changed, mut seen) = (0, std::collections::BTreeMap::new());
    for seed in 1..=2_000 {
        let before = Maker::graph(seed, 3 + usize::try_from(seed % 10).unwrap_or_default());
        assert_eq!(before.lint(), Ok(()), "{before}");
        let mut after = before.clone();
        let report = pipeline.run(&mut after, &cx).unwrap_or_else(|error| panic!("{seed}: {error}"));
        changed += usize::from(report.applied().any(|(_, count)| count > 0));
        assert_eq!(report.exhausted().count(), 0, "{before}");
        assert_same(&before, &after, Kind::Double, Compare::Values);
        if seed % 8 == 0 {
            whole.run(&mut before.clone(), &cx).unwrap_or_else(|error| panic!("{seed}: {error}"));
        }
        opcodes(&before).into_iter().for_each(|code| *seen.entry(code).or_insert(0) += 1);
    }
    assert!(changed > 500, "rules applied in {changed} graphs only");
    for code in ["if", "match", "for", "while", "call_module"] {
        assert!(seen.get(code).is_some_and(|&count| count > 200), "of {code}: {seen:?}");
    }
}
