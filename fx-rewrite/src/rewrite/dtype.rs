//! Which tensors hold floating-point numbers for certain, whatever the inputs are.

use fx_ir::{Graph, NodeId, Op, Type};

/// How far up to look.
const DEPTH: usize = 8;

/// Layers that hand on the type of what they are given.
const LAYERS_KEEPING: &[&str] =
    &["ReLU", "ReLU6", "MaxPool2D", "Flatten", "Identity", "Id", "Sequential", "SequentialT"];

/// Does the tensor hold floats for certain?
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
        Op::CallModule(kind) if LAYERS_KEEPING.contains(&kind.0.as_str()) => input(1),
        Op::CallModule(_) => true,
        _ => false,
    }
}
