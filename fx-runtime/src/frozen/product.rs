//! A matrix product with a weight, whose shape decides which kernel it has.

use std::sync::Arc;

use tch::Tensor;

use super::{Activation, Frame, Linear, Param, product};
use crate::Error;
use crate::saved::{Loader, Saver, State};

/// `act(x w + b)` for a weight of any shape that `matmul` takes.
///
/// A matrix `[in, out]`, without a bias or with one of shape `[out]`, is a [`Linear`] layer whose weight is stored the
/// other way round.
///
/// A clone is a second handle on the weight.
#[derive(Debug, Clone)]
pub struct Product(Arc<Kernel>);

#[derive(Debug, State)]
enum Kernel {
    Layer(Linear),
    Composed { weight: Param, bias: Option<Param>, act: Activation },
}

impl Product {
    /// Packs `act(x w + b)`. Weight and bias are moved to the frame's device and dtype.
    ///
    /// # Errors
    ///
    /// A weight that cannot be moved.
    pub fn pack(frame: &Frame, weight: &Tensor, bias: Option<&Tensor>, act: Activation) -> Result<Self, Error> {
        let is_layer = match (&weight.size()[..], bias.map(Tensor::size).as_deref()) {
            (&[_, out], Some(bias)) => bias == [out],
            ([_, _], None) => true,
            _ => false,
        };
        if is_layer && weight.is_floating_point() && bias.is_none_or(Tensor::is_floating_point) {
            return Ok(Self(Arc::new(Kernel::Layer(Linear::pack(frame, &weight.f_tr()?, bias, act)?))));
        }
        let bias = bias.map(|bias| frame.param(bias)).transpose()?;
        Ok(Self(Arc::new(Kernel::Composed { weight: frame.param(weight)?, bias, act })))
    }

    /// `act(x w + b)`.
    ///
    /// # Errors
    ///
    /// As [`Linear::run`] for a matrix, else libtorch's own.
    pub fn run(&self, x: &Tensor) -> Result<Tensor, Error> {
        match &*self.0 {
            Kernel::Layer(linear) => linear.run(x),
            Kernel::Composed { weight, bias, act } => product(x, weight, bias.as_deref(), None, *act),
        }
    }

    /// `act(x w + b + other)`; `other` broadcasts.
    ///
    /// # Errors
    ///
    /// As [`Self::run`], and where `other` does not broadcast with the result.
    pub fn run_add(&self, x: &Tensor, other: &Tensor) -> Result<Tensor, Error> {
        match &*self.0 {
            Kernel::Layer(linear) => linear.run_add(x, other),
            Kernel::Composed { weight, bias, act } => product(x, weight, bias.as_deref(), Some(other), *act),
        }
    }
}

impl State for Product {
    fn save(&self, to: &mut Saver) -> crate::Result<()> {
        self.0.save(to)
    }

    fn load(from: &mut Loader) -> crate::Result<Self> {
        Ok(Self(Arc::new(Kernel::load(from)?)))
    }
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::super::oracle::{both, check, randn};
    use super::*;

    #[test]
    fn every_shape_that_matmul_takes() {
        let shapes: [(&[i64], &[i64]); 7] = [
            (&[5, 128], &[128, 192]),
            (&[2, 5, 128], &[128, 192]),
            (&[128], &[128, 192]),
            (&[2, 5, 128], &[2, 128, 16]),
            (&[5, 128], &[128]),
            (&[128], &[128]),
            (&[5, 4], &[4, 3]),
        ];
        for (x, w) in shapes {
            let (x, w) = (randn(x, Kind::Float), randn(w, Kind::Float) / 16.0);
            let y = x.matmul(&w);
            let out = *y.size().last().unwrap_or(&1);
            for bias in [None, Some(randn(&[out], Kind::Float)), Some(randn(&[1, 1], Kind::Float))] {
                let sum = bias.as_ref().map_or_else(|| y.shallow_clone(), |bias| &y + bias);
                let layer = Product::pack(&both(Kind::Float).0, &w, bias.as_ref(), Activation::GeluTanh).unwrap();
                let what = format!("{:?} x {:?} + {:?}", x.size(), w.size(), bias.as_ref().map(Tensor::size));
                check(&layer.run(&x).unwrap(), &sum.gelu("tanh"), &what);
                let other = randn(&sum.size(), Kind::Float);
                check(&layer.run_add(&x, &other).unwrap(), &(&sum + &other).gelu("tanh"), &what);
            }
        }
    }
}
