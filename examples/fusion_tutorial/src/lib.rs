//! The model of PyTorch's tutorial "Building a Convolution/Batch Norm fuser in FX".
//!
//! Three pairs of a convolution and a batch norm, each written in another way: side by side, across the border of a
//! `Sequential`, and with the batch norm inside a module of its own. All three fold, so that the frozen model is three
//! convolutions.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A batch norm in a module of its own.
#[derive(Debug, Module)]
pub struct WrappedBatchNorm {
    r#mod: nn::BatchNorm,
}

#[traceable]
impl WrappedBatchNorm {
    /// `[N, 1, H, W]` to the same.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.r#mod.forward(x)
    }
}

/// conv1, bn1, conv2, nested (batch norm, then convolution), wrapped (batch norm).
#[derive(Debug, Module)]
pub struct Tutorial {
    conv1: nn::Conv2D,
    bn1: nn::BatchNorm,
    conv2: nn::Conv2D,
    nested: nn::SequentialT,
    wrapped: WrappedBatchNorm,
}

impl Tutorial {
    /// The model with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let (conv, bn) = (nn::ConvConfig::default(), nn::BatchNormConfig::default());
        let nested = p / "nested";
        Self {
            conv1: nn::conv2d(p / "conv1", 1, 1, 1, conv),
            bn1: nn::batch_norm2d(p / "bn1", 1, bn),
            conv2: nn::conv2d(p / "conv2", 1, 1, 1, conv),
            nested: nn::seq_t().add(nn::batch_norm2d(&nested / 0, 1, bn)).add(nn::conv2d(&nested / 1, 1, 1, 1, conv)),
            wrapped: WrappedBatchNorm { r#mod: nn::batch_norm2d(p / "wrapped" / "mod", 1, bn) },
        }
    }
}

#[traceable]
impl Tutorial {
    /// Images `[N, 1, H, W]` to the same shape.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv1.forward(x);
        let x = self.bn1.forward(&x);
        let x = self.conv2.forward(&x);
        let x = self.nested.forward(&x);
        self.wrapped.forward(&x)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::{Device, Freeze, Kind};

    use super::*;

    const GENERATED: &str = include_str!(concat!(env!("OUT_DIR"), "/fx/Tutorial.rs"));

    /// A model whose batch norms do something, with weights that differ from layer to layer.
    fn model(vs: &nn::VarStore) -> Tutorial {
        let net = Tutorial::new(&vs.root());
        for (position, (_, tensor)) in (1..).zip(net.state_dict()) {
            let _ = tch::no_grad(|| tensor.shallow_clone().fill_(0.3 + 0.1 * f64::from(position)));
        }
        net
    }

    #[test]
    fn no_batch_norm_is_left() {
        let (_, forward) = GENERATED.split_once("fn try_forward").expect("a generated forward");
        assert_eq!(forward.matches("batch_norm").count(), 0, "{forward}");
        // A recorded forward is run with a list of inputs, a graph on codes in a scope; a kernel is run on a tensor.
        let others = forward.matches(".run(&[").count() + forward.matches(".run(&scope").count();
        let kernels = forward.matches(".run(&").count() - others;
        assert_eq!(kernels, 3, "{forward}");
    }

    #[test]
    fn the_numbers_stay() -> Result<(), fx_runtime::Error> {
        let net = model(&nn::VarStore::new(Device::Cpu));
        let frozen = net.freeze(&Freeze::default())?;
        for (batch, height, width) in [(1, 4, 4), (3, 5, 7), (16, 32, 32)] {
            let xs = Tensor::randn([batch, 1, height, width], (Kind::Float, Device::Cpu));
            let eager = tch::no_grad(|| net.forward(&xs));
            let largest = (frozen.try_forward(&xs)? - &eager).abs().max().double_value(&[]);
            assert!(largest <= 5e-6 * eager.abs().max().double_value(&[]), "{largest:e}");
        }
        Ok(())
    }
}
