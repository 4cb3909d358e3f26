//! Which kernel a pattern becomes.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fx_ir::ops::{Class, Quantization};
use fx_ir::{Arg, Graph, NodeId, Op, OpId, Origin, Spot, Type, ops};
use tch::Tensor;

use super::modules::{Average, Combine, Layer, MaxPool, Table};
use crate::ffi::int8::{Combination, PerTensor, Pooling, quantize};
use crate::frozen::int8::{Int8Layer, Int8Spec};
use crate::frozen::{Activation, ConvParams};
use crate::graph_module::{GraphModule, Submodule, Value, value};
use crate::quant::patterns::{self, Pattern, op_of};
use crate::quant::{DType, QParams, ZeroPoint, weighted};
use crate::{Error, Result, nn};

/// What computes a pattern.
pub(super) struct Kernel {
    pub(super) kind: &'static str,
    /// The module on codes; none where the op of the graph takes codes as it takes numbers.
    pub(super) on_codes: Option<Rc<dyn Submodule>>,
    /// The inputs, by their positions, that it takes as floats.
    pub(super) floats: BTreeSet<usize>,
    /// What it adds in floats beyond the inputs of the pattern.
    pub(super) added: Option<NodeId>,
    /// What its result's codes stand for; none if the result is f32.
    pub(super) result: Option<PerTensor>,
}

/// A pattern that all parameters are known of.
pub(super) struct Request<'p> {
    pub(super) pattern: &'p Pattern,
    /// Of each input.
    pub(super) sources: &'p [PerTensor],
    /// Of the result; none if nothing reads its codes.
    pub(super) result: Option<PerTensor>,
    pub(super) weight: Option<&'p QParams>,
    pub(super) then: Then,
}

/// What stands behind a pattern and is done by its kernel as well.
#[derive(Clone, Copy)]
pub(super) enum Then {
    Nothing,
    Activation(Activation),
    /// This value, in floats, is added.
    Addition(NodeId),
}

/// Returns whether the pattern is of a kind that has kernels; its layer may still be one that has none.
pub(super) fn has_kernel(module: &GraphModule, pattern: &Pattern) -> bool {
    let Some(op) = op_of(module.graph(), pattern.root) else { return false };
    if pattern.quantization == Quantization::Weighted {
        return crate::ffi::onednn::int8().is_ok();
    }
    combination(op).is_some() && pattern.inputs.len() == 2
        || is_function_of_one(module.graph(), pattern)
        || moves_codes(op)
        || pooling(module, pattern.root).is_some()
        || is_average(module.graph(), pattern.root)
}

/// The kernel of a pattern; none where there is no such kernel.
pub(super) fn kernel(module: &GraphModule, request: &Request<'_>) -> Result<Option<Kernel>> {
    let (graph, pattern) = (module.graph(), request.pattern);
    let Some(op) = op_of(graph, pattern.root) else { return Ok(None) };
    if pattern.quantization == Quantization::Weighted {
        return layer(module, request);
    }
    // What is computed on codes yields codes; nobody reads these here, so floats serve as well.
    let Some(result) = request.result else { return Ok(None) };
    let on_codes = |kind, module: Option<Rc<dyn Submodule>>| {
        Ok(Some(Kernel { kind, on_codes: module, floats: BTreeSet::new(), added: None, result: Some(result) }))
    };
    if let (Some(combination), &[left, right]) = (combination(op), request.sources) {
        let relu = pattern.root != pattern.last;
        let combine = Combine { combination, sources: [left, right], result, relu };
        return on_codes(if combination == Combination::Sum { "Int8Add" } else { "Int8Mul" }, Some(Rc::new(combine)));
    }
    let is_same = request.sources.iter().all(|&source| source == result);
    if moves_codes(op) && is_same {
        return on_codes("", None);
    }
    if is_function_of_one(graph, pattern) {
        let [source] = *request.sources else { return Ok(None) };
        let table = table(module, pattern, source, result)?;
        return on_codes("Int8Table", Some(Rc::new(Table(Box::new(table)))));
    }
    if !is_same {
        return Ok(None);
    }
    if let Some(pooling) = pooling(module, pattern.root) {
        return on_codes("Int8MaxPool2D", Some(Rc::new(MaxPool(pooling))));
    }
    if is_average(graph, pattern.root) {
        return on_codes("Int8AdaptiveAvgPool2D", Some(Rc::new(Average)));
    }
    Ok(None)
}

