//! Tensors that hold floating-point numbers for certain, whatever the inputs are.

use fx_ir::{Graph, NodeId, Op, Type};

/// The number of nodes to look up through.
const DEPTH: usize = 8;

/// Returns whether the tensor holds floats for certain.
pub(crate) fn is_float(graph: &Graph, id: NodeId) -> bool {
    look(graph, id, DEPTH)
}

fn look(graph: &Graph, id: NodeId, depth: usize) -> bool {
    let node = graph.node(id);
    if let Type::Tensor(ty) = &node.ty
        && let Some(dtype) = &ty.dtype
    {
        return matches!(dtype.as_str(), "f16" | "bf16" | "f32" | "f64");
    }
    if depth == 0 {
        return false;
    }
    let input = |position: usize| node.input(position).is_some_and(|input| look(graph, input, depth - 1));
    match &node.op {
        Op::Call(op) => op.row().is_some_and(|row| row.dtype.is_float(input)),
        // The layer itself is the first argument.
        Op::CallModule(kind) => kind.row().is_some_and(|row| row.dtype_rule().is_float(|position| input(position + 1))),
        _ => false,
    }
}
