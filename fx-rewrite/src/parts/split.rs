//! A graph of each part, and one that calls the parts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use fx_ir::{Arg, Effect, Graph, Host, HostOp, NodeId, Op, Origin, Spot, Type};

use super::dependencies::{Dependencies, reads};

/// A graph in parts.
#[derive(Clone, Debug)]
pub struct Split {
    /// The graph that is left: it calls each part by its name, in an order in which all that a part needs is there.
    pub main: Graph,
    /// The parts in the order in which they are called.
    pub parts: Vec<Part>,
}

/// One part of a graph.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name, given by the callback.
    pub number: usize,
    /// What it computes: its parameters are what it reads, and it yields what others read, both under their old names.
    pub graph: Graph,
}

/// The reason why a graph cannot be split so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitError {
    /// These parts need each other's results, or have effects that go to and fro between them.
    Cycle(Vec<usize>),
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SplitError::Cycle(parts) = self;
        let names: Vec<String> = parts.iter().map(|part| format!("`part_{part}`")).collect();
        write!(f, "{} need each other's results; put what lies between them into one part", names.join(" and "))
    }
}

impl std::error::Error for SplitError {}

/// Splits a graph by a callback that says in which part a node of the body goes; `None` leaves it in the main graph.
///
/// Reads of fields go wherever they are read, so that no part hands weights to another. Inside a part nodes stand in the
/// order in which they stood; parts stand as early as their inputs allow, and in the order of their first nodes
/// otherwise. A control-flow node goes as a whole.
///
/// ```
/// use fx_rewrite::{Graph, parts::split_module};
///
/// let graph: Graph = "graph f(x: tensor) { %a = relu(x) : tensor ; %b = neg(%a) : tensor ; yield %b }".parse()?;
/// let split = split_module(&graph, |graph, id| Some(usize::from(graph.node(id).name == "b")))?;
/// let text = split.parts[1].graph.to_line();
/// assert_eq!(text, "graph part_1(a: tensor) { %b = neg(a) : tensor ; yield %b }");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If parts need each other's results.
pub fn split_module(graph: &Graph, part_of: impl Fn(&Graph, NodeId) -> Option<usize>) -> Result<Split, SplitError> {
    let dependencies = Dependencies::of(graph);
    let is_read = |id: NodeId| matches!(graph.node(id).op, Op::GetAttr(_));
    let steps: Vec<NodeId> = dependencies.nodes.iter().copied().filter(|&id| !is_read(id)).collect();
    let groups: HashMap<NodeId, Group> =
        steps.iter().map(|&id| (id, part_of(graph, id).map_or(Group::Node(id), Group::Part))).collect();
    let order = in_order(&steps, &groups, |id| before(graph, &dependencies, id))?;
    let mut splitter = Splitter::new(graph);
    for group in order {
        let members: Vec<NodeId> = steps.iter().copied().filter(|id| groups.get(id) == Some(&group)).collect();
        match group {
            Group::Node(id) => splitter.stay(id),
            Group::Part(number) => splitter.part(number, &members),
        }
    }
    Ok(splitter.finish())
}

/// A part, or a node that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Group {
    Part(usize),
    Node(NodeId),
}

/// The nodes that have to run before a node; a read of a field stands for what it is read from.
fn before(graph: &Graph, dependencies: &Dependencies, id: NodeId) -> Vec<NodeId> {
    let (mut found, mut waiting) = (Vec::new(), dependencies.before(id).to_vec());
    while let Some(at) = waiting.pop() {
        match graph.node(at).op {
            Op::GetAttr(_) => waiting.extend(dependencies.before(at)),
            _ => found.push(at),
        }
    }
    found
}

/// The groups in an order that the dependencies allow, by their first nodes otherwise.
fn in_order(
    steps: &[NodeId],
    groups: &HashMap<NodeId, Group>,
    before: impl Fn(NodeId) -> Vec<NodeId>,
) -> Result<Vec<Group>, SplitError> {
    let mut first: Vec<Group> = Vec::new();
    let mut needs: BTreeMap<Group, BTreeSet<Group>> = BTreeMap::new();
    for &id in steps {
        let group = groups[&id];
        if !needs.contains_key(&group) {
            first.push(group);
        }
        let others = before(id).into_iter().map(|needed| groups[&needed]).filter(|&needed| needed != group);
        needs.entry(group).or_default().extend(others);
    }
    let mut order: Vec<Group> = Vec::new();
    while !first.is_empty() {
        let Some(next) = first.iter().position(|group| needs[group].iter().all(|need| order.contains(need))) else {
            let stuck = first.iter().filter_map(|group| match group {
                Group::Part(part) => Some(*part),
                Group::Node(_) => None,
            });
            return Err(SplitError::Cycle(stuck.collect::<BTreeSet<_>>().into_iter().collect()));
        };
        order.push(first.remove(next));
    }
    Ok(order)
}

struct Splitter<'g> {
    graph: &'g Graph,
    main: Graph,
    /// The value in the main graph that stands for one of the old graph.
    map: BTreeMap<NodeId, Arg>,
    parts: Vec<Part>,
}

