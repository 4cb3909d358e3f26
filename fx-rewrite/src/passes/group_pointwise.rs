//! Puts pointwise ops that follow each other, and ops on rows among them, into groups, each of which goes over memory once.
//!
//! A group stands where its last op stood: all that it reads is there, and nothing but its own ops reads a value of it
//! before. It grows as long as that holds, takes no op across an effect or out of its region, and yields every value
//! that is read elsewhere. What may be written to after it was made stays out.
//!
//! An addition that a packed layer has taken in is no op any more when this pass runs, and that is the better place for
//! it: the layer writes each element of the sum while it has it, where a group would read the product once more. So a
//! layer norm behind such a sum stands alone, and an op on rows alone is left to `ATen`, which computes it in one go too.

mod rows;

use std::collections::BTreeMap;

use fx_ir::ops::group::{MOST_INPUTS, MOST_REDUCTIONS, MOST_RESULTS};
use fx_ir::{Arg, Graph, Node, NodeId, Op, Origin, RegionId, Scalar, Type, ops};

use crate::analysis::{BindingTimes, Effects};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct GroupPointwise;

/// A group is called after at most so many of its ops.
const MOST_WORDS: usize = 4;

impl Pass for GroupPointwise {
    described! {
        "group-pointwise": "computes pointwise ops that follow each other in one pass over memory";
        after: ["fuse-epilogue", "pack-kernels"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let (times, effects) = (BindingTimes::of(graph, cx), Effects::of(graph, cx));
        let mut changed = false;
        for region in graph.live_regions() {
            let groups = Grouping::of(graph, region, &times, &effects);
            for members in groups.into_iter().filter(|members| members.len() > 1) {
                group(graph, &times, &members);
                changed = true;
            }
        }
        Changed::from(changed)
    }
}

/// The groups of one region while they grow.
struct Grouping<'a> {
    graph: &'a Graph,
    region: RegionId,
    times: &'a BindingTimes,
    effects: &'a Effects,
    positions: BTreeMap<NodeId, usize>,
    /// By member, which group it is in.
    home: BTreeMap<NodeId, usize>,
    /// Members in the order of execution; empty where another group has taken them in.
    groups: Vec<Vec<NodeId>>,
}

impl Grouping<'_> {
    fn of(graph: &Graph, region: RegionId, times: &BindingTimes, effects: &Effects) -> Vec<Vec<NodeId>> {
        let nodes = &graph.region(region).nodes;
        let positions = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let (home, groups) = (BTreeMap::new(), Vec::new());
        let mut grouping = Grouping { graph, region, times, effects, positions, home, groups };
        for &id in nodes {
            if is_groupable(graph, times, id) && !times.is_frozen(id) && !effects.is_written(id) {
                grouping.add(id);
            }
        }
        grouping.groups
    }

    /// Starts a group with the node as its last, and takes in the groups of what it reads.
    fn add(&mut self, id: NodeId) {
        let mut members = vec![id];
        let operands = operands(self.graph, self.times, id);
        for input in operands.iter().filter_map(Arg::node) {
            let Some(&other) = self.home.get(&input).filter(|_| !members.contains(&input)) else { continue };
            let mut union = [self.groups[other].as_slice(), &members].concat();
            union.sort_by_key(|member| self.positions[member]);
            if self.may_stand_at(&union, id) {
                members = union;
                self.groups[other].clear();
            }
        }
        let number = self.groups.len();
        self.home.extend(members.iter().map(|&member| (member, number)));
        self.groups.push(members);
    }

    fn may_stand_at(&self, members: &[NodeId], at: NodeId) -> bool {
        let moves = |&member: &NodeId| self.effects.may_move(self.graph, member, at);
        let later = |&member: &NodeId| {
            let readers = readers(self.graph, members, member);
            readers
                .into_iter()
                .map(|reader| self.place_in_region(reader))
                .all(|reader| reader > Some(self.positions[&at]))
        };
        let (tensors, numbers) = group_inputs(self.graph, self.times, members);
        let hidden = members.iter().map(|&member| rows::hidden_inputs(self.graph, member));
        let (more_tensors, more_numbers) =
            hidden.fold((0, 0), |(tensors, numbers), more| (tensors + more.0, numbers + more.1));
        let reductions = members.iter().map(|&member| rows::reductions(self.graph, member));
        members.iter().all(|member| moves(member) && later(member))
            && tensors.len() + more_tensors <= MOST_INPUTS
            && numbers.len() + more_numbers <= MOST_INPUTS
            && reductions.sum::<usize>() <= MOST_REDUCTIONS
            && results(self.graph, members).len() <= MOST_RESULTS
    }

    /// The position in the region of the node, or of the control flow that it is in.
    fn place_in_region(&self, mut id: NodeId) -> Option<usize> {
        while self.graph.scope_of(id) != Some(self.region) {
            id = self.graph.parent(id)?;
        }
        self.positions.get(&id).copied()
    }
}