fn combination(op: OpId) -> Option<Combination> {
    match op {
        ops::ADD | ops::ADD_IN_PLACE => Some(Combination::Sum),
        ops::MUL | ops::MUL_IN_PLACE => Some(Combination::Product),
        _ => None,
    }
}

/// Returns whether an op only puts elements elsewhere, so that it does with codes what it does with numbers.
fn moves_codes(op: OpId) -> bool {
    let is_view = op.row().is_some_and(|row| row.class == Class::View);
    is_view
        || matches!(
            op,
            ops::CAT
                | ops::CONCAT
                | ops::STACK
                | ops::REPEAT
                | ops::PIXEL_SHUFFLE
                | ops::PIXEL_UNSHUFFLE
                | ops::DROPOUT
        )
}

/// Returns whether each element of the result is a function of one number that is the same everywhere.
fn is_function_of_one(graph: &Graph, pattern: &Pattern) -> bool {
    let [input] = pattern.inputs[..] else { return false };
    patterns::members(graph, pattern).into_iter().all(|id| {
        let is_pointwise = op_of(graph, id).and_then(OpId::row).is_some_and(|row| row.class == Class::Pointwise);
        let inside = |read: NodeId| read == input || read == pattern.root;
        is_pointwise && graph.node(id).inputs().all(inside)
    })
}

/// The code of the result for each code of the input: the nodes of the pattern on all 256 numbers.
fn table(module: &GraphModule, pattern: &Pattern, source: PerTensor, result: PerTensor) -> Result<[u8; 256]> {
    let mut graph = Graph::new("table");
    let body = graph.body();
    let x = graph.add_param(body, "x", Type::TENSOR, Origin::default());
    let mut map = BTreeMap::from([(pattern.inputs[0], Arg::Node(x))]);
    let mut last = x;
    for id in patterns::members(module.graph(), pattern) {
        last = graph.node_copy(module.graph(), id, &mut map, Spot::End(body));
        map.insert(id, Arg::Node(last));
    }
    graph.push(body, Op::Yield, vec![Arg::Node(last)], "output", Type::Unknown, Origin::default());
    let function = module.with_graph(graph);
    let codes: Vec<u8> = (0..=255).collect();
    let numbers = crate::ffi::int8::dequantize(&Tensor::f_from_slice(&codes)?, source)?;
    let Value::Tensor(ys) = function.run(&[value(numbers)])? else {
        return Err(Error::Refused("a pointwise op that yields no tensor".to_owned()));
    };
    let codes: Vec<u8> = Vec::try_from(quantize(&ys.f_contiguous()?, result)?)?;
    codes.try_into().map_err(|_| Error::Refused("a pointwise op that changes sizes".to_owned()))
}

/// A convolution or linear layer.
fn layer(module: &GraphModule, request: &Request<'_>) -> Result<Option<Kernel>> {
    let pattern = request.pattern;
    let Some((act, adds)) = behind(module, pattern, request.then) else { return Ok(None) };
    let (Some(Weighted { weight, bias, window }), Some(of)) = (weighted(module, pattern.root), request.weight) else {
        return Ok(None);
    };
    let Some(scales) = symmetric(of) else { return Ok(None) };
    let weight = weighted::observed(weight)?;
    if weight.device().is_cuda() {
        return Ok(None);
    }
    let codes = of.quantize(&weight)?.f_contiguous()?;
    let channels = usize::try_from(weight.size()[0]).unwrap_or(0);
    let scales = if scales.len() == 1 { vec![scales[0]; channels] } else { scales };
    let spec = Int8Spec {
        codes: &codes,
        scales: &scales,
        bias,
        window,
        source: request.sources[0],
        added: adds.then(|| request.sources[1]),
        result: request.result,
        act,
    };
    let Some(packed) = Int8Layer::pack(&spec)? else { return Ok(None) };
    let kind = if spec.window.is_some() { "Int8Conv" } else { "Int8Linear" };
    let floats = if adds && request.result.is_none() { BTreeSet::from([1]) } else { BTreeSet::new() };
    let added = match request.then {
        Then::Addition(other) => Some(other),
        Then::Nothing | Then::Activation(_) => None,
    };
    Ok(Some(Kernel { kind, on_codes: Some(Rc::new(Layer(packed))), floats, added, result: request.result }))
}

