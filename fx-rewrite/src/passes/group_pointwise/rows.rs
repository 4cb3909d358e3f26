//! Ops on rows as groups have them: along the last axis, which stays, with those arguments that change what they compute.

use fx_ir::{Arg, Code, Graph, NodeId, Op, OpId, Origin, Scalar, Type};

use super::{GroupPointwise, Pass, Times};
use crate::passes::name::part_name;

/// What packing has made of a layer norm, which computes the op.
const LEAF: &str = "::fx_runtime::frozen::Leaf<::fx_runtime::nn::LayerNorm>";
const OP: &str = "layer_norm";
/// What the op reads of its layer.
const PARTS: [(&str, &str); 3] = [
    ("weight", "::fx_runtime::frozen::norm::weight(&frame, &$0)?"),
    ("bias", "::fx_runtime::frozen::norm::bias(&frame, &$0)?"),
    ("eps", "$0.config.eps"),
];

/// A layer norm that is applied: its packed form, the layer that this was made of, and the rows.
fn layer(graph: &Graph, id: NodeId) -> Option<(NodeId, NodeId, NodeId)> {
    let node = graph.node(id);
    let leaf = node.input(0).filter(|&leaf| graph.node(leaf).ty == Type::rust(LEAF))?;
    let is_run = matches!(&node.op, Op::Rust(code) if code.template == "$0.run(&$1)");
    let layer = graph.node(leaf).input(0)?;
    is_run.then_some((leaf, layer, node.input(1)?))
}

/// How a group writes an op on rows: its arguments there, the rows first. None of anything else, and of one that goes
/// along other axes, or may.
pub(super) fn row_form(graph: &Graph, times: &Times, id: NodeId) -> Option<Vec<Arg>> {
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
    match op.name() {
        "softmax" | "log_softmax" => is_last(arg(1)).then_some(vec![rows, kind(arg(2))?]),
        "mean.dim" | "sum.dim_IntList" => (is_last(arg(1)) && keeps).then_some(vec![rows, kind(arg(3))?]),
        "amax" => (is_last(arg(1)) && keeps).then_some(vec![rows]),
        "layer_norm" => {
            let is_row = is_length_of(graph, arg(1), &rows) || arg(2).node().is_some();
            (is_row && !matches!(arg(4), Arg::None)).then(|| vec![rows, arg(2).clone(), arg(3).clone(), arg(4).clone()])
        }
        "rms_norm" => {
            let is_row = is_length_of(graph, arg(1), &rows) || arg(2).node().is_some();
            (is_row && !matches!(arg(3), Arg::None)).then(|| vec![rows, arg(2).clone(), arg(3).clone()])
        }
        _ => None,
    }
}

/// Is it an axis, or a list of one, and the last?
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

/// Is it the length of the rows, asked of them? Another one may be wrong, which ATen has to say.
fn is_length_of(graph: &Graph, shape: &Arg, rows: &Arg) -> bool {
    let Some(id) = shape.node() else { return false };
    let Some(text) = shape_code(graph, id) else { return false };
    let mut text = text.replace(' ', "");
    for (position, _) in graph.node(id).args.iter().enumerate().filter(|(_, arg)| *arg == rows) {
        text = text.replace(&format!("${position}"), "rows");
    }
    text == "rows.size()[rows.dim()-1]"
}

/// What stands between the brackets of a list that is made in place.
fn shape_code(graph: &Graph, id: NodeId) -> Option<&str> {
    let Op::Rust(code) = &graph.node(id).op else { return None };
    code.template.strip_prefix("vec![")?.strip_suffix(']').filter(|_| !code.fallible)
}

/// Does the node only tell members which shape they have? It goes with them, since the group sees that itself.
pub(super) fn is_shape_of(graph: &Graph, members: &[NodeId], id: NodeId) -> bool {
    let readers = graph.users(id);
    let is_shape = |reader: &NodeId| members.contains(reader) && graph.node(*reader).input(1) == Some(id);
    !readers.is_empty() && shape_code(graph, id).is_some() && readers.iter().all(is_shape)
}

/// How many sums and maxima of a row the node asks for.
pub(super) fn reductions(graph: &Graph, id: NodeId) -> usize {
    let op = match &graph.node(id).op {
        Op::Call(op) => Some(*op),
        _ => layer(graph, id).and_then(|_| OpId::lookup(OP)),
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
    let Some(op) = OpId::lookup(OP) else { return };
    let origin = Origin::merged(GroupPointwise.name(), [&graph.node(id).origin]);
    let mut args = vec![Arg::Node(rows), Arg::None];
    for (name, code) in PARTS {
        let (code, ty) = match code.strip_suffix('?') {
            Some(call) => (Code::fallible(call), Type::TENSOR),
            None => (Code::pure(code), Type::rust("f64")),
        };
        let name = part_name(graph, id, name);
        args.push(Arg::Node(graph.insert_before(
            id,
            Op::Rust(code),
            vec![Arg::Node(layer)],
            &name,
            ty,
            origin.clone(),
        )));
    }
    let node = graph.node_mut(id);
    (node.op, node.args) = (Op::Call(op), args);
    if graph.users(leaf).is_empty() {
        let _ = graph.erase_node(leaf);
    }
}
