//! What a forward does beside computing its result: chance, and writing into tensors.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv(p: nn::Path) -> nn::Conv2D {
    nn::conv2d(p, 3, 3, 3, nn::ConvConfig { padding: 1, ..Default::default() })
}

/// Two draws that look alike, one of which nothing uses but the generator.
#[derive(Debug, Module)]
pub struct Noise {
    conv: nn::Conv2D,
}

impl Noise {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv") }
    }
}

#[traceable]
impl Noise {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv.forward(xs);
        let first = ys.rand_like();
        let _unused = ys.rand_like();
        let second = ys.rand_like();
        ys + first - second
    }
}

/// Dropout that stays on in inference.
#[derive(Debug, Module)]
pub struct MonteCarlo {
    fc: nn::Linear,
}

impl MonteCarlo {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 6, 6, nn::LinearConfig::default()) }
    }
}

#[traceable]
impl MonteCarlo {
    /// `[N, 6]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs).dropout(0.5, true);
        ys.dropout(0.5, false)
    }
}

/// Writes into what it has computed, while an older name still shows it.
#[derive(Debug, Module)]
pub struct InPlace {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl InPlace {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv"), bn: nn::batch_norm2d(p / "bn", 3, nn::BatchNormConfig::default()) }
    }
}

#[traceable]
impl InPlace {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.conv.forward(xs);
        let before = ys.shallow_clone();
        let zs = self.bn.forward(&ys);
        let _ = ys.relu_();
        let mut sum = zs + &before;
        sum += xs;
        let mut corner = sum.narrow(2, 0, 1);
        let _ = corner.fill_(0.25);
        sum
    }
}

/// Writes into its input, as the caller can see.
#[derive(Debug, Module)]
pub struct InputInPlace {
    conv: nn::Conv2D,
}

impl InputInPlace {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv") }
    }
}

#[traceable]
impl InputInPlace {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv.forward(xs);
        let mut input = xs.shallow_clone();
        let _ = input.clamp_min_(0.0);
        ys + self.conv.forward(&input)
    }
}

/// Compound assignments, seen through a second name, by the caller, and by nobody.
#[derive(Debug, Module)]
pub struct Compound {
    conv: nn::Conv2D,
}

impl Compound {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv") }
    }
}

#[traceable]
impl Compound {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.conv.forward(xs);
        let seen = ys.shallow_clone();
        ys += 1.0;
        let mut own = self.conv.forward(&seen);
        own *= &ys;
        for channel in 0..2 {
            let mut part = own.select(1, channel);
            part -= 0.5;
        }
        let mut input = xs.shallow_clone();
        input /= 2.0;
        own + seen
    }
}

/// Parts of one tensor, of which one is written to.
#[derive(Debug, Module)]
pub struct Parts {
    fc: nn::Linear,
    scale: Tensor,
}

impl Parts {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 6, 9, nn::LinearConfig::default()), scale: p.ones("scale", &[3]) }
    }
}

#[traceable]
impl Parts {
    /// `[N, 6]` to `[N, 12]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs);
        let mut parts = ys.chunk(3, 1);
        let before = &parts[1] * &self.scale;
        let _ = parts[1].relu_();
        let last = parts.pop().unwrap();
        Tensor::cat(&[&before, &last, &parts[1], &ys.narrow(1, 3, 3)], 1)
    }
}

/// Writes through a view that asks for row-major order.
#[derive(Debug, Module)]
pub struct Flat {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl Flat {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { conv: conv(p / "conv"), bn: nn::batch_norm2d(p / "bn", 3, nn::BatchNormConfig::default()) }
    }
}

#[traceable]
impl Flat {
    /// `[N, 3, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn.forward(&self.conv.forward(xs));
        let mut row = ys.view([-1]);
        row *= 2.0;
        let _ = row.narrow(0, 0, 3).fill_(0.125);
        ys.relu()
    }
}
