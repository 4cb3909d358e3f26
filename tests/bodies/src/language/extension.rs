//! Extension traits on `Tensor`, and on layers.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

pub trait TensorExt {
    /// A method under the name of a function of tch's.
    fn ones(&self, rows: i64) -> Tensor;
    fn swish(&self) -> Tensor;
    fn normalized(&self, eps: f64) -> Tensor;
    fn doubled(&self) -> Tensor;
    fn shape_of(&self) -> Vec<i64>;
}

impl TensorExt for Tensor {
    fn ones(&self, rows: i64) -> Tensor {
        Tensor::ones([rows, 1], (self.kind(), self.device()))
    }

    fn swish(&self) -> Tensor {
        self * self.sigmoid()
    }

    fn normalized(&self, eps: f64) -> Tensor {
        let norm = self.square().sum_dim_intlist([-1i64].as_slice(), true, Kind::Float).sqrt();
        self / (norm + eps)
    }

    fn doubled(&self) -> Tensor {
        self.swish() * 2
    }

    fn shape_of(&self) -> Vec<i64> {
        self.size()
    }
}

#[derive(Debug, Module)]
pub struct Extended {
    fc: nn::Linear,
}

#[traceable]
impl Extended {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs).swish().normalized(1e-6);
        let dims = ys.shape_of();
        ys.doubled().view(dims.as_slice()) * xs.ones(1) + TensorExt::swish(xs)
    }
}

/// An extension of a layer.
pub trait LinearExt {
    fn forward_scaled(&self, xs: &Tensor, scale: f64) -> Tensor;
    fn features(&self) -> i64;
}

impl LinearExt for nn::Linear {
    fn forward_scaled(&self, xs: &Tensor, scale: f64) -> Tensor {
        xs.apply(self) * scale
    }

    fn features(&self) -> i64 {
        self.ws.size()[0]
    }
}

#[derive(Debug, Module)]
pub struct Scaled {
    fc: nn::Linear,
}

#[traceable]
impl Scaled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc.forward_scaled(xs, 0.1) + self.fc.features()
    }
}

/// Reads weights directly.
#[derive(Debug, Module)]
pub struct Tied {
    embed: nn::Embedding,
    fc: nn::Linear,
}

#[traceable]
impl Tied {
    pub fn forward(&self, ids: &Tensor) -> Tensor {
        let h = ids.apply(&self.embed);
        let h = h.linear(&self.fc.ws, self.fc.bs.as_ref());
        h.matmul(&self.embed.ws.transpose(0, 1))
    }
}

/// A default method of a trait of the crate, and an associated constant.
pub trait Head {
    const BIAS: f64;

    fn fc(&self) -> &nn::Linear;

    fn logits(&self, xs: &Tensor) -> Tensor {
        self.fc().forward(xs) + Self::BIAS
    }
}

#[derive(Debug, Module)]
pub struct WithTrait {
    fc: nn::Linear,
}

impl Head for WithTrait {
    const BIAS: f64 = 0.5;

    fn fc(&self) -> &nn::Linear {
        &self.fc
    }
}

#[traceable]
impl WithTrait {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.logits(xs).relu() + <Self as Head>::BIAS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Extended: 16 of 19);
    understood!(WithTrait: 3 of 4);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn extended() {
        agree!(|p| Extended { fc: linear(p) }, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn layers() {
        agree!(|p| Scaled { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn weights() {
        let make = |p: &nn::Path| Tied { embed: nn::embedding(p / "e", 7, 4, Default::default()), fc: linear(p) };
        agree!(
            make,
            [Tensor::from_slice(&[1i64, 6, 0]), Tensor::from_slice(&[1i64, 2, 3, 4]).view([2, 2])],
            |net, ids| net.forward(ids)
        );
    }

    #[test]
    fn default_methods() {
        agree!(|p| WithTrait { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
