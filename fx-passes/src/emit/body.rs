//! A region as statements, one node after the other.

use std::collections::HashMap;

use fx_ir::{Binding, CodeForm, Graph, NodeId, Op, RegionId, Type};

use super::{
    Emitter,
    holder::Holder,
    locals::{Owned, last_reads},
    memory::Peak,
    names::Names,
    value::Value,
};

/// Which half of a graph is being printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// What is known of the live model.
    Freeze,
    /// What needs an input.
    Call,
}

/// Prints the statements of one function.
pub(super) struct Writer<'e, 'a> {
    pub(super) emitter: &'e Emitter<'a>,
    pub(super) phase: Phase,
    pub(super) lines: Vec<String>,
    pub(super) values: HashMap<NodeId, Value>,
    pub(super) names: Names,
    /// The variable that holds the struct of each scope that is open.
    pub(super) holders: HashMap<RegionId, String>,
    /// The tensors that this function owns, by variable.
    pub(super) owned: HashMap<String, Owned>,
    /// How many of them were handed on for good since the last statement.
    pub(super) moved: usize,
    /// The most that were alive at once so far.
    pub(super) peak: Peak,
    pub(super) last_reads: HashMap<NodeId, NodeId>,
    /// The lines that a region begins with.
    pub(super) openings: HashMap<Option<RegionId>, Vec<String>>,
    /// Whether all is printed that is known of the live model, not only what a call needs.
    pub(super) prints_all: bool,
}

impl<'e, 'a> Writer<'e, 'a> {
    pub(super) fn new(emitter: &'e Emitter<'a>, phase: Phase) -> Writer<'e, 'a> {
        let mut names = Names::default();
        for name in ["self", "frame", "scope", "options", "drop"] {
            names.take(name);
        }
        for name in &emitter.constants {
            names.take(name);
        }
        Writer {
            emitter,
            phase,
            lines: Vec::new(),
            values: HashMap::new(),
            names,
            holders: HashMap::new(),
            owned: HashMap::new(),
            moved: 0,
            peak: Peak::default(),
            last_reads: last_reads(emitter.graph),
            openings: HashMap::new(),
            prints_all: false,
        }
    }

    pub(super) fn graph(&self) -> &'a Graph {
        self.emitter.graph
    }

    pub(super) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// From here on the node is read as `value`.
    pub(super) fn set(&mut self, id: NodeId, value: Value) {
        self.values.insert(id, value);
    }

    /// Whether it is known how the node is read.
    pub(super) fn is_set(&self, id: NodeId) -> bool {
        self.values.contains_key(&id)
    }

    /// How the node is read here.
    pub(super) fn read(&self, id: NodeId) -> Value {
        if let Some(value) = self.values.get(&id) {
            return value.clone();
        }
        if let (Phase::Call, Some(value)) = (self.phase, self.stored(id)) {
            return value;
        }
        let inline = self.emitter.inline(id, &|input| self.read(input));
        inline.unwrap_or_else(|| self.expression(id))
    }

    /// The field that holds the node's value.
    fn stored(&self, id: NodeId) -> Option<Value> {
        let stored = self.emitter.plan.stored.get(&id)?;
        let holder = self.holders.get(&stored.scope)?;
        let field = format!("{holder}.{}", stored.field);
        Some(match stored.kind {
            Holder::Plain(_) | Holder::Copied(_) | Holder::Numbers(_) => Value::owned(field),
            Holder::Param | Holder::Constant => Value::reference(format!("{field}.tensor()")),
            Holder::OptionalParam => Value::owned(format!("{field}.as_ref().map(::fx_runtime::frozen::Param::tensor)")),
            Holder::Captured(_) => Value::owned(format!("(*{field}.lock())")),
        })
    }

    /// Whether it is read from a field that keeps a weight or nothing, as an option of a reference.
    pub(super) fn is_kept_option(&self, id: NodeId) -> bool {
        let is_read = self.phase == Phase::Call && !self.is_set(id);
        is_read && self.emitter.plan.stored.get(&id).is_some_and(|stored| stored.kind == Holder::OptionalParam)
    }

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
        let (plan, Some(holder)) = (&self.emitter.plan, self.holders.get(&region).cloned()) else { return };
        for id in plan.scopes.get(&region).into_iter().flat_map(|scope| &scope.fields) {
            let Some(stored) = plan.stored.get(id).filter(|stored| matches!(stored.kind, Holder::Captured(_))) else {
                continue;
            };
            let name = self.names.fresh(&stored.field);
            self.line(format!("let mut {name} = {holder}.{}.lock();", stored.field));
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
            op if op.is_host() && node.ty == Type::Tuple(Vec::new()) => {
                let effect = self.expression(id).text;
                let is_block = matches!(op, Op::Rust(code) if matches!(code.form, CodeForm::Block(_)));
                let end = if is_block { "" } else { ";" };
                self.line(format!("{effect}{end}"));
                self.set(id, Value::owned("()"));
            }
            _ if self.phase == Phase::Freeze && self.reads_inline(id) => {}
            _ if self.phase == Phase::Freeze && self.emitter.plan.stored.contains_key(&id) => self.store(id),
            _ => {
                let value = self.expression(id);
                self.bind(id, value);
            }
        }
    }

    /// A small freeze-time computation that is read once is written where it is read.
    fn reads_inline(&self, id: NodeId) -> bool {
        let one_reader = self.graph().users(id).len() == 1 && !self.emitter.plan.stored.contains_key(&id);
        one_reader && self.emitter.inline(id, &|input| self.read(input)).is_some()
    }
}

/// Statements of a function that has the runtime's module in scope as `fx`.
pub(super) fn short(lines: &[String]) -> String {
    lines.join("\n").replace("::fx_runtime::frozen::", "fx::")
}