/// What follows the layer within its pattern: its activation, and whether a tensor is added before it.
fn behind(module: &GraphModule, pattern: &Pattern, then: Then) -> Option<(Activation, bool)> {
    let mut act = if let Then::Activation(act) = then { act } else { Activation::None };
    let mut adds = false;
    for id in patterns::members(module.graph(), pattern).into_iter().filter(|&id| id != pattern.root) {
        match op_of(module.graph(), id)? {
            ops::ADD | ops::ADD_IN_PLACE => adds = true,
            _ if act == Activation::None => act = activation(module, id)?,
            _ => return None,
        }
    }
    (adds == (pattern.inputs.len() == 2)).then_some((act, adds))
}

/// The activation that a node applies, if kernels have it.
pub(super) fn activation(module: &GraphModule, id: NodeId) -> Option<Activation> {
    let graph = module.graph();
    let number = |at: usize| match graph.node(id).args.get(at) {
        Some(Arg::Float(number)) => Some(*number),
        Some(Arg::Int(number)) => number.to_string().parse().ok(),
        _ => None,
    };
    match op_of(graph, id)? {
        ops::RELU | ops::RELU_IN_PLACE => Some(Activation::Relu),
        ops::RELU6 | ops::RELU6_IN_PLACE => Some(Activation::Relu6),
        ops::TANH | ops::TANH_IN_PLACE => Some(Activation::Tanh),
        ops::SIGMOID | ops::SIGMOID_IN_PLACE => Some(Activation::Sigmoid),
        ops::SILU | ops::SILU_IN_PLACE => Some(Activation::Silu),
        ops::HARDSWISH | ops::HARDSWISH_IN_PLACE => Some(Activation::HardSwish),
        ops::GELU => match patterns::module_path(graph, id) {
            Some(path) => Some(module.submodule(path)?.as_any()?.downcast_ref::<nn::GELU>()?.into()),
            None => match graph.node(id).args.get(1) {
                Some(Arg::Str(word)) if word == "tanh" => Some(Activation::GeluTanh),
                Some(Arg::Str(word)) if word == "none" => Some(Activation::Gelu),
                _ => None,
            },
        },
        ops::HARDTANH if patterns::module_path(graph, id).is_none() => Some(Activation::Clamp(-1.0, 1.0)),
        ops::CLAMP => Some(Activation::Clamp(number(1)?, number(2)?)),
        ops::LEAKY_RELU => match patterns::module_path(graph, id) {
            Some(path) => {
                let layer = module.submodule(path)?.as_any()?.downcast_ref::<nn::LeakyReLU>()?;
                Some(Activation::LeakyRelu(layer.negative_slope))
            }
            None => Some(Activation::LeakyRelu(0.01)),
        },
        _ => None,
    }
}

/// The scales of a weight of `i8` whose zero is 0.
fn symmetric(of: &QParams) -> Option<Vec<f32>> {
    let zeros = matches!(&of.zero_point, ZeroPoint::Int(zero) if zero.iter().all(|&zero| zero == 0));
    (of.dtype == DType::QInt8 && zeros && matches!(of.axis, None | Some(0))).then(|| of.scale.clone())
}

/// A layer, or an op on tensors of the model.
struct Weighted<'m> {
    weight: &'m Tensor,
    bias: Option<&'m Tensor>,
    /// None of a linear layer.
    window: Option<ConvParams>,
}

