//! Merges linear layers on one input into one: queries, keys and values, or the gate and the way up of a gated block.
//!
//! `q(x)`, `k(x)`, `v(x)` become one product with weights and biases one below the other, put together at freeze time,
//! and three `narrow` views of its result. The input is read once, and one large product keeps all cores busy where three
//! small ones do not.
//!
//! Layers are merged if they read the same value between the same two writes, in the same region, and
//!
//! * each is called once, and nobody else reads its weight;
//! * each has a weight of two axes for certain: it is an `nn::Linear`, or the source tells;
//! * nobody writes to their results, and the caller does not get them, or views of them;
//! * the addition behind them, if there is one, is not theirs: a layer with a residual is better off with
//!   [its own kernel](super::FuseEpilogue).
//!
//! A layer without a bias beside others that have one is given a bias of zeros, by the live model: which of them have one
//! is not known before.

use std::rc::Rc;

use fx_ir::layers::LINEAR;
use std::collections::HashMap;

use fx_ir::{Arg, BlockOrder, Effect, Graph, HostOp, NodeId, Op, Origin, RegionId, Type, ops};

use super::name::layer_name;
use super::plain_layers::PlainLayers;
use crate::analysis::{BindingTimes, Contraction, Kind, Ranks, by_ref, runtime};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct MergeLinears;