impl<'g> Splitter<'g> {
    fn new(graph: &'g Graph) -> Splitter<'g> {
        let (mut main, mut map) = (Graph::new(graph.name.clone()), BTreeMap::new());
        let body = main.body();
        for &id in &graph.region(graph.body()).params {
            let node = graph.node(id);
            let param = main.add_param(body, &node.name, node.ty.clone(), node.origin.clone());
            map.insert(id, Arg::Node(param));
        }
        Splitter { graph, main, map, parts: Vec::new() }
    }

    /// A node that stays in the main graph.
    fn stay(&mut self, id: NodeId) {
        self.fetch(&reads(self.graph, id));
        let end = Spot::End(self.main.body());
        self.main.node_copy(self.graph, id, &mut self.map, end);
    }

    /// Copies reads of fields into the main graph, where it needs them.
    fn fetch(&mut self, values: &[NodeId]) {
        for &id in values {
            if !self.map.contains_key(&id) {
                self.stay(id);
            }
        }
    }

    /// A part with these nodes, and its call.
    fn part(&mut self, number: usize, members: &[NodeId]) {
        let name = format!("part_{number}");
        let mut building =
            Building { source: self.graph, part: Graph::new(name.clone()), map: BTreeMap::new(), inputs: Vec::new() };
        // What fields are read from comes first, as in a traced graph.
        for read in members.iter().flat_map(|&id| reads(self.graph, id)) {
            building.model(read);
        }
        for &id in members {
            building.copy(id);
        }
        let escapes = |id: &NodeId| self.graph.users(*id).into_iter().any(|user| !members.contains(&self.holder(user)));
        let outputs: Vec<NodeId> = members.iter().copied().filter(escapes).collect();
        let body = building.part.body();
        let results = outputs.iter().map(|output| building.map[output].clone()).collect();
        building.part.push(body, Op::Yield, results, "output", Type::Unknown, Origin::default());
        self.call(&name, members, &building.inputs, &outputs);
        self.parts.push(Part { number, graph: building.part });
    }

    /// The node of the body in which a node stands, itself or a control-flow node around it.
    fn holder(&self, mut id: NodeId) -> NodeId {
        while let Some(owner) = self.graph.parent(id) {
            id = owner;
        }
        id
    }

    /// Calls a part and maps its outputs to the results.
    fn call(&mut self, name: &str, members: &[NodeId], inputs: &[NodeId], outputs: &[NodeId]) {
        self.fetch(inputs);
        let args = inputs.iter().map(|input| HostOp::Ref.on(self.map[input].clone())).collect();
        let impure = members.iter().any(|&id| self.graph.is_impure(id));
        let effect = if impure { Effect::Io } else { Effect::Pure };
        let call = Host::with_effect(HostOp::Call(name.to_owned()), effect);
        let types: Vec<Type> = outputs.iter().map(|&output| self.graph.node(output).ty.clone()).collect();
        let ty = if let [one] = &types[..] { one.clone() } else { Type::Tuple(types.clone()) };
        let origin = Origin::merged("split", members.iter().map(|&id| &self.graph.node(id).origin));
        let body = self.main.body();
        let called = self.main.push(body, Op::Host(call), args, name, ty, origin.clone());
        match outputs {
            [one] => {
                self.map.insert(*one, Arg::Node(called));
            }
            several => {
                for (at, (&output, ty)) in several.iter().zip(types).enumerate() {
                    let (args, name) = (vec![Arg::Node(called)], &self.graph.node(output).name);
                    let part = self.main.push(body, Op::TupleGet(at), args, name, ty, origin.clone());
                    self.map.insert(output, Arg::Node(part));
                }
            }
        }
    }

    fn finish(mut self) -> Split {
        if let Some(end) = self.graph.yield_of(self.graph.body()) {
            self.stay(end);
        }
        Split { main: self.main, parts: self.parts }
    }
}

/// A part that is being filled.
struct Building<'g> {
    source: &'g Graph,
    part: Graph,
    map: BTreeMap<NodeId, Arg>,
    /// The values that are parameters, in order.
    inputs: Vec<NodeId>,
}

impl Building<'_> {
    fn copy(&mut self, id: NodeId) {
        for read in reads(self.source, id) {
            if self.map.contains_key(&read) {
                continue;
            }
            let node = self.source.node(read);
            match node.op {
                Op::GetAttr(_) => self.copy(read),
                _ => self.param(read),
            }
        }
        let end = Spot::End(self.part.body());
        self.part.node_copy(self.source, id, &mut self.map, end);
    }

    fn param(&mut self, id: NodeId) {
        let (node, body) = (self.source.node(id), self.part.body());
        let param = self.part.add_param(body, &node.name, node.ty.clone(), node.origin.clone());
        self.map.insert(id, Arg::Node(param));
        self.inputs.push(id);
    }

    /// The parameter from which a field is read.
    fn model(&mut self, read: NodeId) {
        let mut at = read;
        while let (Op::GetAttr(_), Some(base)) = (&self.source.node(at).op, self.source.node(at).input(0)) {
            at = base;
        }
        if at != read && self.source.node(at).op == Op::Placeholder && !self.map.contains_key(&at) {
            self.param(at);
        }
    }
}
