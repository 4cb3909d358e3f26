//! Calls of tch's methods.

use fx_ir::catalog::{self, Kind};
use fx_ir::{Arg, Graph, HostOp, Node, NodeId, OpId, Type};

use crate::host::{argument, literal};
use crate::value::Value;

/// Who writes a graph: how the values of nodes are read.
pub trait Operands {
    /// The graph.
    fn graph(&self) -> &Graph;

    /// The value of a node, as an expression.
    fn read(&self, id: NodeId) -> Value;

    /// Returns whether the value is an option of a reference, and not of a tensor.
    fn holds_reference(&self, id: NodeId) -> bool;
}

/// The call of the method that computes an op, in its fallible form where it has one; whether the result is a `Result`.
/// `None` of an op without a method.
pub fn op_call(of: &impl Operands, op: OpId, node: &Node) -> Option<(String, bool)> {
    let entry = op.entry()?;
    let method = entry.fallible().unwrap_or_else(|| entry.method.to_owned());
    let mut args = node.args.iter().peekable();
    let by_kernels = op.row().is_some_and(|row| row.has_kernels);
    let head = match entry.receiver {
        _ if by_kernels => format!("::fx_runtime::frozen::{}", entry.method),
        catalog::Receiver::Free => format!("::fx_runtime::Tensor::{method}"),
        receiver => {
            let object = args.next().map_or_else(|| "()".to_owned(), |arg| argument(arg, &|id| of.read(id)).text);
            let handle = if receiver == catalog::Receiver::Mut { ".shallow_clone()" } else { "" };
            format!("{object}{handle}.{method}")
        }
    };
    let is_list = |param: &Kind| *param == Kind::TensorList;
    let lists = entry.params.iter().filter(|param| is_list(&param.kind)).count();
    let receiver = args.next_if(|_| by_kernels).map(|arg| argument(arg, &|id| of.read(id)).borrowed());
    let print = |(arg, param): (&Arg, &catalog::Param)| match arg {
        Arg::Node(id) if lists > 1 && is_list(&param.kind) => borrowed_list(of, *id),
        _ => op_argument(of, arg, param.kind),
    };
    let args: Vec<String> = receiver.into_iter().chain(args.zip(entry.params).map(print)).collect();
    Some((format!("{head}({})", args.join(", ")), entry.door != catalog::Door::Plain))
}

/// An argument of a method's parameter of that kind.
fn op_argument(of: &impl Operands, arg: &Arg, kind: Kind) -> String {
    let read = |id| of.read(id);
    match (kind, arg) {
        (Kind::Tensor | Kind::TensorList | Kind::OptTensorList, Arg::Node(id)) => of.read(*id).borrowed(),
        (Kind::OptTensor, Arg::None) => "None::<&::fx_runtime::Tensor>".to_owned(),
        (Kind::OptTensor, Arg::Node(id)) => optional(of, *id),
        (Kind::TensorList | Kind::OptTensorList, Arg::List(items)) => {
            let items: Vec<String> = items.iter().map(|item| list_item(of, item, kind)).collect();
            format!("&[{}]", items.join(", "))
        }
        (Kind::Scalar, Arg::Int(number)) => format!("{number}i64"),
        (Kind::Shape | Kind::IntList | Kind::OptIntList, Arg::Node(id)) if of.graph().node(*id).ty == Type::Unknown => {
            format!("::core::convert::AsRef::<[i64]>::as_ref({})", of.read(*id).borrowed())
        }
        (Kind::IntList | Kind::OptIntList | Kind::FloatList, Arg::Node(id)) if is_list(of, *id) => {
            of.read(*id).borrowed()
        }
        (Kind::Shape, Arg::Node(id)) if is_slice(of, *id) => of.read(*id).text,
        (Kind::Shape, Arg::Node(id)) if is_list(of, *id) => format!("{}.as_slice()", of.read(*id).text),
        (Kind::Shape | Kind::IntList | Kind::OptIntList | Kind::FloatList, Arg::List(items)) if items.is_empty() => {
            let number = if kind == Kind::FloatList { "f64" } else { "i64" };
            format!("&[] as &[{number}]")
        }
        (Kind::Shape | Kind::OptIntList, Arg::List(_)) => format!("&{}[..]", literal(arg, &read)),
        (Kind::OptIntList | Kind::OptInt, Arg::None) => "None::<i64>".to_owned(),
        (Kind::OptFloat, Arg::None) => "None::<f64>".to_owned(),
        (Kind::OptElementKind, Arg::None) => "None::<::fx_runtime::Kind>".to_owned(),
        (_, Arg::Node(id)) => of.read(*id).text,
        (_, other) => literal(other, &read),
    }
}

/// A list of references, for an op whose lists have to be of one type: those that are written out hold references.
fn borrowed_list(of: &impl Operands, id: NodeId) -> String {
    let one = "::std::borrow::Borrow::<::fx_runtime::Tensor>::borrow(one)";
    format!("&{}.iter().map(|one| {one}).collect::<Vec<_>>()", of.read(id).text)
}

fn is_list(of: &impl Operands, id: NodeId) -> bool {
    !matches!(&of.graph().node(id).ty, Type::Rust(_) | Type::Tuple(_))
}

/// Whether generated code holds a part of a list, which is a reference to a slice.
fn is_slice(of: &impl Operands, id: NodeId) -> bool {
    matches!(of.graph().node(id).op.host(), Some(HostOp::Slice(_)))
}

fn optional(of: &impl Operands, id: NodeId) -> String {
    let value = of.read(id);
    match &of.graph().node(id).ty {
        Type::Option(_) if of.holds_reference(id) => value.text,
        Type::Option(_) => format!("{}.as_ref()", value.text),
        _ => format!("Some({})", value.borrowed()),
    }
}

fn list_item(of: &impl Operands, item: &Arg, kind: Kind) -> String {
    match (item, kind) {
        (Arg::Node(id), Kind::OptTensorList) => optional(of, *id),
        (Arg::Node(id), _) if of.graph().may_be_reference(*id) => {
            format!("::fx_runtime::frozen::lent({})", of.read(*id).borrowed())
        }
        (Arg::Node(id), _) => of.read(*id).borrowed(),
        (Arg::None, _) => "None::<&::fx_runtime::Tensor>".to_owned(),
        (other, _) => literal(other, &|id| of.read(id)),
    }
}
