//! Dead code and common subexpressions on random live graphs, run node by node before and after.
//!
//! The graphs write to what they are given, draw random numbers, and call layers in training. What they yield, what is left
//! in inputs, parameters and running statistics, and the random numbers that come next stay what they were.

use fastrand::Rng;
use std::sync::{Mutex, PoisonError};

use fx_passes::pass::{Pass, PassContext};
use fx_passes::passes::{CommonSubexpressions, DeadCode};
use fx_runtime::graph::{Arg, Graph, ModuleKind, NodeId, Op, OpId, Origin, RegionId, Type};
use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Device, Kind, Module as _, Tensor, nn};

const GRAPHS: u64 = 600;

static GENERATOR: Mutex<()> = Mutex::new(());

const UNARY: &[&str] = &["relu", "neg", "sigmoid", "tanh", "relu_", "sigmoid_", "square"];
const BINARY: &[&str] = &["add", "mul", "sub", "add_", "add"];
const RANDOM: &[&str] = &["rand_like", "randn_like"];
const LAYERS: &[(&str, &str)] = &[("fc", "Linear"), ("act", "ReLU"), ("drop", "Dropout"), ("bn", "BatchNorm")];

/// A graph while it grows; all tensors are of `[4, 4]`.
struct Maker {
    dice: Rng,
    graph: Graph,
    flag: NodeId,
}

impl Maker {
    fn graph(seed: u64) -> Graph {
        let mut graph = Graph::new("random");
        let body = graph.body();
        let mut param = |name: &str, ty: Type| graph.add_param(body, name, ty, Origin::default());
        let mut values = vec![param("x", Type::TENSOR), param("y", Type::TENSOR)];
        let flag = param("flag", Type::rust("bool"));
        let mut maker = Maker { dice: Rng::with_seed(seed), graph, flag };
        for path in ["w", "w", "v"] {
            values.push(maker.push(body, Op::GetAttr(path.to_owned()), Vec::new()));
        }
        maker.fill(body, &mut values, 14, 0);
        let ends = [maker.pick(&values), maker.pick(&values)];
        maker.push(body, Op::Yield, ends.to_vec());
        maker.graph
    }

    fn push(&mut self, region: RegionId, op: Op, args: Vec<Arg>) -> NodeId {
        let ty = if op == Op::Yield { Type::Unknown } else { Type::TENSOR };
        self.graph.push(region, op, args, "value", ty, Origin::default())
    }

    fn call(&mut self, region: RegionId, op: &str, args: Vec<Arg>) -> NodeId {
        self.push(region, Op::Call(OpId::lookup(op).expect("an op")), args)
    }

    fn pick(&mut self, values: &[NodeId]) -> Arg {
        Arg::Node(values[self.dice.usize(..values.len())])
    }

    fn fill(&mut self, region: RegionId, values: &mut Vec<NodeId>, size: usize, depth: usize) {
        for _ in 0..size {
            let value = match self.dice.usize(..10) {
                0 if depth < 2 => self.branch(region, values, depth + 1),
                1 | 2 => {
                    let (path, kind) = LAYERS[self.dice.usize(..LAYERS.len())];
                    let args = vec![Arg::Str(path.to_owned()), self.pick(values)];
                    self.push(region, Op::CallModule(ModuleKind(kind.to_owned())), args)
                }
                3 => {
                    let (op, of) = (RANDOM[self.dice.usize(..RANDOM.len())], self.pick(values));
                    self.call(region, op, vec![of])
                }
                4 => {
                    let of = self.pick(values);
                    self.call(region, "transpose", vec![of, Arg::Int(0), Arg::Int(1)])
                }
                5 => {
                    let of = self.pick(values);
                    self.call(region, "dropout", vec![of, Arg::Float(0.5), Arg::Bool(true)])
                }
                6 | 7 => {
                    let (op, first, mut second) =
                        (BINARY[self.dice.usize(..BINARY.len())], self.pick(values), self.pick(values));
                    if op == "add_" {
                        // libtorch refuses to add a tensor to a view of itself.
                        second = Arg::Node(self.call(region, "tanh", vec![second]));
                    }
                    self.call(region, op, vec![first, second])
                }
                _ => {
                    let (op, of) = (UNARY[self.dice.usize(..UNARY.len())], self.pick(values));
                    self.call(region, op, vec![of])
                }
            };
            values.push(value);
        }
    }

