//! Which layers share the factors of a value: those that it comes from and those that read it.

use std::collections::BTreeMap;

use fx_ir::{Arg, Graph, NodeId, NodeMap, NodeSet, Op, OpId, ops};

use super::channels;
use crate::graph_module::GraphModule;
use crate::quant::patterns::{self, module_path, op_of};

/// The axis along which the channels of a value lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// The second: of images.
    Second,
    /// The last: of rows.
    Last,
}

/// Layers that share factors.
#[derive(Debug)]
pub(super) struct Group {
    /// The weights of layers that the value comes from; none where something lies between that scaling does not commute
    /// with.
    pub(super) producers: Vec<String>,
    /// The weights of layers that read it.
    pub(super) consumers: Vec<String>,
    /// All values that are divided by the factors; what the consumers read is among them.
    pub(super) values: Vec<(NodeId, Axis)>,
}

impl Group {
    /// Returns whether all producers are layers with a weight, and not norms.
    pub(super) fn is_of_layers(&self) -> bool {
        !self.producers.is_empty() && !self.values.is_empty()
    }
}

/// What a node is to the factors of the value that it yields.
enum Source {
    /// A layer whose weight takes them in.
    Producer(String),
    /// An op that commutes with them, on these values.
    PassesOn(Vec<(NodeId, Axis)>),
    /// Anything else.
    Foreign,
}

/// What a node is to the factors of a value that it reads.
enum Reader {
    /// A layer whose weight takes them back.
    Consumer(String),
    /// An op that hands them on.
    PassesOn(Axis),
    /// Anything else.
    Foreign,
}

/// The groups of a graph, in the order of the layers that read values.
pub(super) fn groups(module: &GraphModule) -> Vec<Group> {
    let search = Search::new(module);
    let graph = module.graph();
    let mut done = NodeSet::default();
    let mut groups = Vec::new();
    for &id in &graph.region(graph.body()).nodes {
        let Some((value, axis)) = search.consumed(id) else { continue };
        if done.contains(value) {
            continue;
        }
        let group = search.component(value, axis).or_else(|| search.rows(value));
        let Some(group) = group else { continue };
        for &(value, _) in &group.values {
            done.insert(value);
        }
        groups.push(group);
    }
    groups
}

/// The nodes whose weights these are, in the order of the graph.
pub(super) fn readers(graph: &Graph, weights: &[String]) -> Vec<NodeId> {
    let nodes = graph.region(graph.body()).nodes.iter().copied();
    let named = |&id: &NodeId| patterns::weight_site(graph, id).is_some_and(|path| weights.contains(&path));
    nodes.filter(named).collect()
}

/// The value that a layer with a weight reads.
pub(super) fn data(graph: &Graph, id: NodeId) -> Option<NodeId> {
    graph.node(id).args.iter().find_map(Arg::node)
}

struct Search<'m> {
    module: &'m GraphModule,
    body: NodeSet,
    /// How often each weight is used.
    uses: BTreeMap<String, usize>,
}

impl<'m> Search<'m> {
    fn new(module: &'m GraphModule) -> Self {
        let graph = module.graph();
        let mut uses = BTreeMap::new();
        for id in graph.nodes() {
            let of_module = module_path(graph, id).map(|path| format!("{path}.weight"));
            let of_tensor = match &graph.node(id).op {
                Op::GetAttr(path) => Some(path.clone()).filter(|_| graph.users(id).len() == 1),
                _ => None,
            };
            if let Some(path) = of_module.or(of_tensor) {
                *uses.entry(path).or_insert(0) += 1;
            }
        }
        let mut body = NodeSet::default();
        for &id in &graph.region(graph.body()).nodes {
            body.insert(id);
        }
        Self { module, body, uses }
    }

    /// The weight of a node, if it alone uses it.
    fn own_weight(&self, id: NodeId) -> Option<String> {
        let path = patterns::weight_site(self.module.graph(), id)?;
        (self.uses.get(&path) == Some(&1)).then_some(path)
    }

    /// What a layer that can take factors back reads.
    fn consumed(&self, id: NodeId) -> Option<(NodeId, Axis)> {
        let path = self.own_weight(id)?;
        channels::input_channels(self.module, &path)?;
        let axis = match op_of(self.module.graph(), id)? {
            ops::LINEAR => Axis::Last,
            ops::CONV1D | ops::CONV2D | ops::CONV3D if module_path(self.module.graph(), id).is_some() => Axis::Second,
            _ => return None,
        };
        Some((data(self.module.graph(), id)?, axis))
    }

