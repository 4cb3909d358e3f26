//! Convolutions and linear layers as kernels on codes.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use fx_ir::{Arg, NodeId, Op, OpId, ops};
use tch::Tensor;

use super::modules::Layer;
use super::request::{Kernel, Request, Then, ints};
use crate::frozen::int8::{Int8Layer, Int8Spec};
use crate::frozen::{Activation, ConvParams};
use crate::graph_module::{GraphModule, Submodule};
use crate::quant::patterns::{self, Pattern, op_of};
use crate::quant::{DType, QParams, ZeroPoint, weighted};
use crate::{Result, nn};

/// A convolution or linear layer.
pub(super) fn layer(module: &GraphModule, request: &Request<'_>) -> Result<Option<Kernel>> {
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
    let adds_floats = adds && request.result.is_none();
    let added = match request.then {
        Then::Addition(other) => Some(other),
        Then::Nothing | Then::Activation(_) => None,
    };
    Ok(Some(Kernel {
        kind,
        on_codes: Some(Rc::new(Layer(Arc::new(packed)))),
        adds_floats,
        added,
        result: request.result,
    }))
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

/// The activation that a node applies, if kernels have it: the row of its op says which, and layers have numbers of their
/// own.
pub(super) fn activation(module: &GraphModule, id: NodeId) -> Option<Activation> {
    let graph = module.graph();
    let op = op_of(graph, id)?;
    if let Some(path) = patterns::module_path(graph, id) {
        let layer = module.submodule(path)?.as_any()?;
        let gelu = layer.downcast_ref::<nn::GELU>().map(Activation::from);
        let leaky_relu = || layer.downcast_ref::<nn::LeakyReLU>().map(Activation::from);
        if let Some(act) = gelu.or_else(leaky_relu) {
            return Some(act);
        }
    }
    let args = &graph.node(id).args;
    let number = |at: usize| match args.get(at) {
        Some(Arg::Float(number)) => Some(*number),
        Some(Arg::Int(number)) => number.to_string().parse().ok(),
        _ => None,
    };
    let row = op.row()?;
    let functional = row.functional.and_then(OpId::lookup).and_then(OpId::row).unwrap_or(row);
    match (functional.act, args.get(1)) {
        (Some(ops::Activation::Plain(name)), _) => Activation::named(name, &[]),
        (Some(ops::Activation::ByFormula(variants)), Some(Arg::Str(formula))) => {
            let (_, name) = variants.iter().find(|(known, _)| known == formula)?;
            Activation::named(name, &[])
        }
        (Some(ops::Activation::ByBounds(name)), _) => Activation::named(name, &[number(1)?, number(2)?]),
        // tch's functions have no arguments, and PyTorch's defaults.
        _ if op == ops::HARDTANH && patterns::module_path(graph, id).is_none() => Some(Activation::Clamp(-1.0, 1.0)),
        _ if op == ops::LEAKY_RELU => Some(Activation::LeakyRelu(0.01)),
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
