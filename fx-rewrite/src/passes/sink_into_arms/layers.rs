//! Layers with an epilogue across the border of an arm: a batch norm, a factor, a sum or an activation.

use fx_ir::{Arg, Graph, NodeId, Op, RegionId, ops};

use super::moves::{arms_that_read, is_within};
use super::{Sink, quiet_arms};
use crate::analysis::Contraction;
use crate::passes::fuse_epilogue::{FusedActivation, act_of};
use crate::passes::norm::input_of_norm;
use crate::rewrite::is_quiet;

/// How far back to look for the layer.
const DEPTH: usize = 4;

/// The parts that a layer can take on, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Weights, and what folds into them.
    Weights,
    /// A sum.
    Sum,
    /// An activation, behind which there is nothing more.
    Activation,
}

impl Stage {
    /// Returns whether a layer that has got this far can take on the next.
    fn takes(self, next: Stage) -> bool {
        self < next || self == Stage::Weights && next == Stage::Weights
    }
}

impl Sink {
    /// A node outside of the arms that finishes a layer inside, or a layer outside that is finished inside.
    pub(super) fn of_layer(&self, graph: &Graph, control: NodeId) -> Option<Vec<NodeId>> {
        let arms: Vec<RegionId> = quiet_arms(graph, control).collect();
        if let Some(reader) = self.only_reader(graph, control)
            && arms.iter().any(|&arm| self.finishes_result(graph, control, arm, reader))
        {
            return Some(vec![reader]);
        }
        let mut inputs: Vec<NodeId> = Vec::new();
        for arm in arms {
            for &id in &graph.region(arm).nodes {
                inputs.extend(
                    graph.node(id).inputs().filter(|&input| self.is_finished_in(graph, control, arm, input, id)),
                );
            }
        }
        inputs.first().map(|&input| vec![input])
    }

    /// Returns whether `reader` is the epilogue of a layer that the arm yields.
    fn finishes_result(&self, graph: &Graph, control: NodeId, arm: RegionId, reader: NodeId) -> bool {
        let Some(stage) = self.step(graph, reader, control) else { return false };
        let Some(end) = graph.yield_of(arm) else { return false };
        let Some(result) = graph.node(end).args[0].node() else { return false };
        let Some(reached) = self.open(graph, control, (result, end), DEPTH) else { return false };
        reached.takes(stage)
    }

    /// Returns whether `input` is a layer outside whose epilogue is `reader`, in the arm.
    fn is_finished_in(&self, graph: &Graph, control: NodeId, arm: RegionId, input: NodeId, reader: NodeId) -> bool {
        let outside = graph.scope_of(reader) == Some(arm) && graph.scope_of(input) == graph.scope_of(control);
        let Some(stage) = self.step(graph, reader, input).filter(|_| outside) else { return false };
        let Some(reached) = self.open(graph, control, (input, reader), DEPTH) else { return false };
        reached.takes(stage)
    }

    /// The part that `reader` adds to a layer whose result is `input`.
    fn step(&self, graph: &Graph, reader: NodeId, input: NodeId) -> Option<Stage> {
        if self.folds(graph, reader, input) {
            return Some(Stage::Weights);
        }
        let node = graph.node(reader);
        if let Some((of, act)) = act_of(node) {
            let known = match act {
                FusedActivation::Known(_) => true,
                FusedActivation::Layer(layer, _) => self.is_frozen(&Arg::Node(layer)),
            };
            return (of == input && known).then_some(Stage::Activation);
        }
        let &[Arg::Node(a), Arg::Node(b)] = &node.args[..] else { return None };
        let is_sum = node.op == Op::Call(ops::ADD) && node.kwargs.is_empty() && a != b;
        let other = if a == input { b } else { a };
        (is_sum && !self.is_layer_beside(graph, other, reader)).then_some(Stage::Sum)
    }

    /// Whether it is a layer that the sum takes in where both stand. Then nothing has to move for it.
    fn is_layer_beside(&self, graph: &Graph, id: NodeId, reader: NodeId) -> bool {
        let (mut id, mut reader) = (id, reader);
        while graph.users(id) == [reader] && graph.scope_of(id) == graph.scope_of(reader) {
            if let Some(layer) = Contraction::read(graph, id) {
                return layer.add.is_none() && layer.act.is_none();
            }
            let weights = |&input: &NodeId| self.folds(graph, id, input);
            let Some(input) = graph.node(id).inputs().find(weights) else { return false };
            (id, reader) = (input, id);
        }
        false
    }

    /// Returns whether `reader` is a batch norm or a factor, which folds into the weights of a layer whose result is
    /// `input`.
    fn folds(&self, graph: &Graph, reader: NodeId, input: NodeId) -> bool {
        let node = graph.node(reader);
        let is_scale = matches!(node.op, Op::Call(ops::MUL_SCALAR | ops::DIV_SCALAR));
        let is_scaled = is_scale && node.input(0) == Some(input) && node.kwargs.is_empty();
        input_of_norm(graph, reader) == Some(input) || is_scaled && self.is_frozen(&node.args[1])
    }

    /// How far the layer has got whose result `reader` alone reads, be it in an arm or computed for the arms.
    fn open(&self, graph: &Graph, control: NodeId, (id, reader): (NodeId, NodeId), depth: usize) -> Option<Stage> {
        let node = graph.node(id);
        let users = graph.users(id);
        let arms = &graph.node(control).regions;
        let alone = users == [reader] && graph.scope_of(id) == graph.scope_of(reader);
        if depth == 0 || !is_quiet(node) || !alone && !self.may_enter(graph, control, (id, reader), arms) {
            return None;
        }
        if let Some(layer) = Contraction::read(graph, id) {
            let frozen = [Some(Arg::Node(layer.weight)), Some(layer.bias), layer.params.map(Arg::Node)];
            let frozen = frozen.iter().flatten().all(|part| self.is_frozen(part));
            let stage = if layer.add.is_some() { Stage::Sum } else { Stage::Weights };
            return (frozen && layer.act.is_none()).then_some(stage);
        }
        node.inputs().find_map(|input| {
            let stage = self.step(graph, id, input).filter(|&stage| stage != Stage::Activation)?;
            let reached = self.open(graph, control, (input, id), depth - 1)?;
            reached.takes(stage).then_some(stage)
        })
    }

    /// Returns whether the value may move into the arms, where `reader` alone reads it then.
    fn may_enter(&self, graph: &Graph, control: NodeId, (id, reader): (NodeId, NodeId), arms: &[RegionId]) -> bool {
        let readers = arms_that_read(graph, control, id);
        let arm_of = |user: NodeId| arms.iter().find(|&&arm| is_within(graph, user, arm));
        let alone = graph.users(id).into_iter().all(|user| user == reader || arm_of(user) != arm_of(reader));
        let affordable = readers.len() == 1 || self.is_decided_early(graph, control);
        alone && affordable && self.is_for_arms(graph, control, id)
    }
}
