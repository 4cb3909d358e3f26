//! Keeps what depends on the order of elements in memory right, since activations inside a frozen model are
//! `channels_last`.
//!
//! `view` asks for an order that the elements may no longer have, so it becomes `reshape`, which is the same where it has
//! it. Code that may look at strides, or that is not understood, is given tensors in row-major order, and so are draws of
//! random numbers, which fill a result in the order of its memory: from one seed the frozen model draws what the model
//! draws.
//!
//! A tensor that is written to must stay the one tensor that it is: it is put into that order where it is made, or not at
//! all. What is computed from inputs and weights by pointwise operations and views alone lies as the model has it, a transposed
//! tensor transposed, and stays as it is.

use std::rc::Rc;

use fx_ir::{Arg, Class, Effect, Graph, HostOp, Node, NodeId, NodeSet, Op, OpId, Origin, Type, ops};

use crate::analysis::{BindingTimes, Effects, Ranks};
use crate::pass::{Changed, Pass, PassContext};
use crate::rewrite::is_quiet;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LayoutSafe;

impl Pass for LayoutSafe {
    described! {
        "layout-safe": "turns view into reshape and hands tensors to foreign code in row-major order";
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let (effects, ranks, times) = (Effects::of(graph, cx), Ranks::of(graph, cx), BindingTimes::of(graph, cx));
        let mut safe = Safe { effects, ranks, times, relaid: relaid(graph), graph };
        let mut changed = false;
        for id in safe.graph.nodes() {
            changed |= safe.node(id);
        }
        Changed::from(changed)
    }
}

/// Whether a host operation or opaque code may see the order of elements in memory.
pub(super) fn reads_strides(node: &Node) -> bool {
    const SEEN: &[&str] = &["stride", "is_contiguous", "data_ptr", "as_strided"];
    // A list of second handles, which is changed later, sees nothing of what they are handles on.
    let takes_handles = |arg: &Arg| arg.expr().is_some_and(|expr| expr.op == HostOp::Handle);
    let is_list = node.op.host() == Some(&HostOp::MapList) && node.args.get(1).is_some_and(takes_handles);
    matches!(node.op, Op::Rust(_))
        || matches!(node.op.effect(), Effect::Io | Effect::State) && !is_list
        || node.does_on_host(&|op| calls(op, SEEN))
}

/// Whether a host operation or opaque code, as far as is known, fails or goes wrong where elements lie in another order.
fn asks_for_order(node: &Node) -> bool {
    const ASKS: &[&str] = &["view", "stride", "data_ptr", "as_strided"];
    match &node.op {
        Op::Rust(code) => code.mentions(ASKS),
        _ => node.does_on_host(&|op| calls(op, ASKS)),
    }
}

/// Whether it is a call of one of these methods.
fn calls(op: &HostOp, methods: &[&str]) -> bool {
    match op {
        HostOp::Method(name) | HostOp::Mutate(name) | HostOp::CallMethod(name) => methods.contains(&name.as_str()),
        _ => false,
    }
}

/// A value that a node reads in the argument of that position.
type Read = (usize, NodeId);

struct Safe<'a> {
    graph: &'a mut Graph,
    effects: Rc<Effects>,
    ranks: Rc<Ranks>,
    times: BindingTimes,
    relaid: NodeSet,
}

/// The values whose elements a frozen model may have in another order than the model: what layers and kernels compute, and
/// what is computed from it.
fn relaid(graph: &Graph) -> NodeSet {
    let mut relaid = NodeSet::default();
    for id in graph.nodes() {
        let node = graph.node(id);
        let follows = || node.inputs().any(|input| relaid.contains(input));
        let is_relaid = match &node.op {
            Op::GetAttr(_) | Op::Call(ops::CONTIGUOUS) => false,
            Op::Placeholder => graph.scope_of(id) != Some(graph.body()),
            Op::TupleGet(_) => follows(),
            Op::Call(op) => !keeps_order(*op) || follows(),
            _ => true,
        };
        if is_relaid {
            relaid.insert(id);
        }
    }
    relaid
}

/// Whether the order of the result's elements follows from those of the operands, in a frozen model as in any other.
fn keeps_order(op: OpId) -> bool {
    let is_pointwise = op.row().is_some_and(|row| row.class == Class::Pointwise);
    is_pointwise || op.is_view() || matches!(op.effect(), Effect::InPlace(_) | Effect::Random)
}

