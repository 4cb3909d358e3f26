//! The reference form of a quantized graph: each site is quantized and dequantized, weights are what their integers stand for.
//!
//! All ops compute on floats, as in PyTorch's `convert_to_reference_fx`. It is slow and right, and what kernels on integers
//! are compared with.

use std::rc::Rc;

use fx_ir::{Arg, Graph, NodeId, Op, OpId, Origin, Type};

use super::sites::{Placed, Site, WeightSite};
use super::{DType, Equalization, Prepared, QParams, QParamsFile, weighted};
use super::{bias_correction, patterns};
use crate::graph_module::{GraphModule, Submodule};
use crate::{Error, Result};

impl Prepared {
    /// A graph that computes as the quantized one does.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the parameters are another graph's, or lack a site or a weight.
    pub fn reference(&self, qparams: &QParamsFile) -> Result<GraphModule> {
        let module = self.module.shallow_clone();
        reference(module, (&self.placed, self.equalization()), self.fingerprint(), (qparams, Rounding::ByTensors))
    }
}

/// How a value is rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// By libtorch's quantized tensors, where these have the range.
    ByTensors,
    /// By one op on floats, as fake quantization does; the numbers are the same.
    InOneOp,
}

/// The reference form of a graph with batch norms folded and factors brought in, whose own fingerprint is `own`.
pub(super) fn reference(
    mut module: GraphModule,
    (placed, equalization): (&Placed, &[Equalization]),
    own: &str,
    (qparams, rounding): (&QParamsFile, Rounding),
) -> Result<GraphModule> {
    if let Some(reason) = qparams.mismatch(&module.graph().name, own) {
        return Err(Error::Quantization { site: module.graph().name.clone(), reason });
    }
    if qparams.equalization != equalization {
        let reason = "it is of a graph that was equalized otherwise; take what this one converts to".to_owned();
        return Err(Error::Quantization { site: module.graph().name.clone(), reason });
    }
    bias_correction::correct(&mut module, qparams)?;
    for site in &placed.sites {
        let of = qparams.sites.get(&site.name).ok_or_else(|| missing(&site.name))?;
        quantize_value(module.graph_mut(), site, of, rounding)?;
    }
    for site in &placed.weights {
        if let Some(of) = qparams.weights.get(&site.path) {
            quantize_weight(&mut module, site, of)?;
        }
    }
    module.lint()?;
    Ok(module)
}

pub(super) fn missing(site: &str) -> Error {
    Error::Quantization { site: site.to_owned(), reason: "the file has no parameters for it".to_owned() }
}

/// Lets all that read the value read it after quantization and back.
fn quantize_value(graph: &mut Graph, site: &Site, of: &QParams, rounding: Rounding) -> Result<()> {
    let (scale, zero) = of.single().ok_or_else(|| missing(&site.name))?;
    let scale = Arg::Float(f64::from(scale));
    let kind = match of.dtype {
        DType::QInt8 => "Kind::QInt8",
        DType::QUInt8 | DType::QUInt4x2 => "Kind::QUInt8",
        DType::QInt32 => "Kind::QInt32",
    };
    let range = (of.quant_min, of.quant_max);
    let is_whole = rounding == Rounding::ByTensors && of.has_range_of_dtype() && of.dtype != DType::QUInt4x2;
    let value = Arg::Node(site.node);
    let (first, last) = if is_whole {
        let args = vec![value, scale, Arg::Int(zero), Arg::Path(kind.to_owned())];
        let quantized = call(graph, site.node, "quantize_per_tensor", args)?;
        (quantized, call(graph, quantized, "dequantize", vec![Arg::Node(quantized)])?)
    } else {
        // A quantized tensor of libtorch knows no range but its dtype's.
        let args = vec![value, scale, Arg::Int(zero), Arg::Int(range.0), Arg::Int(range.1)];
        let fake = call(graph, site.node, "fake_quantize_per_tensor_affine", args)?;
        (fake, fake)
    };
    graph.replace_all_uses_with(site.node, &Arg::Node(last));
    graph.replace_input_with(first, last, &Arg::Node(site.node));
    Ok(())
}

/// A call of an op right after a node.
fn call(graph: &mut Graph, after: NodeId, name: &str, args: Vec<Arg>) -> Result<NodeId> {
    let op = OpId::lookup(name).ok_or_else(|| Error::Refused(format!("the catalog has no `{name}`")))?;
    let origin = Origin { ..graph.node(after).origin.clone() };
    Ok(graph.insert_after(after, Op::Call(op), args, name, Type::TENSOR, origin))
}

/// Puts what the weight's integers stand for in its place.
fn quantize_weight(module: &mut GraphModule, site: &WeightSite, of: &QParams) -> Result<()> {
    let Some(path) = patterns::module_path(module.graph(), site.node).map(str::to_owned) else {
        let tensor = module.tensor(&site.path).ok_or_else(|| missing(&site.path))?;
        let quantized = of.fake_quantize(&weighted::observed(tensor)?)?;
        let path = format!("{}_quantized", site.path);
        let (op, origin) = (Op::GetAttr(path.clone()), module.graph().node(site.node).origin.clone());
        let graph = module.graph_mut();
        let read = graph.insert_before(site.node, op, Vec::new(), "weight_quantized", Type::TENSOR, origin);
        if let Some(arg) = graph.node_mut(site.node).args.get_mut(1) {
            *arg = Arg::Node(read);
        }
        module.add_tensor(path, quantized);
        return Ok(());
    };
    let quantized = {
        let layer: &dyn Submodule = module.submodule(&path).ok_or_else(|| missing(&site.path))?;
        let weight = weighted::weight(layer).ok_or_else(|| missing(&site.path))?;
        let weight = of.fake_quantize(&weighted::observed(weight)?)?;
        let bias = weighted::bias(layer).map(tch::Tensor::shallow_clone);
        weighted::with_weight(layer, weight, bias).ok_or_else(|| missing(&site.path))?
    };
    module.put_submodule(path, Rc::clone(&quantized));
    Ok(())
}
