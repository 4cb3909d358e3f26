//! A linear layer is saved as what [`Linear::pack`] takes and the name of its kernel, if measuring has chosen it; it is
//! packed again where it is loaded.

use tch::Tensor;

use super::{Kernel, Linear};
use crate::Result;
use crate::frozen::Activation;
use crate::saved::{Loader, Saver, State};

impl State for Linear {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.kernel(&self.kernel);
        if to.is_survey() {
            return to.field("apart", &self.apart);
        }
        if !to.has(self.address()) {
            let (weight, bias) = self.kernel.look(Kernel::dense)?;
            to.field("weight", &weight)?;
            to.field("bias", &bias)?;
            to.field("act", &self.act)?;
        }
        to.field("apart", &self.apart)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let folded = from.once(|from| {
            let weight = from.dense("weight")?;
            let bias: Option<Tensor> = from.field("bias")?;
            let act: Activation = from.field("act")?;
            Self::pack_as(from.frame(), &weight, bias.as_ref(), act, from.kernel()?)
        })?;
        Ok(Self { apart: from.field("apart")?, ..folded })
    }
}
