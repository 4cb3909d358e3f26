//! Last of all: every layer becomes a kernel that `freeze` packs once and `forward` runs.
//!
//! A convolution or linear layer whose weights are known at freeze time is packed with its addition and activation, any
//! other layer of the runtime's is kept as a frozen leaf. What is left, a fused op on weights that an input decides, is a
//! call of the composition. Attention without dropout goes to the runtime's door to its kernels, with its mask as it is written.

use fx_ir::{Arg, Code, Graph, NodeId, Op, Origin, Type};

use super::facts::{Contraction, Holes, Kind, Times};
use super::fuse_epilogue::ACT;
use super::name::layer_name;
use crate::pass::{Changed, Pass, PassContext};

/// Where the runtime's functions for attention are.
const ATTENTION: &str = "::fx_runtime::frozen::attention::";

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct PackKernels;

impl Pass for PackKernels {
    fn name(&self) -> &'static str {
        "pack-kernels"
    }

    fn doc(&self) -> &'static str {
        "packs each layer into a kernel at freeze time"
    }

    fn after(&self) -> &'static [&'static str] {
        &["lower-modules"]
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let times = Times::of(graph, cx);
        let mut changed = false;
        for id in graph.nodes() {
            changed |= match (Contraction::read(graph, id), &graph.node(id).op) {
                (Some(layer), _) if is_packable(&layer, &times) => pack(graph, id, &layer),
                (Some(layer), _) => compose(graph, id, &layer),
                (None, Op::CallModule(kind)) => keep_leaf(graph, &times, id, &kind.0.clone()),
                (None, Op::Call(op)) if op.to_string() == "scaled_dot_product_attention" => attend(graph, id),
                _ => false,
            };
        }
        Changed::from(changed)
    }
}

fn is_packable(layer: &Contraction, times: &Times) -> bool {
    layer.is_frozen(times) && layer.act.as_ref().is_none_or(|act| times.is_frozen_arg(act))
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Convolution => "::fx_runtime::frozen::Conv",
        Kind::Linear => "::fx_runtime::frozen::Linear",
        Kind::Product => "::fx_runtime::frozen::Product",
    }
}

fn pack(graph: &mut Graph, id: NodeId, layer: &Contraction) -> bool {
    let mut holes = Holes::default();
    let weight = holes.value(&Arg::Node(layer.weight));
    let (bias, params) = (holes.option(graph, &layer.bias), params_code(layer, &mut holes));
    let act = act_code(layer, &mut holes);
    let kernel = type_name(layer.kind);
    let (function, norm) = match &layer.norm {
        Some(norm) => ("pack_batch_norm", format!(", &{}", holes.value(norm))),
        None => ("pack", String::new()),
    };
    let code = format!("{kernel}::{function}(&frame, &{weight}, {bias}{norm}{params}, {act})");
    let (call, read) = match &layer.add {
        Some(other) => ("$0.run_add(&$1, &$2)", vec![layer.input.clone(), other.clone()]),
        None => ("$0.run(&$1)", vec![layer.input.clone()]),
    };
    run_kernel(graph, id, Code::fallible(code), holes.0, Type::rust(kernel), (call, read))
}

/// A fused op on weights that are not known at freeze time.
fn compose(graph: &mut Graph, id: NodeId, layer: &Contraction) -> bool {
    let function = match layer.kind {
        Kind::Convolution => "convolution",
        // Without more to it, it is an op that `tch` has; a batch norm is there only where it can be packed.
        Kind::Linear if layer.norm.is_some() || (layer.add.is_none() && layer.act.is_none()) => return false,
        Kind::Linear => "linear",
        Kind::Product => "product",
    };
    let mut holes = Holes::default();
    let (input, weight) = (holes.value(&layer.input), holes.value(&Arg::Node(layer.weight)));
    let (bias, params) = (holes.option(graph, &layer.bias), params_code(layer, &mut holes));
    let other = layer.add.as_ref().map_or("None".to_owned(), |other| format!("Some(&{})", holes.value(other)));
    let act = act_code(layer, &mut holes);
    let code = format!("::fx_runtime::frozen::{function}(&{input}, &{weight}, {bias}{params}, {other}, {act})");
    become_code(graph, id, Code::fallible(code), holes.0);
    true
}