    fn branch(&mut self, region: RegionId, values: &[NodeId], depth: usize) -> NodeId {
        let whole = self.push(region, Op::If, vec![Arg::Node(self.flag)]);
        for _ in 0..2 {
            let arm = self.graph.add_region_to(whole);
            let mut inside = values.to_vec();
            let size = self.dice.usize(..4);
            self.fill(arm, &mut inside, size, depth);
            let end = self.pick(&inside);
            self.push(arm, Op::Yield, vec![end]);
        }
        whole
    }
}

/// Everything that a run can leave behind: outputs, inputs, parameters, statistics, and the next random numbers.
fn run(graph: &Graph, flag: bool) -> Vec<Tensor> {
    // Two tests draw from one generator.
    let _alone = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    tch::manual_seed(7);
    let _no_grad = tch::no_grad_guard();
    let random = || Tensor::randn([4, 4], (Kind::Double, Device::Cpu));
    let [x, y, w, v] = [random(), random(), random(), random()];
    let mut vs = nn::VarStore::new(Device::Cpu);
    let (fc, bn) = (
        nn::linear(vs.root() / "fc", 4, 4, nn::LinearConfig::default()),
        nn::batch_norm1d(vs.root() / "bn", 4, nn::BatchNormConfig::default()),
    );
    vs.double();
    let mut module = GraphModule::new(graph.clone());
    module.add_tensor("w", w.shallow_clone());
    module.add_tensor("v", v.shallow_clone());
    module.add_submodule("fc", fc.shallow_clone().expect("a handle"));
    module.add_submodule("act", nn::relu());
    module.add_submodule("drop", nn::dropout(0.5));
    module.add_submodule("bn", bn.shallow_clone().expect("a handle"));
    module.train();
    let outputs = match module.run(&[value(&x), value(&y), Value::Bool(flag)]) {
        Ok(Value::Tuple(outputs)) => outputs,
        other => panic!("{other:?} of\n{graph}"),
    };
    let outputs = outputs.iter().map(|output| match output {
        Value::Tensor(tensor) => tensor.shallow_clone(),
        other => panic!("{other:?} of\n{graph}"),
    });
    let next = random();
    outputs.chain([x, y, w, v, bn.running_mean, bn.running_var, next]).collect()
}

/// Runs a pass on graph after graph; returns how many nodes it erased.
fn check(pass: &dyn Pass) -> usize {
    let cx = PassContext::new(true);
    let mut erased = 0;
    for seed in 1..=GRAPHS {
        let before = Maker::graph(seed);
        assert_eq!(before.lint(), Ok(()), "{before}");
        let mut after = before.clone();
        pass.run(&mut after, &cx);
        assert_eq!(after.lint(), Ok(()), "{before}\n{after}");
        erased += before.nodes().len() - after.nodes().len();
        let flag = seed % 2 == 0;
        let is_same = |(a, b): (&Tensor, &Tensor)| a.allclose(b, 0.0, 0.0, true);
        let same: Vec<bool> = run(&before, flag).iter().zip(&run(&after, flag)).map(is_same).collect();
        let words = format!("seed {seed}, {}: before\n{before}\nafter\n{after}", pass.name());
        assert!(same.iter().all(|&same| same), "{same:?} {words}");
    }
    erased
}

#[test]
fn dead_code_keeps_writes_random_numbers_and_statistics() {
    let erased = check(&DeadCode);
    assert!(erased > 1000, "{erased} nodes were dead");
}

#[test]
fn common_subexpressions_keep_writes_random_numbers_and_statistics() {
    let erased = check(&CommonSubexpressions);
    assert!(erased > 300, "{erased} nodes were equal");
}
