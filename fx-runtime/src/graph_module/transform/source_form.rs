//! An instance graph in the form that passes are written for: the model is the first parameter, and its modules and tensors
//! are fields of it.

use std::collections::BTreeMap;

use fx_ir::{Arg, Effect, Graph, Host, HostOp, NodeId, NodeSet, Op, Origin, Type};

use super::super::GraphModule;

/// The name of the first parameter.
const MODEL: &str = "self";

/// The graph of the module in that form.
pub(super) fn of(module: &GraphModule) -> Graph {
    let instance = module.graph();
    let mut graph = Graph::new(instance.name.clone());
    let body = graph.body();
    let model = graph.add_param(body, MODEL, Type::Module(instance.name.clone()), Origin::default());
    let outputs = graph.graph_copy(instance, &mut BTreeMap::new(), fx_ir::Spot::End(body));
    graph.push(body, Op::Yield, outputs, "output", Type::Unknown, Origin::default());
    for id in graph.nodes() {
        let node = graph.node(id);
        match (&node.op, node.args.first()) {
            (Op::CallModule(kind), Some(Arg::Str(path))) if kind.row().is_some_and(|row| !row.is_chain) => {
                let (path, kind) = (path.clone(), kind.0.clone());
                if module.submodule(&path).is_some_and(|module| module.as_any().is_some()) {
                    read_layer(&mut graph, id, model, path, kind);
                }
            }
            (Op::GetAttr(_), None) => graph.node_mut(id).args.push(Arg::Node(model)),
            // A kernel that several nodes become is told apart by their names, which the words of the source do not do.
            (Op::Call(_), _) => graph.node_mut(id).origin.labels = vec![node.name.clone()],
            _ => {}
        }
    }
    tell_pure(&mut graph);
    graph
}

/// The layer as a field of the model, which the call reads; kernels are named by its path.
fn read_layer(graph: &mut Graph, call: NodeId, model: NodeId, path: String, kind: String) {
    let mut origin = graph.node(call).origin.clone();
    origin.labels = vec![path.clone()];
    graph.node_mut(call).origin.labels.clone_from(&origin.labels);
    let name = path.replace('.', "_");
    let layer = graph.insert_before(call, Op::GetAttr(path), vec![Arg::Node(model)], &name, Type::Module(kind), origin);
    graph.node_mut(call).args[0] = Arg::Node(layer);
}

/// An instance graph keeps all host operations in order. Those that only look, at values that nobody changes, may be moved.
fn tell_pure(graph: &mut Graph) {
    let mut changing = NodeSet::default();
    for id in graph.nodes() {
        let node = graph.node(id);
        if let Op::Host(host) = &node.op {
            changed_by(&host.op, &node.args, &mut changing);
        }
    }
    for id in graph.nodes() {
        let node = graph.node(id);
        let Op::Host(host) = &node.op else { continue };
        let of_changing = changing.contains(id) || node.inputs().any(|input| changing.contains(input));
        if of_changing || node.does_on_host(&|op| !only_looks(op)) {
            changing.insert(id);
        } else if host.effect == Effect::Io {
            let op = Op::Host(Host { effect: Effect::Pure, ..host.clone() });
            graph.node_mut(id).op = op;
        }
    }
}

/// The variables that an operation, or one within its arguments, changes or lets be changed.
fn changed_by(op: &HostOp, args: &[Arg], changing: &mut NodeSet) {
    let changes = matches!(
        op,
        HostOp::Assign
            | HostOp::AssignOp(_)
            | HostOp::Mutate(_)
            | HostOp::Exchange(_)
            | HostOp::ResizeWith
            | HostOp::RefMut
            | HostOp::UnwrapMut(_)
            | HostOp::UnwrapBorrow
            | HostOp::Interior
            | HostOp::EndMut(_)
            | HostOp::MutSlice
    );
    if let Some(base) = args.first().filter(|_| changes).and_then(Arg::base) {
        changing.insert(base);
    }
    for arg in args {
        if let Some(expr) = arg.expr() {
            changed_by(&expr.op, &expr.args, changing);
        }
    }
}

fn only_looks(op: &HostOp) -> bool {
    matches!(
        op,
        HostOp::Use
            | HostOp::Literal(_)
            | HostOp::Ascribe(_)
            | HostOp::Handle
            | HostOp::Clone
            | HostOp::Ref
            | HostOp::Copied
            | HostOp::BorrowTensor
            | HostOp::BorrowOption
            | HostOp::Unit
            | HostOp::Tuple
            | HostOp::Array
            | HostOp::Vec
            | HostOp::Some
            | HostOp::Range(_)
            | HostOp::Field(_)
            | HostOp::Item
            | HostOp::Deref
            | HostOp::Neg
            | HostOp::Not
            | HostOp::Binary(_)
            | HostOp::Cast(_)
            | HostOp::From(_)
            | HostOp::Convert(_)
            | HostOp::ConvertOr(_)
            | HostOp::Number(_)
            | HostOp::Scalar
            | HostOp::Method(_)
            | HostOp::Index
            | HostOp::IndexRange(_)
            | HostOp::ItemRef
            | HostOp::Slice(_)
            | HostOp::Unwrap(_)
            | HostOp::UnwrapRef(_)
            | HostOp::UnwrapLoan(_)
            | HostOp::ToVec
            | HostOp::EmptyVec(_)
            | HostOp::Repeat
            | HostOp::Filled(_)
            | HostOp::NoneOf(_)
            | HostOp::Struct(_)
            | HostOp::Construct(_)
            | HostOp::Function(_)
            | HostOp::CopiedElements
            | HostOp::HandleElements
            | HostOp::Sum(_)
            | HostOp::Product(_)
            | HostOp::Extremum(_)
            | HostOp::Collect(_)
            | HostOp::Count(_)
            | HostOp::MapList
            | HostOp::MapOption
            | HostOp::CopyList
            | HostOp::TensorOf
            | HostOp::TryFrom(_)
    )
}
