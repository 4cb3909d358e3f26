//! Control flow that inputs decide, and the part of it that the caller of a part decides.

use fx_ir::{Arg, HostOp, Node, NodeId, Op, RegionId, Type};

use super::Tracer;
use super::known::{answer, decided, handed_on};
use crate::Error;

/// A region whose nodes are being listed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Open {
    /// It is a region of the graph: of that node.
    Region(NodeId, RegionId),
    /// The choice that the node stands for is made, and takes it: its nodes go where the choice stands.
    Taken(NodeId),
    /// It is never run: its nodes go nowhere.
    Skipped,
}

/// Control flow whose subject is known. Until the graph is finished a node stands for what it yields.
#[derive(Debug)]
pub(super) struct Choice {
    /// How many of its regions have begun.
    begun: usize,
    /// The region that is taken.
    taken: usize,
    /// The values of the parameters of that region.
    params: Vec<Arg>,
    /// What it hands over, once it is listed.
    outputs: Vec<Arg>,
}

impl Tracer {
    /// Control flow that inputs decide: `if`, `while`, or a `match` or a `for` with the patterns that head its regions,
    /// which [`Tracer::begin`] adds. `name` is the node's, `ty` the type of what it yields.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a pattern cannot be read, which is a fault of fx.
    pub fn flow(
        &mut self,
        (opcode, heads): (&str, &[&str]),
        args: &[&Arg],
        (name, ty): (&str, &str),
        line: usize,
    ) -> Result<Arg, Error> {
        let unread = |head: &str| Error::Unsupported {
            what: format!("the pattern `{head}`, which is a fault of fx"),
            help: "please report it with the model's source".to_owned(),
        };
        let op = match (opcode, heads) {
            ("if", _) => Op::If,
            ("for", [head]) => Op::For(head.parse().map_err(|_| unread(head))?),
            ("match", heads) => {
                let patterns = heads.iter().map(|head| head.parse().map_err(|_| unread(head)));
                Op::Match(patterns.collect::<Result<_, _>>()?)
            }
            _ => Op::While,
        };
        let args = self.resolved(args);
        let choice = args.first().and_then(|subject| decided(&op, &self.seen(subject)));
        let flow = self.push(op, args, name, ty.parse().unwrap_or_default(), line);
        if let (Some((taken, params)), Some(id)) = (choice, flow.node()) {
            self.choices.insert(id, Choice { begun: 0, taken, params, outputs: Vec::new() });
        }
        Ok(flow)
    }

    /// Begins the next region of such a node; what is listed up to [`Tracer::end`] is in it. Yields its parameters, of
    /// these names and types.
    pub fn begin<const N: usize>(&mut self, of: &Arg, params: [(&str, &str); N]) -> [Arg; N] {
        let mut values = self.opened(of, &params).into_iter();
        params.map(|_| values.next().unwrap_or(Arg::None))
    }

    /// Begins a region, and yields its parameters; none where nothing is listed.
    fn opened(&mut self, of: &Arg, params: &[(&str, &str)]) -> Vec<Arg> {
        let Some(owner) = of.node() else {
            self.open.push(Open::Skipped);
            return Vec::new();
        };
        if let Some(choice) = self.choices.get_mut(&owner) {
            choice.begun += 1;
            if choice.begun != choice.taken + 1 {
                self.open.push(Open::Skipped);
                return Vec::new();
            }
            self.open.push(Open::Taken(owner));
            return std::mem::take(&mut choice.params);
        }
        let region = self.module.graph_mut().add_region_to(owner);
        let origin = self.module.graph().node(owner).origin.clone();
        self.open.push(Open::Region(owner, region));
        let param = |(name, ty): &(&str, &str)| {
            let ty = ty.parse().unwrap_or_default();
            Arg::Node(self.module.graph_mut().add_param(region, name, ty, origin.clone()))
        };
        params.iter().map(param).collect()
    }

    /// Ends the region that was begun last, which hands over these values.
    pub fn end(&mut self, outputs: &[&Arg]) {
        let outputs = self.resolved(outputs);
        match self.open.last() {
            Some(Open::Taken(owner)) => {
                if let Some(choice) = self.choices.get_mut(owner) {
                    choice.outputs = outputs;
                }
            }
            _ => _ = self.push(Op::Yield, outputs, "yield", Type::Unknown, 0),
        }
        self.open.pop();
    }

    /// Whether what is listed is never run.
    pub(super) fn is_skipping(&self) -> bool {
        matches!(self.open.last(), Some(Open::Skipped))
    }

    /// The region of the graph whose nodes are listed.
    pub(super) fn region_of_nodes(&self) -> RegionId {
        let region = self.open.iter().rev().find_map(|open| match open {
            Open::Region(_, region) => Some(*region),
            _ => None,
        });
        region.unwrap_or_else(|| self.module.graph().body())
    }

    /// The node of the graph in whose regions the walk is, outermost.
    pub(super) fn outermost_flow(&self) -> Option<NodeId> {
        self.open.iter().find_map(|open| match open {
            Open::Region(owner, _) => Some(*owner),
            _ => None,
        })
    }

    /// The arguments, with what choices that are made have yielded in their place.
    pub(super) fn resolved(&self, args: &[&Arg]) -> Vec<Arg> {
        args.iter().map(|arg| self.resolve(arg)).collect()
    }

    /// The same of one.
    pub(super) fn resolve(&self, arg: &Arg) -> Arg {
        if self.choices.is_empty() {
            return arg.clone();
        }
        arg.map_nodes(&mut |id| match self.choices.get(&id).map(|choice| choice.outputs.as_slice()) {
            Some([one]) => one.clone(),
            Some(parts) => HostOp::Tuple.of(parts.iter().cloned()),
            None => Arg::Node(id),
        })
    }

    /// The value of a host operation that what is known of its operands decides.
    pub(super) fn known_value(&self, op: &HostOp, args: &[Arg]) -> Option<Arg> {
        let seen: Vec<Arg> = args.iter().map(|arg| self.seen(arg)).collect();
        answer(op, &seen).or_else(|| handed_on(op, args))
    }

    /// The argument, or what it was made as: an option that nothing changes before it is read here.
    fn seen(&self, arg: &Arg) -> Arg {
        let graph = self.module.graph();
        let made = arg.node().map(|id| (id, graph.node(id)));
        let Some((id, Node { op: Op::Host(host), args, .. })) = made else { return arg.clone() };
        // What stands behind the read in a loop runs before the next read.
        let is_loop = |open: &Open| match open {
            Open::Region(owner, _) => matches!(graph.node(*owner).op, Op::For(_) | Op::While),
            _ => false,
        };
        let is_kept = !self.open.iter().any(is_loop) && !graph.may_be_changed(id);
        if host.op == HostOp::Some && is_kept { HostOp::Some.of(args.iter().cloned()) } else { arg.clone() }
    }

    /// Erases the nodes that stood for choices.
    pub(super) fn erase_choices(&mut self) {
        for id in std::mem::take(&mut self.choices).into_keys() {
            // Nothing reads them, as all that was pushed was resolved before.
            let _ = self.module.graph_mut().erase_node(id);
        }
    }

    /// Erases the structs and options that parts yield and of which only what they hold is read.
    pub(super) fn erase_unread_aggregates(&mut self) {
        let graph = self.module.graph_mut();
        for id in graph.nodes().into_iter().rev() {
            let is_aggregate = matches!(graph.node(id).op.host(), Some(HostOp::Struct(_) | HostOp::Some));
            if is_aggregate && !graph.has_users(id) {
                // A node without users is erased without fail.
                let _ = graph.erase_node(id);
            }
        }
    }
}
