//! Convolution and linear nodes as passes read them, and what their parts are called.

use std::collections::HashMap;

use fx_ir::{Arg, Graph, Host, HostOp, LayerRow, NodeId, Op, OpId, Origin, RegionId, Type, ops};

use super::BindingTimes;

/// The options of such a node, which are no ops.
const NORM: &str = ops::BATCH_NORM.name();
const ADD: &str = ops::ADD.name();
const ACT: &str = "act";

/// How the type of a packed layer begins.
const LEAF: &str = "::fx_runtime::frozen::Leaf<::fx_runtime::nn::";

/// Which of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Convolution,
    Linear,
    /// A matrix product with a weight `[in, out]`, or of any other shape that `matmul` takes.
    Product,
}

impl Kind {
    /// The op that computes it.
    pub(crate) fn op(self) -> OpId {
        match self {
            Kind::Convolution => ops::CONVOLUTION,
            Kind::Linear => ops::LINEAR,
            Kind::Product => ops::PRODUCT,
        }
    }
}

/// A `convolution(input, weight, bias, params, add=, act=)`, `linear(input, weight, bias, batch_norm=, add=, act=)` or
/// `product(input, weight, bias, add=, act=)`.
pub(crate) struct Contraction {
    pub(crate) kind: Kind,
    pub(crate) input: Arg,
    pub(crate) weight: NodeId,
    pub(crate) bias: Arg,
    pub(crate) params: Option<NodeId>,
    /// A batch norm of a linear layer, to be folded by the kernel, which sees how many axes its input has.
    pub(crate) norm: Option<Arg>,
    pub(crate) add: Option<Arg>,
    pub(crate) act: Option<Arg>,
}

impl Contraction {
    pub(crate) fn read(graph: &Graph, id: NodeId) -> Option<Contraction> {
        let node = graph.node(id);
        let Op::Call(op) = &node.op else { return None };
        let (kind, params) = match *op {
            ops::CONVOLUTION => (Kind::Convolution, Some(node.input(3)?)),
            ops::LINEAR => (Kind::Linear, None),
            ops::PRODUCT => (Kind::Product, None),
            _ => return None,
        };
        let named = |key: &str| node.kwarg(key).cloned();
        let bias = node.args.get(2).cloned().unwrap_or(Arg::None);
        let (input, weight) = (node.args.first()?.clone(), node.input(1)?);
        let [norm, add, act] = [NORM, ADD, ACT].map(named);
        Some(Contraction { kind, input, weight, bias, params, norm, add, act })
    }

    /// Returns whether weight, bias, parameters and batch norm are known at freeze time, so that a kernel can be
    /// packed.
    pub(crate) fn is_frozen(&self, times: &BindingTimes) -> bool {
        let params = self.params.is_none_or(|params| times.is_frozen(params));
        let norm = self.norm.as_ref().is_none_or(|norm| times.is_frozen_arg(norm));
        params && norm && times.is_frozen(self.weight) && times.is_frozen_arg(&self.bias)
    }

    /// Weight, bias and batch norm as the runtime's functions take them, and the parameters where there are any.
    pub(crate) fn operands(&self, graph: &Graph, norm: Option<&Arg>) -> Vec<Arg> {
        let params = self.params.map(Arg::Node);
        let weights = [by_ref(&Arg::Node(self.weight)), optional_tensor(graph, &self.bias)];
        weights.into_iter().chain([norm, params.as_ref()].into_iter().flatten().map(by_ref)).collect()
    }

    /// Turns `id` into this convolution or linear node; its name and its readers stay.
    pub(crate) fn become_node(self, graph: &mut Graph, id: NodeId, origin: Origin) {
        let op = self.kind.op();
        let params = self.params.map(Arg::Node);
        let node = graph.node_mut(id);
        node.op = Op::Call(op);
        node.args = [self.input, Arg::Node(self.weight), self.bias].into_iter().chain(params).collect();
        let named = [(NORM, self.norm), (ADD, self.add), (ACT, self.act)];
        node.kwargs = named.into_iter().filter_map(|(key, arg)| Some((key.to_owned(), arg?))).collect();
        node.origin = origin;
    }
}

/// How many convolutions and linear layers read each weight on one way through the graph: a layer that is called twice
/// reads it twice, one that is called in each arm of an `if` reads it once.
pub(crate) struct SharedWeights(HashMap<Weight, usize>);

/// A weight by the fields that lead to it.
type Weight = (NodeId, Vec<String>);

