//! Which share of a model's operations is computed on codes, and why the rest is not.

use std::fmt;

use fx_ir::ops::Quantization;

use super::{corrected, lowered};
use crate::Result;
use crate::graph_module::{GraphModule, Value};
use crate::quant::QParamsFile;
use crate::quant::patterns::{self, op_of};

/// What one layer or matrix product is computed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerCoverage {
    /// Its name in the graph.
    pub name: String,
    /// Floating-point operations of the float model, two for each multiply-add.
    pub flops: u64,
    /// Why it is computed on floats; none if it is computed on codes.
    pub in_floats: Option<String>,
}

/// What all layers and matrix products of a model are computed on, in the order of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Those that count floating-point operations.
    pub layers: Vec<LayerCoverage>,
}

impl Coverage {
    /// The share of the operations that is computed on codes, from 0 to 1; 0 of a model without any.
    #[expect(clippy::cast_precision_loss, reason = "it is a ratio")]
    pub fn share(&self) -> f64 {
        let sum = |count: fn(&LayerCoverage) -> bool| -> u64 {
            self.layers.iter().filter(|layer| count(layer)).map(|layer| layer.flops).sum()
        };
        let all = sum(|_| true);
        if all == 0 { 0.0 } else { sum(|layer| layer.in_floats.is_none()) as f64 / all as f64 }
    }
}

/// The share in percent, and a line for each layer that is computed on floats.
impl fmt::Display for Coverage {
    #[expect(clippy::cast_precision_loss, reason = "it is a ratio")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.1} % of the FLOPs on codes of eight bits", 100.0 * self.share())?;
        let all = self.layers.iter().map(|layer| layer.flops).sum::<u64>().max(1) as f64;
        for LayerCoverage { name, flops, in_floats } in &self.layers {
            if let Some(reason) = in_floats {
                writeln!(f, "  {:>5.1} %  {name}: {reason}", 100.0 * *flops as f64 / all)?;
            }
        }
        Ok(())
    }
}

/// What [`quantize`](super::quantize) computes on codes of a model that is called on these inputs.
///
/// # Errors
///
/// Those of [`quantize`](super::quantize) and of [`GraphModule::run`].
pub fn coverage(module: &GraphModule, qparams: &QParamsFile, inputs: &[Value]) -> Result<Coverage> {
    let _no_grad = tch::no_grad_guard();
    let mut folded = corrected(module, qparams)?;
    folded.propagate_shapes(inputs)?;
    let costs = folded.costs();
    let patterns = patterns::patterns(&folded, qparams.engine);
    let lowering = lowered(folded, qparams, &patterns)?;
    let graph = lowering.module.graph();
    let reason = |id| {
        let op = op_of(graph, id).map_or("it", fx_ir::OpId::name);
        let pattern = patterns.iter().find(|pattern| patterns::members(graph, pattern).contains(&id));
        match pattern.filter(|pattern| pattern.quantization == Quantization::Weighted) {
            None => format!("`{op}` has no kernel on codes"),
            Some(pattern) if !lowering.is_quantized(pattern) => "the file has no parameters for it".to_owned(),
            Some(_) => match crate::ffi::onednn::int8() {
                Err(why) => why.to_owned(),
                Ok(()) => format!("`{op}` with this window, activation or weight has no kernel on codes"),
            },
        }
    };
    let layers = costs.nodes.iter().filter(|node| node.flops > 0).map(|node| LayerCoverage {
        name: node.name.clone(),
        flops: node.flops,
        in_floats: (!lowering.kernels.contains(node.id)).then(|| reason(node.id)),
    });
    Ok(Coverage { layers: layers.collect() })
}