impl Safe<'_> {
    fn node(&mut self, id: NodeId) -> bool {
        match self.graph.node(id).op.clone() {
            // A write to a view must reach the tensor, which a copy of it would keep from it.
            Op::Call(
                ops::VIEW | ops::VIEW_AS | ops::FLAT_VIEW | ops::AS_STRIDED | ops::VIEW_AS_COMPLEX | ops::VIEW_DTYPE,
            ) if self.effects.is_written(id) => self.order_at_source(id),
            Op::Call(_) if self.effects.is_written(id) => false,
            Op::Call(op) => match op {
                ops::VIEW => self.view(id),
                ops::VIEW_AS => self.become_op(id, ops::RESHAPE_AS),
                ops::FLAT_VIEW => self.flat_view(id),
                ops::AS_STRIDED | ops::VIEW_AS_COMPLEX | ops::VIEW_DTYPE => self.order(id, &[0]),
                _ if op.effect() == Effect::Random && !is_quiet(self.graph.node(id)) => self.order(id, &[0]),
                _ => false,
            },
            op if op.is_host() && reads_strides(self.graph.node(id)) => self.order_for_host(id),
            _ => false,
        }
    }

    /// Puts what a host operation or opaque code reads into row-major order.
    fn order_for_host(&mut self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let asks = asks_for_order(node);
        let written = match node.op.effect() {
            Effect::InPlace(position) => Some(position),
            _ => None,
        };
        let args = node.args.iter().enumerate().filter(|(position, _)| Some(*position) != written);
        let read = args.flat_map(|(position, arg)| arg.nodes().map(move |input| (position, input)));
        // A copy would keep writes from the tensor, the code's own and later ones.
        let (shared, read): (Vec<Read>, Vec<Read>) = read.partition(|(_, input)| self.effects.is_written(*input));
        let mut changed = self.order_reads(id, &read);
        for one in shared {
            changed |= self.order_base(id, one.1) || asks && self.order_reads(id, &[one]);
        }
        changed
    }

    fn view(&mut self, id: NodeId) -> bool {
        let Some(shape) = self.graph.node(id).args.get(1).and_then(|shape| list_of(self.graph, shape)) else {
            return self.order(id, &[0]);
        };
        let shape = match shape {
            Arg::List(sizes) => Arg::List(sizes.into_iter().map(|size| self.as_node(id, size)).collect()),
            list => list,
        };
        self.graph.node_mut(id).args[1] = shape;
        self.become_op(id, ops::RESHAPE)
    }

    /// A size that is computed where it is read, as a node before `id`: ops take no nested operation.
    fn as_node(&mut self, id: NodeId, size: Arg) -> Arg {
        let Arg::Expr(expr) = size else { return size };
        let origin = self.origin(id);
        let op = Op::Host(expr.op.into());
        Arg::Node(self.graph.insert_before(id, op, expr.args, "size", Type::rust("i64"), origin))
    }

    /// All axes but the first made one; a tensor of one axis gets a second.
    fn flat_view(&mut self, id: NodeId) -> bool {
        let Some(input) = self.graph.node(id).args.first().cloned() else { return false };
        if self.ranks.get(&input).least > 1 {
            self.graph.node_mut(id).args.extend([Arg::Int(1), Arg::Int(-1)]);
            return self.become_op(id, ops::FLATTEN);
        }
        let origin = self.origin(id);
        let sizes = HostOp::Method("size".to_owned()).on(input);
        let args = vec![sizes, Arg::Int(0)];
        let batch =
            self.graph.insert_before(id, Op::Host(HostOp::Item.into()), args, "batch", Type::rust("i64"), origin);
        self.graph.node_mut(id).args.push(Arg::List(vec![Arg::Node(batch), Arg::Int(-1)]));
        self.become_op(id, ops::RESHAPE)
    }

    fn become_op(&mut self, id: NodeId, op: OpId) -> bool {
        let origin = self.origin(id);
        let node = self.graph.node_mut(id);
        (node.op, node.origin) = (Op::Call(op), origin);
        true
    }

    /// Puts the tensors at these positions into row-major order first.
    fn order(&mut self, id: NodeId, positions: &[usize]) -> bool {
        let node = self.graph.node(id);
        let reads: Vec<Read> =
            positions.iter().filter_map(|&position| Some((position, node.input(position)?))).collect();
        self.order_reads(id, &reads)
    }

    fn order_reads(&mut self, id: NodeId, reads: &[Read]) -> bool {
        let contiguous = Op::Call(ops::CONTIGUOUS);
        let mut changed = false;
        for &(position, input) in reads {
            if !self.is_ours(input) {
                continue;
            }
            let (ty, origin) = (self.graph.node(input).ty.clone(), self.origin(id));
            let base = self.graph.node(input).name.clone();
            let args = vec![Arg::Node(input)];
            let ordered = self.graph.insert_before(id, contiguous.clone(), args, &base, ty, origin);
            self.graph.node_mut(id).args[position].replace(input, &Arg::Node(ordered));
            changed = true;
        }
        changed
    }

    /// Puts the tensor that `id` is a view of into row-major order where it is made, for all its readers.
    fn order_at_source(&mut self, id: NodeId) -> bool {
        self.graph.node(id).input(0).is_some_and(|source| self.order_where_made(id, source))
    }

    /// The same for a tensor that `id` reads, or what it is a view of.
    fn order_base(&mut self, id: NodeId, read: NodeId) -> bool {
        let mut base = read;
        while self.is_view(base)
            && let Some(source) = self.graph.node(base).input(0)
        {
            base = source;
        }
        self.order_where_made(id, base)
    }

    fn is_view(&self, id: NodeId) -> bool {
        matches!(&self.graph.node(id).op, Op::Call(op) if op.is_view() || *op == ops::SHALLOW_CLONE)
    }

    fn order_where_made(&mut self, id: NodeId, source: NodeId) -> bool {
        if !self.is_ours(source) {
            return false;
        }
        let contiguous = Op::Call(ops::CONTIGUOUS);
        let made = self.graph.node(source);
        if !made.op.makes_own_tensor() {
            return false;
        }
        let (ty, name, origin) = (made.ty.clone(), made.name.clone(), self.origin(id));
        let ordered = self.graph.insert_after(source, contiguous, vec![Arg::Node(source)], &name, ty, origin);
        self.graph.replace_all_uses_with(source, &Arg::Node(ordered));
        true
    }

    /// Whether it is a tensor that the model computes in an order of ours. Weights and inputs have the one that the user gave
    /// them.
    fn is_ours(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let is_input = node.op == Op::Placeholder && self.graph.scope_of(id) == Some(self.graph.body());
        let is_ordered = node.op == Op::Call(ops::CONTIGUOUS);
        node.ty.is_tensor() && !is_input && !is_ordered && self.relaid.contains(id) && !self.times.is_frozen(id)
    }

    fn origin(&self, id: NodeId) -> Origin {
        Origin::merged(LayoutSafe.name(), [&self.graph.node(id).origin])
    }
}

