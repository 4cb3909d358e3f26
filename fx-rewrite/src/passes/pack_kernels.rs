//! Last of all: every layer becomes a kernel that `freeze` packs once and `forward` runs.
//!
//! A convolution or linear layer whose weights are known at freeze time is packed with its addition and activation, any
//! other layer of the runtime's is kept as a frozen leaf. What is left, a fused op on weights that an input decides, is a
//! call of the composition. Attention without dropout goes to the runtime's door to its kernels, with its mask as it is written.

use fx_ir::{Arg, Graph, Host, HostOp, LayerRow, NodeId, Op, Origin, Type, ops};

use super::fold_batch_norm::CONV_BATCH_NORM;
use super::fuse_epilogue::ACT;
use super::lower_modules::{CONFIG, PARAMS_OF_CONFIG};
use super::name::layer_name;
use crate::analysis::{BindingTimes, Contraction, Kind, by_optional_ref, by_ref, float, leaf_type, runtime};
use crate::pass::{Changed, Pass, PassContext};

/// The runtime's functions that make a query and a mask ready for kernels that know no mask as it is written, and those
/// that attend with the mask as it is.
const ATTENTION: [(&str, &str); 2] = [("attention::added", "attention::attend_added"), ("attention::filled", FILLED)];
const FILLED: &str = "attention::attend_filled";
/// The last with a mask that hides what comes behind each query.
const FUTURE: &str = "attention::attend_future";

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct PackKernels;

