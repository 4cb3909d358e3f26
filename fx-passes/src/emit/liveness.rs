//! Liveness: up to where each value is read, by itself or through what borrows it.
//!
//! A list of references, a struct of them, an element of either, and whatever a branch makes of those read what they
//! refer to as often as they are read themselves.

use std::collections::{BTreeSet, HashMap, HashSet};

use fx_ir::{Arg, CodeForm, Graph, NodeId, Op, RegionId, host::HostOp, host::Yields};

/// What each value may hold references to.
type Borrows = HashMap<NodeId, BTreeSet<NodeId>>;

/// How long each value of a graph is read.
pub(super) struct Liveness {
    /// For every node the last one of its own region that reads it, by itself, through the regions it owns, or through a
    /// value that borrows it.
    pub(super) last_reads: HashMap<NodeId, NodeId>,
    borrows: Borrows,
}

impl Liveness {
    pub(super) fn of(graph: &Graph) -> Liveness {
        let nodes = graph.nodes();
        let borrows = borrows(graph, &nodes);
        Liveness { last_reads: last_reads(graph, nodes, &borrows), borrows }
    }

    /// The branch whose value holds a reference to a handle that one of its arms makes: of a place that is older than the
    /// branch, or of what another branch, a loop or opaque code
    /// chooses. It has to live as long as that place does. Only the branches
    /// in `open` are preceded by declarations.
    pub(super) fn outlived_by(&self, graph: &Graph, id: NodeId, open: &HashSet<NodeId>) -> Option<NodeId> {
        let node = graph.node(id);
        let is_handle = match &node.op {
            Op::Host(host) => host.op.yields() == Yields::Value,
            Op::If | Op::Match(_) | Op::For(_) | Op::While | Op::TupleGet(_) => true,
            // What is borrowed as a tensor may be one.
            Op::Rust(_) => node.ty.is_tensor() || graph.may_be_reference(id) && is_borrowed(graph, id),
            _ => false,
        };
        if !is_handle {
            return None;
        }
        self.outermost(graph, (id, open), &|one| one == id)
    }

    /// The branch whose value may refer to what opaque code has variables of its own for: it holds what the code was given,
    /// or what the code yields.
    pub(super) fn left_with(&self, graph: &Graph, id: NodeId, open: &HashSet<NodeId>) -> Option<NodeId> {
        let given: BTreeSet<NodeId> = graph.node(id).inputs().collect();
        self.outermost(graph, (id, open), &|one| given.contains(&one))
    }

    /// The outermost of the open branches around the node whose value, as that of all branches in between, may hold a
    /// reference to one of those values.
    fn outermost(
        &self,
        graph: &Graph,
        (id, open): (NodeId, &HashSet<NodeId>),
        is_one: &dyn Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let holds = |owner: &NodeId| {
            open.contains(owner)
                && matches!(graph.node(*owner).op, Op::If | Op::Match(_))
                && of(&self.borrows, *owner).any(is_one)
        };
        std::iter::successors(graph.parent(id).filter(holds), |&owner| graph.parent(owner).filter(holds)).last()
    }
}

/// Returns whether something takes a reference to the value, or chooses among references to it and others.
fn is_borrowed(graph: &Graph, id: NodeId) -> bool {
    graph.users(id).into_iter().any(|user| {
        let node = graph.node(user);
        let is_chosen = node.op == Op::Yield && graph.parent(user).is_some_and(|of| graph.is_lent_choice(of));
        is_chosen || node.args.iter().any(|arg| arg.borrowed().contains(&id))
    })
}

fn last_reads(graph: &Graph, nodes: Vec<NodeId>, borrows: &Borrows) -> HashMap<NodeId, NodeId> {
    let mut last = HashMap::new();
    for reader in nodes {
        let inputs = || graph.node(reader).inputs();
        let read: BTreeSet<NodeId> = inputs().chain(inputs().flat_map(|input| of(borrows, input))).collect();
        for input in read {
            if let Some(at) = seen_from(graph, reader, input) {
                last.insert(input, at);
            }
        }
    }
    last
}

/// The reader, or the node around it that stands in the region of the value; `None` where the value is not in scope,
/// which a reference to it outlives as a copy.
fn seen_from(graph: &Graph, reader: NodeId, value: NodeId) -> Option<NodeId> {
    let home = graph.scope_of(value);
    let mut at = reader;
    while graph.scope_of(at) != home {
        at = graph.parent(at)?;
    }
    Some(at)
}