fn keep_leaf(graph: &mut Graph, times: &Times, id: NodeId, kind: &str) -> bool {
    let &[Arg::Node(layer), Arg::Node(input)] = &graph.node(id).args[..] else { return false };
    if !times.is_frozen(layer) {
        return false;
    }
    // Named in full, so that a layer behind a pointer is found there.
    let code = Code::fallible(format!("::fx_runtime::frozen::Leaf::<::fx_runtime::nn::{kind}>::new(&frame, &$0)"));
    let ty = Type::rust(format!("::fx_runtime::frozen::Leaf<::fx_runtime::nn::{kind}>"));
    run_kernel(graph, id, code, vec![Arg::Node(layer)], ty, ("$0.run(&$1)", vec![Arg::Node(input)]))
}

/// Attention whose mask, if there is one, is a tensor for sure.
fn attend(graph: &mut Graph, id: NodeId) -> bool {
    let [query, key, value, mask, Arg::Float(0.0), Arg::Bool(causal), scale, Arg::Bool(false)] =
        &graph.node(id).args[..]
    else {
        return false;
    };
    let prepared = Prepared::read(graph, id, query, mask);
    let mut holes = Holes::default();
    let query = holes.value(prepared.as_ref().map_or(query, |prepared| prepared.query()));
    let [key, value] = [key, value].map(|operand| holes.value(operand));
    let scale = match scale {
        Arg::None => "None".to_owned(),
        scale => holes.float(scale),
    };
    let (how, rest) = match (&prepared, mask) {
        (Some(Prepared { how, args, .. }), _) => {
            let mask = holes.value(&args[1]);
            let fill = args.get(2).map_or_else(String::new, |fill| format!(", {}", holes.float(fill)));
            (*how, format!("&{mask}{fill}"))
        }
        (None, Arg::None) => ("attend", format!("None, {causal}")),
        (None, Arg::Node(mask)) if matches!(graph.node(*mask).ty, Type::Tensor(_)) => {
            ("attend", format!("Some(&{}), {causal}", holes.value(&Arg::Node(*mask))))
        }
        _ => return false,
    };
    let code = format!("{ATTENTION}{how}(&{query}, &{key}, &{value}, {rest}, {scale})");
    become_code(graph, id, Code::fallible(code), holes.0);
    for part in prepared.into_iter().flat_map(|prepared| prepared.parts) {
        let _ = graph.erase_node(part);
    }
    true
}

/// Query and mask that were made ready for kernels that know no mask as it is written.
struct Prepared {
    /// The function that takes them as they were.
    how: &'static str,
    /// Query, mask, and with what is filled.
    args: Vec<Arg>,
    /// The nodes, readers first.
    parts: [NodeId; 3],
}

impl Prepared {
    /// None where anybody but the attention reads them.
    fn read(graph: &Graph, attention: NodeId, query: &Arg, mask: &Arg) -> Option<Self> {
        let (query, mask) = (query.node()?, mask.node()?);
        let parts = [graph.node(query).op.clone(), graph.node(mask).op.clone()];
        let made = graph.node(query).input(0).filter(|made| graph.node(mask).input(0) == Some(*made))?;
        let is_alone = |id: NodeId, readers: &[NodeId]| graph.users(id).iter().all(|user| readers.contains(user));
        let is_alone = is_alone(query, &[attention]) && is_alone(mask, &[attention]) && is_alone(made, &[query, mask]);
        let node = graph.node(made);
        let Op::Rust(code) = &node.op else { return None };
        let how = match code.template.strip_prefix(ATTENTION)?.split_once('(')?.0 {
            "added" => "attend_added",
            "filled" => "attend_filled",
            _ => return None,
        };
        let fits = is_alone && parts == [Op::TupleGet(0), Op::TupleGet(1)];
        fits.then(|| Self { how, args: node.args.clone(), parts: [query, mask, made] })
    }

    fn query(&self) -> &Arg {
        &self.args[0]
    }
}

/// Puts the kernel before `id` and turns `id` into its call.
fn run_kernel(
    graph: &mut Graph,
    id: NodeId,
    code: Code,
    parts: Vec<Arg>,
    ty: Type,
    (call, read): (&str, Vec<Arg>),
) -> bool {
    let origin = &graph.node(id).origin;
    let (name, origin) = (layer_name(origin), Origin::merged(PackKernels.name(), [origin]));
    let kernel = graph.insert_before(id, Op::Rust(code), parts, &name, ty, origin);
    let args = std::iter::once(Arg::Node(kernel)).chain(read).collect();
    become_code(graph, id, Code::fallible(call), args);
    true
}

fn become_code(graph: &mut Graph, id: NodeId, code: Code, args: Vec<Arg>) {
    let node = graph.node_mut(id);
    node.origin = Origin::merged(PackKernels.name(), [&node.origin]);
    (node.op, node.args, node.kwargs) = (Op::Rust(code), args, Vec::new());
}

