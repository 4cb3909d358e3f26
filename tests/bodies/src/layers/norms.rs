//! Normalization of each image, with and without weights and running statistics, and its fields.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Stylized {
    conv: nn::Conv2D,
    plain: nn::InstanceNorm,
    affine: nn::InstanceNorm,
    tracking: Option<nn::InstanceNorm>,
}

#[traceable]
impl Stylized {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = self.plain.forward(&xs.apply(&self.conv)).relu();
        let ys = self.affine.forward(&ys) + ys.apply_t(&self.affine, train);
        let ys = match &self.tracking {
            Some(norm) => norm.forward_t(&ys, train),
            None => ys,
        };
        match (&self.affine.ws, &self.affine.bs) {
            (Some(ws), Some(bs)) => ys * ws.view([1, -1, 1, 1]) - bs.view([1, -1, 1, 1]),
            _ => ys,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn stylized(p: &nn::Path, tracks: bool) -> Stylized {
        let plain = nn::InstanceNormConfig::default();
        let affine = nn::InstanceNormConfig { affine: true, bs_init: nn::Init::Const(0.5), ..plain };
        Stylized {
            conv: nn::conv2d(p / "conv", 3, 4, 3, Default::default()),
            plain: nn::instance_norm2d(p / "plain", 4, plain),
            affine: nn::instance_norm2d(p / "affine", 4, affine),
            tracking: tracks.then(|| {
                let tracking = nn::InstanceNormConfig { track_running_stats: true, ..affine };
                nn::instance_norm2d(p / "tracking", 4, tracking)
            }),
        }
    }

    #[test]
    fn stylized_without_statistics() {
        let make = |p: &nn::Path| stylized(p, false);
        agree!(make, [randn(&[2, 3, 6, 7]), randn(&[1, 3, 8, 8])], |net, xs| net.forward_t(xs, false));
    }

    #[test]
    fn stylized_with_statistics() {
        let make = |p: &nn::Path| stylized(p, true);
        agree!(make, [randn(&[2, 3, 6, 7]), randn(&[1, 3, 8, 8])], |net, xs| net.forward_t(xs, false));
    }
}
