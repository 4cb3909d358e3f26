//! How a value is written where it is read.

use fx_front::index::is_within;
use fx_ir::{Arg, CodeForm, NodeId, Op, Type};

use super::{Emitter, host, template};

/// A value as an expression.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The expression.
    pub(super) text: String,
    /// Whether it is a reference.
    pub(super) is_ref: bool,
}

impl Value {
    pub(super) fn owned(text: impl Into<String>) -> Value {
        Value { text: text.into(), is_ref: false }
    }

    pub(super) fn reference(text: impl Into<String>) -> Value {
        Value { text: text.into(), is_ref: true }
    }

    /// The expression, borrowed.
    pub(super) fn borrowed(&self) -> String {
        if self.is_ref { self.text.clone() } else { format!("&{}", self.text) }
    }
}

impl Emitter<'_> {
    /// The field of a value, read directly or, where it is private to another module, through its accessor.
    pub(super) fn field(&self, base: NodeId, value: &Value, name: &str) -> Value {
        let is_foreign = match &self.graph.node(base).ty {
            Type::Module(owner) => {
                let is_private = owner.rsplit_once("::").is_some_and(|(module, _)| !self.sees(module));
                // Without `derive(Module)` there are no accessors, and what is read is visible.
                is_private && self.index.struct_at(owner).is_none_or(|id| self.index.structs[id].is_module)
            }
            _ => false,
        };
        if is_foreign {
            Value::reference(format!("{}.fx_{name}()", value.text))
        } else {
            Value::owned(format!("{}.{name}", value.text))
        }
    }

    /// Whether the private things of `module` are visible where the generated code is included.
    fn sees(&self, module: &str) -> bool {
        is_within(self.home, module)
    }

    /// The expression of a node that is written where it is read: a field, or a small computation that is read once.
    pub(super) fn inline(&self, id: NodeId, read: &dyn Fn(NodeId) -> Value) -> Option<Value> {
        let node = self.graph.node(id);
        let input =
            |position: usize| node.args.get(position).map_or(Value::owned("()"), |arg| host::operand(arg, read));
        match &node.op {
            Op::GetAttr(name) => {
                let base = node.input(0)?;
                let value = self.field(base, &read(base), name);
                // What an accessor yields is a reference; a number or a device may be wanted by value.
                let plain = value.is_ref && matches!(node.ty, Type::Rust(_));
                Some(if plain { Value::owned(format!("(*{})", value.text)) } else { value })
            }
            Op::Host(op) if !op.fallible && !host::is_block(&op.op) && !host::yields_reference(&op.op) => {
                Some(Value::owned(host::rust(&op.op, &node.args, read)))
            }
            Op::Rust(code) if !code.fallible && code.form == CodeForm::Value => {
                Some(Value::owned(template::fill(code, &input)))
            }
            _ => None,
        }
    }
}

/// An argument of carried code, which is a node or a literal.
pub(super) fn argument(arg: &Arg, read: &dyn Fn(NodeId) -> Value) -> Value {
    match arg {
        Arg::Node(id) => read(*id),
        other => Value::owned(literal(other, read)),
    }
}

/// A literal, or a list of arguments, as an expression.
pub(super) fn literal(arg: &Arg, read: &dyn Fn(NodeId) -> Value) -> String {
    match arg {
        Arg::Node(id) => read(*id).text,
        Arg::Int(number) => number.to_string(),
        Arg::Float(number) if number.is_infinite() => {
            if *number > 0.0 {
                "f64::INFINITY".to_owned()
            } else {
                "f64::NEG_INFINITY".to_owned()
            }
        }
        Arg::Float(number) if number.is_nan() => "f64::NAN".to_owned(),
        Arg::Float(number) => format!("{number:?}"),
        Arg::Bool(value) => value.to_string(),
        Arg::Str(text) => format!("{text:?}"),
        Arg::None => "None".to_owned(),
        Arg::Path(path) => path.clone(),
        Arg::List(items) => {
            let items: Vec<String> = items.iter().map(|item| literal(item, read)).collect();
            format!("[{}]", items.join(", "))
        }
        Arg::Expr(_) => host::operand(arg, read).text,
    }
}