/// Sizes as the list that `reshape` takes; `None` for values that only `view` knows to read.
fn list_of(graph: &Graph, shape: &Arg) -> Option<Arg> {
    let id = match shape {
        Arg::List(_) => return Some(shape.clone()),
        Arg::Int(_) => return Some(Arg::List(vec![shape.clone()])),
        Arg::Node(id) => *id,
        _ => return None,
    };
    let node = graph.node(id);
    match (&node.ty, &node.op) {
        (Type::List(_), _) => Some(shape.clone()),
        (Type::Rust(name), _) if name == "i64" => Some(Arg::List(vec![shape.clone()])),
        (Type::Tuple(_), Op::Host(host)) if host.op == HostOp::Tuple => Some(Arg::List(node.args.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn what_is_nested_is_seen() {
        check(
            LayoutSafe,
            r#"graph f(x: tensor, n: rust<i64>) {
              %y = matmul(x, x) : tensor
              %s = host.item(host.method["stride"](host.ref(%y)), 0) : rust<i64>
              %t = host.tuple(host.binary["*"](n, 2), -1) : (rust<i64>, rust<i64>)
              %v = view(%y, %t) : tensor
              yield %v, %s
            }"#,
            &expect![[r#"
                graph f(x: tensor, n: rust<i64>) {
                  %y = matmul(x, x) : tensor
                  %y_1 = contiguous(%y) : tensor  @ by layout-safe
                  %s = host.item(host.method["stride"](host.ref(%y_1)), 0) : rust<i64>
                  %t = host.tuple(host.binary["*"](n, 2), -1) : (rust<i64>, rust<i64>)
                  %size = host.binary["*"](n, 2) : rust<i64>  @ by layout-safe
                  %v = reshape(%y, [%size, -1]) : tensor  @ by layout-safe
                  yield %v, %s
                }"#]],
        );
    }

    #[test]
    fn views_become_reshapes() {
        check(
            LayoutSafe,
            r#"graph f(x: tensor, b: rust<i64>, s: ?) {
              %a = view(x, [2, -1]) : tensor
              %t = host.tuple(b, -1) : (rust<i64>, rust<i64>)
              %c = view(%a, %t) : tensor
              %d = view(%c, s) : tensor
              %e = view_as(%d, x) : tensor
              %g = matmul(x, x) : tensor
              %v = view(%g, [4]) : tensor
              %w = add_(%v, %e)
              yield %g
            }"#,
            &expect![[r#"
                graph f(x: tensor, b: rust<i64>, s) {
                  %a = reshape(x, [2, -1]) : tensor  @ by layout-safe
                  %t = host.tuple(b, -1) : (rust<i64>, rust<i64>)
                  %c = reshape(%a, [b, -1]) : tensor  @ by layout-safe
                  %c_1 = contiguous(%c) : tensor  @ by layout-safe
                  %d = view(%c_1, s) : tensor
                  %e = reshape_as(%d, x) : tensor  @ by layout-safe
                  %g = matmul(x, x) : tensor
                  %g_1 = contiguous(%g) : tensor  @ by layout-safe
                  %v = view(%g_1, [4]) : tensor
                  %w = add_(%v, %e)
                  yield %g_1
                }"#]],
        );
    }

    #[test]
    fn flat_view_flattens_what_has_axes_to_flatten() {
        check(
            LayoutSafe,
            r#"graph f(x: tensor) {
              %p = adaptive_avg_pool2d(x, [1, 1]) : tensor
              %a = flat_view(%p) : tensor
              %b = flat_view(x) : tensor
              yield %a, %b
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %p = adaptive_avg_pool2d(x, [1, 1]) : tensor
                  %a = flatten(%p, 1, -1) : tensor  @ by layout-safe
                  %batch = host.item(host.method["size"](x), 0) : rust<i64>  @ by layout-safe
                  %b = reshape(x, [%batch, -1]) : tensor  @ by layout-safe
                  yield %a, %b
                }"#]],
        );
    }

    #[test]
    fn draws_fill_row_major_order() {
        check(
            LayoutSafe,
            r#"graph f(x: tensor) {
              %a = matmul(x, x) : tensor
              %b = rand_like(%a) : tensor
              yield %b
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %a = matmul(x, x) : tensor
                  %a_1 = contiguous(%a) : tensor  @ by layout-safe
                  %b = rand_like(%a_1) : tensor
                  yield %b
                }"#]],
        );
    }

    #[test]
    fn a_draw_follows_strides_that_are_the_models() {
        let transposed = "graph f(x: tensor) { %n = neg(x) : tensor ; %t = transpose(%n, 0, 1) : tensor ; \
                          %b = rand_like(%t) : tensor ; yield %b }";
        let mut graph: Graph = transposed.parse().unwrap();
        assert_eq!(LayoutSafe.run(&mut graph, &PassContext::default()), Changed::No);
    }

    #[test]
    fn foreign_code_gets_row_major_order() {
        check(
            LayoutSafe,
            r#"graph f(self: module<Net>, x: tensor) {
              %w = get_attr[ws](self) : tensor
              %y = matmul(x, %w) : tensor
              %a = rust["ours($0, $1, $2)", io, opaque("the function `ours`")](%y, x, %w) : tensor
              %b = host.method["size"](%y) : list<rust<i64>>
              %c = rust["write($0, $1)", in_place(0), opaque("the function `write`")](%y, %a) : tensor
              yield %a, %c
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[ws](self) : tensor
                  %y = matmul(x, %w) : tensor
                  %y_1 = contiguous(%y) : tensor  @ by layout-safe
                  %a = rust["ours($0, $1, $2)", io, opaque("the function `ours`")](%y_1, x, %w) : tensor
                  %b = host.method["size"](%y_1) : list<rust<i64>>
                  %c = rust["write($0, $1)", in_place(0), opaque("the function `write`")](%y_1, %a) : tensor
                  yield %a, %c
                }"#]],
        );
    }
}
