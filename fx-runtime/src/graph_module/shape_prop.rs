//! Shapes and dtypes of all values of a graph, from a run on example inputs: torch.fx's `ShapeProp`.

use fx_ir::{Graph, NodeId, NodeMap, TensorType, Type};
use tch::Kind;

use super::{GraphModule, Hook, Interpreter, Value};
use crate::Result;

impl GraphModule {
    /// Runs the graph on these inputs, and gives each node and each input the dtype and the shape that its value had;
    /// `print_tabular` shows them. Of a node in a loop it is the last value. Yields the graph's output.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`].
    pub fn propagate_shapes(&mut self, inputs: &[Value]) -> Result<Value> {
        let mut seen = NodeMap::default();
        let output = Interpreter::new(self).with_hook(Seen(&mut seen)).run(inputs)?;
        let seen: Vec<(NodeId, Type)> = seen.iter().map(|(id, ty): (NodeId, &Type)| (id, ty.clone())).collect();
        for (id, ty) in seen {
            self.graph_mut().node_mut(id).ty = ty;
        }
        Ok(output)
    }
}

struct Seen<'s>(&'s mut NodeMap<Type>);

impl Hook for Seen<'_> {
    fn after(&mut self, _: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        if let Some(ty) = type_of(value) {
            self.0.insert(id, ty);
        }
        Ok(())
    }
}

/// The type of a value that has tensors.
fn type_of(value: &Value) -> Option<Type> {
    let all = |values: &[Value]| values.iter().map(type_of).collect::<Option<Vec<Type>>>();
    Some(match value {
        Value::Tensor(tensor) => {
            let shape = tensor.size().iter().map(ToString::to_string).collect();
            Type::Tensor(TensorType { dtype: tensor.f_kind().ok().map(short_name), shape: Some(shape) })
        }
        Value::Tuple(parts) => Type::Tuple(all(parts)?),
        // Elements may differ in their shapes.
        Value::List(items) => Type::List(Box::new(match all(items)?.as_slice() {
            [first, rest @ ..] if rest.iter().all(|ty| ty == first) => first.clone(),
            _ => Type::TENSOR,
        })),
        Value::Option(Some(held)) => Type::Option(Box::new(type_of(held)?)),
        _ => return None,
    })
}

/// torch's short name of a dtype.
pub(crate) fn short_name(kind: Kind) -> String {
    match kind {
        Kind::Float => "f32",
        Kind::Double => "f64",
        Kind::Half => "f16",
        Kind::BFloat16 => "bf16",
        Kind::Int64 => "i64",
        Kind::Int => "i32",
        Kind::Int16 => "i16",
        Kind::Int8 => "i8",
        Kind::Uint8 => "u8",
        Kind::Bool => "b8",
        other => return format!("{other:?}").to_lowercase(),
    }
    .to_owned()
}
