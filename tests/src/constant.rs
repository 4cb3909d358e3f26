//! Tensors that the source alone decides: made once, and yet new to the caller at every call.

use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};

/// A causal mask and positions, written out in the forward.
#[derive(Debug, Module)]
pub struct Masked {
    fc: nn::Linear,
    size: i64,
}

impl Masked {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 4, 4, nn::LinearConfig::default()), size: 4 }
    }
}

#[traceable]
impl Masked {
    /// `[N, 4, 4]` to the same, in f32 at least: the mask is.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mask = Tensor::ones([4, 4], (Kind::Float, Device::Cpu)).tril(0);
        let positions = Tensor::arange(self.size, (Kind::Int64, Device::Cpu));
        self.fc.forward(xs) * mask + positions
    }
}

/// A result that depends on weights alone.
#[derive(Debug, Module)]
pub struct Doubled {
    fc: nn::Linear,
}

impl Doubled {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 2, 2, nn::LinearConfig::default()) }
    }
}

#[traceable]
impl Doubled {
    /// Anything to `[2, 2]`.
    pub fn forward(&self, _xs: &Tensor) -> Tensor {
        &self.fc.ws * 2.0
    }
}

/// A constant that the caller gets.
#[derive(Debug, Module)]
pub struct Handed {
    fc: nn::Linear,
}

impl Handed {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 4, 4, nn::LinearConfig::default()) }
    }
}

#[traceable]
impl Handed {
    /// `[N, 4]` to `[2, 2]` of ones, if the first layer yields anything above zero.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs).relu().sum(Kind::Float);
        let ones = Tensor::ones([4], (Kind::Float, Device::Cpu));
        if ys.double_value(&[]) > 0.0 { ones.view([2, 2]) } else { ys }
    }
}
