//! Inputs that a model takes in any dtype and on any device.

use fx_ir::{Graph, NodeId, Op, ops};

/// Whether the user's code gives the input a dtype or a device, so that neither is checked at the border of a frozen model.
pub fn is_brought(graph: &Graph, input: NodeId) -> bool {
    let brings = ["to_device", "to_dtype", "to", "totype", "type_as"];
    graph.users(input).into_iter().any(|user| match &graph.node(user).op {
        Op::Call(op) => *op == ops::TO_KIND || brings.contains(&op.name()),
        _ => false,
    })
}