impl Pass for MergeLinears {
    described! {
        "merge-linears": "merges linear layers on one input into one, whose result they share";
        after: ["attention", "lower-modules"];
        before: ["fuse-epilogue"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let facts = Merge { layers: PlainLayers::of(graph, cx), ranks: Ranks::of(graph, cx) };
        let groups = facts.groups(graph);
        let mut places = Places { order: graph.block_order(), moved: HashMap::new() };
        let mut changed = false;
        for group in groups {
            changed |= merge(graph, &facts.layers.times, &mut places, &group);
        }
        Changed::from(changed)
    }
}

struct Merge {
    layers: PlainLayers,
    ranks: Rc<Ranks>,
}

/// The properties that the layers of a group have in common.
type Key = (NodeId, Option<RegionId>, Option<u32>);

impl Merge {
    /// The layers that read the same, in the order of execution.
    fn groups(&self, graph: &Graph) -> Vec<Vec<NodeId>> {
        let mut groups: Vec<Vec<NodeId>> = Vec::new();
        let mut by_key: HashMap<Key, usize> = HashMap::new();
        for id in graph.nodes() {
            let Some(input) = self.input_of_member(graph, id) else { continue };
            let at = *by_key.entry((input, graph.scope_of(id), self.layers.effects.epoch(id))).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[at].push(id);
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// The input of a layer that may be merged.
    fn input_of_member(&self, graph: &Graph, id: NodeId) -> Option<NodeId> {
        let PlainLayers { times, effects, .. } = &self.layers;
        let layer = self.layers.layer_at(graph, id).filter(|layer| layer.kind == Kind::Linear)?;
        let is_free = !effects.is_written(id) && !effects.is_handed_out(id) && !has_addition(graph, id);
        let input = layer.input.node().filter(|&input| !times.is_frozen(input));
        input.filter(|_| is_free && self.is_matrix(graph, layer.weight))
    }

    fn is_matrix(&self, graph: &Graph, weight: NodeId) -> bool {
        let node = graph.node(weight);
        let of_layer = node.input(0).is_some_and(|layer| graph.node(layer).ty == Type::Module(LINEAR.name.to_owned()));
        let rank = self.ranks.get(&Arg::Node(weight));
        node.op == Op::GetAttr("ws".to_owned()) && of_layer || (rank.least, rank.most) == (2, Some(2))
    }
}

/// Returns whether the value is read once, by an addition to another tensor.
fn has_addition(graph: &Graph, id: NodeId) -> bool {
    let is_add = |reader: &NodeId| graph.node(*reader).op == Op::Call(ops::ADD);
    matches!(&graph.users(id)[..], [reader] if is_add(reader))
}

/// The positions of nodes, those included that were moved up.
struct Places {
    order: BlockOrder,
    moved: HashMap<NodeId, usize>,
}

impl Places {
    fn of(&self, id: NodeId) -> Option<usize> {
        self.moved.get(&id).copied().or_else(|| self.order.position(id))
    }

    /// Returns whether the node stands before `anchor`, or can be moved there with what it reads.
    fn may_precede(&self, graph: &Graph, times: &BindingTimes, id: NodeId, anchor: NodeId) -> bool {
        if self.of(id) <= self.of(anchor) {
            return true;
        }
        let node = graph.node(id);
        let movable = node.effect() == Effect::Pure && node.regions.is_empty() && node.op != Op::Placeholder;
        movable
            && times.is_frozen(id)
            && graph.scope_of(id) == graph.scope_of(anchor)
            && node.inputs().all(|input| self.may_precede(graph, times, input, anchor))
    }

    /// Moves the node and what it reads before `anchor`, where it does not stand there already.
    fn precede(&mut self, graph: &mut Graph, id: NodeId, anchor: NodeId) {
        if self.of(id) <= self.of(anchor) {
            return;
        }
        let inputs: Vec<NodeId> = graph.node(id).inputs().collect();
        for input in inputs {
            self.precede(graph, input, anchor);
        }
        if graph.move_before(id, anchor).is_ok()
            && let Some(place) = self.of(anchor)
        {
            self.moved.insert(id, place);
        }
    }
}

/// A layer of a group.
type Member = (NodeId, Contraction);

/// Merges the layers where the first of them stands; each becomes a view of the result.
fn merge(graph: &mut Graph, times: &BindingTimes, places: &mut Places, group: &[NodeId]) -> bool {
    let anchor = group[0];
    let layers = group.iter().filter_map(|&id| Some((id, Contraction::read(graph, id)?)));
    let members: Vec<Member> = layers
        .filter(|(_, layer)| parts_of(layer).all(|part| places.may_precede(graph, times, part, anchor)))
        .collect();
    let [first, _, ..] = &members[..] else { return false };
    for part in members.iter().flat_map(|(_, layer)| parts_of(layer)) {
        places.precede(graph, part, anchor);
    }
    let origin = Origin::merged(MergeLinears.name(), members.iter().map(|(id, _)| &graph.node(*id).origin));
    let name = joined_name(graph, &members);
    let layers = HostOp::Array.of(members.iter().map(|(_, layer)| HostOp::Tuple.of(layer.operands(graph, None))));
    let mut make = |op: Op, args: Vec<Arg>, part: &str, ty: Type| {
        graph.insert_before(anchor, op, args, &format!("{name}{part}"), ty, origin.clone())
    };
    let optional = Type::Option(Box::new(Type::TENSOR));
    let both = make(
        runtime("fold::linears"),
        vec![by_ref(&layers)],
        "_weights",
        Type::Tuple(vec![Type::TENSOR, optional.clone()]),
    );
    let weight = make(Op::TupleGet(0), vec![Arg::Node(both)], "_weight", Type::TENSOR);
    let bias = make(Op::TupleGet(1), vec![Arg::Node(both)], "_bias", optional);
    let args = vec![first.1.input.clone(), Arg::Node(weight), Arg::Node(bias)];
    let whole = make(Op::Call(ops::LINEAR), args, "", Type::TENSOR);
    split(graph, whole, &members);
    true
}

/// What of a layer has to be known where it is merged.
fn parts_of(layer: &Contraction) -> impl Iterator<Item = NodeId> + use<> {
    std::iter::once(layer.weight).chain(layer.bias.node())
}

/// Turns each layer into its part of the merged result; its name and its readers stay.
fn split(graph: &mut Graph, whole: NodeId, members: &[Member]) {
    let anchor = members[0].0;
    let mut start = Arg::Int(0);
    for (id, layer) in members {
        let origin = Origin::merged(MergeLinears.name(), [&graph.node(*id).origin]);
        let number = |graph: &mut Graph, op: HostOp, args: [Arg; 2], part: &str| {
            let (name, ty, op) = (format!("{}_{part}", layer_name(&origin)), Type::rust("i64"), Op::Host(op.into()));
            Arg::Node(graph.insert_before(anchor, op, args.to_vec(), &name, ty, origin.clone()))
        };
        let sizes = HostOp::Method("size".to_owned()).on(layer.weight);
        let size = number(graph, HostOp::Item, [sizes, Arg::Int(0)], "size");
        let is_last = members.last().is_some_and(|(last, _)| last == id);
        let next = if is_last || start == Arg::Int(0) {
            size.clone()
        } else {
            number(graph, HostOp::Binary("+".to_owned()), [start.clone(), size.clone()], "end")
        };
        let node = graph.node_mut(*id);
        (node.op, node.origin) = (Op::Call(ops::NARROW), origin);
        node.args = vec![Arg::Node(whole), Arg::Int(-1), std::mem::replace(&mut start, next), size];
    }
}

/// `q_k_v` for the layers `attn.q`, `attn.k` and `attn.v`.
fn joined_name(graph: &Graph, members: &[Member]) -> String {
    let own = |(id, _): &Member| {
        let label = graph.node(*id).origin.labels.first();
        label.and_then(|label| label.rsplit('.').next()).map_or_else(|| graph.base_name(*id).to_owned(), str::to_owned)
    };
    let names: Vec<String> = members.iter().map(own).collect();
    names.join("_").replace(|c: char| !c.is_alphanumeric() && c != '_', "_")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::passes::LowerModules;
    use crate::passes::testing::check_all;

    /// Lowers and merges the body of a model's forward over `x` and `y`.
    fn check(body: &str, after: &Expect) {
        let text = format!("graph f(self: module<Net>, x: tensor, y: tensor, c: rust<bool>) {{\n{body}\n}}");
        let graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
        check_all(&[&LowerModules, &MergeLinears], graph, after);
    }

    #[test]
    fn layers_on_one_input_where_the_first_stands() {
        check(
            r#"%q = get_attr[q](self) : module<Linear>
            %a = call_module[Linear](%q, x) : tensor @ m.rs:1 as "attn.q"
            %e = exp(%a) : tensor
            %k = get_attr[k](self) : module<Linear>
            %b = call_module[Linear](%k, x) : tensor @ m.rs:2 as "attn.k"
            %v = get_attr[v](self) : module<Linear>
            %d = call_module[Linear](%v, x) : tensor @ m.rs:3 as "attn.v"
            %g = exp(%b) : tensor
            %h = exp(%d) : tensor
            yield %e, %g, %h"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, y: tensor, c: rust<bool>) {
                  %q = get_attr[q](self) : module<Linear>
                  %attn_q_weight = get_attr[ws](%q) : tensor  @ m.rs:1 as attn.q by lower-modules
                  %attn_q_bias = get_attr[bs](%q) : option<tensor>  @ m.rs:1 as attn.q by lower-modules
                  %k = get_attr[k](self) : module<Linear>
                  %attn_k_weight = get_attr[ws](%k) : tensor  @ m.rs:2 as attn.k by lower-modules
                  %attn_k_bias = get_attr[bs](%k) : option<tensor>  @ m.rs:2 as attn.k by lower-modules
                  %v = get_attr[v](self) : module<Linear>
                  %attn_v_weight = get_attr[ws](%v) : tensor  @ m.rs:3 as attn.v by lower-modules
                  %attn_v_bias = get_attr[bs](%v) : option<tensor>  @ m.rs:3 as attn.v by lower-modules
                  %q_k_v_weights = host.runtime["fold::linears", fallible](host.ref(host.array(host.tuple(host.ref(%attn_q_weight), host.method["as_ref"](%attn_q_bias)), host.tuple(host.ref(%attn_k_weight), host.method["as_ref"](%attn_k_bias)), host.tuple(host.ref(%attn_v_weight), host.method["as_ref"](%attn_v_bias))))) : (tensor, option<tensor>)  @ m.rs:1 + m.rs:2 + m.rs:3 as attn.q + attn.k + attn.v by lower-modules + merge-linears
                  %q_k_v_weight = tuple_get[0](%q_k_v_weights) : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as attn.q + attn.k + attn.v by lower-modules + merge-linears
                  %q_k_v_bias = tuple_get[1](%q_k_v_weights) : option<tensor>  @ m.rs:1 + m.rs:2 + m.rs:3 as attn.q + attn.k + attn.v by lower-modules + merge-linears
                  %q_k_v = linear(x, %q_k_v_weight, %q_k_v_bias) : tensor  @ m.rs:1 + m.rs:2 + m.rs:3 as attn.q + attn.k + attn.v by lower-modules + merge-linears
                  %attn_q_size = host.item(host.method["size"](%attn_q_weight), 0) : rust<i64>  @ m.rs:1 as attn.q by lower-modules + merge-linears
                  %attn_k_size = host.item(host.method["size"](%attn_k_weight), 0) : rust<i64>  @ m.rs:2 as attn.k by lower-modules + merge-linears
                  %attn_k_end = host.binary["+"](%attn_q_size, %attn_k_size) : rust<i64>  @ m.rs:2 as attn.k by lower-modules + merge-linears
                  %attn_v_size = host.item(host.method["size"](%attn_v_weight), 0) : rust<i64>  @ m.rs:3 as attn.v by lower-modules + merge-linears
                  %a = narrow(%q_k_v, -1, 0, %attn_q_size) : tensor  @ m.rs:1 as attn.q by lower-modules + merge-linears
                  %e = exp(%a) : tensor
                  %b = narrow(%q_k_v, -1, %attn_q_size, %attn_k_size) : tensor  @ m.rs:2 as attn.k by lower-modules + merge-linears
                  %d = narrow(%q_k_v, -1, %attn_k_end, %attn_v_size) : tensor  @ m.rs:3 as attn.v by lower-modules + merge-linears
                  %g = exp(%b) : tensor
                  %h = exp(%d) : tensor
                  yield %e, %g, %h
                }"#]],
        );
    }

    #[test]
    fn not_a_layer_that_is_called_twice_or_reads_another_value() {
        check(
            r#"%q = get_attr[q](self) : module<Linear>
            %k = get_attr[k](self) : module<Linear>
            %v = get_attr[v](self) : module<Linear>
            %a = call_module[Linear](%q, x) : tensor
            %b = call_module[Linear](%k, x) : tensor
            %d = call_module[Linear](%v, y) : tensor
            %e = call_module[Linear](%q, y) : tensor
            %g = cat([%a, %b, %d, %e], 0) : tensor
            yield %g"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, y: tensor, c: rust<bool>) {
                  %q = get_attr[q](self) : module<Linear>
                  %k = get_attr[k](self) : module<Linear>
                  %v = get_attr[v](self) : module<Linear>
                  %kernel_weight = get_attr[ws](%q) : tensor  @ by lower-modules
                  %kernel_bias = get_attr[bs](%q) : option<tensor>  @ by lower-modules
                  %a = linear(x, %kernel_weight, %kernel_bias) : tensor  @ by lower-modules
                  %kernel_weight_1 = get_attr[ws](%k) : tensor  @ by lower-modules
                  %kernel_bias_1 = get_attr[bs](%k) : option<tensor>  @ by lower-modules
                  %b = linear(x, %kernel_weight_1, %kernel_bias_1) : tensor  @ by lower-modules
                  %kernel_weight_2 = get_attr[ws](%v) : tensor  @ by lower-modules
                  %kernel_bias_2 = get_attr[bs](%v) : option<tensor>  @ by lower-modules
                  %d = linear(y, %kernel_weight_2, %kernel_bias_2) : tensor  @ by lower-modules
                  %kernel_weight_3 = get_attr[ws](%q) : tensor  @ by lower-modules
                  %kernel_bias_3 = get_attr[bs](%q) : option<tensor>  @ by lower-modules
                  %e = linear(y, %kernel_weight_3, %kernel_bias_3) : tensor  @ by lower-modules
                  %g = cat([%a, %b, %d, %e], 0) : tensor
                  yield %g
                }"#]],
        );
    }

