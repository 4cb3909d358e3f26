//! Models whose list of passes the build script changes: rules of its own beside the library's, or in their place.

use fx_runtime::{Module, Tensor, nn, traceable};

fn pair(p: &nn::Path) -> (nn::Conv2D, nn::BatchNorm) {
    let config = nn::ConvConfig { padding: 1, stride: 2, groups: 2, ..Default::default() };
    let conv = nn::conv2d(p / "conv", 4, 6, 3, config);
    (conv, nn::batch_norm2d(p / "bn", 6, nn::BatchNormConfig::default()))
}

/// A convolution and a batch norm, folded by a rule of the build script's.
#[derive(Debug, Module)]
pub struct UsersFolding {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl UsersFolding {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let (conv, bn) = pair(p);
        Self { conv, bn }
    }
}

#[traceable]
impl UsersFolding {
    /// `[N, 4, H, W]` to `[N, 6, H / 2, W / 2]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.bn.forward(&self.conv.forward(xs)).relu()
    }
}

/// The same, folded by the library.
#[derive(Debug, Module)]
pub struct LibraryFolding {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl LibraryFolding {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let (conv, bn) = pair(p);
        Self { conv, bn }
    }
}

#[traceable]
impl LibraryFolding {
    /// `[N, 4, H, W]` to `[N, 6, H / 2, W / 2]`.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.bn.forward(&self.conv.forward(xs)).relu()
    }
}

/// The rule of the build script would fold here, but the convolution is called again.
#[derive(Debug, Module)]
pub struct UsersShared {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

impl UsersShared {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let config = nn::ConvConfig { padding: 1, ..Default::default() };
        let conv = nn::conv2d(p / "conv", 4, 4, 3, config);
        Self { conv, bn: nn::batch_norm2d(p / "bn", 4, nn::BatchNormConfig::default()) }
    }
}

#[traceable]
impl UsersShared {
    /// `[N, 4, H, W]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.conv.forward(&self.bn.forward(&self.conv.forward(xs)))
    }
}

/// Sums in every spelling, which the build script turns into products.
#[derive(Debug, Module)]
pub struct Sums {
    fc: nn::Linear,
}

impl Sums {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 5, 5, nn::LinearConfig::default()) }
    }

    /// What is left of the forward when every sum is a product.
    pub fn products(&self, xs: &Tensor) -> Tensor {
        let ys = xs * self.fc.forward(xs) * 3;
        (&ys * xs * ys.tanh()) * 2
    }
}

#[traceable]
impl Sums {
    /// `[N, 5]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs + self.fc.forward(xs);
        ys = 3 + ys;
        ys.g_add(xs).g_add(&ys.tanh()) + 2
    }
}

/// The positive part, which the build script spells out as torch.fx's documentation does.
#[derive(Debug, Module)]
pub struct Rectified {
    fc: nn::Linear,
    relu: nn::ReLU,
}

impl Rectified {
    /// The network with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 5, 5, nn::LinearConfig::default()), relu: nn::relu() }
    }
}

#[traceable]
impl Rectified {
    /// `[N, 5]` to the same.
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.relu.forward(&self.fc.forward(xs)) - xs.relu()
    }
}
