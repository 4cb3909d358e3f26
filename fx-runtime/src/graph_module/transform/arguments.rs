//! Arguments of a settled graph: paths of parts of the model, and what was computed as literals.

use fx_ir::{Arg, Graph, HostOp, NodeId};

use crate::frozen::{Activation, ConvParams};

/// The paths that the arguments of a node may name.
pub(super) fn paths_of(graph: &Graph, id: NodeId) -> Vec<String> {
    let mut paths = Vec::new();
    graph.node(id).args.iter().for_each(|arg| named(arg, &mut paths));
    paths
}

/// The paths that an argument may name.
pub(super) fn named(arg: &Arg, paths: &mut Vec<String>) {
    match arg {
        Arg::Str(path) | Arg::Path(path) => paths.push(path.clone()),
        Arg::List(items) => items.iter().for_each(|item| named(item, paths)),
        Arg::Expr(expr) => expr.args.iter().for_each(|arg| named(arg, paths)),
        _ => {}
    }
}

/// What a reference refers to.
pub(super) fn unreferenced(arg: &Arg) -> &Arg {
    match arg.expr() {
        Some(expr) if matches!(expr.op, HostOp::Ref | HostOp::Some) && expr.args.len() == 1 => {
            unreferenced(&expr.args[0])
        }
        _ => arg,
    }
}

/// The parameters of a convolution as a struct's literal.
pub(super) fn params_arg(params: &ConvParams) -> Arg {
    let fields = [
        ("stride", Arg::ints(&params.stride)),
        ("padding", Arg::ints(&params.padding)),
        ("dilation", Arg::ints(&params.dilation)),
        ("output_padding", Arg::ints(&params.output_padding)),
        ("groups", Arg::Int(params.groups)),
        ("transposed", Arg::Bool(params.transposed)),
        ("padding_mode", Arg::Path(format!("PaddingMode::{:?}", params.padding_mode))),
    ];
    let (names, values): (Vec<String>, Vec<Arg>) =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).unzip();
    HostOp::Struct(("ConvParams".to_owned(), names)).of(values)
}

/// An activation as its path, or as a struct of its numbers: what `{act:?}` prints is how it is written.
pub(super) fn activation_arg(act: Activation) -> Arg {
    Arg::Path(format!("Activation::{act:?}"))
}