    #[test]
    fn not_across_a_write_a_region_or_an_addition_and_not_what_the_caller_gets() {
        check(
            r#"%q = get_attr[q](self) : module<Linear>
            %k = get_attr[k](self) : module<Linear>
            %v = get_attr[v](self) : module<Linear>
            %w = get_attr[w](self) : module<Linear>
            %u = get_attr[u](self) : module<Linear>
            %a = call_module[Linear](%q, x) : tensor
            %b = call_module[Linear](%k, x) : tensor
            %s = add(%b, x) : tensor
            %i = if(c) : tensor { %j = call_module[Linear](%u, x) : tensor ; %l = exp(%j) : tensor ; yield %l } else { yield y }
            %m = call_module[Linear](%w, x) : tensor
            %o = transpose(%m, 0, 1) : tensor
            %p = relu_(x)
            %d = call_module[Linear](%v, x) : tensor
            %g = cat([%a, %s, %i, %d], 0) : tensor
            yield %g, %o"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, y: tensor, c: rust<bool>) {
                  %q = get_attr[q](self) : module<Linear>
                  %k = get_attr[k](self) : module<Linear>
                  %v = get_attr[v](self) : module<Linear>
                  %w = get_attr[w](self) : module<Linear>
                  %u = get_attr[u](self) : module<Linear>
                  %kernel_weight = get_attr[ws](%q) : tensor  @ by lower-modules
                  %kernel_bias = get_attr[bs](%q) : option<tensor>  @ by lower-modules
                  %a = linear(x, %kernel_weight, %kernel_bias) : tensor  @ by lower-modules
                  %kernel_weight_1 = get_attr[ws](%k) : tensor  @ by lower-modules
                  %kernel_bias_1 = get_attr[bs](%k) : option<tensor>  @ by lower-modules
                  %b = linear(x, %kernel_weight_1, %kernel_bias_1) : tensor  @ by lower-modules
                  %s = add(%b, x) : tensor
                  %i = if(c) : tensor {
                    %kernel_weight_2 = get_attr[ws](%u) : tensor  @ by lower-modules
                    %kernel_bias_2 = get_attr[bs](%u) : option<tensor>  @ by lower-modules
                    %j = linear(x, %kernel_weight_2, %kernel_bias_2) : tensor  @ by lower-modules
                    %l = exp(%j) : tensor
                    yield %l
                  } else {
                    yield y
                  }
                  %kernel_weight_3 = get_attr[ws](%w) : tensor  @ by lower-modules
                  %kernel_bias_3 = get_attr[bs](%w) : option<tensor>  @ by lower-modules
                  %m = linear(x, %kernel_weight_3, %kernel_bias_3) : tensor  @ by lower-modules
                  %o = transpose(%m, 0, 1) : tensor
                  %p = relu_(x)
                  %kernel_weight_4 = get_attr[ws](%v) : tensor  @ by lower-modules
                  %kernel_bias_4 = get_attr[bs](%v) : option<tensor>  @ by lower-modules
                  %d = linear(x, %kernel_weight_4, %kernel_bias_4) : tensor  @ by lower-modules
                  %g = cat([%a, %s, %i, %d], 0) : tensor
                  yield %g, %o
                }"#]],
        );
    }

