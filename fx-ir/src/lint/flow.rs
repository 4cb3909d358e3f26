//! Regions: how they end, what they are given, and whether what they yield agrees.

use super::fault::{Fault, Rule, fault};
use crate::{Arg, Graph, NodeId, Op, RegionId, Type};

pub(super) fn check_region(graph: &Graph, region: RegionId, faults: &mut Vec<Fault>) {
    let members = graph.region(region);
    for &id in &members.params {
        if graph.node(id).op != Op::Placeholder {
            faults.push(fault(graph, id, Rule::Placeholder, "is a parameter but no placeholder"));
        }
    }
    for (position, &id) in members.nodes.iter().enumerate() {
        let is_last = position + 1 == members.nodes.len();
        match graph.node(id).op {
            Op::Placeholder => faults.push(fault(graph, id, Rule::Placeholder, "is a placeholder but no parameter")),
            Op::Yield if !is_last => faults.push(fault(graph, id, Rule::Yield, "yields before the end of its region")),
            _ => {}
        }
    }
    if graph.yield_of(region).is_none() {
        let node = graph.owner_of(region).map_or(&graph.name, |owner| &graph.node(owner).name).clone();
        let message = "has a region that does not end in a yield".to_owned();
        faults.push(Fault { node, rule: Rule::Yield, message });
    }
}

pub(super) fn check_control_flow(graph: &Graph, id: NodeId, faults: &mut Vec<Fault>) {
    let node = graph.node(id);
    let mut check = Check { graph, id, faults };
    match (&node.op, node.regions.as_slice()) {
        (Op::If, &[yes, no]) => {
            check.params(yes, 0);
            check.params(no, 0);
            check.branches(&node.regions);
        }
        (Op::Match(patterns), arms) => {
            patterns.iter().zip(arms).for_each(|(pattern, &arm)| check.params(arm, pattern.binds()));
            check.branches(arms);
        }
        (Op::For(head), &[body]) => check.for_loop(body, head.pattern.binds()),
        (Op::While, &[condition, body]) => check.while_loop(condition, body),
        _ => {}
    }
}

struct Check<'a> {
    graph: &'a Graph,
    id: NodeId,
    faults: &'a mut Vec<Fault>,
}

impl Check<'_> {
    fn push(&mut self, message: String) {
        self.faults.push(fault(self.graph, self.id, Rule::Flow, message));
    }

    /// Branches yield the same number of values of fitting types, and the node's type is theirs.
    fn branches(&mut self, regions: &[RegionId]) {
        let yields: Vec<Vec<Type>> = regions.iter().filter_map(|&region| self.yielded(region)).collect();
        let Some(first) = yields.iter().find(|types| !diverges(types)).cloned() else { return };
        for (position, types) in yields.iter().enumerate().filter(|(_, types)| !diverges(types)) {
            if types.len() != first.len() {
                let (count, wanted) = (types.len(), first.len());
                self.push(format!("yields {count} values from its region {position} but {wanted} from another"));
            } else if let Some((a, b)) = first.iter().zip(types).find(|(a, b)| !a.fits(b)) {
                self.push(format!("yields {b} from its region {position} but {a} from another"));
            }
        }
        self.result(&first);
    }

    /// The carried values stay as many and of the same types from one iteration to the next.
    fn for_loop(&mut self, body: RegionId, bound: usize) {
        let carried = self.args().get(1..).unwrap_or_default().to_vec();
        let params = self.graph.region(body).params.len();
        if params != bound + carried.len() {
            let count = carried.len();
            self.push(format!("binds {bound} and carries {count} values but its region has {params} parameters"));
            return;
        }
        self.carried(body, bound, &carried);
    }

    fn while_loop(&mut self, condition: RegionId, body: RegionId) {
        let carried = self.args();
        self.params(condition, carried.len());
        self.params(body, carried.len());
        if let Some(types) = self.yielded(condition).filter(|types| types.len() != 1) {
            self.push(format!("has a condition that yields {} values", types.len()));
        }
        if self.graph.region(body).params.len() == carried.len() {
            self.carried(body, 0, &carried);
        }
    }

    fn carried(&mut self, body: RegionId, skip: usize, carried: &[Type]) {
        let params: Vec<Type> = self.types(&self.graph.region(body).params)[skip..].to_vec();
        let Some(next) = self.yielded(body).filter(|types| !diverges(types)) else { return };
        if next.len() != carried.len() {
            self.push(format!("carries {} values but its region yields {}", carried.len(), next.len()));
            return;
        }
        for ((first, param), next) in carried.iter().zip(&params).zip(&next) {
            if !first.fits(param) || !param.fits(next) {
                self.push(format!("carries {first} in, {param} through and {next} on"));
            }
        }
        self.result(&next);
    }

    fn result(&mut self, yielded: &[Type]) {
        let ty = self.graph.node(self.id).ty.clone();
        let fits = match (yielded, &ty) {
            ([one], ty) => ty.fits(one),
            (_, Type::Tuple(_)) => ty.fits(&Type::Tuple(yielded.to_vec())),
            ([], ty) => matches!(ty, Type::Unknown) || *ty == Type::rust("()"),
            (_, ty) => *ty == Type::Unknown,
        };
        if !fits {
            let yielded: Vec<_> = yielded.iter().map(ToString::to_string).collect();
            self.push(format!("is of type {ty} but its regions yield ({})", yielded.join(", ")));
        }
    }

    fn params(&mut self, region: RegionId, wanted: usize) {
        let count = self.graph.region(region).params.len();
        if count != wanted {
            self.push(format!("has a region of {count} parameters instead of {wanted}"));
        }
    }

    fn args(&self) -> Vec<Type> {
        self.graph.node(self.id).args.iter().map(|arg| self.ty(arg)).collect()
    }

    fn yielded(&self, region: RegionId) -> Option<Vec<Type>> {
        let end = self.graph.yield_of(region)?;
        Some(self.graph.node(end).args.iter().map(|arg| self.ty(arg)).collect())
    }

    fn types(&self, ids: &[NodeId]) -> Vec<Type> {
        ids.iter().map(|&id| self.graph.node(id).ty.clone()).collect()
    }

    /// Literals fit anywhere: `0` may be an `i64` or a `usize`.
    fn ty(&self, arg: &Arg) -> Type {
        arg.node().map_or(Type::Unknown, |id| self.graph.node(id).ty.clone())
    }
}

/// Does the branch leave instead of yielding? Its last value is then of Rust's type `!`.
fn diverges(types: &[Type]) -> bool {
    types.iter().any(|ty| *ty == Type::rust("!"))
}
