//! Dynamic quantization: layers whose weights are integers and whose inputs become integers at each call.
//!
//! `y = (Σ q(x) q(w) - zero Σ q(w)) * (scale_x * scale_w) + bias`, where scale and zero point of the input follow from its
//! own extremes. The sum over integers is exact. Numbers are those of `torch.ao.nn.quantized.dynamic` in torch 2.11:
//!
//! | `reduce_range` | integers | rounding | PyTorch's engines |
//! |---|---|---|---|
//! | true | 0 to 127 | `round(x * (1 / scale) + zero)`, of which the operand is rounded to `f32` once | fbgemm, x86 |
//! | false | 0 to 255 | `round(x * (1 / scale)) + zero` | qnnpack |
//!
//! | file | which question it answers |
//! |---|---|
//! | `parameters.rs` | which scale and zero point an input has |
//! | `linear.rs`, `recurrent.rs` | the layers |

mod linear;
mod parameters;
mod recurrent;

use std::rc::Rc;

pub use self::linear::DynamicLinear;
pub use self::recurrent::{DynamicGRU, DynamicLSTM};
use super::{QConfig, QConfigMapping, sites};
use crate::graph_module::{GraphModule, Submodule};
use crate::nn;
use crate::{Error, Result};

/// A graph whose linear and recurrent layers are dynamically quantized, those that the mapping names: PyTorch's
/// `quantize_dynamic`.
///
/// A global entry holds for these layers alone; all other nodes stay as they are.
///
/// # Errors
///
/// [`Error::Quantization`] with the layer if its configuration is no dynamic one or its weight is not finite, or if the
/// mapping names what is not there.
pub fn quantize_dynamic(module: &GraphModule, mapping: &QConfigMapping) -> Result<GraphModule> {
    let resolver = mapping.resolver()?;
    let mut quantized = module.shallow_clone();
    for (_, standing) in sites::standings(module.graph()).iter() {
        let Some(qconfig) = sites::resolved(&resolver, standing) else { continue };
        let layer = module.submodule(&standing.module).filter(|_| standing.op.is_none());
        let Some(dynamic) = layer.and_then(|layer| dynamic(layer, &qconfig)) else { continue };
        let named = |error: Error| Error::Quantization { site: standing.module.clone(), reason: error.to_string() };
        quantized.put_submodule(standing.module.clone(), dynamic.map_err(named)?);
    }
    resolver.check_named()?;
    Ok(quantized)
}

/// The layer dynamically quantized; none of a kind that is not.
fn dynamic(layer: &dyn Submodule, qconfig: &QConfig) -> Option<Result<Rc<dyn Submodule>>> {
    let any = layer.rebuilt()?;
    if let Some(layer) = any.downcast_ref::<nn::Linear>() {
        return Some(DynamicLinear::new(layer, qconfig).map(|layer| Rc::new(layer) as Rc<dyn Submodule>));
    }
    if let Some(layer) = any.downcast_ref::<nn::LSTM>() {
        return Some(DynamicLSTM::new(layer, qconfig).map(|layer| Rc::new(layer) as Rc<dyn Submodule>));
    }
    let layer = any.downcast_ref::<nn::GRU>()?;
    Some(DynamicGRU::new(layer, qconfig).map(|layer| Rc::new(layer) as Rc<dyn Submodule>))
}
