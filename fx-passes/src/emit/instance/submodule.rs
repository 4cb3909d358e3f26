//! Submodules that are not looked into: a call of one is one `call_module`, as torch.fx has its leaves.

use fx_front::attrs::TraceableOptions;
use fx_ir::{Host, HostOp, NodeId, Type};

use super::Walk;

impl Walk<'_, '_> {
    /// The live submodule whose forward the operation calls: its node and the name of its type.
    pub(super) fn submodule(&self, id: NodeId, op: &HostOp) -> Option<(NodeId, String)> {
        let graph = self.writer.graph();
        let receiver = graph.node(id).input(0)?;
        let module = match op {
            // The part is made of the module.
            HostOp::CallPart(_) => graph.node(receiver).input(0)?,
            HostOp::CallMethod(name) if TraceableOptions::ENTRIES.contains(&name.as_str()) => receiver,
            HostOp::Method(name) if matches!(name.as_str(), "seq" | "seq_init") => receiver,
            _ => return None,
        };
        match &graph.node(module).ty {
            Type::Module(path) if self.is_live(module) => {
                let name = path.split('<').next().unwrap_or(path).rsplit("::").next().unwrap_or(path);
                Some((module, name.to_owned()))
            }
            _ => None,
        }
    }

    /// The call of such a submodule on its inputs.
    pub(super) fn submodule_call(&mut self, id: NodeId, host: &Host, place: usize) -> String {
        let node = self.writer.graph().node(id);
        let ty = node.ty.to_string();
        let (module, kind) = self.submodule(id, &host.op).unwrap_or_else(|| (id, String::new()));
        let label = node.origin.labels.first().map_or(node.name.as_str(), String::as_str);
        let path = self.path(label);
        let args = self.args(&node.args[1..]);
        if matches!(host.op, HostOp::Method(_)) {
            let layer = self.writer.read(module).borrowed();
            return format!("t.recurrent({path}, {layer}, {ty:?}, &[{args}], {place:?})");
        }
        format!("t.submodule({path}, {kind:?}, {ty:?}, &[{args}], {place:?})")
    }
}