fn params_code(layer: &Contraction, holes: &mut Holes) -> String {
    layer.params.map_or(String::new(), |params| format!(", &{}", holes.value(&Arg::Node(params))))
}

fn act_code(layer: &Contraction, holes: &mut Holes) -> String {
    match &layer.act {
        None => format!("{ACT}::None"),
        Some(Arg::Str(variant)) => format!("{ACT}::{variant}"),
        Some(act) => holes.value(act),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn layers_become_kernels() {
        check(
            PackKernels,
            r#"graph f(self: module<Net>, x: tensor) {
              %w = get_attr[w](self) : tensor
              %b = get_attr[b](self) : option<tensor>
              %p = get_attr[p](self) : rust<::fx_runtime::frozen::ConvParams>
              %a = get_attr[a](self) : rust<::fx_runtime::frozen::Act>
              %c = convolution(x, %w, %b, %p, act="Relu") : tensor @ m.rs:1 as conv1 + relu
              %ys = convolution(%c, %w, %w, %p, add=x, act=%a) : tensor @ m.rs:2 as "layer1.*.conv"
              %e = linear(%ys, %w, none) : tensor @ m.rs:3 as fc
              %bn = get_attr[bn](self) : module<BatchNorm>
              %h = linear(%e, %w, %b, batch_norm=%bn, act="Relu") : tensor @ m.rs:3 as fc2 + bn
              %pool = get_attr[pool](self) : module<MaxPool2D>
              %g = call_module[MaxPool2D](%pool, %h) : tensor @ m.rs:4 as pool
              yield %g
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[w](self) : tensor
                  %b = get_attr[b](self) : option<tensor>
                  %p = get_attr[p](self) : rust<::fx_runtime::frozen::ConvParams>
                  %a = get_attr[a](self) : rust<::fx_runtime::frozen::Act>
                  %conv1 = rust["::fx_runtime::frozen::Conv::pack(&frame, &$0, $1.as_ref(), &$2, ::fx_runtime::frozen::Act::Relu)", fallible](%w, %b, %p) : rust<::fx_runtime::frozen::Conv>  @ m.rs:1 as conv1 + relu by pack-kernels
                  %c = rust["$0.run(&$1)", fallible](%conv1, x) : tensor  @ m.rs:1 as conv1 + relu by pack-kernels
                  %conv = rust["::fx_runtime::frozen::Conv::pack(&frame, &$0, Some(&$1), &$2, $3)", fallible](%w, %w, %p, %a) : rust<::fx_runtime::frozen::Conv>  @ m.rs:2 as "layer1.*.conv" by pack-kernels
                  %ys = rust["$0.run_add(&$1, &$2)", fallible](%conv, %c, x) : tensor  @ m.rs:2 as "layer1.*.conv" by pack-kernels
                  %fc = rust["::fx_runtime::frozen::Linear::pack(&frame, &$0, None, ::fx_runtime::frozen::Act::None)", fallible](%w) : rust<::fx_runtime::frozen::Linear>  @ m.rs:3 as fc by pack-kernels
                  %e = rust["$0.run(&$1)", fallible](%fc, %ys) : tensor  @ m.rs:3 as fc by pack-kernels
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %fc2 = rust["::fx_runtime::frozen::Linear::pack_batch_norm(&frame, &$0, $1.as_ref(), &$2, ::fx_runtime::frozen::Act::Relu)", fallible](%w, %b, %bn) : rust<::fx_runtime::frozen::Linear>  @ m.rs:3 as fc2 + bn by pack-kernels
                  %h = rust["$0.run(&$1)", fallible](%fc2, %e) : tensor  @ m.rs:3 as fc2 + bn by pack-kernels
                  %pool = get_attr[pool](self) : module<MaxPool2D>
                  %pool_1 = rust["::fx_runtime::frozen::Leaf::<::fx_runtime::nn::MaxPool2D>::new(&frame, &$0)", fallible](%pool) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::MaxPool2D>>  @ m.rs:4 as pool by pack-kernels
                  %g = rust["$0.run(&$1)", fallible](%pool_1, %h) : tensor  @ m.rs:4 as pool by pack-kernels
                  yield %g
                }"#]],
        );
    }

    #[test]
    fn attention_goes_through_the_runtimes_door() {
        check(
            PackKernels,
            r#"graph f(q: tensor, m: tensor, o: option<tensor>) {
              %a = scaled_dot_product_attention(q, q, q, none, 0.0, true, none, false) : tensor @ m.rs:1
              %b = scaled_dot_product_attention(%a, q, q, m, 0.0, false, 0.5, false) : tensor @ m.rs:2
              %c = scaled_dot_product_attention(%b, q, q, o, 0.0, false, 0.5, false) : tensor @ m.rs:3
              %d = scaled_dot_product_attention(%c, q, q, none, 0.1, false, 0.5, false) : tensor @ m.rs:4
              yield %d
            }"#,
            &expect![[r#"
                graph f(q: tensor, m: tensor, o: option<tensor>) {
                  %a = rust["::fx_runtime::frozen::attention::attend(&$0, &$1, &$2, None, true, None)", fallible](q, q, q) : tensor  @ m.rs:1 by pack-kernels
                  %b = rust["::fx_runtime::frozen::attention::attend(&$0, &$1, &$2, Some(&$3), false, 0.5)", fallible](%a, q, q, m) : tensor  @ m.rs:2 by pack-kernels
                  %c = scaled_dot_product_attention(%b, q, q, o, 0.0, false, 0.5, false) : tensor  @ m.rs:3
                  %d = scaled_dot_product_attention(%c, q, q, none, 0.1, false, 0.5, false) : tensor  @ m.rs:4
                  yield %d
                }"#]],
        );
    }

    #[test]
    fn attention_takes_its_mask_as_it_is_written() {
        check(
            PackKernels,
            r#"graph f(q: tensor, m: tensor, k: tensor) {
              %p = rust["::fx_runtime::frozen::attention::added(&$0, &$1)", fallible](q, m) : (tensor, tensor) @ m.rs:1
              %pq = tuple_get[0](%p) : tensor @ m.rs:1
              %pm = tuple_get[1](%p) : tensor @ m.rs:1
              %a = scaled_dot_product_attention(%pq, k, k, %pm, 0.0, false, 2, false) : tensor @ m.rs:1
              %r = rust["::fx_runtime::frozen::attention::filled(&$0, &$1, $2)", fallible](%a, m, -10000) : (tensor, tensor) @ m.rs:2
              %rq = tuple_get[0](%r) : tensor @ m.rs:2
              %rm = tuple_get[1](%r) : tensor @ m.rs:2
              %b = scaled_dot_product_attention(%rq, k, k, %rm, 0.0, false, 0.5, false) : tensor @ m.rs:2
              %s = rust["::fx_runtime::frozen::attention::added(&$0, &$1)", fallible](%b, m) : (tensor, tensor) @ m.rs:3
              %sq = tuple_get[0](%s) : tensor @ m.rs:3
              %sm = tuple_get[1](%s) : tensor @ m.rs:3
              %c = scaled_dot_product_attention(%sq, k, k, %sm, 0.0, false, 0.5, false) : tensor @ m.rs:3
              yield %c, %sm
            }"#,
            &expect![[r#"
                graph f(q: tensor, m: tensor, k: tensor) {
                  %a = rust["::fx_runtime::frozen::attention::attend_added(&$0, &$1, &$2, &$3, 2.0)", fallible](q, k, k, m) : tensor  @ m.rs:1 by pack-kernels
                  %b = rust["::fx_runtime::frozen::attention::attend_filled(&$0, &$1, &$2, &$3, -10000.0, 0.5)", fallible](%a, k, k, m) : tensor  @ m.rs:2 by pack-kernels
                  %s = rust["::fx_runtime::frozen::attention::added(&$0, &$1)", fallible](%b, m) : (tensor, tensor)  @ m.rs:3
                  %sq = tuple_get[0](%s) : tensor  @ m.rs:3
                  %sm = tuple_get[1](%s) : tensor  @ m.rs:3
                  %c = rust["::fx_runtime::frozen::attention::attend(&$0, &$1, &$2, Some(&$3), false, 0.5)", fallible](%sq, k, k, %sm) : tensor  @ m.rs:3 by pack-kernels
                  yield %c, %sm
                }"#]],
        );
    }

    #[test]
    fn weights_from_an_input_are_composed() {
        check(
            PackKernels,
            r#"graph f(self: module<Net>, x: tensor) {
              %p = get_attr[p](self) : rust<::fx_runtime::frozen::ConvParams>
              %c = convolution(x, x, none, %p, add=x, act="Relu") : tensor @ m.rs:1 as conv1
              %d = linear(%c, x, none) : tensor @ m.rs:2 as fc
              yield %d
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %p = get_attr[p](self) : rust<::fx_runtime::frozen::ConvParams>
                  %c = rust["::fx_runtime::frozen::convolution(&$0, &$1, None, &$2, Some(&$3), ::fx_runtime::frozen::Act::Relu)", fallible](x, x, %p, x) : tensor  @ m.rs:1 as conv1 by pack-kernels
                  %d = linear(%c, x, none) : tensor  @ m.rs:2 as fc
                  yield %d
                }"#]],
        );
    }
}
