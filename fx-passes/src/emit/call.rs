//! One node as one expression: a call of a tch method, or opaque code.

use fx_ir::{Arg, Code, CodeForm, Graph, Host, HostOp, Node, NodeId, Op, OpId, RegionId};
use fx_print::call::{Operands, op_call};

use super::{
    Emitter,
    holder::Holder,
    host::{self, argument},
    labels::label,
    template,
    value::Value,
    writer::{Phase, Writer},
};

impl Writer<'_, '_> {
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
        let place = self.field(stored.scope, &stored.field)?;
        let field = &place.text;
        Some(match stored.kind {
            Holder::Copied(_) if place.is_ref => Value::owned(format!("(*{field})")),
            Holder::Plain(_) | Holder::Copied(_) | Holder::Numbers(_) => place,
            Holder::Text => Value::owned(format!("{field}.as_str()")),
            Holder::Param | Holder::Constant => Value::reference(format!("{field}.tensor()")),
            Holder::OptionalParam => Value::owned(format!("{field}.as_ref().map(::fx_runtime::frozen::Param::tensor)")),
            Holder::Captured(_) => Value::owned(format!("(*{field}.lock())")),
        })
    }

    /// A field of a scope that is open, as a place: of a scope without a struct, the reference to the field.
    pub(super) fn field(&self, scope: RegionId, field: &str) -> Option<Value> {
        let holder = self.holders.get(&scope)?;
        Some(match self.emitter.plan.only_field(scope) {
            Some(_) => Value::variable(holder.clone(), true),
            None => Value::owned(format!("{holder}.{field}")),
        })
    }

    /// Whether it is read from a field that keeps a weight or nothing, as an option of a reference.
    pub(super) fn is_kept_option(&self, id: NodeId) -> bool {
        let is_read = self.phase == Phase::Call && !self.is_set(id);
        is_read && self.emitter.plan.stored.get(&id).is_some_and(|stored| stored.kind == Holder::OptionalParam)
    }

    /// Whether it is read from a field that keeps a list of numbers, which is not moved out of it.
    pub(super) fn is_kept_list(&self, id: NodeId) -> bool {
        let is_read = self.phase == Phase::Call && !self.is_set(id);
        is_read && self.emitter.plan.stored.get(&id).is_some_and(|stored| matches!(stored.kind, Holder::Numbers(_)))
    }

    /// The expression of a node that is no control flow.
    pub(super) fn expression(&self, id: NodeId) -> Value {
        let node = self.graph().node(id);
        if let Some(call) = self.group_call(id) {
            return Value::owned(located(&call, node));
        }
        match &node.op {
            fx_ir::Op::Call(op) => Value::owned(self.op_call(*op, node)),
            fx_ir::Op::Host(host) => self.host_operation(host, node),
            fx_ir::Op::Rust(code) => self.carried(id, code, node),
            fx_ir::Op::TupleGet(position) => {
                let tuple = node.input(0).map_or_else(|| "()".to_owned(), |tuple| self.read(tuple).text);
                Value::owned(format!("{tuple}.{position}"))
            }
            fx_ir::Op::CallModule(_) => {
                let read = |position: usize| {
                    node.args.get(position).map_or(Value::owned("()"), |arg| argument(arg, &|id| self.read(id)))
                };
                // However many references the layer lies behind, a method finds it.
                let call = format!("{}.f_forward({})", read(0).receiver(), read(1).borrowed());
                Value::owned(located(&call, node))
            }
            other => self.unprintable(node, &format!("{}, which has no value here,", other.opcode())),
        }
    }

    /// Notes that the node cannot be printed, which keeps the source from being used; what it is stands for nothing.
    pub(super) fn unprintable(&self, node: &Node, what: &str) -> Value {
        let place = node.origin.lines().map_or_else(String::new, |lines| format!(" ({lines})"));
        self.emitter.unprintable.borrow_mut().push(format!("`{}`{place} is {what} and cannot be printed", node.name));
        Value::owned("()")
    }

    fn host_operation(&self, host: &Host, node: &Node) -> Value {
        let op = match (&host.op, node.args.as_slice()) {
            (HostOp::UnwrapRef(message), [Arg::Node(of)]) if self.is_kept_option(*of) => {
                &HostOp::UnwrapLoan(message.clone())
            }
            (op, _) => op,
        };
        let text = host::rust(op, &node.args, &|id| self.read(id));
        host::expression(op, if host.fallible { located(&text, node) } else { text })
    }

    fn carried(&self, id: NodeId, code: &Code, node: &Node) -> Value {
        let input = |position: usize| self.input_of_code(node, position);
        let text = template::fill(code, &input);
        let is_ref = code.form == CodeForm::Reference;
        let text = if code.fallible { located_of_any_type(&text, node) } else { text };
        if node.ty.is_tensor() && !is_ref && self.phase == Phase::Call && self.graph().has_users(id) {
            // It may be a reference.
            return Value::owned(format!("::fx_runtime::frozen::owned({text})"));
        }
        Value { is_ref, ..Value::owned(text) }
    }

    /// Opaque code whose value may hold references to what the code mentions: the variables of its block become the
    /// function's, so that they live as long. `None` where it is no such code.
    pub(super) fn outliving(&mut self, id: NodeId) -> Option<Value> {
        let node = self.graph().node(id);
        let Op::Rust(code) = &node.op else { return None };
        let scope = template::lent_by(code, node).filter(|_| self.phase == Phase::Call)?;
        let is_handle = |position: usize| node.args.get(position).is_some_and(is_made_of_handles);
        let input = |position| self.input_of_code(node, position);
        let (variables, text) = template::opened(code, scope, &input, &is_handle)?;
        let branch = self.liveness.left_with(self.graph(), id, &self.branches);
        for variable in variables {
            match branch {
                Some(branch) if !self.declares_outlived(branch, &variable.name) => {
                    self.assign_outlived(branch, &variable);
                }
                _ => self.line(variable.to_string()),
            }
        }
        Some(Value::owned(text))
    }

    /// Whether opaque code has a variable of that name, with a value of its own, which becomes one of the function's.
    pub(super) fn is_hidden_by_code(&self, name: &str) -> bool {
        let hides = |id: NodeId| {
            let node = self.graph().node(id);
            let Op::Rust(code) = &node.op else { return false };
            let is_handle = |position: usize| node.args.get(position).is_some_and(is_made_of_handles);
            let mut variables = template::lent_by(code, node).into_iter().flat_map(|scope| &scope.variables);
            variables.any(|variable| variable.name == name && template::is_opened(variable, &is_handle))
        };
        self.graph().nodes().into_iter().any(hides)
    }

    fn input_of_code(&self, node: &Node, position: usize) -> Value {
        node.args.get(position).map_or(Value::owned("()"), |arg| host::operand(arg, &|id| self.read(id)))
    }

    fn op_call(&self, op: OpId, node: &Node) -> String {
        match op_call(self, op, node) {
            Some((call, true)) => located(&call, node),
            Some((call, false)) => call,
            None => self.unprintable(node, &format!("the op `{op}`, which has no method,")).text,
        }
    }
}

