//! The modes of calls, where a model is frozen: it is in inference, whatever its code says.

use fx_ir::{Graph, NodeId};

/// Has every call of a layer follow the frozen model, which is in inference.
///
/// # Errors
///
/// The first call that says that it is one in training, which no frozen model can do.
pub fn in_inference(graph: &mut Graph) -> Result<(), NodeId> {
    let moded: Vec<NodeId> = graph.nodes().into_iter().filter(|&id| graph.node(id).mode().is_some()).collect();
    if let Some(&trained) = moded.iter().find(|&&id| graph.node(id).mode() == Some(true)) {
        return Err(trained);
    }
    for id in moded {
        graph.node_mut(id).clear_mode();
    }
    Ok(())
}
