//! Checks of a node's operands: which they are, and how many.

use std::collections::HashSet;

use super::fault::{Fault, Rule, fault};
use crate::catalog::{self, Receiver};
use crate::node::MODE;
use crate::template::holes;
use crate::{BlockOrder, Graph, Node, NodeId, Op, Type};

pub(super) fn check_dominance(graph: &Graph, order: &BlockOrder, id: NodeId, faults: &mut Vec<Fault>) {
    for input in graph.node(id).inputs() {
        if !order.is_visible(input, id) {
            let name = &graph.node(input).name;
            let message = if order.is_before(input, id) {
                format!("reads `{name}`, which is computed in a region that does not enclose it")
            } else {
                format!("reads `{name}` before it is computed")
            };
            faults.push(fault(graph, id, Rule::Dominance, message));
        }
    }
}

pub(super) fn check_arity(graph: &Graph, id: NodeId, faults: &mut Vec<Fault>) {
    let node = graph.node(id);
    let (args, regions) = (node.args.len(), node.regions.len());
    let mut push = |message: String| faults.push(fault(graph, id, Rule::Arity, message));
    let wanted_regions = match &node.op {
        Op::If | Op::While => 2,
        Op::For(_) => 1,
        Op::Match(patterns) => patterns.len(),
        _ => 0,
    };
    if regions != wanted_regions {
        push(format!("has {regions} regions instead of {wanted_regions}"));
    }
    let (least, most) = match &node.op {
        Op::Placeholder => (0, 0),
        // In the graph of a live model it is a path from the model on, and no field of a value.
        Op::GetAttr(_) => (0, 1),
        Op::TupleGet(_) | Op::If | Op::Match(_) => (1, 1),
        Op::CallModule(_) | Op::For(_) => (1, usize::MAX),
        Op::Call(_) | Op::Host(_) | Op::Rust(_) | Op::While | Op::Yield => (0, usize::MAX),
    };
    if args < least || args > most {
        push(format!("has {args} arguments instead of {least}{}", if most > least { " or more" } else { "" }));
    }
    let mut keys = HashSet::new();
    if let Some((key, _)) = node.kwargs.iter().find(|(key, _)| !keys.insert(key)) {
        push(format!("is given `{key}` twice"));
    }
    if matches!(node.op, Op::CallModule(_)) && node.mode().is_none() && node.kwargs.iter().any(|(key, _)| key == MODE) {
        push(format!("is given a `{MODE}` that is neither true nor false"));
    }
    match &node.op {
        Op::Rust(code) => {
            if let Some(hole) = holes(&code.text()).max().filter(|&hole| hole >= args) {
                push(format!("mentions `${hole}` but has {args} arguments"));
            }
        }
        Op::TupleGet(index) => {
            let tuple = node.input(0).map(|input| &graph.node(input).ty);
            if let Some(Type::Tuple(parts)) = tuple.filter(|_| args == 1)
                && *index >= parts.len()
            {
                push(format!("takes part {index} of a tuple of {}", parts.len()));
            }
        }
        Op::Call(op) => {
            if let Some(entry) = op.entry() {
                check_signature(node, entry, &mut push);
            }
            if let Some(wrong) = node.is_group().then(|| node.checked_body().err()).flatten() {
                push(wrong);
            }
        }
        _ => {}
    }
}

/// As many arguments as the method has parameters, and every one without a default among them.
fn check_signature(node: &Node, entry: &catalog::Entry, push: &mut impl FnMut(String)) {
    let receiver = usize::from(entry.receiver != Receiver::Free);
    let (args, most) = (node.args.len(), receiver + entry.params.len());
    if args > most {
        push(format!("has {args} arguments instead of {most} or fewer"));
    }
    if args < receiver {
        push("has no tensor to work on".to_owned());
    }
    let rest = entry.params.iter().skip(args.saturating_sub(receiver));
    let missing: Vec<_> = rest.filter(|param| param.default.is_none() && node.kwarg(param.name).is_none()).collect();
    for param in missing {
        push(format!("is not given `{}`", param.name));
    }
}
