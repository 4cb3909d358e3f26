//! A region as statements, one node after the other.

use fx_ir::{Binding, CodeForm, HostOp, NodeId, Op, RegionId, Type};

use super::{
    holder::Holder,
    plan::held::outlives,
    value::Value,
    writer::{Phase, Writer},
};

impl Writer<'_, '_> {
    /// Prints the nodes of a region that belong to this phase, but not its yield.
    pub(super) fn region(&mut self, region: RegionId) {
        let opening = self.openings.remove(&Some(region)).unwrap_or_default();
        self.lines.extend(opening);
        if self.phase == Phase::Call {
            self.lock_captured(region);
        }
        let nodes = self.graph().region(region).nodes.clone();
        for (position, &id) in nodes.iter().enumerate() {
            let node = self.graph().node(id);
            if matches!(node.op, Op::Yield) {
                continue;
            }
            if self.is_mine(id) {
                self.node(id);
            } else if self.phase == Phase::Freeze && node.op.is_control_flow() {
                self.decision_or_inside(id);
            }
            let ends = nodes.get(position + 1).is_none_or(|&next| matches!(self.graph().node(next).op, Op::Yield));
            self.drop_after(id, region, ends);
        }
    }

    /// Takes one guard for each captured value of a scope, for as long as the scope is open.
    fn lock_captured(&mut self, region: RegionId) {
        let plan = &self.emitter.plan;
        for id in plan.scopes.get(&region).into_iter().flat_map(|scope| &scope.fields) {
            let Some(stored) = plan.stored.get(id).filter(|stored| matches!(stored.kind, Holder::Captured(_))) else {
                continue;
            };
            let Some(place) = self.field(region, &stored.field) else { return };
            if outlives(self.graph(), *id, region) {
                self.unprintable(self.graph().node(*id), "a part of the model that is lent for longer than it is held");
            }
            let name = self.names.fresh(&stored.field);
            self.line(format!("let mut {name} = {}.lock();", place.text));
            self.set(*id, Value::owned(format!("(*{name})")));
        }
    }

    fn is_mine(&self, id: NodeId) -> bool {
        let time = self.emitter.bindings.get(id);
        match self.phase {
            Phase::Freeze => time != Binding::Call && (self.prints_all || self.emitter.plan.needed.contains(&id)),
            Phase::Call => time == Binding::Call || self.is_repeated(id),
        }
    }

    /// Whether it is computed again by a call, by code that an expression in other code cannot hold.
    fn is_repeated(&self, id: NodeId) -> bool {
        let fails = match &self.graph().node(id).op {
            Op::Call(_) => true,
            op => op.is_fallible(),
        };
        fails && self.emitter.plan.repeated.contains(&id)
    }

    fn node(&mut self, id: NodeId) {
        if self.is_set(id) {
            return;
        }
        let node = self.graph().node(id);
        match &node.op {
            Op::GetAttr(_) | Op::Placeholder | Op::Yield => {}
            Op::TupleGet(_) => {
                let value = self.expression(id);
                self.set(id, value);
            }
            op if op.is_control_flow() => self.control(id),
            Op::Host(host) if self.prints_all && stands_for_field(&host.op) => self.live_field(id),
            op if op.is_host() && node.ty == Type::Tuple(Vec::new()) => {
                let effect = self.expression(id).text;
                let is_block =
                    matches!(op, Op::Rust(code) if !code.fallible && matches!(code.form, CodeForm::Block(_)));
                let end = if is_block { "" } else { ";" };
                self.line(format!("{effect}{end}"));
                self.set(id, Value::owned("()"));
            }
            _ if self.phase == Phase::Freeze && self.reads_inline(id) => {}
            _ if self.phase == Phase::Freeze && self.emitter.plan.stored.contains_key(&id) => self.store(id),
            _ => {
                let value = self.outliving(id).unwrap_or_else(|| self.expression(id));
                self.bind(id, value);
            }
        }
    }

    /// Of the live model the cell is the field.
    pub(super) fn live_field(&mut self, id: NodeId) {
        if let Some(field) = self.graph().node(id).input(0) {
            let value = self.read(field);
            self.set(id, value);
        }
    }

    /// A small freeze-time computation that is read once is written where it is read.
    fn reads_inline(&self, id: NodeId) -> bool {
        let one_reader = self.graph().users(id).len() == 1 && !self.emitter.plan.stored.contains_key(&id);
        one_reader && self.emitter.inline(id, &|input| self.read(input)).is_some()
    }
}

/// Whether it is the cell of a field that calls write to, or a part that is frozen by itself.
pub(super) fn stands_for_field(op: &HostOp) -> bool {
    matches!(op, HostOp::Cell(_) | HostOp::ForeignCell(_) | HostOp::FreezePart(_))
}