    #[test]
    fn a_weight_of_unknown_axes_stays() {
        check(
            r#"%p = get_attr[p](self) : tensor
            %r = get_attr[r](self) : f32[4, 8]
            %t = get_attr[t](self) : f32[6, 8]
            %a = linear(x, %p, none) : tensor
            %b = linear(x, %r, none) : tensor
            %d = linear(x, %t, none) : tensor
            %g = cat([%a, %b, %d], 0) : tensor
            yield %g"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, y: tensor, c: rust<bool>) {
                  %p = get_attr[p](self) : tensor
                  %r = get_attr[r](self) : f32[4, 8]
                  %t = get_attr[t](self) : f32[6, 8]
                  %a = linear(x, %p, none) : tensor
                  %b_d_weights = host.runtime["fold::linears", fallible](host.ref(host.array(host.tuple(host.ref(%r), none), host.tuple(host.ref(%t), none)))) : (tensor, option<tensor>)  @ by merge-linears
                  %b_d_weight = tuple_get[0](%b_d_weights) : tensor  @ by merge-linears
                  %b_d_bias = tuple_get[1](%b_d_weights) : option<tensor>  @ by merge-linears
                  %b_d = linear(x, %b_d_weight, %b_d_bias) : tensor  @ by merge-linears
                  %kernel_size = host.item(host.method["size"](%r), 0) : rust<i64>  @ by merge-linears
                  %kernel_size_1 = host.item(host.method["size"](%t), 0) : rust<i64>  @ by merge-linears
                  %b = narrow(%b_d, -1, 0, %kernel_size) : tensor  @ by merge-linears
                  %d = narrow(%b_d, -1, %kernel_size, %kernel_size_1) : tensor  @ by merge-linears
                  %g = cat([%a, %b, %d], 0) : tensor
                  yield %g
                }"#]],
        );
    }
}
