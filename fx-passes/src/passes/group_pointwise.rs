//! Puts pointwise ops that follow each other into groups, each of which goes over memory once.
//!
//! A group stands where its last op stood: all that it reads is there, and nothing but its own ops reads a value of it
//! before. It grows as long as that holds, takes no op across an effect or out of its region, and yields every value
//! that is read elsewhere. What may be written to after it was made stays out.

use std::collections::BTreeMap;

use fx_ir::{Arg, Graph, Node, NodeId, Op, Origin, RegionId, Scalar, Type};

use super::facts::{Effects, Times};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct GroupPointwise;

/// A group reads at most so many tensors, and so many numbers.
const MOST_INPUTS: usize = 8;
/// A group is called after at most so many of its ops.
const MOST_WORDS: usize = 4;
/// A group yields at most so many tensors.
const MOST_RESULTS: usize = 4;

impl Pass for GroupPointwise {
    fn name(&self) -> &'static str {
        "group-pointwise"
    }

    fn doc(&self) -> &'static str {
        "computes pointwise ops that follow each other in one pass over memory"
    }

    fn after(&self) -> &'static [&'static str] {
        &["fuse-epilogue", "pack-kernels"]
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let (times, effects) = (Times::of(graph, cx), Effects::of(graph));
        let mut changed = false;
        for region in graph.live_regions() {
            let groups = Grouping::of(graph, region, &times, &effects);
            for members in groups.into_iter().filter(|members| members.len() > 1) {
                group(graph, &members);
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
    effects: &'a Effects,
    positions: BTreeMap<NodeId, usize>,
    /// By member, which group it is in.
    home: BTreeMap<NodeId, usize>,
    /// Members in the order of execution; empty where another group has taken them in.
    groups: Vec<Vec<NodeId>>,
}

impl Grouping<'_> {
    fn of(graph: &Graph, region: RegionId, times: &Times, effects: &Effects) -> Vec<Vec<NodeId>> {
        let nodes = &graph.region(region).nodes;
        let positions = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let (home, groups) = (BTreeMap::new(), Vec::new());
        let mut grouping = Grouping { graph, region, effects, positions, home, groups };
        for &id in nodes {
            if is_groupable(graph, id) && !times.is_frozen(id) && !effects.is_written(id) {
                grouping.add(id);
            }
        }
        grouping.groups
    }

    /// Starts a group with the node as its last, and takes in the groups of what it reads.
    fn add(&mut self, id: NodeId) {
        let mut members = vec![id];
        for input in self.graph.node(id).inputs() {
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
            let readers = self.graph.users(member).into_iter().filter(|reader| !members.contains(reader));
            readers.map(|reader| self.position(reader)).all(|reader| reader > Some(self.positions[&at]))
        };
        let (tensors, numbers) = inputs(self.graph, members);
        members.iter().all(|member| moves(member) && later(member))
            && tensors.len() <= MOST_INPUTS
            && numbers.len() <= MOST_INPUTS
            && results(self.graph, members).len() <= MOST_RESULTS
    }

    /// Where the node, or the control flow that it is in, stands in the region.
    fn position(&self, mut id: NodeId) -> Option<usize> {
        while self.graph.scope_of(id) != Some(self.region) {
            id = self.graph.owner_of(self.graph.scope_of(id)?)?;
        }
        self.positions.get(&id).copied()
    }
}

/// Has the node a scalar form, on tensors and numbers alone?
fn is_groupable(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let Op::Call(op) = &node.op else { return false };
    let is_tensor = |arg: &Arg| arg.node().is_some_and(|id| graph.node(id).ty.is_tensor());
    let fits = match op.row().and_then(|row| row.scalar) {
        Some(Scalar::Infix(_)) => node.args.len() == 2,
        Some(Scalar::Function) => !node.args.is_empty(),
        None => false,
    };
    let rest = node.args.iter().skip(1);
    fits && node.kwargs.is_empty()
        && node.ty.is_tensor()
        && node.args.first().is_some_and(is_tensor)
        && rest.into_iter().all(|arg| is_tensor(arg) || is_number(graph, arg) || matches!(arg, Arg::Str(_)))
}

/// Is it a number, written out or known at the call?
fn is_number(graph: &Graph, arg: &Arg) -> bool {
    match arg {
        Arg::Int(_) | Arg::Float(_) => true,
        Arg::Node(id) => matches!(&graph.node(*id).ty, Type::Rust(name) if name == "f64" || name == "i64"),
        _ => false,
    }
}

/// The tensors, and the numbers, that the members read and do not make, each once.
fn inputs(graph: &Graph, members: &[NodeId]) -> (Vec<NodeId>, Vec<NodeId>) {
    let mut all = Vec::new();
    for input in members.iter().flat_map(|&member| graph.node(member).inputs()) {
        if !members.contains(&input) && !all.contains(&input) {
            all.push(input);
        }
    }
    all.into_iter().partition(|&input| graph.node(input).ty.is_tensor())
}

/// The members that are read elsewhere.
fn results(graph: &Graph, members: &[NodeId]) -> Vec<NodeId> {
    let outside = |&&member: &&NodeId| graph.users(member).iter().any(|reader| !members.contains(reader));
    members.iter().filter(outside).copied().collect()
}

/// Puts the members, in the order of execution, into one node where the last one stands.
fn group(graph: &mut Graph, members: &[NodeId]) {
    let Some(&last) = members.last() else { return };
    let ((tensors, numbers), results) = (inputs(graph, members), results(graph, members));
    let body = body(graph, members, (&tensors, &numbers), &results);
    let args = tensors.into_iter().chain(numbers).map(Arg::Node).collect();
    let origin = Origin::merged(GroupPointwise.name(), members.iter().map(|&member| &graph.node(member).origin));
    if let [_] = results[..] {
        let node = graph.node_mut(last);
        node.become_group(&body, args);
        node.origin = origin;
    } else {
        let ty = Type::Tuple(vec![Type::TENSOR; results.len()]);
        let nothing = graph.node(last).op.clone();
        let whole = graph.insert_before(last, nothing, Vec::new(), "group", ty, origin);
        graph.node_mut(whole).become_group(&body, args);
        for (position, &result) in results.iter().enumerate() {
            let Node { name, ty, origin, .. } = graph.node(result).clone();
            let part = graph.insert_before(last, Op::TupleGet(position), vec![Arg::Node(whole)], &name, ty, origin);
            graph.replace_all_uses_with(result, &Arg::Node(part));
        }
    }
    // From the back: each is read by members behind it alone.
    for &member in members.iter().rev().filter(|&&member| results.len() > 1 || member != last) {
        let _ = graph.erase_node(member);
    }
}

/// What a group is called: its first ops, as far as they differ.
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
fn body(graph: &Graph, members: &[NodeId], (tensors, numbers): (&[NodeId], &[NodeId]), results: &[NodeId]) -> Graph {
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
        let args = node.args.iter().map(|arg| rename(arg, &copies)).collect();
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
              %r = for[_](n, %c) (i, acc: tensor) {
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
                  %r = for[_](n, %c) (i, acc: tensor) {
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
}
