//! What torch.fx's official examples do, on graphs of live models: `cargo run -p graphs -- invert`, or `all`.
//!
//! Each example is a file with a model as a user writes it, what is done to its graph, and a test that says what comes out.
//! The names are those of `pytorch/examples/fx`; a few come from PyTorch's tutorials and documentation.

#![allow(dead_code, reason = "models without weights, of some of which only the graph is taken")]

mod constants;
mod custom_tracer;
mod decompose;
mod fuse;
mod graph_profiler;
mod inline_function;
mod invert;
mod merge_matmul;
mod module_tracer;
mod moved_pass;
mod neg_sigm;
mod partition;
mod pass_order;
mod passes;
mod primitive_library;
mod profiling_tracer;
mod replace_op;
mod replace_where;
mod subgraph_rewriter;
mod wrap_output;

use std::error::Error;

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Device, Kind, Tensor};

/// What an example prints, or why it could not.
type Report = Result<String, Box<dyn Error>>;

/// Runs one.
type Example = fn() -> Report;

/// The examples by their names.
const EXAMPLES: [(&str, Example); 19] = [
    ("replace_op", replace_op::run),
    ("invert", invert::run),
    ("inline_function", inline_function::run),
    ("wrap_output", wrap_output::run),
    ("decompose", decompose::run),
    ("subgraph_rewriter", subgraph_rewriter::run),
    ("custom_tracer", custom_tracer::run),
    ("module_tracer", module_tracer::run),
    ("primitive_library", primitive_library::run),
    ("profiling_tracer", profiling_tracer::run),
    ("graph_profiler", graph_profiler::run),
    ("neg_sigm", neg_sigm::run),
    ("replace_where", replace_where::run),
    ("partition", partition::run),
    ("pass_order", pass_order::run),
    ("constants", constants::run),
    ("merge_matmul", merge_matmul::run),
    ("fuse", fuse::run),
    ("moved_pass", moved_pass::run),
];

/// What is measured, each by its name alone.
const BENCHMARKS: [(&str, Example); 1] = [("fuse_benchmark", fuse::benchmark)];

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::args().nth(1).unwrap_or_else(|| "all".to_owned());
    let mut found = false;
    for (name, run) in EXAMPLES {
        if wanted == "all" || wanted == name {
            found = true;
            println!("== {name}\n{}\n", run()?);
        }
    }
    for (name, run) in BENCHMARKS {
        if wanted == name {
            found = true;
            println!("{}", run()?);
        }
    }
    if found {
        return Ok(());
    }
    let names = [&EXAMPLES.map(|(name, _)| name)[..], &BENCHMARKS.map(|(name, _)| name)].concat().join(", ");
    Err(format!("there is no example `{wanted}`; there are: all, {names}").into())
}

/// The tensor that a graph yields.
fn call(graph: &GraphModule, inputs: &[&Tensor]) -> Result<Tensor, Box<dyn Error>> {
    let inputs: Vec<Value> = inputs.iter().map(|input| value(*input)).collect();
    match graph.run(&inputs)? {
        Value::Tensor(ys) => Ok(ys.shallow_clone()),
        other => Err(format!("{other} in place of a tensor").into()),
    }
}

/// Random numbers of that shape.
fn randn(size: &[i64]) -> Tensor {
    Tensor::randn(size, (Kind::Float, Device::Cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_runs() {
        for (name, run) in EXAMPLES {
            let report = run().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!report.is_empty(), "{name}");
        }
    }
}
