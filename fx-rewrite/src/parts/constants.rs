//! Constants: the part of a graph that is known before a call, and control flow that a literal decides.

use fx_ir::{Arg, Binding, Graph, HostOp, NodeId, Op, scalar};

use super::split::{Split, SplitError, split_module};
use crate::analysis::bindings;
use crate::pass::{Changed, PassContext};

/// Splits off what does not depend on an input, as part 0: what `freeze` computes once.
///
/// The generated code separates the two by itself; this shows them as graphs. Without such values there is no part.
///
/// # Errors
/// None that a sound graph could cause: a value that is known early needs none that is known late.
pub fn split_constants(graph: &Graph, cx: &PassContext) -> Result<Split, SplitError> {
    let times = bindings(graph, cx);
    split_module(graph, |_, id| (times.get(id) < Binding::Call).then_some(0))
}

/// Takes away what literals decide: an `if` whose condition is written down, a part of a list that is, and arithmetic
/// between integers.
pub fn fold_constants(graph: &mut Graph) -> Changed {
    let mut changed = false;
    for id in graph.nodes() {
        if !graph.is_alive(id) {
            continue;
        }
        if let Some(value) = decided(graph, id).or_else(|| number(graph, id)) {
            graph.replace_all_uses_with(id, &value);
            // Its readers read the value now.
            let _ = graph.erase_node(id);
            changed = true;
        }
    }
    Changed::from(changed)
}

/// The result of an `if` on a literal; what the arm holds stands where the `if` stood.
fn decided(graph: &mut Graph, id: NodeId) -> Option<Arg> {
    let node = graph.node(id);
    let (Op::If, [Arg::Bool(condition)]) = (&node.op, &node.args[..]) else { return None };
    let arm = *node.regions.get(usize::from(!condition))?;
    let end = graph.yield_of(arm)?;
    let [result] = &graph.node(end).args[..] else { return None };
    let result = result.clone();
    graph.splice_region(arm, id).ok()?;
    Some(result)
}

/// The value of an operator between two integers.
fn number(graph: &Graph, id: NodeId) -> Option<Arg> {
    let node = graph.node(id);
    let (Some(HostOp::Binary(sign)), [Arg::Int(a), Arg::Int(b)]) = (node.op.host(), &node.args[..]) else {
        return None;
    };
    match sign.as_str() {
        "/" => Some(Arg::Int(a.checked_div(*b)?)),
        "%" => Some(Arg::Int(a.checked_rem(*b)?)),
        sign => scalar::fold(sign, *a, *b),
    }
}
