//! Binding time: when the value of a node is known, which decides where its code goes.
//!
//! Weights do not exist at build time and shapes often do not either, so every value has a time: a literal is known at
//! **build**, what depends on parameters, buffers and configuration alone at **freeze**, what depends on an input at
//! **call**. Folding, packing and constant folding are all one thing then: freeze-time nodes move into `freeze`.

use std::collections::HashMap;

use crate::{Effect, Graph, NodeId, Op, RegionId};

/// When a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binding {
    /// At build time: literals.
    Build,
    /// Once the live model is there: parameters, buffers, configuration.
    Freeze,
    /// Only when the model is called.
    Call,
}

/// The binding time of every node of a graph.
#[derive(Clone, Debug)]
pub struct Bindings(HashMap<NodeId, Binding>);

impl Bindings {
    /// Works out every node's binding time. The body's first parameter is the model when `self_bound`; every other
    /// parameter of the body is an input.
    pub fn of(graph: &Graph, self_bound: bool) -> Bindings {
        let mut bindings = Bindings(HashMap::new());
        for (position, &param) in graph.region(graph.body()).params.iter().enumerate() {
            let time = if position == 0 && self_bound { Binding::Freeze } else { Binding::Call };
            bindings.0.insert(param, time);
        }
        bindings.region(graph, graph.body());
        bindings
    }

    /// The binding time of one node; what was made since counts as call time.
    pub fn get(&self, id: NodeId) -> Binding {
        self.0.get(&id).copied().unwrap_or(Binding::Call)
    }

    fn region(&mut self, graph: &Graph, region: RegionId) {
        for &id in &graph.region(region).nodes {
            let time = self.node(graph, id);
            self.0.insert(id, time);
        }
    }

    fn node(&mut self, graph: &Graph, id: NodeId) -> Binding {
        let node = graph.node(id);
        let inputs = node.inputs().map(|input| self.get(input)).max().unwrap_or(Binding::Build);
        if !node.op.is_control_flow() {
            return if node.op.effect() == Effect::Pure { inputs } else { Binding::Call };
        }
        let subject = node.input(0).map_or(Binding::Build, |input| self.get(input));
        let mut time = inputs;
        for &region in &node.regions {
            for (position, &param) in graph.region(region).params.iter().enumerate() {
                let carried = node.regions.len() == 1 && position >= bound_by_pattern(graph, id, region);
                let known = if carried || node.op == Op::While { Binding::Call } else { subject };
                self.0.insert(param, known);
            }
            self.region(graph, region);
            time = graph.yield_of(region).map_or(time, |end| time.max(self.get(end)));
        }
        time
    }
}

/// How many of a loop region's parameters its pattern binds; the rest are carried.
fn bound_by_pattern(graph: &Graph, id: NodeId, region: RegionId) -> usize {
    let node = graph.node(id);
    match node.op {
        Op::For(_) => graph.region(region).params.len() + 1 - node.args.len(),
        _ => usize::MAX,
    }
}
