//! What goes where: which values `freeze` hands to `forward`, and in which struct.
//!
//! A *scope* is a region that `freeze` walks as the live model dictates: the body, the body of a loop over the model's
//! layers, an arm of a `match` on its configuration. Each scope has a struct. Its fields are the freeze-time values that
//! call-time nodes of the scope read, and for each inner decision a `Vec` or an enum of inner structs. Of an inner scope
//! with one field the struct is left out: where it would stand, the field stands by itself.

pub(super) mod held;

use std::collections::{BTreeMap, HashMap, HashSet};

use fx_ir::{AliasAnalysis, Arg, Binding, Bindings, Graph, NodeId, NodeSet, Op, Pattern, RegionId};

use super::{
    holder::{Holder, Names as TypeNames},
    names::{Names, identifier},
    pattern,
};

/// The plan of one graph.
#[derive(Debug)]
pub(super) struct Plan {
    /// The struct of every scope, by region; the first is the frozen type itself.
    pub(super) scopes: BTreeMap<RegionId, Scope>,
    /// The freeze-time values that a call reads, with the scope that holds them.
    pub(super) stored: HashMap<NodeId, Stored>,
    /// The decisions taken at freeze time, by control-flow node.
    pub(super) decided: HashMap<NodeId, Decided>,
    /// Freeze-time nodes that `freeze` computes.
    pub(super) needed: HashSet<NodeId>,
    /// Freeze-time nodes that a call computes again, since no field could hold them.
    pub(super) repeated: HashSet<NodeId>,
}

/// The struct of one scope.
#[derive(Debug)]
pub(super) struct Scope {
    /// Its type name, where it has a struct.
    pub(super) name: String,
    /// What it is: the field that holds it, and the arm.
    pub(super) label: String,
    /// The stored values and decisions that are its fields, in order.
    pub(super) fields: Vec<NodeId>,
    names: Names,
    is_body: bool,
}

/// A value that `freeze` stores.
#[derive(Debug)]
pub(super) struct Stored {
    /// The scope whose struct holds it.
    pub(super) scope: RegionId,
    /// The field.
    pub(super) field: String,
    /// How it is held.
    pub(super) kind: Holder,
}

/// A decision that `freeze` takes once.
#[derive(Debug)]
pub(super) struct Decided {
    /// The scope whose struct holds it.
    pub(super) scope: RegionId,
    /// The field.
    pub(super) field: String,
    /// What the field is.
    pub(super) shape: Shape,
}

/// What a decision leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A loop: one struct an iteration.
    Each,
    /// An `Option`, `Some` for the region of that position.
    Maybe(usize),
    /// An enum of that name, with a variant a region; the struct is left out where it would be empty.
    Choice(String, Vec<(String, bool)>),
}

impl Plan {
    /// The field of a scope that has no struct; `None` where there is a struct.
    pub(super) fn only_field(&self, region: RegionId) -> Option<NodeId> {
        match self.scopes.get(&region)? {
            Scope { fields, is_body: false, .. } if fields.len() == 1 => fields.first().copied(),
            _ => None,
        }
    }

    pub(super) fn of(graph: &Graph, bindings: &Bindings, name: &str, names_of: &dyn TypeNames) -> Plan {
        let mut planner = Planner {
            graph,
            bindings,
            names_of,
            handed_out: AliasAnalysis::of(graph).handed_out(),
            plan: Plan {
                scopes: BTreeMap::new(),
                stored: HashMap::new(),
                decided: HashMap::new(),
                needed: HashSet::new(),
                repeated: HashSet::new(),
            },
        };
        planner.open(graph.body(), String::new());
        if let Some(scope) = planner.plan.scopes.get_mut(&graph.body()) {
            // The struct of a field `kernels` would be called as that of all of them.
            for name in ["frame", "kernels"] {
                scope.names.take(name);
            }
        }
        planner.region(graph.body(), graph.body());
        planner.plan.name_types(graph.body(), name);
        planner.plan
    }
}

