//! Batch norms as passes read them: what they normalise, and the layer that does it, known at freeze time.

use fx_ir::layers::BATCH_NORM;
use fx_ir::{Arg, Graph, HostOp, NodeId, Op, Origin, Type, ops};

use crate::analysis::{BindingTimes, by_ref, optional_tensor};

/// The operand of a batch norm in inference: a call of the layer, or of the function with its flag off.
pub(super) fn input_of_norm(graph: &Graph, id: NodeId) -> Option<NodeId> {
    let node = graph.node(id);
    match &node.op {
        Op::CallModule(kind) if kind.is(BATCH_NORM) && node.args.len() == 2 => node.input(1),
        Op::Call(ops::BATCH_NORM) if node.args.get(5) == Some(&Arg::Bool(false)) => node.input(0),
        _ => None,
    }
}

/// The batch norm as a layer that is known at freeze time; `pass` makes one of a function's arguments.
pub(super) fn norm_layer(
    graph: &mut Graph,
    times: &mut BindingTimes,
    id: NodeId,
    pass: &'static str,
) -> Option<NodeId> {
    let node = graph.node(id);
    if matches!(node.op, Op::CallModule(_)) {
        return node.input(0).filter(|&norm| times.is_frozen(norm));
    }
    let [_, weight, bias, mean, var, _, _, eps, ..] = &node.args[..] else { return None };
    let given = [mean, var].iter().all(|arg| arg.node().is_some_and(|id| graph.node(id).ty.is_tensor()));
    let frozen = [weight, bias, mean, var, eps].iter().all(|part| times.is_frozen_arg(part));
    if !given || !frozen || !matches!(eps, Arg::Float(_) | Arg::Node(_)) {
        return None;
    }
    let [weight, bias] = [weight, bias].map(|part| optional_tensor(graph, part));
    let operands = vec![weight, bias, by_ref(mean), by_ref(var), eps.clone()];
    let op = Op::Host(HostOp::Nn("BatchNorm::of_tensors".to_owned()).into());
    let origin = Origin::merged(pass, [&node.origin]);
    let ty = Type::Module(BATCH_NORM.name.to_owned());
    let norm = graph.insert_before(id, op, operands, ops::BATCH_NORM.name(), ty, origin);
    times.learn(norm);
    Some(norm)
}
