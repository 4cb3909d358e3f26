//! A region as statements: names, moves and drops.

use std::collections::HashMap;

use fx_ir::{Arg, Binding, Effect, Graph, NodeId, Op, RegionId, Type};

use super::{
    Emitter,
    names::{Names, identifier},
    plan::{Holder, is_number},
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
    values: HashMap<NodeId, Value>,
    pub(super) names: Names,
    /// The variable that holds the struct of each scope that is open.
    pub(super) holders: HashMap<RegionId, String>,
    /// The tensors that this function owns, by variable.
    owned: HashMap<String, Owned>,
    last_reads: HashMap<NodeId, NodeId>,
    /// The lines that a region begins with.
    pub(super) openings: HashMap<Option<RegionId>, Vec<String>>,
}

/// A variable that owns a tensor.
#[derive(Clone, Debug)]
struct Owned {
    node: NodeId,
    region: Option<RegionId>,
    /// The line of its `let`.
    line: usize,
}

impl<'e, 'a> Writer<'e, 'a> {
    pub(super) fn new(emitter: &'e Emitter<'a>, phase: Phase) -> Writer<'e, 'a> {
        let mut names = Names::default();
        ["self", "frame", "scope", "options", "drop"].into_iter().for_each(|name| names.take(name));
        Writer {
            emitter,
            phase,
            lines: Vec::new(),
            values: HashMap::new(),
            names,
            holders: HashMap::new(),
            owned: HashMap::new(),
            last_reads: last_reads(emitter.graph),
            openings: HashMap::new(),
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

    /// Is it known how the node is read?
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
            Holder::Param => Value::reference(format!("{field}.tensor()")),
            Holder::OptionalParam => Value::owned(format!("{field}.as_ref().map(::fx_runtime::frozen::Param::tensor)")),
            Holder::Captured(_) => Value::owned(format!("(*{field}.lock())")),
        })
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
            Phase::Freeze => time != Binding::Call && self.emitter.plan.needed.contains(&id),
            Phase::Call => time == Binding::Call,
        }
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
            Op::Rust(code) if node.ty == Type::Tuple(Vec::new()) => {
                let effect = self.expression(id).text;
                let end = if code.template.starts_with('{') { "" } else { ";" };
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

    /// Binds the node's value to a variable of the user's name; an older tensor of that name that nobody reads any more
    /// is replaced, and so freed.
    pub(super) fn bind(&mut self, id: NodeId, value: Value) {
        let node = self.graph().node(id);
        let value = Value { text: bare(&value.text).to_owned(), ..value };
        if !value.is_ref
            && let Some(pattern) = self.parts_pattern(id)
        {
            self.line(format!("let {pattern} = {};", value.text));
            return;
        }
        let wanted = identifier(self.graph().base_name(id));
        let region = self.graph().scope_of(id);
        if node.ty.is_tensor() && !value.is_ref && self.phase == Phase::Call {
            let replaces = self.owned.get(&wanted).is_some_and(|old| {
                old.region == region
                    && old.line != usize::MAX
                    && self.last_reads.get(&old.node) == Some(&id)
                    && !matches!(node.op, Op::Yield)
            });
            if replaces {
                self.make_mutable(&wanted);
                self.line(format!("{wanted} = {};", value.text));
                if let Some(old) = self.owned.get_mut(&wanted) {
                    self.values.remove(&old.node);
                    old.node = id;
                }
                self.set(id, Value::owned(wanted));
                return;
            }
        }
        let name = self.names.fresh(&wanted);
        let mutable = if self.is_place(id) { "mut " } else { "" };
        self.line(format!("let {mutable}{name} = {};", value.text));
        if node.ty.is_tensor() && !value.is_ref {
            self.own(&name, id, self.lines.len() - 1);
        }
        self.set(id, Value { text: name, is_ref: value.is_ref });
    }

    /// May carried code write to the node's value where it is?
    fn is_place(&self, id: NodeId) -> bool {
        let node = self.graph().node(id);
        let plain = node.ty.is_tensor() || is_number(&node.ty) || matches!(&node.ty, Type::Module(_));
        let made = match &node.op {
            Op::Rust(code) => code.effect == Effect::Io,
            op => op.is_control_flow() || matches!(op, Op::TupleGet(_)),
        };
        self.phase == Phase::Call && made && !plain
    }

    /// The variable, declared on that line, owns the tensor that the node yields.
    pub(super) fn own(&mut self, name: &str, id: NodeId, line: usize) {
        let region = self.graph().scope_of(id);
        self.owned.insert(name.to_owned(), Owned { node: id, region, line });
    }

    /// `(a, b)` where every reader of a tuple takes a part of it; the parts are bound then.
    pub(super) fn parts_pattern(&mut self, id: NodeId) -> Option<String> {
        let Type::Tuple(types) = &self.graph().node(id).ty else { return None };
        let users = self.graph().users(id);
        let part = |user: NodeId| match self.graph().node(user).op {
            Op::TupleGet(position) => Some((position, user)),
            _ => None,
        };
        let parts: Vec<(usize, NodeId)> = users.iter().map(|&user| part(user)).collect::<Option<_>>()?;
        if types.is_empty() || parts.is_empty() {
            return None;
        }
        let mut names = Vec::new();
        for position in 0..types.len() {
            let mut takers = parts.iter().filter(|(at, _)| *at == position).map(|(_, user)| *user);
            let Some(first) = takers.next() else {
                names.push("_".to_owned());
                continue;
            };
            let name = self.names.fresh(self.graph().base_name(first));
            if self.graph().node(first).ty.is_tensor() {
                let region = self.graph().scope_of(first);
                self.owned.insert(name.clone(), Owned { node: first, region, line: usize::MAX });
            }
            for taker in std::iter::once(first).chain(takers) {
                self.set(taker, Value::owned(name.clone()));
            }
            names.push(if self.is_place(first) { format!("mut {name}") } else { name });
        }
        Some(format!("({},)", names.join(", ")))
    }

    pub(super) fn make_mutable(&mut self, name: &str) {
        if let Some(line) = self.declared_at(name) {
            self.make_mutable_at(line, name);
        }
    }

    /// The line of the `let` of a variable that owns a tensor.
    pub(super) fn declared_at(&self, name: &str) -> Option<usize> {
        self.owned.get(name).map(|owned| owned.line).filter(|&line| line != usize::MAX)
    }

    pub(super) fn make_mutable_at(&mut self, line: usize, name: &str) {
        if let Some(line) = self.lines.get_mut(line)
            && line.starts_with(&format!("let {name} "))
        {
            *line = line.replacen("let ", "let mut ", 1);
        }
    }

    /// Frees the tensors that `id` was the last to read.
    fn drop_after(&mut self, id: NodeId, region: RegionId, ends: bool) {
        if self.phase == Phase::Freeze {
            return;
        }
        let mut done: Vec<String> = self
            .owned
            .iter()
            .filter(|(_, owned)| owned.region == Some(region) && self.last_reads.get(&owned.node) == Some(&id))
            .map(|(name, _)| name.clone())
            .collect();
        done.sort();
        for name in done {
            self.owned.remove(&name);
            if !ends {
                self.line(format!("drop({name});"));
                self.names.release(&name);
            }
        }
    }

    /// The value, to be handed on for good: moved where this is its last reader, else another handle of it.
    pub(super) fn give(&mut self, id: NodeId, reader: NodeId) -> String {
        let value = self.read(id);
        if !self.graph().node(id).ty.is_tensor() {
            return value.text;
        }
        let region = self.graph().scope_of(reader);
        let movable = self.owned.get(&value.text).is_some_and(|owned| {
            owned.node == id && owned.region == region && self.last_reads.get(&id) == Some(&reader)
        });
        let once = self.graph().node(reader).inputs().filter(|&input| input == id).count() == 1;
        if movable && once {
            self.owned.remove(&value.text);
            return value.text;
        }
        format!("{}.shallow_clone()", value.text)
    }

    /// An argument that is handed on for good.
    pub(super) fn give_arg(&mut self, arg: &Arg, reader: NodeId) -> String {
        match arg {
            Arg::Node(id) => self.give(*id, reader),
            other => super::value::literal(other, &|id| self.read(id)),
        }
    }
}

/// Statements of a function that has the runtime's module in scope as `fx`.
pub(super) fn short(lines: &[String]) -> String {
    lines.join("\n").replace("::fx_runtime::frozen::", "fx::")
}

/// The expression without parentheses around the whole of it.
fn bare(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else { return text };
    let mut depth = 0_i32;
    for c in inner.chars() {
        depth += match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            // A tuple, not a parenthesis.
            ',' if depth == 0 => return text,
            _ => 0,
        };
        if depth < 0 {
            return text;
        }
    }
    if inner.is_empty() || inner.contains("..") { text } else { inner }
}

/// For every node the last one of its own region that reads it, by itself or through the regions it owns.
fn last_reads(graph: &Graph) -> HashMap<NodeId, NodeId> {
    let mut last = HashMap::new();
    for reader in graph.nodes() {
        for input in graph.node(reader).inputs() {
            let home = graph.scope_of(input);
            let mut at = reader;
            while graph.scope_of(at) != home {
                match graph.scope_of(at).and_then(|region| graph.owner_of(region)) {
                    Some(owner) => at = owner,
                    None => break,
                }
            }
            last.insert(input, at);
        }
    }
    last
}
