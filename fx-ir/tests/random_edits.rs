//! Ten thousand random edits: one that is allowed leaves a sound graph, one that is refused leaves the graph as it was.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};

use fx_ir::{Arg, EditError, Graph, NodeId, Op, Type};

const EDITS: usize = 10_000;

/// What edits begin with, and begin with anew when little or much is left.
const START: &str = "graph f(x: tensor, y: tensor, flag: rust<bool>) {
    %a = relu(x) : tensor  @ src/a.rs:1 as a
    %w = get_attr[weight]() : tensor
    %if = if(flag) : tensor {
      %b = add(%a, y) : tensor
      %nested = if(flag) : tensor {
        %c = neg(%b) : tensor
        yield %c
      } else {
        %d = print(%b)
        yield %a
      }
      yield %nested
    } else {
      %e = mul(x, %w) : tensor
      yield %e
    }
    %f = sub(%if, %a) : tensor
    %g = print(%f, %a)
    %h = tanh(%f) : tensor
    yield %h
}";

/// One edit: its name and how it went.
type Edited = (&'static str, Result<(), EditError>);

fn edit(graph: &mut Graph, dice: &mut Rng, strangers: &[NodeId]) -> Edited {
    let nodes = graph.nodes();
    // Now and then a node of another graph.
    let mut node = || {
        if dice.usize(..40) == 0 { strangers[dice.usize(..strangers.len())] } else { nodes[dice.usize(..nodes.len())] }
    };
    let (one, other, third) = (node(), node(), node());
    let is_call = |graph: &Graph| graph.try_node(one).is_ok_and(|node| matches!(node.op, Op::Call(_)));
    match dice.usize(..12) {
        0 => ("erase", erase(graph, one)),
        1 => ("prepend", graph.prepend(one, other)),
        2 => ("append", graph.append(one, other)),
        // Branches yield one type.
        3 if is_same_type(graph, one, other) => ("replace uses", graph.try_replace_all_uses_with(one, other).map(drop)),
        4 | 5 if is_call(graph) => {
            let position = dice.usize(..=graph.node(one).args.len());
            ("update argument", graph.update_arg(one, position, other))
        }
        6 => {
            // Code takes any number of arguments.
            let is_code = |id: &NodeId| graph.try_node(*id).is_ok_and(|node| matches!(node.op, Op::Rust(_)));
            let Some(one) = nodes.iter().copied().find(is_code) else { return ("nothing", Ok(())) };
            let position = dice.usize(..(graph.node(one).args.len() + 2));
            ("insert argument", graph.insert_arg(one, position, other))
        }
        7 if is_call(graph) => ("update option", graph.update_kwarg(one, "option", other)),
        8 => ("insert before", graph.inserting_before(one).and_then(|mut at| at.call("add", [other, third])).map(drop)),
        9 => ("insert behind", graph.inserting_after(one).and_then(|mut at| at.call("relu", [other])).map(drop)),
        10 => ("copy", copy(graph, one, other)),
        11 if graph.try_node(one).is_ok() => {
            graph.node_mut(one).meta.insert("edit", i64::try_from(dice.usize(..100)).unwrap_or_default());
            ("note", Ok(()))
        }
        _ => ("nothing", Ok(())),
    }
}

fn is_same_type(graph: &Graph, one: NodeId, other: NodeId) -> bool {
    match (graph.try_node(one), graph.try_node(other)) {
        (Ok(one), Ok(other)) => one.ty.fits(&other.ty),
        _ => true,
    }
}

/// The parameters and ends of regions are not for erasing: the graph would be none.
fn erase(graph: &mut Graph, id: NodeId) -> Result<(), EditError> {
    match graph.try_node(id).map(|node| node.op.clone()) {
        Ok(Op::Placeholder | Op::Yield) => Ok(()),
        _ => graph.erase_node(id),
    }
}

/// A copy of a node behind another one, which reads the same.
fn copy(graph: &mut Graph, id: NodeId, behind: NodeId) -> Result<(), EditError> {
    if graph.try_node(id).is_ok_and(|node| matches!(node.op, Op::Placeholder | Op::Yield)) {
        return Ok(());
    }
    let source = graph.clone();
    graph.inserting_after(behind)?.node_copy(&source, id, &mut BTreeMap::new()).map(drop)
}

/// What the graph says of readers, places and neighbours is what a walk over its nodes finds.
fn check(graph: &Graph, after: &str) {
    assert_eq!(graph.lint(), Ok(()), "after {after}:\n{graph}");
    let nodes = graph.nodes();
    let mut readers: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for &id in &nodes {
        for input in graph.node(id).inputs() {
            readers.entry(input).or_default().insert(id);
        }
    }
    for &id in &nodes {
        let users: Vec<NodeId> = graph.users(id);
        let found: BTreeSet<NodeId> = users.iter().copied().collect();
        assert_eq!(users.len(), found.len(), "after {after}");
        assert_eq!(found, readers.remove(&id).unwrap_or_default(), "after {after}:\n{graph}");
        assert_eq!(graph.has_users(id), !found.is_empty());
        if let Some(next) = graph.next(id) {
            assert_eq!(graph.prev(next), Some(id), "after {after}");
        }
        if let (Some(region), Some(at)) = (graph.region_of(id), graph.position(id)) {
            assert_eq!(graph.region(region).nodes[at], id, "after {after}");
        }
    }
}

#[test]
fn ten_thousand_edits() {
    let mut dice = Rng::with_seed(0x5EED_0F60);
    let start: Graph = START.parse().expect("a graph");
    let strangers = START.parse::<Graph>().expect("a graph").nodes();
    let mut graph = start.deep_copy().0;
    let mut count: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for _ in 0..EDITS {
        if !(12..=40).contains(&graph.nodes().len()) {
            // What is left reads back as it is.
            let again: Graph = graph.to_string().parse().unwrap_or_else(|error| panic!("{error}\n{graph}"));
            assert_eq!(again.to_string(), graph.to_string());
            graph = start.deep_copy().0;
        }
        let before = graph.to_line();
        let (name, result) = edit(&mut graph, &mut dice, &strangers);
        count.entry(name).or_default()[usize::from(result.is_err())] += 1;
        if let Err(error) = &result {
            assert_eq!(graph.to_line(), before, "after {name}, refused because {error}");
        }
        check(&graph, name);
    }
    for (name, [allowed, refused]) in count {
        let is_always_allowed = ["note", "nothing"].contains(&name);
        assert!(allowed > 50 && (refused > 50 || is_always_allowed), "{name}: {allowed} allowed, {refused} refused");
    }
}

/// The types of what is made are those of the ops.
#[test]
fn what_is_made_is_a_tensor() {
    let mut graph: Graph = START.parse().expect("a graph");
    let a = graph.find_nodes("call_method", Some("relu"))[0];
    let made = graph.inserting_after(a).and_then(|mut at| at.call("topk", vec![Arg::from(a), 3.into()]));
    assert!(matches!(made.map(|id| graph.node(id).ty.clone()), Ok(Type::Tuple(parts)) if parts.len() == 2));
}
