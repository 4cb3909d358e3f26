//! The models with which torch.fx is introduced, as `torch_fx/nodes.py` has them in Python.
//!
//! `weight` of a layer, a tensor that the forward makes, a function that is not looked into, and one op in its spellings.

use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};

/// The three largest sums of what a linear layer makes of its input and its weight.
#[derive(Debug, Module)]
pub struct Largest {
    linear: nn::Linear,
}

impl Largest {
    /// With fresh weights.
    pub fn new(p: &nn::Path) -> Largest {
        Largest { linear: nn::linear(p / "linear", 4, 5, nn::LinearConfig::default()) }
    }
}

#[traceable]
impl Largest {
    /// `[5, 4]` to three sums and where they lie.
    pub fn forward(&self, x: &Tensor) -> (Tensor, Tensor) {
        let sums = self.linear.forward(&(x + &self.linear.ws)).relu().sum_dim_intlist(-1, false, None::<Kind>);
        sums.topk(3, -1, true, true)
    }
}

/// A linear layer, and ones that are made in the forward.
#[derive(Debug, Module)]
pub struct MadeInside {
    linear: nn::Linear,
}

impl MadeInside {
    /// With fresh weights.
    pub fn new(p: &nn::Path) -> MadeInside {
        MadeInside { linear: nn::linear(p / "linear", 512, 3, nn::LinearConfig::default()) }
    }
}

#[traceable]
impl MadeInside {
    /// `[2, 512]` to `[2, 3]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let y = Tensor::ones([2, 3], (Kind::Float, Device::Cpu));
        let x = self.linear.forward(x);
        (x + y).relu()
    }
}

/// How many rows there are.
#[fx_runtime::fx(leaf)]
fn len(x: &Tensor) -> i64 {
    x.size()[0]
}

/// A product with a number that a function computes.
#[derive(Debug, Default, Module)]
pub struct Wrapped;

#[traceable]
impl Wrapped {
    /// Any tensor of at least one axis.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x * len(x)
    }
}

/// One sum, three times.
#[derive(Debug, Default, Module)]
pub struct ThreeAdditions;

#[traceable]
impl ThreeAdditions {
    /// Two tensors that can be added.
    pub fn forward(&self, x: &Tensor, y: &Tensor) -> (Tensor, Tensor, Tensor) {
        (x + y, Tensor::g_add(x, y), x.g_add(y))
    }
}