struct Planner<'a> {
    graph: &'a Graph,
    bindings: &'a Bindings,
    names_of: &'a dyn TypeNames,
    /// What the caller may write to when the call is over.
    handed_out: NodeSet,
    plan: Plan,
}

impl Planner<'_> {
    fn open(&mut self, region: RegionId, label: String) {
        let is_body = region == self.graph.body();
        self.plan
            .scopes
            .insert(region, Scope { name: String::new(), label, fields: Vec::new(), names: Names::default(), is_body });
    }

    fn is_call(&self, id: NodeId) -> bool {
        self.bindings.get(id) == Binding::Call
    }

    /// Whether the control flow is decided by the live model, while what it computes is not.
    fn is_decision(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let by_model = matches!(node.op, Op::If | Op::Match(_) | Op::For(_));
        by_model
            && self.is_call(id)
            && !self.bindings.is_deferred(id)
            && node.args.first().is_some_and(|subject| !self.reads_call(subject))
    }

    fn reads_call(&self, arg: &Arg) -> bool {
        arg.nodes().any(|id| self.is_call(id))
    }

    fn region(&mut self, region: RegionId, scope: RegionId) {
        for &id in &self.graph.region(region).nodes {
            let node = self.graph.node(id);
            // What a region hands over is read at the call, even where it is known before.
            if !self.is_call(id) && node.op != Op::Yield {
                continue;
            }
            let decision = self.is_decision(id);
            let skipped = if decision { node.input(0) } else { None };
            if let Some(subject) = skipped {
                self.need(subject);
            }
            for input in node.inputs().filter(|&input| Some(input) != skipped) {
                self.read(input, scope);
            }
            if decision {
                self.decide(id, scope);
            } else {
                node.regions.iter().for_each(|&inner| self.region(inner, scope));
            }
        }
    }

    fn decide(&mut self, id: NodeId, scope: RegionId) {
        let node = self.graph.node(id);
        let label = match node.input(0).map(|subject| &self.graph.node(subject).op) {
            Some(Op::GetAttr(name)) => name.clone(),
            Some(Op::Host(_) | Op::Rust(_)) | None => self.graph.base_name(id).to_owned(),
            Some(_) => node.input(0).map_or_else(String::new, |subject| self.graph.base_name(subject).to_owned()),
        };
        let field = self.claim(id, scope, &label);
        let heads = match &node.op {
            Op::Match(patterns) => heads(patterns),
            Op::If => vec!["Then".to_owned(), "Else".to_owned()],
            _ => Vec::new(),
        };
        for (position, &region) in node.regions.iter().enumerate() {
            let suffix = heads.get(position).filter(|head| *head != "Some").cloned().unwrap_or_default();
            let turn = self.turn_of(id, region).map(|param| self.graph.base_name(param));
            self.open(region, format!("{}{suffix}", fx_ir::camel(turn.unwrap_or(&field))));
            self.region(region, region);
        }
        let full: Vec<bool> = node.regions.iter().map(|region| !self.plan.scopes[region].fields.is_empty()).collect();
        // Which arm it is, a truth value tells as well as an enum of two empty variants.
        if node.op == Op::If && full == [false, false] {
            if let Some(scope) = self.plan.scopes.get_mut(&scope) {
                scope.fields.retain(|&field| field != id);
                scope.names.release(&field);
            }
            node.regions.iter().for_each(|region| drop(self.plan.scopes.remove(region)));
            node.inputs().for_each(|input| self.read(input, scope));
            node.regions.iter().for_each(|&region| self.region(region, scope));
            return;
        }
        let shape = match (&node.op, full.as_slice()) {
            (Op::For(_), _) => Shape::Each,
            (_, [true, false]) => Shape::Maybe(0),
            (_, [false, true]) => Shape::Maybe(1),
            _ => Shape::Choice(String::new(), heads.into_iter().zip(full).collect()),
        };
        self.plan.decided.insert(id, Decided { scope, field, shape });
    }

    /// The element of an iteration, where a loop's pattern names one.
    fn turn_of(&self, id: NodeId, region: RegionId) -> Option<NodeId> {
        let node = self.graph.node(id);
        let Op::For(header) = &node.op else { return None };
        let params = &self.graph.region(region).params;
        let bound = params.len().checked_sub(node.args.len() - 1)?;
        let position = bound.checked_sub(1).filter(|&position| header.counter() != Some(position))?;
        params.get(position).copied()
    }

    /// A call-time node of `scope` reads `id`.
    fn read(&mut self, id: NodeId, scope: RegionId) {
        if self.is_call(id) || self.plan.stored.contains_key(&id) || self.plan.repeated.contains(&id) {
            return;
        }
        let node = self.graph.node(id);
        match self.holder_of(id) {
            Some(kind) if !self.is_lent_on(id, &kind, scope) => {
                let scope = self.known_in(id, scope);
                let label = field_label(self.graph, id);
                let field = self.claim(id, scope, &label);
                self.plan.stored.insert(id, Stored { scope, field, kind });
                self.need(id);
            }
            _ => {
                self.plan.repeated.insert(id);
                for input in node.inputs() {
                    self.read(input, scope);
                }
            }
        }
    }

    /// Whether it is a tensor made of literals alone, which nobody can tell from one that is made anew at every call.
    fn is_constant(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let made = matches!(node.op, Op::Call(_)) && node.ty.is_tensor() && self.bindings.get(id) == Binding::Build;
        made && !self.handed_out.contains(id)
    }

    /// Whether it is a result of control flow, which no expression can repeat.
    fn is_from_control_flow(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let whole = if matches!(node.op, Op::TupleGet(_)) {
            node.input(0).map_or(node, |whole| self.graph.node(whole))
        } else {
            node
        };
        whole.op.is_control_flow()
    }

    /// The scope in which a freeze-time value is known: the nearest one around where it is computed.
    fn known_in(&self, id: NodeId, reader: RegionId) -> RegionId {
        let mut region = self.graph.scope_of(id).unwrap_or(reader);
        while !self.plan.scopes.contains_key(&region) {
            let outer = self.graph.owner_of(region).and_then(|owner| self.graph.scope_of(owner));
            match outer {
                Some(outer) => region = outer,
                None => return self.graph.body(),
            }
        }
        region
    }

    fn claim(&mut self, id: NodeId, scope: RegionId, label: &str) -> String {
        let Some(scope) = self.plan.scopes.get_mut(&scope) else { return identifier(label) };
        scope.fields.push(id);
        scope.names.fresh(label)
    }

    /// `freeze` has to compute the node, and what it depends on.
    fn need(&mut self, id: NodeId) {
        if self.is_call(id) || !self.plan.needed.insert(id) {
            return;
        }
        let node = self.graph.node(id);
        node.inputs().for_each(|input| self.need(input));
        for &region in &node.regions {
            for &inner in &self.graph.region(region).nodes {
                self.need(inner);
            }
        }
    }
}

/// What a field is called: the part of the model it comes from.
fn field_label(graph: &Graph, id: NodeId) -> String {
    let node = graph.node(id);
    match &node.op {
        Op::GetAttr(name) => match node.input(0) {
            Some(outer) if matches!(graph.node(outer).op, Op::GetAttr(_)) => {
                format!("{}_{name}", graph.base_name(outer))
            }
            _ => name.clone(),
        },
        Op::Placeholder if node.name == "self" => "model".to_owned(),
        _ => graph.base_name(id).to_owned(),
    }
}

/// A variant's name for every pattern.
fn heads(patterns: &[Pattern]) -> Vec<String> {
    let mut names = Names::default();
    let head = |pattern: &Pattern| {
        let name = fx_ir::camel(pattern::head(pattern));
        if name.is_empty() || name.chars().next().is_some_and(|c| c.is_ascii_digit()) {
            "Other".to_owned()
        } else {
            name
        }
    };
    patterns.iter().map(|pattern| names.fresh(&head(pattern))).collect()
}