impl Operands for Writer<'_, '_> {
    fn graph(&self) -> &Graph {
        self.graph()
    }

    fn read(&self, id: NodeId) -> Value {
        self.read(id)
    }

    /// Whether it is an option of a reference: a parameter of such a type, or a field of the frozen type as it is read.
    fn holds_reference(&self, id: NodeId) -> bool {
        let Emitter { graph, traced, .. } = self.emitter;
        let params = graph.region(graph.body()).params.iter().skip(usize::from(traced.signature.has_receiver));
        let free = traced.signature.params.iter().filter(|param| param.fixed.is_none());
        let mut lent = params.zip(free).filter(|(_, param)| param.written.contains('&'));
        lent.any(|(&param, _)| param == id) || self.is_kept_option(id)
    }
}

/// Whether it is a second handle on a tensor, an option of one, or made of such: a value of the code's own.
fn is_made_of_handles(arg: &Arg) -> bool {
    let Arg::Expr(one) = arg else { return false };
    match &one.op {
        HostOp::Handle | HostOp::NoneOf(_) => true,
        HostOp::Tuple | HostOp::Struct(_) | HostOp::Some | HostOp::Vec | HostOp::Array => {
            one.args.iter().any(is_made_of_handles)
        }
        _ => false,
    }
}

/// The value of a `Result`, whose error says which of the user's lines it comes from, all of them where it is fused.
fn located(call: &str, node: &Node) -> String {
    match node.origin.lines() {
        Some(lines) => format!("{call}.at({:?}, {lines:?})?", label(node)),
        None => format!("{call}?"),
    }
}

/// The same of code of the user's, whose error may be of a type that has no `Display`.
fn located_of_any_type(call: &str, node: &Node) -> String {
    match node.origin.lines() {
        Some(lines) => format!("::fx_runtime::frozen::at!({call}, {:?}, {lines:?})?", label(node)),
        None => format!("{call}?"),
    }
}