impl SharedWeights {
    pub(crate) fn of(graph: &Graph) -> SharedWeights {
        let mut counts = HashMap::new();
        Self::count(graph, graph.body(), &mut counts);
        SharedWeights(counts)
    }

    fn count(graph: &Graph, region: RegionId, counts: &mut HashMap<Weight, usize>) {
        for &id in &graph.region(region).nodes {
            if let Some(layer) = Contraction::read(graph, id) {
                *counts.entry(chain(graph, layer.weight)).or_insert(0) += 1;
            }
            let node = graph.node(id);
            let are_arms = matches!(node.op, Op::If | Op::Match(_));
            let mut most: HashMap<Weight, usize> = HashMap::new();
            for &inner in &node.regions {
                let mut inside = HashMap::new();
                Self::count(graph, inner, &mut inside);
                for (weight, count) in inside {
                    let sum = most.entry(weight).or_insert(0);
                    *sum = if are_arms { count.max(*sum) } else { count + *sum };
                }
            }
            for (weight, count) in most {
                *counts.entry(weight).or_insert(0) += count;
            }
        }
    }

    /// Returns whether one layer alone reads the weight.
    pub(crate) fn is_alone(&self, graph: &Graph, weight: NodeId) -> bool {
        self.0.get(&chain(graph, weight)) == Some(&1)
    }

    /// A layer that alone read its weight on the way through the graph reads `made` instead.
    pub(crate) fn moved(&mut self, graph: &Graph, made: NodeId) {
        self.0.insert(chain(graph, made), 1);
    }
}

/// A reference to a value, as the runtime's functions take tensors and parameters.
pub(crate) fn by_ref(arg: &Arg) -> Arg {
    HostOp::Ref.on(arg.clone())
}

/// The same of a value that may be absent.
pub(crate) fn by_optional_ref(arg: Option<&Arg>) -> Arg {
    arg.map_or(Arg::None, |arg| HostOp::Some.on(by_ref(arg)))
}

/// A number as an `f64`.
pub(crate) fn float(arg: &Arg) -> Arg {
    #[allow(clippy::cast_precision_loss, reason = "Rust's own conversion of a literal")]
    match arg {
        Arg::Int(value) => Arg::Float(*value as f64),
        other => other.clone(),
    }
}

/// An optional tensor, of type `Option<&Tensor>`.
pub(crate) fn optional_tensor(graph: &Graph, arg: &Arg) -> Arg {
    let Arg::Node(id) = arg else { return Arg::None };
    match graph.node(*id).ty {
        Type::Option(_) => HostOp::Method("as_ref".to_owned()).on(*id),
        _ => by_optional_ref(Some(arg)),
    }
}

/// A call of the runtime's that may fail.
pub(crate) fn runtime(function: impl Into<String>) -> Op {
    Op::Host(Host::pure(HostOp::Runtime(function.into())).fallible())
}

/// The type of a layer that stays one, as packing leaves it: `name` is its type in `nn`.
pub(crate) fn leaf_type(name: &str) -> String {
    format!("{LEAF}{name}>")
}

/// The layer that a type of packing's is.
pub(crate) fn leaf_of(ty: &Type) -> Option<&'static LayerRow> {
    let Type::Rust(ty) = ty else { return None };
    LayerRow::of_type(ty.strip_prefix(LEAF)?.strip_suffix('>')?)
}

/// The call of a layer that stays one: `leaf.run(&input)`, of a leaf that packing made of `layer`.
pub(crate) struct LeafCall {
    pub(crate) kind: &'static LayerRow,
    pub(crate) leaf: NodeId,
    pub(crate) layer: NodeId,
    pub(crate) input: NodeId,
}

impl LeafCall {
    pub(crate) fn read(graph: &Graph, id: NodeId) -> Option<LeafCall> {
        let node = graph.node(id);
        let is_run = matches!(node.op.host(), Some(HostOp::RuntimeMethod(name)) if name == "run");
        let leaf = node.input(0).filter(|_| is_run)?;
        let kind = leaf_of(&graph.node(leaf).ty)?;
        // The frame comes first.
        let layer = graph.node(leaf).args.get(1)?.base()?;
        Some(LeafCall { kind, leaf, layer, input: node.args.get(1)?.base()? })
    }
}

/// The fields that lead to a value and where they start: two reads of `self.conv.ws` are one chain.
pub(crate) fn chain(graph: &Graph, mut id: NodeId) -> (NodeId, Vec<String>) {
    let mut fields = Vec::new();
    while let (Op::GetAttr(field), Some(base)) = (&graph.node(id).op, graph.node(id).input(0)) {
        fields.push(field.clone());
        id = base;
    }
    (id, fields)
}
