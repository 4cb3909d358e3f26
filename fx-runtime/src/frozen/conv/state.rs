//! A convolution is saved as what [`Conv::pack`] takes, and packed again where it is loaded.

use tch::Tensor;

use super::{Conv, ConvParams, Fused, Kernel};
use crate::Result;
use crate::frozen::state::{Loader, Saver, State};
use crate::frozen::{Act, Param};

impl State for Conv {
    fn save(&self, to: &mut Saver) -> Result<()> {
        let (weight, bias) = match &self.kernel {
            Kernel::Cpu(conv) => (conv.dense_weight()?.f_reshape(&self.weight_shape)?, conv.bias()),
            Kernel::Cudnn(Fused { plain, .. }) | Kernel::Composed(plain) => {
                (plain.weight.shallow_clone(), plain.bias.as_ref())
            }
        };
        to.field("weight", &weight)?;
        to.field("bias", &bias.map(Param::tensor).map(Tensor::shallow_clone))?;
        to.field("params", &self.original_params())?;
        to.field("act", &self.act)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let weight = from.dense("weight")?;
        let bias: Option<Tensor> = from.field("bias")?;
        let (params, act): (ConvParams, Act) = (from.field("params")?, from.field("act")?);
        Self::pack(from.frame(), &weight, bias.as_ref(), &params, act)
    }
}

impl Conv {
    /// The parameters with the padding that `border` does.
    fn original_params(&self) -> ConvParams {
        match &self.border {
            Some(border) => {
                ConvParams { padding: border.widths.iter().rev().step_by(2).copied().collect(), ..self.params.clone() }
            }
            None => self.params.clone(),
        }
    }
}
