//! A convolution is saved as what [`Conv::pack`] takes and the name of its kernel, if measuring has chosen it; it is
//! packed again where it is loaded.

use tch::Tensor;

use super::{Conv, ConvParams, Kernel};
use crate::Result;
use crate::frozen::Activation;
use crate::saved::{Loader, Saver, State};

impl State for Conv {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.kernel(&self.kernel);
        if to.is_survey() {
            return Ok(());
        }
        if to.has(self.address()) {
            return Ok(());
        }
        let (weight, bias) = self.kernel.look(Kernel::dense)?;
        to.field("weight", &weight.f_reshape(&self.weight_shape)?)?;
        to.field("bias", &bias)?;
        to.field("params", &self.original_params())?;
        to.field("act", &self.act)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.once(|from| {
            let weight = from.dense("weight")?;
            let bias: Option<Tensor> = from.field("bias")?;
            let (params, act): (ConvParams, Activation) = (from.field("params")?, from.field("act")?);
            Self::pack_as(from.frame(), &weight, bias.as_ref(), &params, act, from.kernel()?)
        })
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