impl Pass for PackKernels {
    described! {
        "pack-kernels": "packs each layer into a kernel at freeze time";
        after: ["lower-modules"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let times = BindingTimes::of(graph, cx);
        let mut changed = false;
        for id in graph.nodes() {
            changed |= match (Contraction::read(graph, id), &graph.node(id).op) {
                (Some(layer), _) if is_packable(&layer, &times) => pack(graph, id, &layer),
                (Some(layer), _) => compose(graph, id, &layer),
                (None, Op::CallModule(kind)) => keep_leaf(graph, &times, id, &kind.0.clone()),
                (None, Op::Call(ops::ATTENTION)) => attend(graph, id),
                _ => false,
            };
        }
        Changed::from(changed)
    }
}

fn is_packable(layer: &Contraction, times: &BindingTimes) -> bool {
    layer.is_frozen(times) && layer.act.as_ref().is_none_or(|act| times.is_frozen_arg(act))
}

/// The runtime's type for the kernel, and its name.
fn kernel_type(kind: Kind) -> (Type, &'static str) {
    let (path, name) = match kind {
        Kind::Convolution => ("::fx_runtime::frozen::Conv", "Conv"),
        Kind::Linear => ("::fx_runtime::frozen::Linear", "Linear"),
        Kind::Product => ("::fx_runtime::frozen::Product", "Product"),
    };
    (Type::rust(path), name)
}

fn pack(graph: &mut Graph, id: NodeId, layer: &Contraction) -> bool {
    let (ty, name) = kernel_type(layer.kind);
    let folded = Folded::read(graph, id, layer);
    let ending = if layer.norm.is_some() || folded.is_some() { "_batch_norm" } else { "" };
    let mut operands = match &folded {
        Some(folded) => graph.node(folded.fold).args.clone(),
        None => layer.operands(graph, layer.norm.as_ref()),
    };
    let whole = WholeLayer::read(graph, layer.kind, &operands);
    let mut function = format!("{name}::pack{ending}");
    if let Some(WholeLayer { layer, .. }) = &whole {
        function = format!("{name}::pack_layer{ending}");
        let norm = operands.get(2).filter(|_| !ending.is_empty()).cloned();
        operands = std::iter::once(HostOp::Ref.on(*layer)).chain(norm).collect();
    }
    let mut parts = vec![HostOp::Frame.of([])];
    parts.extend(operands);
    parts.push(act_arg(layer));
    let kernel = Kernel { op: runtime(function), parts, ty };
    let (method, read) = match &layer.add {
        Some(other) => ("run_add", vec![by_ref(&layer.input), by_ref(other)]),
        None => ("run", vec![by_ref(&layer.input)]),
    };
    let packed = kernel.run(graph, id, method, read);
    if let Some(Folded { fold, weight, bias }) = folded {
        for part in [weight, bias, fold] {
            let _ = graph.erase_node(part);
        }
    }
    for part in whole.into_iter().flat_map(|whole| whole.parts) {
        // What another node reads stays.
        let _ = graph.erase_node(part);
    }
    packed
}

/// A layer of `nn` of which a kernel takes all that it holds.
struct WholeLayer {
    layer: NodeId,
    /// The nodes that read its fields.
    parts: Vec<NodeId>,
}

impl WholeLayer {
    /// None where the weight, the bias or the parameters among the operands are not those of one layer.
    fn read(graph: &Graph, kind: Kind, operands: &[Arg]) -> Option<WholeLayer> {
        let (weight, bias) = (operands.first()?.base()?, operands.get(1)?.base()?);
        let layer = graph.node(weight).input(0)?;
        let Type::Module(name) = &graph.node(layer).ty else { return None };
        let row = LayerRow::of_type(name).filter(|row| row.op == Some(kind.op()))?;
        let is_field = |part: &NodeId, field: &str| {
            let node = graph.node(*part);
            matches!(&node.op, Op::GetAttr(read) if read == field) && node.input(0) == Some(layer)
        };
        let mut fields = row.tensors().map(|(field, _)| field.name);
        let mut parts = vec![weight, bias];
        let mut are_all = parts.iter().all(|part| fields.next().is_some_and(|field| is_field(part, field)));
        if kind == Kind::Convolution {
            let params = operands.last()?.base()?;
            are_all &= is_params_of(graph, params, layer);
            parts.push(params);
        }
        are_all.then_some(WholeLayer { layer, parts })
    }
}

/// Returns whether the node is the parameters that the layer's configuration says.
fn is_params_of(graph: &Graph, params: NodeId, layer: NodeId) -> bool {
    let node = graph.node(params);
    let Some(Arg::Expr(config)) = node.args.first() else { return false };
    node.op.host() == Some(&HostOp::Runtime(PARAMS_OF_CONFIG.to_owned()))
        && matches!(&config.op, HostOp::Field(field) if field == CONFIG)
        && config.args.first().and_then(Arg::node) == Some(layer)
}

/// A batch norm folded into the weights of a convolution that is packed with them.
struct Folded {
    /// The node that folds.
    fold: NodeId,
    /// Its results, which are the convolution's weight and bias.
    weight: NodeId,
    bias: NodeId,
}

impl Folded {
    /// None where anybody but the convolution reads the folded weights, or where they are folded in another region.
    fn read(graph: &Graph, id: NodeId, layer: &Contraction) -> Option<Folded> {
        let (weight, bias) = (layer.weight, layer.bias.node()?);
        let fold = graph.node(weight).input(0)?;
        let is_part = |part: NodeId, position: usize| {
            graph.node(part).op == Op::TupleGet(position)
                && graph.node(part).input(0) == Some(fold)
                && graph.users(part).iter().all(|&user| user == id)
        };
        let folds = graph.node(fold).op.host() == Some(&HostOp::Runtime(CONV_BATCH_NORM.to_owned()));
        let is_alone = graph.users(fold).iter().all(|user| [weight, bias].contains(user));
        (folds && is_alone && is_part(weight, 0) && is_part(bias, 1) && graph.scope_of(fold) == graph.scope_of(id))
            .then_some(Folded { fold, weight, bias })
    }
}

/// A fused op on weights that are not known at freeze time.
fn compose(graph: &mut Graph, id: NodeId, layer: &Contraction) -> bool {
    // Without more to it, it is an op that `tch` has; a batch norm is there only where it can be packed.
    let is_plain = layer.norm.is_some() || (layer.add.is_none() && layer.act.is_none());
    if layer.kind == Kind::Linear && is_plain {
        return false;
    }
    let mut args = vec![by_ref(&layer.input)];
    args.extend(layer.operands(graph, None));
    args.extend([by_optional_ref(layer.add.as_ref()), act_arg(layer)]);
    become_op(graph, id, runtime(layer.kind.op().name()), args);
    true
}

fn keep_leaf(graph: &mut Graph, times: &BindingTimes, id: NodeId, kind: &str) -> bool {
    let &[Arg::Node(layer), Arg::Node(input)] = &graph.node(id).args[..] else { return false };
    if !times.is_frozen(layer) {
        return false;
    }
    let kernel = Kernel {
        // Named in full, so that a layer behind a pointer is found there.
        op: runtime(format!("Leaf::<::fx_runtime::nn::{kind}>::new")),
        parts: vec![HostOp::Frame.of([]), HostOp::Ref.on(layer)],
        ty: Type::rust(leaf_type(kind)),
    };
    kernel.run(graph, id, "run", vec![HostOp::Ref.on(input)])
}

/// Attention whose mask, if there is one, is a tensor for sure.
fn attend(graph: &mut Graph, id: NodeId) -> bool {
    let [query, key, value, mask, Arg::Float(0.0), Arg::Bool(causal), scale, Arg::Bool(false)] =
        &graph.node(id).args[..]
    else {
        return false;
    };
    let prepared = Prepared::read(graph, id, query, mask);
    let (key, value, scale) = (by_ref(key), by_ref(value), float(scale));
    let (function, mut args) = match (&prepared, mask) {
        (Some(Prepared { function, args, .. }), _) => {
            let mask = args.get(1).and_then(Arg::base).filter(|_| *function == FILLED);
            let function = if mask.is_some_and(|mask| is_future(graph, mask)) { &FUTURE } else { function };
            let (query, rest) = args.split_first().unwrap_or((query, &[]));
            let rest = rest.iter().map(float);
            (*function, [query.clone(), key, value].into_iter().chain(rest).collect::<Vec<Arg>>())
        }
        (None, Arg::None) => ("attention::attend", vec![by_ref(query), key, value, Arg::None, Arg::Bool(*causal)]),
        (None, Arg::Node(node)) if matches!(graph.node(*node).ty, Type::Tensor(_)) => {
            ("attention::attend", vec![by_ref(query), key, value, by_optional_ref(Some(mask)), Arg::Bool(*causal)])
        }
        _ => return false,
    };
    args.push(scale);
    become_op(graph, id, runtime(function), args);
    for part in prepared.into_iter().flat_map(|prepared| prepared.parts) {
        let _ = graph.erase_node(part);
    }
    true
}

/// Returns whether a mask is everything above the diagonal: `ones(..).triu(1)`.
fn is_future(graph: &Graph, mask: NodeId) -> bool {
    let node = graph.node(mask);
    let ([Arg::Node(whole), Arg::Int(1)], Op::Call(ops::TRIU)) = (&node.args[..], &node.op) else { return false };
    matches!(&graph.node(*whole).op, Op::Call(op) if op.entry().is_some_and(|entry| entry.method == "ones"))
}

/// Query and mask that were made ready for kernels that know no mask as it is written.
struct Prepared {
    /// The function that takes them as they were.
    function: &'static str,
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
        let HostOp::Runtime(prepares) = node.op.host()? else { return None };
        let (_, function) = ATTENTION.into_iter().find(|(known, _)| known == prepares)?;
        let fits = is_alone && parts == [Op::TupleGet(0), Op::TupleGet(1)];
        fits.then(|| Self { function, args: node.args.clone(), parts: [query, mask, made] })
    }
}

