//! What is written where it is read: a field, or a small computation.

use fx_front::index::is_within;
use fx_ir::{CodeForm, NodeId, Op, Type};

use super::{Emitter, host, template, value::Value};

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
                // What an accessor yields is a reference; a number, an option or a tuple may be wanted by value.
                let plain = value.is_ref && matches!(node.ty, Type::Rust(_) | Type::Option(_) | Type::Tuple(_));
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