    /// All that is connected with a value by ops that commute with factors, if it begins and ends in layers.
    fn component(&self, value: NodeId, axis: Axis) -> Option<Group> {
        let mut visited: NodeMap<Axis> = NodeMap::default();
        let mut open = vec![(value, axis)];
        let mut group = Group { producers: Vec::new(), consumers: Vec::new(), values: Vec::new() };
        while let Some((id, axis)) = open.pop() {
            match visited.get(id) {
                Some(known) if *known == axis => continue,
                Some(_) => return None,
                None => visited.insert(id, axis),
            };
            match self.source(id, axis) {
                Source::Producer(path) => group.producers.push(path),
                Source::PassesOn(from) => open.extend(from),
                Source::Foreign => return None,
            }
            group.values.push((id, axis));
            for user in self.module.graph().users(id) {
                match self.reader(user, id, axis) {
                    Reader::Consumer(path) => group.consumers.push(path),
                    Reader::PassesOn(axis) => open.push((user, axis)),
                    Reader::Foreign => return None,
                }
            }
        }
        self.has_one_length(&group).then_some(group)
    }

    fn has_one_length(&self, group: &Group) -> bool {
        let produced = group.producers.iter().map(|path| channels::output_channels(self.module, path));
        let mut lengths =
            produced.chain(group.consumers.iter().map(|path| channels::input_channels(self.module, path)));
        let first = lengths.next().flatten();
        first.is_some() && lengths.all(|length| length == first)
    }

    /// The linear layers that read a value.
    fn rows(&self, value: NodeId) -> Option<Group> {
        let graph = self.module.graph();
        let reads = |&&user: &&NodeId| self.consumed(user) == Some((value, Axis::Last)) && self.body.contains(user);
        let consumers: Vec<String> =
            graph.users(value).iter().filter(reads).filter_map(|&id| self.own_weight(id)).collect();
        let group = Group { producers: Vec::new(), consumers, values: vec![(value, Axis::Last)] };
        (!group.consumers.is_empty() && self.has_one_length(&group)).then_some(group)
    }

    fn source(&self, id: NodeId, axis: Axis) -> Source {
        let graph = self.module.graph();
        if !self.body.contains(id) {
            return Source::Foreign;
        }
        if let Some(path) = module_path(graph, id).map(|path| format!("{path}.weight")) {
            let is_own = self.uses.get(&path) == Some(&1);
            if channels::produced_axis(self.module, &path) == Some(axis) {
                return if is_own { Source::Producer(path) } else { Source::Foreign };
            }
        }
        let Some(op) = op_of(graph, id) else { return Source::Foreign };
        let inputs: Vec<NodeId> = graph.node(id).args.iter().filter_map(Arg::node).collect();
        match (op, inputs.as_slice()) {
            (ops::ADD | ops::ADD_IN_PLACE, &[left, right]) => Source::PassesOn(vec![(left, axis), (right, axis)]),
            (op, &[input]) if keeps_channels(op) => Source::PassesOn(vec![(input, axis)]),
            (_, &[input]) if axis == Axis::Last && joins_images(graph, id) => {
                Source::PassesOn(vec![(input, Axis::Second)])
            }
            _ => Source::Foreign,
        }
    }

    fn reader(&self, id: NodeId, value: NodeId, axis: Axis) -> Reader {
        let graph = self.module.graph();
        if !self.body.contains(id) {
            return Reader::Foreign;
        }
        if self.consumed(id) == Some((value, axis)) {
            return self.own_weight(id).map_or(Reader::Foreign, Reader::Consumer);
        }
        let Some(op) = op_of(graph, id) else { return Reader::Foreign };
        let tensors = graph.node(id).args.iter().filter_map(Arg::node).count();
        match op {
            ops::ADD | ops::ADD_IN_PLACE if tensors == 2 => Reader::PassesOn(axis),
            op if keeps_channels(op) && tensors == 1 => Reader::PassesOn(axis),
            _ if axis == Axis::Second && joins_images(graph, id) => Reader::PassesOn(Axis::Last),
            _ => Reader::Foreign,
        }
    }
}

/// Returns whether an op of one tensor commutes with a positive factor of each channel.
fn keeps_channels(op: OpId) -> bool {
    matches!(
        op,
        ops::RELU
            | ops::RELU_IN_PLACE
            | ops::LEAKY_RELU
            | ops::DROPOUT
            | ops::MAX_POOL2D
            | ops::AVG_POOL2D
            | ops::ADAPTIVE_AVG_POOL2D
    )
}

/// Returns whether a node makes rows of images.
fn joins_images(graph: &Graph, id: NodeId) -> bool {
    match op_of(graph, id) {
        Some(ops::FLAT_VIEW) => true,
        Some(ops::FLATTEN) => {
            let args = &graph.node(id).args;
            matches!(args.get(1), Some(Arg::Int(1))) && matches!(args.get(2), None | Some(Arg::Int(-1)))
        }
        _ => false,
    }
}