/// Returns whether the node has a scalar form, on tensors and numbers alone.
fn is_groupable(graph: &Graph, times: &BindingTimes, id: NodeId) -> bool {
    let node = graph.node(id);
    if let Some(form) = rows::row_form(graph, times, id) {
        let (first, rest) = (form.first(), form.iter().skip(1));
        return node.kwargs.is_empty()
            && node.ty.is_tensor()
            && first.is_some_and(|arg| is_tensor(graph, arg))
            && rest.into_iter().all(|arg| is_plain(graph, arg) || *arg == Arg::None);
    }
    is_pointwise(graph, id)
}

/// Returns whether the node has a scalar form that goes over no rows, on tensors and numbers alone.
pub(super) fn is_pointwise(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let Op::Call(op) = &node.op else { return false };
    let fits = match op.row().and_then(|row| row.scalar) {
        Some(Scalar::Infix(_)) => node.args.len() == 2,
        Some(Scalar::Function) => !node.args.is_empty(),
        Some(Scalar::Row(_)) | None => false,
    };
    let rest = node.args.iter().skip(1);
    fits && node.kwargs.is_empty()
        && node.ty.is_tensor()
        && node.args.first().is_some_and(|arg| is_tensor(graph, arg))
        && rest.into_iter().all(|arg| is_plain(graph, arg))
}

fn is_tensor(graph: &Graph, arg: &Arg) -> bool {
    arg.node().is_some_and(|id| graph.node(id).ty.is_tensor())
}

/// Returns whether a group can take the argument: a tensor, a number, or a word.
fn is_plain(graph: &Graph, arg: &Arg) -> bool {
    is_tensor(graph, arg) || is_number(graph, arg) || matches!(arg, Arg::Str(_))
}

/// Returns whether the argument is a number, written out or known at the call.
fn is_number(graph: &Graph, arg: &Arg) -> bool {
    match arg {
        Arg::Int(_) | Arg::Float(_) => true,
        Arg::Node(id) => matches!(&graph.node(*id).ty, Type::Rust(name) if name == "f64" || name == "i64"),
        _ => false,
    }
}

/// The operands of a member, as the group writes it.
fn operands(graph: &Graph, times: &BindingTimes, id: NodeId) -> Vec<Arg> {
    rows::row_form(graph, times, id).unwrap_or_else(|| graph.node(id).args.clone())
}

/// The readers of a member outside of the group.
fn readers(graph: &Graph, members: &[NodeId], member: NodeId) -> Vec<NodeId> {
    let is_outside = |reader: &NodeId| !members.contains(reader) && !rows::is_shape_of(graph, members, *reader);
    graph.users(member).into_iter().filter(is_outside).collect()
}

/// The tensors, and the numbers, that the members read and do not make, each once.
fn group_inputs(graph: &Graph, times: &BindingTimes, members: &[NodeId]) -> (Vec<NodeId>, Vec<NodeId>) {
    let mut all = Vec::new();
    let operands = members.iter().flat_map(|&member| operands(graph, times, member));
    for input in operands.filter_map(|arg| arg.node()) {
        if !members.contains(&input) && !all.contains(&input) {
            all.push(input);
        }
    }
    all.into_iter().partition(|&input| graph.node(input).ty.is_tensor())
}

/// The members that are read elsewhere.
fn results(graph: &Graph, members: &[NodeId]) -> Vec<NodeId> {
    let outside = |&&member: &&NodeId| !readers(graph, members, member).is_empty();
    members.iter().filter(outside).copied().collect()
}

