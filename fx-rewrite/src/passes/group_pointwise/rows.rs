//! Ops on rows as groups have them: along the last axis, which stays, with those arguments that change what they compute.

use fx_ir::layers::LAYER_NORM;
use fx_ir::{Arg, Graph, Host, HostOp, NodeId, Op, OpId, Origin, Scalar, Type, ops};

use super::{BindingTimes, GroupPointwise, Pass};
use crate::analysis::{LeafCall, runtime};
use crate::passes::name::part_name;

/// A layer norm that is applied: its packed form, the layer that this was made of, and the rows.
fn layer(graph: &Graph, id: NodeId) -> Option<(NodeId, NodeId, NodeId)> {
    let call = LeafCall::read(graph, id).filter(|call| call.kind == LAYER_NORM)?;
    Some((call.leaf, call.layer, call.input))
}

/// How a group writes an op on rows: its arguments there, the rows first. None of anything else, and of one that goes
/// along other axes, or may.
pub(super) fn row_form(graph: &Graph, times: &BindingTimes, id: NodeId) -> Option<Vec<Arg>> {
    let node = graph.node(id);
    if let Some((_, layer, rows)) = layer(graph, id) {
        return times.is_frozen(layer).then(|| vec![Arg::Node(rows)]);
    }
    let Op::Call(op) = &node.op else { return None };
    if !op.row()?.scalar?.is_row() {
        return None;
    }
    let arg = |position: usize| node.args.get(position).unwrap_or(&Arg::None);
    let (rows, keeps) = (arg(0).clone(), arg(2) == &Arg::Bool(true));
    match *op {
        ops::SOFTMAX | ops::LOG_SOFTMAX => is_last(arg(1)).then_some(vec![rows, kind(arg(2))?]),
        ops::MEAN_DIM | ops::SUM_DIM => (is_last(arg(1)) && keeps).then_some(vec![rows, kind(arg(3))?]),
        ops::AMAX => (is_last(arg(1)) && keeps).then_some(vec![rows]),
        ops::LAYER_NORM => {
            let is_row = is_length_of(graph, arg(1), &rows) || arg(2).node().is_some();
            (is_row && !matches!(arg(4), Arg::None)).then(|| vec![rows, arg(2).clone(), arg(3).clone(), arg(4).clone()])
        }
        ops::RMS_NORM => {
            let is_row = is_length_of(graph, arg(1), &rows) || arg(2).node().is_some();
            (is_row && !matches!(arg(3), Arg::None)).then(|| vec![rows, arg(2).clone(), arg(3).clone()])
        }
        _ => None,
    }
}

/// Returns whether the argument is the last axis, by itself or as a list of one.
fn is_last(axes: &Arg) -> bool {
    match axes {
        Arg::Int(one) => *one == -1,
        Arg::List(all) => all[..] == [Arg::Int(-1)],
        _ => false,
    }
}

/// A dtype as a group writes it; none for one that is not written out.
fn kind(arg: &Arg) -> Option<Arg> {
    const KINDS: [&str; 4] = ["Float", "Double", "Half", "BFloat16"];
    match arg {
        Arg::None => Some(Arg::None),
        Arg::Path(path) => {
            let (rest, name) = path.rsplit_once("::")?;
            let is_kind = rest.ends_with("Kind") && KINDS.contains(&name);
            is_kind.then(|| Arg::Str(name.to_owned()))
        }
        _ => None,
    }
}

/// Whether it is the length of the rows, read from them: `vec![rows.size()[rows.dim() - 1]]`. Another one may be wrong,
/// which ATen has to say.
fn is_length_of(graph: &Graph, shape: &Arg, rows: &Arg) -> bool {
    let asks = |arg: &Arg, method: &str| {
        let found = graph.host_value(arg);
        found.is_some_and(|(op, args)| *op == HostOp::Method(method.to_owned()) && args == [rows.clone()])
    };
    let is_last = |arg: &Arg| match graph.host_value(arg) {
        Some((HostOp::Binary(sign), [count, Arg::Int(1)])) => sign == "-" && asks(count, "dim"),
        _ => false,
    };
    let is_length = |arg: &Arg| match graph.host_value(arg) {
        Some((HostOp::Item, [sizes, axis])) => asks(sizes, "size") && is_last(axis),
        _ => false,
    };
    matches!(graph.host_value(shape), Some((HostOp::Vec, [length])) if is_length(length))
}

/// Whether it is a list that is made in place.
fn is_made_in_place(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).op.host() == Some(&HostOp::Vec)
}

/// Does the node only tell members which shape they have? It goes with them, since the group sees that itself.
pub(super) fn is_shape_of(graph: &Graph, members: &[NodeId], id: NodeId) -> bool {
    let readers = graph.users(id);
    let is_shape = |reader: &NodeId| members.contains(reader) && graph.node(*reader).input(1) == Some(id);
    !readers.is_empty() && is_made_in_place(graph, id) && readers.iter().all(is_shape)
}

/// How many sums and maxima of a row the node asks for.
pub(super) fn reductions(graph: &Graph, id: NodeId) -> usize {
    let op = match &graph.node(id).op {
        Op::Call(op) => Some(*op),
        _ => layer(graph, id).map(|_| ops::LAYER_NORM),
    };
    match op.and_then(OpId::row).and_then(|row| row.scalar) {
        Some(Scalar::Row(count)) => count,
        _ => 0,
    }
}

/// Tensors and numbers that the node reads beside those in its form, once it is lowered.
pub(super) fn hidden_inputs(graph: &Graph, id: NodeId) -> (usize, usize) {
    if layer(graph, id).is_some() { (2, 1) } else { (0, 0) }
}

/// Turns a layer into the op on its weights.
pub(super) fn lower(graph: &mut Graph, id: NodeId) {
    let Some((leaf, layer, rows)) = layer(graph, id) else { return };
    let origin = Origin::merged(GroupPointwise.name(), [&graph.node(id).origin]);
    let mut args = vec![Arg::Node(rows), Arg::None];
    let config = HostOp::Field("config".to_owned()).on(layer);
    let of_frame = || vec![HostOp::Frame.of([]), HostOp::Ref.on(layer)];
    let parts = [
        ("weight", runtime("norm::weight"), of_frame(), Type::TENSOR),
        ("bias", runtime("norm::bias"), of_frame(), Type::TENSOR),
        ("eps", Op::Host(Host::pure(HostOp::Field("eps".to_owned()))), vec![config], Type::rust("f64")),
    ];
    for (name, op, of, ty) in parts {
        let name = part_name(graph, id, name);
        args.push(Arg::Node(graph.insert_before(id, op, of, &name, ty, origin.clone())));
    }
    let node = graph.node_mut(id);
    (node.op, node.args) = (Op::Call(ops::LAYER_NORM), args);
    if graph.users(leaf).is_empty() {
        let _ = graph.erase_node(leaf);
    }
}