/// A kernel that is not yet a node.
struct Kernel {
    /// The function that packs it.
    op: Op,
    /// The operands that it is packed from.
    parts: Vec<Arg>,
    ty: Type,
}

impl Kernel {
    /// Puts the kernel before `id` and turns `id` into a call of its method.
    fn run(self, graph: &mut Graph, id: NodeId, method: &str, read: Vec<Arg>) -> bool {
        let origin = &graph.node(id).origin;
        let (name, origin) = (layer_name(origin), Origin::merged(PackKernels.name(), [origin]));
        let kernel = graph.insert_before(id, self.op, self.parts, &name, self.ty, origin);
        let args = std::iter::once(Arg::Node(kernel)).chain(read).collect();
        become_op(graph, id, Op::Host(Host::pure(HostOp::RuntimeMethod(method.to_owned())).fallible()), args);
        true
    }
}

fn become_op(graph: &mut Graph, id: NodeId, op: Op, args: Vec<Arg>) {
    let node = graph.node_mut(id);
    node.origin = Origin::merged(PackKernels.name(), [&node.origin]);
    (node.op, node.args, node.kwargs) = (op, args, Vec::new());
}

/// The activation as the runtime takes it.
fn act_arg(layer: &Contraction) -> Arg {
    match &layer.act {
        None => Arg::Path(format!("{ACT}::None")),
        Some(Arg::Str(variant)) => Arg::Path(format!("{ACT}::{variant}")),
        Some(Arg::List(parts)) => match &parts[..] {
            [Arg::Str(variant), numbers @ ..] => {
                HostOp::Runtime(format!("Activation::{variant}")).of(numbers.iter().cloned())
            }
            _ => Arg::None,
        },
        Some(act) => act.clone(),
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
              %a = get_attr[a](self) : rust<::fx_runtime::frozen::Activation>
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
                  %a = get_attr[a](self) : rust<::fx_runtime::frozen::Activation>
                  %conv1 = host.runtime["Conv::pack", fallible](host.frame(), host.ref(%w), host.method["as_ref"](%b), host.ref(%p), `::fx_runtime::frozen::Activation::Relu`) : rust<::fx_runtime::frozen::Conv>  @ m.rs:1 as conv1 + relu by pack-kernels
                  %c = host.runtime_method["run", fallible](%conv1, host.ref(x)) : tensor  @ m.rs:1 as conv1 + relu by pack-kernels
                  %conv = host.runtime["Conv::pack", fallible](host.frame(), host.ref(%w), host.some(host.ref(%w)), host.ref(%p), %a) : rust<::fx_runtime::frozen::Conv>  @ m.rs:2 as "layer1.*.conv" by pack-kernels
                  %ys = host.runtime_method["run_add", fallible](%conv, host.ref(%c), host.ref(x)) : tensor  @ m.rs:2 as "layer1.*.conv" by pack-kernels
                  %fc = host.runtime["Linear::pack", fallible](host.frame(), host.ref(%w), none, `::fx_runtime::frozen::Activation::None`) : rust<::fx_runtime::frozen::Linear>  @ m.rs:3 as fc by pack-kernels
                  %e = host.runtime_method["run", fallible](%fc, host.ref(%ys)) : tensor  @ m.rs:3 as fc by pack-kernels
                  %bn = get_attr[bn](self) : module<BatchNorm>
                  %fc2 = host.runtime["Linear::pack_batch_norm", fallible](host.frame(), host.ref(%w), host.method["as_ref"](%b), host.ref(%bn), `::fx_runtime::frozen::Activation::Relu`) : rust<::fx_runtime::frozen::Linear>  @ m.rs:3 as fc2 + bn by pack-kernels
                  %h = host.runtime_method["run", fallible](%fc2, host.ref(%e)) : tensor  @ m.rs:3 as fc2 + bn by pack-kernels
                  %pool = get_attr[pool](self) : module<MaxPool2D>
                  %pool_1 = host.runtime["Leaf::<::fx_runtime::nn::MaxPool2D>::new", fallible](host.frame(), host.ref(%pool)) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::MaxPool2D>>  @ m.rs:4 as pool by pack-kernels
                  %g = host.runtime_method["run", fallible](%pool_1, host.ref(%h)) : tensor  @ m.rs:4 as pool by pack-kernels
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
                  %a = host.runtime["attention::attend", fallible](host.ref(q), host.ref(q), host.ref(q), none, true, none) : tensor  @ m.rs:1 by pack-kernels
                  %b = host.runtime["attention::attend", fallible](host.ref(%a), host.ref(q), host.ref(q), host.some(host.ref(m)), false, 0.5) : tensor  @ m.rs:2 by pack-kernels
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
              %p = host.runtime["attention::added", fallible](host.ref(q), host.ref(m)) : (tensor, tensor) @ m.rs:1
              %pq = tuple_get[0](%p) : tensor @ m.rs:1
              %pm = tuple_get[1](%p) : tensor @ m.rs:1
              %a = scaled_dot_product_attention(%pq, k, k, %pm, 0.0, false, 2, false) : tensor @ m.rs:1
              %r = host.runtime["attention::filled", fallible](host.ref(%a), host.ref(m), -10000) : (tensor, tensor) @ m.rs:2
              %rq = tuple_get[0](%r) : tensor @ m.rs:2
              %rm = tuple_get[1](%r) : tensor @ m.rs:2
              %b = scaled_dot_product_attention(%rq, k, k, %rm, 0.0, false, 0.5, false) : tensor @ m.rs:2
              %s = host.runtime["attention::added", fallible](host.ref(%b), host.ref(m)) : (tensor, tensor) @ m.rs:3
              %sq = tuple_get[0](%s) : tensor @ m.rs:3
              %sm = tuple_get[1](%s) : tensor @ m.rs:3
              %c = scaled_dot_product_attention(%sq, k, k, %sm, 0.0, false, 0.5, false) : tensor @ m.rs:3
              yield %c, %sm
            }"#,
            &expect![[r#"
                graph f(q: tensor, m: tensor, k: tensor) {
                  %a = host.runtime["attention::attend_added", fallible](host.ref(q), host.ref(k), host.ref(k), host.ref(m), 2.0) : tensor  @ m.rs:1 by pack-kernels
                  %b = host.runtime["attention::attend_filled", fallible](host.ref(%a), host.ref(k), host.ref(k), host.ref(m), -10000.0, 0.5) : tensor  @ m.rs:2 by pack-kernels
                  %s = host.runtime["attention::added", fallible](host.ref(%b), host.ref(m)) : (tensor, tensor)  @ m.rs:3
                  %sq = tuple_get[0](%s) : tensor  @ m.rs:3
                  %sm = tuple_get[1](%s) : tensor  @ m.rs:3
                  %c = host.runtime["attention::attend", fallible](host.ref(%sq), host.ref(k), host.ref(k), host.some(host.ref(%sm)), false, 0.5) : tensor  @ m.rs:3 by pack-kernels
                  yield %c, %sm
                }"#]],
        );
    }

    #[test]
    fn a_mask_above_the_diagonal_is_known() {
        check(
            PackKernels,
            r#"graph f(q: tensor, options: tensor) {
              %o = ones([4, 4], options) : tensor @ m.rs:1
              %m = triu(%o, 1) : tensor @ m.rs:1
              %r = host.runtime["attention::filled", fallible](host.ref(q), host.ref(%m), -10000) : (tensor, tensor) @ m.rs:2
              %rq = tuple_get[0](%r) : tensor @ m.rs:2
              %rm = tuple_get[1](%r) : tensor @ m.rs:2
              %b = scaled_dot_product_attention(%rq, q, q, %rm, 0.0, false, 0.5, false) : tensor @ m.rs:2
              yield %b
            }"#,
            &expect![[r#"
                graph f(q: tensor, options: tensor) {
                  %o = ones([4, 4], options) : tensor  @ m.rs:1
                  %m = triu(%o, 1) : tensor  @ m.rs:1
                  %b = host.runtime["attention::attend_future", fallible](host.ref(q), host.ref(q), host.ref(q), host.ref(%m), -10000.0, 0.5) : tensor  @ m.rs:2 by pack-kernels
                  yield %b
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
                  %c = host.runtime["convolution", fallible](host.ref(x), host.ref(x), none, host.ref(%p), host.some(host.ref(x)), `::fx_runtime::frozen::Activation::Relu`) : tensor  @ m.rs:1 as conv1 by pack-kernels
                  %d = linear(%c, x, none) : tensor  @ m.rs:2 as fc
                  yield %d
                }"#]],
        );
    }
}
