//! The facts of a graph that rules read, kept up while rules change it.

use std::collections::HashMap;
use std::rc::Rc;

use fx_ir::{Arg, Binding, Bindings, Graph, NodeId, NodeMap, Op};

use fx_ir::ops::Rank;

use crate::analysis::{Effects, Ranks, bindings, chain};
use crate::context::PassContext;

/// A layer by the fields that lead to it.
type Path = (NodeId, Vec<String>);

/// The facts of one graph during one run of a pass.
pub(crate) struct Facts {
    bindings: Rc<Bindings>,
    effects: Rc<Effects>,
    ranks: Rc<Ranks>,
    calls: HashMap<Path, usize>,
    made: NodeMap<Made>,
}

/// The facts of a node that a rule made.
#[derive(Clone, Copy)]
struct Made {
    time: Binding,
    epoch: Option<u32>,
}

impl Facts {
    pub(crate) fn of(graph: &Graph, cx: &PassContext) -> Facts {
        let mut facts = Facts {
            bindings: bindings(graph, cx),
            effects: Effects::of(graph, cx),
            ranks: Ranks::of(graph, cx),
            calls: HashMap::new(),
            made: NodeMap::default(),
        };
        for id in graph.nodes() {
            facts.count_call(graph, id, true);
        }
        facts
    }

    /// The binding time of a value.
    pub(crate) fn time(&self, arg: &Arg) -> Binding {
        let time = |id: NodeId| self.made.get(id).map_or_else(|| self.bindings.get(id), |made| made.time);
        arg.nodes().map(time).max().unwrap_or(Binding::Build)
    }

    /// Between which two writes the node runs.
    pub(crate) fn epoch(&self, id: NodeId) -> Option<u32> {
        self.made.get(id).map_or_else(|| self.effects.epoch(id), |made| made.epoch)
    }

    /// Returns whether the value may be written to after it was made.
    pub(super) fn is_written(&self, id: NodeId) -> bool {
        self.effects.is_written(id)
    }

    /// Returns whether the caller may get the value's memory with the results.
    pub(super) fn is_handed_out(&self, id: NodeId) -> bool {
        self.effects.is_handed_out(id)
    }

    /// Returns whether the caller may have the value's memory before the call, or get it otherwise.
    pub(super) fn is_known_outside(&self, id: NodeId) -> bool {
        self.effects.is_known_outside(id)
    }

    /// The tensor's number of axes, where the source tells.
    pub(super) fn rank(&self, arg: &Arg) -> Rank {
        self.ranks.get(arg)
    }

    /// The number of nodes that call this layer.
    pub(super) fn calls(&self, graph: &Graph, layer: NodeId) -> usize {
        self.calls.get(&chain(graph, layer)).copied().unwrap_or(0)
    }

    /// A rule made this node, to stand where `place` stands.
    pub(crate) fn learn(&mut self, graph: &Graph, id: NodeId, place: NodeId) {
        let time = graph.node(id).inputs().map(|input| self.time(&Arg::Node(input))).max().unwrap_or(Binding::Build);
        let made = Made { time, epoch: self.epoch(place) };
        self.made.insert(id, made);
        self.count_call(graph, id, true);
    }

    /// A rule is about to erase or change this node.
    pub(super) fn forget(&mut self, graph: &Graph, id: NodeId) {
        self.count_call(graph, id, false);
    }

    fn count_call(&mut self, graph: &Graph, id: NodeId, up: bool) {
        let node = graph.node(id);
        if let (Op::CallModule(_), Some(layer)) = (&node.op, node.input(0)) {
            let count = self.calls.entry(chain(graph, layer)).or_insert(0);
            *count = if up { *count + 1 } else { count.saturating_sub(1) };
        }
    }
}