/// Puts the members, in the order of execution, into one node where the last one stands.
fn group(graph: &mut Graph, times: &BindingTimes, members: &[NodeId]) {
    let Some(&last) = members.last() else { return };
    for &member in members {
        rows::lower(graph, member);
    }
    let shapes: Vec<NodeId> = members.iter().filter_map(|&member| graph.node(member).input(1)).collect();
    let shapes: Vec<NodeId> = shapes.into_iter().filter(|&id| rows::is_shape_of(graph, members, id)).collect();
    let ((tensors, numbers), results) = (group_inputs(graph, times, members), results(graph, members));
    let body = group_body(graph, times, members, (&tensors, &numbers), &results);
    let args = tensors.into_iter().chain(numbers).map(Arg::Node).collect();
    let origin = Origin::merged(GroupPointwise.name(), members.iter().map(|&member| &graph.node(member).origin));
    if let [_] = results[..] {
        let node = graph.node_mut(last);
        node.become_group(&body, args);
        node.origin = origin;
    } else {
        let ty = Type::Tuple(vec![Type::TENSOR; results.len()]);
        let nothing = graph.node(last).op.clone();
        let whole = graph.insert_before(last, nothing, Vec::new(), ops::GROUP.name(), ty, origin);
        graph.node_mut(whole).become_group(&body, args);
        for (position, &result) in results.iter().enumerate() {
            let Node { name, ty, origin, .. } = graph.node(result).clone();
            let part = graph.insert_before(last, Op::TupleGet(position), vec![Arg::Node(whole)], &name, ty, origin);
            graph.replace_all_uses_with(result, &Arg::Node(part));
        }
    }
    // A shape is read by members alone, of which the first reader may have become the group.
    for shape in shapes {
        forget(graph, members, shape);
    }
    // From the back: each is read by members behind it alone.
    for &member in members.iter().rev().filter(|&&member| results.len() > 1 || member != last) {
        let _ = graph.erase_node(member);
    }
}

/// Takes a shape away from the members that read it.
fn forget(graph: &mut Graph, members: &[NodeId], shape: NodeId) {
    for &member in members {
        for arg in &mut graph.node_mut(member).args {
            if *arg == Arg::Node(shape) {
                *arg = Arg::None;
            }
        }
    }
    let _ = graph.erase_node(shape);
}

/// The name of a group: its first ops, as far as they differ.
fn name(graph: &Graph, members: &[NodeId]) -> String {
    let mut words = Vec::new();
    for &member in members {
        if let Op::Call(op) = &graph.node(member).op {
            let word = op.name().split('.').next().unwrap_or_default();
            if !words.contains(&word) && words.len() < MOST_WORDS {
                words.push(word);
            }
        }
    }
    words.join("_")
}

