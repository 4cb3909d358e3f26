//! A linear layer is saved as what [`Linear::pack`] takes, and packed again where it is loaded.

use tch::Tensor;

use super::{Apart, Kernel, Linear};
use crate::Result;
use crate::frozen::state::{Loader, Saver, State};
use crate::frozen::{Act, Param};

impl State for Linear {
    fn save(&self, to: &mut Saver) -> Result<()> {
        let copied = |bias: &Param| bias.shallow_clone();
        let (weight, bias) = match &self.kernel {
            Kernel::Mkl { gemm, bias } => (gemm.dense_weight()?, bias.as_deref().map(Tensor::from_slice)),
            Kernel::OneDnn(packed) => (packed.dense_weight()?, packed.bias().map(copied)),
            Kernel::CublasLt { plain, .. } | Kernel::Composed(plain) => {
                (plain.weight.shallow_clone(), plain.bias.as_ref().map(copied))
            }
        };
        to.field("weight", &weight)?;
        to.field("bias", &bias)?;
        to.field("act", &self.act)?;
        to.field("apart", &self.apart)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let weight = from.dense("weight")?;
        let bias: Option<Tensor> = from.field("bias")?;
        let act: Act = from.field("act")?;
        let folded = Self::pack(from.frame(), &weight, bias.as_ref(), act)?;
        Ok(Self { apart: from.field("apart")?, ..folded })
    }
}

impl State for Apart {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.field("linear", &self.linear)?;
        to.field("norm", &self.norm)?;
        to.field("folds", &self.folds)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        Ok(Self { linear: from.field("linear")?, norm: from.field("norm")?, folds: from.field("folds")? })
    }
}
