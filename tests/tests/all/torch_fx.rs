//! The graphs of models with which torch.fx is introduced, against torch.fx's own of the same models in Python.
//!
//! `torch_fx/nodes.py` made what is compared with. Where the two languages cannot spell a line alike, both lines stand
//! here; all others are equal.

use fusion_tutorial::Tutorial;
use fx_runtime::graph_module::GraphModule;
use fx_runtime::{Device, nn};
use fx_tests::torch_fx::{Largest, MadeInside, ThreeAdditions, Wrapped};

/// A line of torch.fx's and ours in its place; empty where there is none.
type Differences<'d> = &'d [(&'d str, &'d str)];

/// Rust's parameters have a type, which torch.fx shows where Python has one.
const TYPED: (&str, &str) =
    ("%x : [num_users=1] = placeholder[target=x]", "%x : torch.Tensor [num_users=1] = placeholder[target=x]");

fn check(graph: &GraphModule, theirs: &str, differences: Differences<'_>) {
    let mut want: Vec<&str> = theirs.lines().map(str::trim).collect();
    for (line, ours) in differences {
        let at = want.iter().position(|other| other == line);
        let at = at.unwrap_or_else(|| panic!("torch.fx has no line {line}"));
        want.splice(at..=at, ours.lines());
    }
    let ours = graph.to_string();
    let ours: Vec<&str> = ours.lines().map(str::trim).collect();
    assert_eq!(ours, want);
}

fn store() -> nn::VarStore {
    nn::VarStore::new(Device::Cpu)
}

#[test]
fn the_tutorial_on_fusing() {
    let graph = Tutorial::new(&store().root()).graph_module().expect("a graph");
    check(&graph, include_str!("../../torch_fx/fuser_tutorial.graph.txt"), &[TYPED]);
}

#[test]
fn the_largest_sums() {
    let graph = Largest::new(&store().root()).graph_module().expect("a graph");
    check(&graph, include_str!("../../torch_fx/largest.graph.txt"), &[TYPED]);
}

#[test]
fn a_tensor_that_is_made_inside() {
    let graph = MadeInside::new(&store().root()).graph_module().expect("a graph");
    check(&graph, include_str!("../../torch_fx/made_inside.graph.txt"), &[TYPED]);
}

#[test]
fn a_function_that_is_not_looked_into() {
    let graph = Wrapped.graph_module().expect("a graph");
    check(&graph, include_str!("../../torch_fx/wrapped.graph.txt"), &[]);
}

#[test]
fn an_addition_in_three_spellings() {
    let graph = ThreeAdditions.graph_module().expect("a graph");
    check(&graph, include_str!("../../torch_fx/three_additions.graph.txt"), &[]);
}
