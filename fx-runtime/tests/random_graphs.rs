//! Random graphs with writes in place, through views too, and with random numbers: what passes make of them computes the same,
//! writes the same to inputs, and draws as many random numbers.

#![allow(clippy::panic, reason = "a test that fails may do so by panicking")]

use fastrand::Rng;
use std::fmt::Write as _;

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::passes::parts::partition;
use fx_runtime::passes::passes::{CommonSubexpressions, DeadCode};
use fx_runtime::passes::pipeline::Pipeline;
use fx_runtime::{Device, Freeze, Graph, Kind, Result, Tensor};

const GRAPHS: u64 = 400;
const NODES: usize = 24;

/// What a node may do, to values of the shape `[3, 3]`: `x` and `y` stand for earlier ones.
const FORMS: [&str; 20] = [
    "relu(x)",
    "neg(x)",
    "tanh(x)",
    "tanh(x)",
    "add(x, y)",
    "add(x, y)",
    "mul(x, y)",
    "sub(x, y)",
    "minimum(x, y)",
    "detach(x)",
    // Views.
    "transpose(x, 0, 1)",
    "transpose(x, 0, 1)",
    "reshape(x, [3, 3])",
    "narrow(x, 0, 0, 3)",
    // Writes.
    "relu_(x)",
    "add_(x, y)",
    "tanh_(x)",
    // Chance.
    "rand_like(x)",
    "dropout(x, 0.5, true)",
    "rand_like(x)",
];

/// A graph of two inputs that yields three of its values.
fn random(seed: u64) -> String {
    let mut dice = Rng::with_seed(seed);
    let mut names = vec!["x".to_owned(), "y".to_owned()];
    let mut text = "graph f(x: tensor, y: tensor) {\n".to_owned();
    for at in 0..NODES {
        // What was made last is read most.
        let mut one = || {
            let recent = names.len().min(5);
            let from = if dice.usize(..4) == 0 { 0 } else { names.len() - recent };
            names[from + dice.usize(..(names.len() - from))].clone()
        };
        let (x, y) = (one(), one());
        let form = FORMS[dice.usize(..FORMS.len())];
        let (op, args) = form.split_once('(').unwrap_or((form, ")"));
        let args: Vec<&str> = args.trim_end_matches(')').split(", ").collect();
        let args: Vec<&str> = args
            .into_iter()
            .map(|arg| {
                if arg == "x" {
                    &x
                } else if arg == "y" {
                    &y
                } else {
                    arg
                }
            })
            .collect();
        let _ = writeln!(text, "  %v{at} = {op}({}) : tensor", args.join(", "));
        names.push(format!("%v{at}"));
    }
    let ends: Vec<String> = (0..3).map(|_| names[dice.usize(..names.len())].clone()).collect();
    let _ = writeln!(text, "  yield {}\n}}", ends.join(", "));
    text
}

/// What a run leaves behind: results, both inputs, and the next random number.
fn run(forward: impl FnOnce(&[Value]) -> Result<Value>) -> Result<Vec<Tensor>> {
    tch::manual_seed(1);
    let inputs = [(); 2].map(|()| Tensor::randn([3, 3], (Kind::Float, Device::Cpu)));
    tch::manual_seed(2);
    let result = tch::no_grad(|| forward(&[value(&inputs[0]), value(&inputs[1])]))?;
    let next = Tensor::rand([1], (Kind::Float, Device::Cpu));
    let Value::Tuple(results) = result else { panic!("{result} in place of three tensors") };
    let results = results.into_iter().map(|result| match result {
        Value::Tensor(tensor) => tensor.copy(),
        other => panic!("{other} in place of a tensor"),
    });
    Ok(results.chain(inputs).chain([next]).collect())
}

fn assert_same(found: &[Tensor], wanted: &[Tensor], what: &str, graph: &GraphModule, text: &str) {
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let is_same = found.size() == wanted.size() && found.allclose(wanted, 1e-5, 1e-6, true);
        assert!(is_same, "{what}, value {at}: {found} for {wanted}\n{text}\nbecame\n{}", graph.graph());
    }
}

#[test]
fn rewritten_graphs_compute_write_and_draw_the_same() -> Result<()> {
    let (mut count_of_graphs, mut erased, mut moved, mut merged) = (0, 0, 0, 0);
    for seed in 1..=GRAPHS {
        let text = random(seed);
        let graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let net = GraphModule::new(graph);
        net.lint()?;
        // What a write reads may not lie across what it writes.
        let Ok(wanted) = run(|inputs| net.run(inputs)) else { continue };
        count_of_graphs += 1;
        let count = |module: &GraphModule| module.graph().nodes().len();

        let dead = net.transform(&Pipeline::empty().then(DeadCode))?;
        assert_same(&run(|inputs| dead.run(inputs))?, &wanted, "dead code", &dead, &text);
        erased += count(&net) - count(&dead);

        let common = net.transform(&Pipeline::empty().then(CommonSubexpressions))?;
        assert_same(&run(|inputs| common.run(inputs))?, &wanted, "common subexpressions", &common, &text);
        merged += usize::from(count(&common) < count(&net));

        // Parts run one after the other, so that their nodes change places.
        let mut dice = Rng::with_seed(GRAPHS + seed);
        let chosen: Vec<bool> = net.graph().nodes().iter().map(|_| dice.usize(..3) > 0).collect();
        let is_chosen =
            |graph: &Graph, id| graph.nodes().iter().position(|&other| other == id).is_some_and(|at| chosen[at]);
        let groups = partition(net.graph(), is_chosen);
        let split = net.split_module(|_, id| groups.iter().position(|group| group.contains(&id)))?;
        assert_same(&run(|inputs| split.run(inputs))?, &wanted, "parts", &split, &text);
        let order: Vec<_> = groups.iter().flatten().map(|&id| net.graph().position(id)).collect();
        moved += usize::from(!order.is_sorted());

        let frozen = net.freeze(&Freeze::default())?;
        assert_same(&run(|inputs| frozen.run(inputs))?, &wanted, "frozen", frozen.module(), &text);
    }
    // Each of them had something to do.
    assert!(count_of_graphs > 200, "{count_of_graphs} of {GRAPHS} graphs run");
    assert!(erased > 100, "{erased} nodes erased");
    assert!(moved > 20 && merged > 20, "{moved} graphs in another order, {merged} with fewer nodes");
    Ok(())
}
