//! `profile` of a frozen type: what its operations are, for the clock behind each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fx_ir::{Binding, Node, Op};

use super::{entries::Whole, labels::label};

impl Whole<'_, '_> {
    /// The method; none where an entry has its name.
    pub(super) fn profile(&self) -> String {
        if self.has_entry("profile") {
            return String::new();
        }
        let mut operations = BTreeMap::new();
        for entry in self.0 {
            let of_calls = |id: &fx_ir::NodeId| entry.bindings.get(*id) == Binding::Call;
            for id in entry.graph.nodes().into_iter().filter(of_calls) {
                let node = entry.graph.node(id);
                if let Some(lines) = node.origin.lines().filter(|_| is_run(node)) {
                    operations.entry((label(node), lines)).or_insert(node);
                }
            }
        }
        let mut listed = String::new();
        for ((label, lines), node) in operations {
            let opcode = node.op.opcode();
            let line = node.origin.places.last().map(ToString::to_string).unwrap_or_default();
            let mut seen = BTreeSet::new();
            let stack = node.nn_module_stack().iter().map(|module| module.path.as_str());
            let modules: Vec<&str> = stack.filter(|path| seen.insert(*path)).collect();
            let modules = modules.join(",");
            // Writing to a string cannot fail.
            let _ = writeln!(listed, "{label} | {opcode} | {modules} | {lines} | {line}");
        }
        let (name, title) = (&self.first().frozen, &self.first().graph.name);
        format!("::fx_runtime::profiled!({name}, {title:?}, \"\n{listed}\");\n")
    }
}

/// Whether the node is an operation of its own.
fn is_run(node: &Node) -> bool {
    !matches!(node.op, Op::Placeholder | Op::Yield | Op::TupleGet(_) | Op::GetAttr(_)) && !node.op.is_control_flow()
}