/// What a node computes with; none of an op whose weight, bias or window is computed.
fn weighted(module: &GraphModule, id: NodeId) -> Option<Weighted<'_>> {
    let graph = module.graph();
    if let Some(path) = patterns::module_path(graph, id) {
        let layer = module.submodule(path)?;
        let (weight, bias) = (weighted::weight(layer)?, weighted::bias(layer));
        return Some(Weighted { weight, bias, window: window_of(layer) });
    }
    let args = &graph.node(id).args;
    let tensor = |at: usize| match &graph.node(args.get(at)?.node()?).op {
        Op::GetAttr(path) => module.tensor(path),
        _ => None,
    };
    let weight = tensor(1)?;
    let bias = match args.get(2) {
        None | Some(Arg::None) => None,
        Some(_) => Some(tensor(2)?),
    };
    let list = |at: usize| args.get(at).and_then(ints);
    let window = match op_of(graph, id)? {
        ops::LINEAR => None,
        ops::CONV1D | ops::CONV2D | ops::CONV3D => Some(ConvParams {
            stride: list(3)?,
            padding: list(4)?,
            dilation: list(5)?,
            groups: *list(6)?.first()?,
            ..ConvParams::default()
        }),
        _ => return None,
    };
    Some(Weighted { weight, bias, window })
}

/// The window of a convolution; none of a linear layer.
fn window_of(layer: &dyn Submodule) -> Option<ConvParams> {
    let any: &dyn Any = layer.as_any()?;
    macro_rules! of {
        ($($ty:ident),+) => {
            None $(.or_else(|| any.downcast_ref::<nn::$ty>().map(|layer| ConvParams::from(layer.config))))+
        };
    }
    of!(Conv1D, Conv2D, Conv3D, ConvTranspose1D, ConvTranspose2D, ConvTranspose3D)
}

/// The windows of a maximum over images.
fn pooling(module: &GraphModule, id: NodeId) -> Option<Pooling> {
    let graph = module.graph();
    if op_of(graph, id)? != ops::MAX_POOL2D {
        return None;
    }
    let both = |sizes: &[i64]| -> Option<[usize; 2]> {
        match sizes {
            [one] => Some([usize::try_from(*one).ok()?; 2]),
            [height, width] => Some([usize::try_from(*height).ok()?, usize::try_from(*width).ok()?]),
            _ => None,
        }
    };
    if let Some(path) = patterns::module_path(graph, id) {
        let layer = module.submodule(path)?.as_any()?.downcast_ref::<nn::MaxPool2D>()?;
        let nn::MaxPool2D { kernel_size, stride, padding, dilation, ceil_mode } = *layer;
        return Some(Pooling {
            kernel: both(&kernel_size)?,
            stride: both(&stride)?,
            padding: both(&padding)?,
            dilation: both(&dilation)?,
            ceil_mode,
        });
    }
    let args = &graph.node(id).args;
    let list = |at: usize| both(&ints(args.get(at)?)?);
    let stride = args.get(2).and_then(ints).filter(|stride| !stride.is_empty());
    Some(Pooling {
        kernel: list(1)?,
        stride: stride.map_or_else(|| list(1), |stride| both(&stride))?,
        padding: list(3)?,
        dilation: list(4)?,
        ceil_mode: matches!(args.get(5)?, Arg::Bool(true)),
    })
}

/// A list of integers that is written as such.
fn ints(arg: &Arg) -> Option<Vec<i64>> {
    match arg {
        Arg::Int(one) => Some(vec![*one]),
        Arg::List(items) => {
            items.iter().map(|item| if let Arg::Int(item) = item { Some(*item) } else { None }).collect()
        }
        _ => None,
    }
}

/// Returns whether a node yields the mean of each channel of images, with axes of length 1 in the place of the image's.
fn is_average(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    op_of(graph, id) == Some(ops::ADAPTIVE_AVG_POOL2D)
        && matches!(node.op, Op::Call(_))
        && node.args.get(1).and_then(ints).is_some_and(|size| size.iter().all(|&side| side == 1))
}
