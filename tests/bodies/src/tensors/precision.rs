//! Models of more than one dtype: weights that are cast, buffers in double precision, inputs that the model casts itself.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// A product in another dtype than the model's.
#[derive(Debug, Module)]
pub struct Within {
    a: nn::Linear,
    b: nn::Linear,
    within: Kind,
}

#[traceable]
impl Within {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let weight = self.a.ws.to_kind(self.within);
        let bias = self.a.bs.as_ref().map(|bias| bias.to_kind(self.within)).unwrap();
        let ys = xs.to_kind(self.within).matmul(&weight.tr()) + bias;
        ys.silu().to_kind(self.b.ws.kind()).apply(&self.b)
    }
}

/// A schedule in double precision, whose rows promote what they are multiplied with.
#[derive(Debug, Module)]
pub struct Schedule {
    fc: nn::Linear,
    alphas: Tensor,
}

impl Schedule {
    fn new(p: &nn::Path) -> Schedule {
        let alphas = Tensor::linspace(1e-4, 2e-2, 10, (Kind::Double, p.device())).cumprod(0, None::<Kind>);
        Schedule { fc: nn::linear(p / "fc", 4, 4, Default::default()), alphas }
    }
}

#[traceable(entry = ["forward", "promoted"])]
impl Schedule {
    pub fn forward(&self, xs: &Tensor, step: i64) -> Tensor {
        let alpha = self.alphas.narrow(0, step, 1).sqrt().to_kind(self.fc.ws.kind());
        xs.apply(&self.fc) * alpha
    }

    pub fn promoted(&self, xs: &Tensor, step: i64) -> Tensor {
        xs.apply(&self.fc) * self.alphas.narrow(0, step, 1)
    }
}

/// Takes what it is given.
#[derive(Debug, Module)]
pub struct Lenient {
    fc: nn::Linear,
    norm: nn::LayerNorm,
}

#[traceable]
impl Lenient {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.to_kind(self.fc.ws.kind()) / 255.0;
        ys.apply(&self.fc).apply(&self.norm)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;
    use tch::no_grad;

    use super::*;
    use crate::check::{Close, agree, here, randn, root};

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    #[test]
    fn within() {
        for within in [Kind::Double, Kind::Float] {
            agree!(|p| Within { a: linear(p, "a"), b: linear(p, "b"), within }, [randn(&[3, 4])], |net, xs| net
                .forward(xs));
        }
        let (_vs, net) = root(|p| Within { a: linear(p, "a"), b: linear(p, "b"), within: Kind::BFloat16 });
        let frozen = net.freeze(&Freeze::default()).expect("a frozen model");
        let xs = randn(&[3, 4]);
        let (found, expected) = (frozen.forward(&xs), no_grad(|| net.forward(&xs)));
        // Both round to eight bits, on one side or the other.
        assert!(found.kind() == expected.kind() && found.allclose(&expected, 1e-2, 1e-2, false));
    }

    #[test]
    fn schedule() {
        agree!(Schedule::new, [randn(&[3, 4])], |net, xs| (net.forward(xs, 3), net.promoted(xs, 3)));
        let (_vs, net) = root(Schedule::new);
        let frozen = net.freeze(&Freeze::default()).expect("a frozen model");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).expect("saved");
        let loaded = ScheduleFrozen::load(&path, &here()).expect("loaded");
        let xs = randn(&[3, 4]);
        loaded.promoted(&xs, 2).close(&no_grad(|| net.promoted(&xs, 2)));
    }

    #[test]
    fn lenient() {
        let make = |p: &nn::Path| Lenient {
            fc: linear(p, "fc"),
            norm: nn::layer_norm(p / "norm", vec![4], Default::default()),
        };
        let xs = randn(&[3, 4]) * 100.0;
        let cases =
            [Kind::Float, Kind::Double, Kind::Half, Kind::Uint8, Kind::Int64].map(|kind| xs.abs().to_kind(kind));
        agree!(make, cases, |net, xs| net.forward(xs));
    }
}