/// The borrows of all values, to a fixed point: loops carry them around.
fn borrows(graph: &Graph, nodes: &[NodeId]) -> Borrows {
    let mut borrows = Borrows::new();
    let params = |region: &RegionId| graph.region(*region).params.clone();
    let params: Vec<NodeId> = graph.live_regions().iter().flat_map(params).collect();
    loop {
        let mut grows = false;
        let mut add = |borrows: &mut Borrows, to: NodeId, found: BTreeSet<NodeId>| {
            if !found.is_empty() {
                let known = borrows.entry(to).or_default();
                let before = known.len();
                known.extend(found);
                grows |= known.len() > before;
            }
        };
        for &id in params.iter().chain(nodes) {
            if may_hold_reference(graph, id) {
                let found = borrowed(graph, id, &borrows);
                add(&mut borrows, id, found);
            }
            for (place, found) in written(graph, id, &borrows) {
                add(&mut borrows, place, found);
            }
        }
        if !grows {
            return borrows;
        }
    }
}

/// What the value is known to borrow so far.
fn of(borrows: &Borrows, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    borrows.get(&id).into_iter().flatten().copied()
}

/// Returns whether the value is, or is made of, what may be a reference. Control flow hands on tensors that are its own.
fn may_hold_reference(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    if node.ty.is_plain() {
        return false;
    }
    if !node.ty.is_tensor() {
        return !matches!(node.op, Op::Call(_) | Op::CallModule(_) | Op::Yield);
    }
    match &node.op {
        Op::Host(host) => match host.op {
            HostOp::Method(_) | HostOp::Unwrap(_) | HostOp::Call(_) | HostOp::CallMethod(_) => true,
            _ => matches!(host.op.yields(), Yields::Reference | Yields::Place),
        },
        Op::Rust(code) => code.form == CodeForm::Reference,
        Op::GetAttr(_) | Op::TupleGet(_) => true,
        Op::Placeholder => graph.is_bound_by_pattern(id),
        Op::If | Op::Match(_) => graph.is_lent_choice(id),
        _ => false,
    }
}

/// What a value may borrow, by what it is made of.
fn borrowed(graph: &Graph, id: NodeId, borrows: &Borrows) -> BTreeSet<NodeId> {
    let node = graph.node(id);
    let through = |inputs: Vec<NodeId>| -> BTreeSet<NodeId> {
        inputs.iter().flat_map(|&input| of(borrows, input)).chain(inputs.iter().copied()).collect()
    };
    match &node.op {
        // The value may be made of references to what the code was given.
        Op::Rust(_) => through(node.inputs().collect()),
        Op::Placeholder => {
            let owner = graph.parent(id);
            let Some(owner) = owner else { return BTreeSet::new() };
            match graph.carried(id) {
                Some(args) => args.into_iter().flat_map(|arg| held(arg, borrows)).collect(),
                None => through(graph.node(owner).args.first().into_iter().flat_map(Arg::nodes).collect()),
            }
        }
        // A reference to what it is made of, or into it; an element of a list, also in an option.
        Op::Host(host) if host.op.yields() == Yields::Reference || host.op.yields_loan() => {
            through(node.inputs().collect())
        }
        Op::If | Op::Match(_) if graph.is_lent_choice(id) => {
            through(graph.handed_on(id).flat_map(Arg::nodes).collect())
        }
        op if op.is_control_flow() => graph.handed_on(id).flat_map(|arg| held(arg, borrows)).collect(),
        _ => node.args.iter().flat_map(|arg| held(arg, borrows)).collect(),
    }
}

/// What a statement puts into the places that it writes to.
fn written(graph: &Graph, id: NodeId, borrows: &Borrows) -> Vec<(NodeId, BTreeSet<NodeId>)> {
    let node = graph.node(id);
    match &node.op {
        Op::Host(host) if matches!(host.op, HostOp::Mutate(_) | HostOp::Assign | HostOp::Exchange(_)) => {
            let Some((place, values)) = node.args.split_first() else { return Vec::new() };
            let found: BTreeSet<NodeId> = values.iter().flat_map(|arg| held(arg, borrows)).collect();
            place.nodes().map(|place| (place, found.clone())).collect()
        }
        // Opaque code may put whatever it is given into whatever it is given.
        Op::Rust(code) if code.effect == fx_ir::Effect::Io => {
            let all = || node.inputs().flat_map(|input| of(borrows, input).chain([input]));
            let holds = |place: &NodeId| !graph.node(*place).ty.is_tensor() && may_hold_reference(graph, *place);
            node.inputs().filter(holds).map(|place| (place, all().filter(|one| *one != place).collect())).collect()
        }
        _ => Vec::new(),
    }
}

/// What the operand holds references to.
fn held(arg: &Arg, borrows: &Borrows) -> BTreeSet<NodeId> {
    arg.borrowed().into_iter().chain(arg.nodes().flat_map(|id| of(borrows, id))).collect()
}