/// The members as a graph of their own.
fn group_body(
    graph: &Graph,
    times: &BindingTimes,
    members: &[NodeId],
    (tensors, numbers): (&[NodeId], &[NodeId]),
    results: &[NodeId],
) -> Graph {
    let mut body = Graph::new(name(graph, members));
    let region = body.body();
    let mut copies = BTreeMap::new();
    for &input in tensors.iter().chain(numbers) {
        let ty = if graph.node(input).ty.is_tensor() { Type::TENSOR } else { graph.node(input).ty.clone() };
        let param = body.add_param(region, graph.base_name(input), ty, Origin::default());
        copies.insert(input, param);
    }
    let rename = |arg: &Arg, copies: &BTreeMap<NodeId, NodeId>| {
        arg.map_nodes(&mut |id| copies.get(&id).map_or(Arg::None, |&copy| Arg::Node(copy)))
    };
    for &member in members {
        let node = graph.node(member);
        let args = operands(graph, times, member).iter().map(|arg| rename(arg, &copies)).collect();
        let name = graph.base_name(member);
        let copy = body.push(region, node.op.clone(), args, name, Type::Unknown, Origin::default());
        copies.insert(member, copy);
    }
    let args = results.iter().map(|&result| rename(&Arg::Node(result), &copies)).collect();
    body.push(region, Op::Yield, args, "output", Type::Unknown, Origin::default());
    body
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn what_follows_each_other_is_one_pass() {
        check(
            GroupPointwise,
            r#"graph f(self: module<Net>, x: tensor, s: rust<f64>) {
              %w = get_attr[w](self) : tensor
              %ys = mul.Scalar(x, 1.702) : tensor @ m.rs:1 as mul
              %gate = sigmoid(%ys) : tensor @ m.rs:1 as sigmoid
              %p = mul(x, %gate) : tensor @ m.rs:1 as mul
              %q = add(%p, %w) : tensor @ m.rs:2 as add
              %r = mul.Scalar(%q, s) : tensor @ m.rs:3 as mul
              yield %r
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, s: rust<f64>) {
                  %w = get_attr[w](self) : tensor
                  %r = group(x, %w, s, body="graph mul_sigmoid_add(x: tensor, w: tensor, s: rust<f64>) { %ys = mul.Scalar(x, 1.702) ; %gate = sigmoid(%ys) ; %p = mul(x, %gate) ; %q = add(%p, w) ; %r = mul.Scalar(%q, s) ; yield %r }") : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as mul + sigmoid + add by group-pointwise
                  yield %r
                }"#]],
        );
    }

    #[test]
    fn every_op_with_a_formula_joins() {
        check(
            GroupPointwise,
            r#"graph f(x: tensor, y: tensor, s: rust<f64>) {
              %a = softplus(x) : tensor
              %b = lerp(%a, y, s) : tensor
              %c = elu(%b) : tensor
              %d = sin(%c) : tensor
              yield %d
            }"#,
            &expect![[r#"
                graph f(x: tensor, y: tensor, s: rust<f64>) {
                  %c = group(x, y, s, body="graph softplus_lerp_elu(x: tensor, y: tensor, s: rust<f64>) { %a = softplus(x) ; %b = lerp(%a, y, s) ; %c = elu(%b) ; yield %c }") : tensor  @ by group-pointwise
                  %d = sin(%c) : tensor
                  yield %d
                }"#]],
        );
    }

    #[test]
    fn what_is_read_elsewhere_is_a_result() {
        check(
            GroupPointwise,
            r#"graph f(x: tensor, y: tensor) {
              %a = add(x, y) : tensor @ m.rs:1 as add
              %b = relu(%a) : tensor @ m.rs:2 as relu
              %c = matmul(%a, %b) : tensor @ m.rs:3 as matmul
              %d = exp(%c) : tensor @ m.rs:4 as exp
              yield %d
            }"#,
            &expect![[r#"
                graph f(x: tensor, y: tensor) {
                  %group = group(x, y, body="graph add_relu(x: tensor, y: tensor) { %a = add(x, y) ; %b = relu(%a) ; yield %a, %b }") : (tensor, tensor)  @ m.rs:1 + m.rs:2 as add + relu by group-pointwise
                  %a_1 = tuple_get[0](%group) : tensor  @ m.rs:1 as add
                  %b_1 = tuple_get[1](%group) : tensor  @ m.rs:2 as relu
                  %c = matmul(%a_1, %b_1) : tensor  @ m.rs:3 as matmul
                  %d = exp(%c) : tensor  @ m.rs:4 as exp
                  yield %d
                }"#]],
        );
    }

    #[test]
    fn nothing_is_read_before_it_is_there() {
        check(
            GroupPointwise,
            r#"graph f(x: tensor, cos: tensor, sin: tensor) {
              %a = mul(x, cos) : tensor @ m.rs:1 as mul
              %n = neg(x) : tensor @ m.rs:2 as neg
              %half = narrow(%n, 1, 0, 2) : tensor @ m.rs:2 as narrow
              %b = mul(%half, sin) : tensor @ m.rs:3 as mul
              %c = add(%a, %b) : tensor @ m.rs:3 as add
              %d = matmul(%b, %c) : tensor @ m.rs:4 as matmul
              %e = sub(%d, %c) : tensor @ m.rs:4 as sub
              yield %e
            }"#,
            &expect![[r#"
                graph f(x: tensor, cos: tensor, sin: tensor) {
                  %n = neg(x) : tensor  @ m.rs:2 as neg
                  %half = narrow(%n, 1, 0, 2) : tensor  @ m.rs:2 as narrow
                  %group = group(x, cos, %half, sin, body="graph mul_add(x: tensor, cos: tensor, half: tensor, sin: tensor) { %a = mul(x, cos) ; %b = mul(half, sin) ; %c = add(%a, %b) ; yield %b, %c }") : (tensor, tensor)  @ m.rs:1 + m.rs:3 as mul + add by group-pointwise
                  %b_1 = tuple_get[0](%group) : tensor  @ m.rs:3 as mul
                  %c_1 = tuple_get[1](%group) : tensor  @ m.rs:3 as add
                  %d = matmul(%b_1, %c_1) : tensor  @ m.rs:4 as matmul
                  %e = sub(%d, %c_1) : tensor  @ m.rs:4 as sub
                  yield %e
                }"#]],
        );
    }

    #[test]
    fn effects_and_regions_are_borders() {
        check(
            GroupPointwise,
            r#"graph f(x: tensor, n: rust<i64>) {
              %a = neg(x) : tensor @ m.rs:1 as neg
              %p = print(%a) @ m.rs:2 as print
              %b = exp(%a) : tensor @ m.rs:3 as exp
              %w = relu_(x) : tensor @ m.rs:4 as relu_
              %c = mul(%b, x) : tensor @ m.rs:5 as mul
              %r = for["%0"](n, %c) (i, acc: tensor) {
                %s = square(acc) : tensor @ m.rs:6 as square
                %t = add(%s, %c) : tensor @ m.rs:6 as add
                yield %t
              }
              %z = neg(%r) : tensor @ m.rs:8 as neg
              %v = view(%z, [4]) : tensor @ m.rs:8 as view
              %k = exp(%z) : tensor @ m.rs:8 as exp
              %f = fill_(%v, 1.0) @ m.rs:9 as fill_
              yield %z, %k
            }"#,
            &expect![[r#"
                graph f(x: tensor, n: rust<i64>) {
                  %a = neg(x) : tensor  @ m.rs:1 as neg
                  %p = print(%a)  @ m.rs:2 as print
                  %b = exp(%a) : tensor  @ m.rs:3 as exp
                  %w = relu_(x) : tensor  @ m.rs:4 as relu_
                  %c = mul(%b, x) : tensor  @ m.rs:5 as mul
                  %r = for["%0"](n, %c) (i, acc: tensor) {
                    %t = group(acc, %c, body="graph square_add(acc: tensor, c: tensor) { %s = square(acc) ; %t = add(%s, c) ; yield %t }") : tensor  @ m.rs:6 as square + add by group-pointwise
                    yield %t
                  }
                  %z = neg(%r) : tensor  @ m.rs:8 as neg
                  %v = view(%z, [4]) : tensor  @ m.rs:8 as view
                  %k = exp(%z) : tensor  @ m.rs:8 as exp
                  %f = fill_(%v, 1.0)  @ m.rs:9 as fill_
                  yield %z, %k
                }"#]],
        );
    }

    #[test]
    fn a_norm_goes_with_what_it_normalises() {
        check(
            GroupPointwise,
            r#"graph f(self: module<Net>, x: tensor, y: tensor) {
              %norm = get_attr[norm](self) : module<LayerNorm>
              %a = add(x, y) : tensor @ m.rs:1 as add
              %leaf = host.runtime["Leaf::<::fx_runtime::nn::LayerNorm>::new", fallible](host.frame(), host.ref(%norm)) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::LayerNorm>>
              %n = host.runtime_method["run", fallible](%leaf, host.ref(%a)) : tensor @ m.rs:2 as norm
              %fc = matmul(%n, y) : tensor @ m.rs:3 as matmul
              %m = host.runtime_method["run", fallible](%leaf, host.ref(%fc)) : tensor @ m.rs:4 as norm
              %b = matmul(%a, %m) : tensor @ m.rs:5 as matmul
              yield %b
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, y: tensor) {
                  %norm = get_attr[norm](self) : module<LayerNorm>
                  %leaf = host.runtime["Leaf::<::fx_runtime::nn::LayerNorm>::new", fallible](host.frame(), host.ref(%norm)) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::LayerNorm>>
                  %norm_weight = host.runtime["norm::weight", fallible](host.frame(), host.ref(%norm)) : tensor  @ m.rs:2 as norm by group-pointwise
                  %norm_bias = host.runtime["norm::bias", fallible](host.frame(), host.ref(%norm)) : tensor  @ m.rs:2 as norm by group-pointwise
                  %norm_eps = host.field["eps"](host.field["config"](%norm)) : rust<f64>  @ m.rs:2 as norm by group-pointwise
                  %group = group(x, y, %norm_weight, %norm_bias, %norm_eps, body="graph add_layer_norm(x: tensor, y: tensor, norm_weight: tensor, norm_bias: tensor, norm_eps: rust<f64>) { %a = add(x, y) ; %n = layer_norm(%a, norm_weight, norm_bias, norm_eps) ; yield %a, %n }") : (tensor, tensor)  @ m.rs:1 + m.rs:2 as add + norm by group-pointwise
                  %a_1 = tuple_get[0](%group) : tensor  @ m.rs:1 as add
                  %n_1 = tuple_get[1](%group) : tensor  @ m.rs:2 as norm
                  %fc = matmul(%n_1, y) : tensor  @ m.rs:3 as matmul
                  %m = host.runtime_method["run", fallible](%leaf, host.ref(%fc)) : tensor  @ m.rs:4 as norm
                  %b = matmul(%a_1, %m) : tensor  @ m.rs:5 as matmul
                  yield %b
                }"#]],
        );
    }

    #[test]
    fn the_shape_of_a_row_goes_with_its_norm() {
        check(
            GroupPointwise,
            r#"graph f(x: tensor, w: tensor, shape: rust<Vec<i64>>) {
              %a = silu(x) : tensor @ m.rs:1 as silu
              %last = host.vec(host.item(host.method["size"](%a), host.binary["-"](host.method["dim"](%a), 1))) : rust<Vec<i64>> @ m.rs:2 as rms_norm
              %n = rms_norm(%a, %last, none, 1e-06) : tensor @ m.rs:2 as rms_norm
              %b = mul(%n, w) : tensor @ m.rs:2 as mul
              %c = rms_norm(%b, shape, none, 1e-06) : tensor @ m.rs:3 as rms_norm
              %d = neg(%c) : tensor @ m.rs:4 as neg
              yield %d
            }"#,
            &expect![[r#"
                graph f(x: tensor, w: tensor, shape: rust<Vec<i64>>) {
                  %b = group(x, w, body="graph silu_rms_norm_mul(x: tensor, w: tensor) { %a = silu(x) ; %n = rms_norm(%a, none, 1e-6) ; %b = mul(%n, w) ; yield %b }") : tensor  @ m.rs:1 + m.rs:2 as silu + rms_norm + mul by group-pointwise
                  %c = rms_norm(%b, shape, none, 1e-6) : tensor  @ m.rs:3 as rms_norm
                  %d = neg(%c) : tensor  @ m.rs:4 as neg
                  yield %d
                }"#]],
        );
    }

    #[test]
    fn only_the_last_axis_is_a_row() {
        check(
            GroupPointwise,
            r#"graph f(x: tensor, mask: tensor, axis: rust<i64>, kind: rust<Kind>) {
              %a = add(x, mask) : tensor @ m.rs:1 as add
              %p = softmax(%a, -1, `Kind::Float`) : tensor @ m.rs:1 as softmax
              %b = matmul(%p, x) : tensor @ m.rs:2 as matmul
              %c = mul(%b, %b) : tensor @ m.rs:3 as mul
              %m = mean.dim(%c, [-1], true, none) : tensor @ m.rs:3 as mean
              %d = mul(%b, %m) : tensor @ m.rs:3 as mul
              %q = softmax(%d, axis, none) : tensor @ m.rs:4 as softmax
              %r = mean.dim(%q, [1], true, none) : tensor @ m.rs:5 as mean
              %s = sum.dim_IntList(%r, [-1], false, none) : tensor @ m.rs:6 as sum
              %t = softmax(%s, -1, kind) : tensor @ m.rs:7 as softmax
              yield %t
            }"#,
            &expect![[r#"
                graph f(x: tensor, mask: tensor, axis: rust<i64>, kind: rust<Kind>) {
                  %p = group(x, mask, body="graph add_softmax(x: tensor, mask: tensor) { %a = add(x, mask) ; %p = softmax(%a, \"Float\") ; yield %p }") : tensor  @ m.rs:1 as add + softmax by group-pointwise
                  %b = matmul(%p, x) : tensor  @ m.rs:2 as matmul
                  %d = group(%b, body="graph mul_mean(b: tensor) { %c = mul(b, b) ; %m = mean.dim(%c, none) ; %d = mul(b, %m) ; yield %d }") : tensor  @ m.rs:3 as mul + mean by group-pointwise
                  %q = softmax(%d, axis, none) : tensor  @ m.rs:4 as softmax
                  %r = mean.dim(%q, [1], true, none) : tensor  @ m.rs:5 as mean
                  %s = sum.dim_IntList(%r, [-1], false, none) : tensor  @ m.rs:6 as sum
                  %t = softmax(%s, -1, kind) : tensor  @ m.rs:7 as softmax
                  yield %t
                }"#]],
        );
    }
}
