//! One node as one expression: a call of a tch method, or opaque code.

use fx_ir::{Arg, Code, CodeForm, Host, Node, NodeId, OpId, Type, catalog};

use super::{
    Emitter,
    holder::Holder,
    host::{self, argument, literal},
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

    /// The expression of a node that is no control flow.
    pub(super) fn expression(&self, id: NodeId) -> Value {
        let node = self.graph().node(id);
        if let Some(call) = self.group_call(id) {
            return Value::owned(located(&call, node));
        }
        match &node.op {
            fx_ir::Op::Call(op) => Value::owned(self.op_call(*op, node)),
            fx_ir::Op::Host(host) => self.host_operation(host, node),
            fx_ir::Op::Rust(code) => self.carried(code, node),
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
    fn unprintable(&self, node: &Node, what: &str) -> Value {
        let place = node.origin.lines().map_or_else(String::new, |lines| format!(" ({lines})"));
        self.emitter.unprintable.borrow_mut().push(format!("`{}`{place} is {what} and cannot be printed", node.name));
        Value::owned("()")
    }

    fn host_operation(&self, host: &Host, node: &Node) -> Value {
        let text = host::rust(&host.op, &node.args, &|id| self.read(id));
        let is_ref = host::yields_reference(&host.op);
        Value { text: if host.fallible { located(&text, node) } else { text }, is_ref }
    }

    fn carried(&self, code: &Code, node: &Node) -> Value {
        let read = |id| self.read(id);
        let input =
            |position: usize| node.args.get(position).map_or(Value::owned("()"), |arg| host::operand(arg, &read));
        let text = template::fill(code, &input);
        let is_ref = code.form == CodeForm::Reference;
        Value { text: if code.fallible { located_of_any_type(&text, node) } else { text }, is_ref }
    }

    fn op_call(&self, op: OpId, node: &Node) -> String {
        let Some(entry) = op.entry() else {
            return self.unprintable(node, &format!("the op `{op}`, which has no method,")).text;
        };
        let method = entry.fallible().unwrap_or_else(|| entry.method.to_owned());
        let mut args = node.args.iter();
        let head = match entry.receiver {
            catalog::Receiver::Free => format!("::fx_runtime::Tensor::{method}"),
            receiver => {
                let object = args.next().map_or_else(|| "()".to_owned(), |arg| argument(arg, &|id| self.read(id)).text);
                let handle = if receiver == catalog::Receiver::Mut { ".shallow_clone()" } else { "" };
                format!("{object}{handle}.{method}")
            }
        };
        let is_list = |param: &catalog::Kind| *param == catalog::Kind::TensorList;
        let lists = entry.params.iter().filter(|param| is_list(&param.kind)).count();
        let print = |(arg, param): (&Arg, &catalog::Param)| match arg {
            Arg::Node(id) if lists > 1 && is_list(&param.kind) => self.borrowed_list(*id),
            _ => self.op_argument(arg, param.kind),
        };
        let args: Vec<String> = args.zip(entry.params).map(print).collect();
        let call = format!("{head}({})", args.join(", "));
        if entry.door == catalog::Door::Plain { call } else { located(&call, node) }
    }

    fn op_argument(&self, arg: &Arg, kind: catalog::Kind) -> String {
        use catalog::Kind;
        let read = |id| self.read(id);
        match (kind, arg) {
            (Kind::Tensor | Kind::TensorList | Kind::OptTensorList, Arg::Node(id)) => self.read(*id).borrowed(),
            (Kind::OptTensor, Arg::None) => "None::<&::fx_runtime::Tensor>".to_owned(),
            (Kind::OptTensor, Arg::Node(id)) => self.optional(*id),
            (Kind::TensorList | Kind::OptTensorList, Arg::List(items)) => {
                let items: Vec<String> = items.iter().map(|item| self.list_item(item, kind)).collect();
                format!("&[{}]", items.join(", "))
            }
            (Kind::Scalar, Arg::Int(number)) => format!("{number}i64"),
            (Kind::IntList | Kind::OptIntList | Kind::FloatList, Arg::Node(id)) if self.is_list(*id) => {
                self.read(*id).borrowed()
            }
            (Kind::Shape, Arg::Node(id)) if self.is_list(*id) => format!("{}.as_slice()", self.read(*id).text),
            (Kind::Shape | Kind::IntList | Kind::OptIntList | Kind::FloatList, Arg::List(items))
                if items.is_empty() =>
            {
                let number = if kind == Kind::FloatList { "f64" } else { "i64" };
                format!("&[] as &[{number}]")
            }
            (Kind::Shape | Kind::OptIntList, Arg::List(_)) => format!("&{}[..]", literal(arg, &read)),
            (Kind::OptIntList | Kind::OptInt, Arg::None) => "None::<i64>".to_owned(),
            (Kind::OptFloat, Arg::None) => "None::<f64>".to_owned(),
            (Kind::OptElementKind, Arg::None) => "None::<::fx_runtime::Kind>".to_owned(),
            (_, Arg::Node(id)) => self.read(*id).text,
            (_, other) => literal(other, &read),
        }
    }

    /// A list of references, for an op whose lists have to be of one type: those that are written out hold references.
    fn borrowed_list(&self, id: NodeId) -> String {
        let one = "::std::borrow::Borrow::<::fx_runtime::Tensor>::borrow(one)";
        format!("&{}.iter().map(|one| {one}).collect::<Vec<_>>()", self.read(id).text)
    }

    fn is_list(&self, id: NodeId) -> bool {
        !matches!(&self.graph().node(id).ty, Type::Rust(_) | Type::Tuple(_))
    }

    fn optional(&self, id: NodeId) -> String {
        let value = self.read(id);
        match &self.graph().node(id).ty {
            Type::Option(_) if self.holds_reference(id) => value.text,
            Type::Option(_) => format!("{}.as_ref()", value.text),
            _ => format!("Some({})", value.borrowed()),
        }
    }

    /// Whether it is an option of a reference: a parameter of such a type, or a field of the frozen type as it is read.
    fn holds_reference(&self, id: NodeId) -> bool {
        let Emitter { graph, traced, .. } = self.emitter;
        let params = graph.region(graph.body()).params.iter().skip(usize::from(traced.signature.has_receiver));
        let free = traced.signature.params.iter().filter(|param| param.fixed.is_none());
        let mut lent = params.zip(free).filter(|(_, param)| param.written.contains('&'));
        lent.any(|(&param, _)| param == id) || self.is_kept_option(id)
    }

    fn list_item(&self, item: &Arg, kind: catalog::Kind) -> String {
        match (item, kind) {
            (Arg::Node(id), catalog::Kind::OptTensorList) => self.optional(*id),
            (Arg::Node(id), _) => self.read(*id).borrowed(),
            (Arg::None, _) => "None::<&::fx_runtime::Tensor>".to_owned(),
            (other, _) => literal(other, &|id| self.read(id)),
        }
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
