//! Tensors that hold floating-point numbers for certain, whatever the inputs are.

use fx_ir::{Graph, NodeId, Op, Type};

/// The number of nodes to look up through.
const DEPTH: usize = 8;

/// Ops that yield floats, or fail, whatever they are given.
const FLOATING: &[&str] = &[
    "sigmoid",
    "tanh",
    "silu",
    "gelu",
    "softmax",
    "exp",
    "sqrt",
    "rsqrt",
    "div",
    "div.Scalar",
    "hardswish",
    "hardsigmoid",
    "convolution",
    "batch_norm",
    "layer_norm",
    "group_norm",
    "mean.dim",
    "dropout",
    "erf",
    "rms_norm",
    "log_softmax",
    "reciprocal",
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "scaled_dot_product_attention",
];

/// Ops that yield floats if any of their tensors is one.
const PROMOTING: &[&str] =
    &["add", "sub", "mul", "add.Scalar", "sub.Scalar", "mul.Scalar", "matmul", "product", "linear"];

/// Ops that yield elements of their first tensor's type.
const KEEPING: &[&str] = &[
    "relu",
    "relu6",
    "leaky_relu",
    "clamp",
    "neg",
    "view",
    "reshape",
    "flatten",
    "flat_view",
    "permute",
    "transpose",
    "squeeze",
    "unsqueeze",
    "contiguous",
    "shallow_clone",
    "max_pool2d",
    "tr",
    "narrow",
    "expand",
];

/// Layers that hand on the type of what they are given.
const LAYERS_KEEPING: &[&str] =
    &["ReLU", "ReLU6", "MaxPool2D", "Flatten", "Identity", "Id", "Sequential", "SequentialT"];

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
        Op::Call(op) if FLOATING.contains(&op.name()) => true,
        Op::Call(op) if PROMOTING.contains(&op.name()) => input(0) || input(1),
        Op::Call(op) if KEEPING.contains(&op.name()) => input(0),
        Op::CallModule(kind) if LAYERS_KEEPING.contains(&kind.0.as_str()) => input(1),
        Op::CallModule(_) => true,
        _ => false,
    }
}
