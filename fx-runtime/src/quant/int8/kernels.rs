//! Which kernel a pattern becomes.

use std::collections::BTreeMap;
use std::rc::Rc;

use fx_ir::ops::{Class, Quantization};
use fx_ir::{Arg, Graph, NodeId, Op, OpId, Origin, Spot, Type, ops};
use tch::Tensor;

use super::layer;
use super::modules::{Average, Combine, MaxPool, Table};
use super::request::{Kernel, Request, ints};
use crate::ffi::int8::{Combination, PerTensor, Pooling, quantize};
use crate::graph_module::{GraphModule, Submodule, Value, value};
use crate::quant::patterns::{self, Pattern, op_of};
use crate::{Error, Result, nn};

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
        return layer::layer(module, request);
    }
    // What is computed on codes yields codes; nobody reads these here, so floats serve as well.
    let Some(result) = request.result else { return Ok(None) };
    let on_codes = |kind, module: Option<Rc<dyn Submodule>>| {
        Ok(Some(Kernel { kind, on_codes: module, adds_floats: false, added: None, result: Some(result) }))
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

/// The windows of a maximum over images.
fn pooling(module: &GraphModule, id: NodeId) -> Option<Pooling> {
    let graph = module.graph();
    if op_of(graph, id)? != ops::MAX_POOL2D {
        return None;
    }
    if let Some(path) = patterns::module_path(graph, id) {
        let layer = module.submodule(path)?.as_any()?.downcast_ref::<nn::MaxPool2D>()?;
        let nn::MaxPool2D { kernel_size, stride, padding, dilation, ceil_mode } = *layer;
        return Pooling::of([&kernel_size, &stride, &padding, &dilation], ceil_mode);
    }
    let args = &graph.node(id).args;
    let list = |at: usize| ints(args.get(at)?);
    let stride = list(2).unwrap_or_default();
    Pooling::of([&list(1)?, &stride, &list(3)?, &list(4)?], matches!(args.get(5)?, Arg::Bool(true)))
}

/// Returns whether a node yields the mean of each channel of images, with axes of length 1 in the place of the image's.
fn is_average(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    op_of(graph, id) == Some(ops::ADAPTIVE_AVG_POOL2D)
        && matches!(node.op, Op::Call(_))
        && node.args.get(1).and_then(ints).is_some_and(|size| size.iter().all(|&side| side == 1))
}
