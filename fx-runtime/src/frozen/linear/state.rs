//! A linear layer is saved as what [`Linear::pack`] takes and the name of its kernel, if measuring has chosen it; it is
//! packed again where it is loaded.

use tch::Tensor;

use super::{Kernel, Linear};
use crate::frame::tune::Packed;
use crate::frozen::Activation;
use crate::frozen::matrix::{Stored, StoredWeight};
use crate::frozen::select::LinearChoice;
use crate::qparams::{Coded, DynamicFormat};
use crate::saved::{Loader, Saver, State};
use crate::{Error, Result};

impl State for Linear {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.kernel(&self.kernel);
        if to.is_survey() {
            return to.field("apart", &self.apart);
        }
        if !to.has(self.address()) {
            let Stored { weight, bias } = self.kernel.look(Kernel::stored)?;
            let (coded, dense) = match weight {
                StoredWeight::Coded(coded) => (Some(coded), None),
                StoredWeight::Dense(dense) => (None, Some(dense)),
            };
            to.field("coded", &coded)?;
            if let LinearChoice::Dynamic(format) | LinearChoice::Simulated(format) = self.kernel.look(Packed::choice) {
                to.choose(&format.to_string());
            }
            dense.iter().try_for_each(|weight| to.field("weight", weight))?;
            to.field("bias", &bias)?;
            to.field("act", &self.act)?;
        }
        to.field("apart", &self.apart)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let folded = from.once(|from| {
            let coded: Option<Coded> = from.field("coded")?;
            let weight = if coded.is_none() { Some(from.dense("weight")?) } else { None };
            let bias: Option<Tensor> = from.field("bias")?;
            let act: Activation = from.field("act")?;
            match (coded, weight) {
                (None, Some(weight)) => Self::pack_as(from.frame(), &weight, bias.as_ref(), act, from.kernel()?),
                (Some(coded), _) => {
                    let dynamic = if from.has_choice() { Some(dynamic_format(&from.choice()?)?) } else { None };
                    Self::pack_codes(from.frame(), &coded, bias.as_ref(), act, dynamic)
                }
                (None, None) => Err(Error::Refused("a linear layer without a weight".to_owned())),
            }
        })?;
        Ok(Self { apart: from.field("apart")?, ..folded })
    }
}

fn dynamic_format(name: &str) -> Result<DynamicFormat> {
    let known = [DynamicFormat::Int8, DynamicFormat::Float8].into_iter().find(|format| format.to_string() == name);
    known.ok_or_else(|| Error::Refused(format!("a linear layer of `{name}`, which this release does not know")))
}

/// Integers and floats of few bits are saved as they are, scales and zero points beside them.
impl State for Coded {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.field("codes", &self.codes)?;
        to.field("has_scale", &self.scale.is_some())?;
        self.scale.iter().try_for_each(|scale| to.field("scale", scale))?;
        to.field("has_zero_point", &self.zero_point.is_some())?;
        self.zero_point.iter().try_for_each(|zero_point| to.field("zero_point", zero_point))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let codes = from.dense("codes")?;
        let has_scale: bool = from.field("has_scale")?;
        let scale = if has_scale { Some(from.dense("scale")?) } else { None };
        let has_zero_point: bool = from.field("has_zero_point")?;
        let zero_point = if has_zero_point { Some(from.dense("zero_point")?) } else { None };
        let device = from.frame().device();
        let placed = |part: Tensor| part.f_to_device(device);
        Ok(Self::of_parts(placed(codes)?, scale.map(placed).transpose()?, zero_point.map(placed).transpose()?))
    }
}
