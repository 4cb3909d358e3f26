//! Models through which large batches of images go in pieces, and such as only look like it.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn conv(p: nn::Path, from: i64, to: i64, stride: i64) -> nn::Conv2D {
    nn::conv2d(p, from, to, 3, nn::ConvConfig { stride, padding: 1, ..Default::default() })
}

/// Residuals, pooling and a head; a skip that goes past everything.
#[derive(Debug, Module)]
pub struct Classifier {
    stem: nn::Conv2D,
    bn: nn::BatchNorm,
    blocks: Vec<nn::Conv2D>,
    head: nn::Linear,
    wide: bool,
}

impl Classifier {
    fn new(p: &nn::Path) -> Self {
        Self {
            stem: conv(p / "stem", 3, 8, 4),
            bn: nn::batch_norm2d(p / "bn", 8, Default::default()),
            blocks: (0..3).map(|i| conv(p / "blocks" / i, 8, 8, 1)).collect(),
            head: nn::linear(p / "head", 16, 5, Default::default()),
            wide: true,
        }
    }
}

#[traceable]
impl Classifier {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let first = self.bn.forward(&self.stem.forward(xs)).relu();
        let mut ys = first.shallow_clone();
        for block in &self.blocks {
            ys = (block.forward(&ys) + &ys).relu();
        }
        let ys = if self.wide { ys * 0.5 } else { ys };
        let ys = Tensor::cat(&[ys, first], 1);
        let (b, c, _, _) = ys.size4().unwrap();
        let gate = ys.mean_dim([2i64, 3].as_slice(), true, Kind::Float).sigmoid();
        let ys = (ys * gate).view([b, c, -1]).mean_dim([-1i64].as_slice(), false, Kind::Float);
        self.head.forward(&ys)
    }
}

/// Images to images.
#[derive(Debug, Module)]
pub struct Upscale {
    conv: nn::Conv2D,
}

#[traceable]
impl Upscale {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.conv.forward(xs).pixel_shuffle(2).clamp(-1., 1.)
    }
}

/// Each image less the mean of the batch.
#[derive(Debug, Module)]
pub struct Centred {
    conv: nn::Conv2D,
}

#[traceable]
impl Centred {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv.forward(xs);
        &ys - ys.mean_dim([0i64].as_slice(), true, Kind::Float)
    }
}

/// Rows that are no samples: two for each.
#[derive(Debug, Module)]
pub struct RowsOfHalves {
    conv: nn::Conv2D,
}

#[traceable]
impl RowsOfHalves {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.conv.forward(xs).view([-1, 4, 64, 64]).relu()
    }
}

/// As many weights as images.
#[derive(Debug, Module)]
pub struct PerImage {
    conv: nn::Conv2D,
    bias: Tensor,
}

#[traceable]
impl PerImage {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.conv.forward(xs).relu() * &self.bias
    }
}

/// ComparedImages of images that the loss compares.
#[derive(Debug, Module)]
pub struct ComparedImages {
    conv: nn::Conv2D,
}

#[traceable]
impl ComparedImages {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.conv.forward(xs);
        let half = ys.size()[0] / 2;
        ys.narrow(0, 0, half) - ys.narrow(0, half, half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    macro_rules! slices {
        ($model:literal) => {
            include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, ".rs")).contains("self.frame.microbatches(")
        };
    }

    #[test]
    fn images_go_side_by_side() {
        assert!(slices!("Classifier") && slices!("Upscale"));
        let cases = [randn(&[12, 3, 256, 256]), randn(&[2, 3, 64, 64])];
        agree!(Classifier::new, cases, |net, xs| net.forward(xs));
        agree!(|p| Upscale { conv: conv(p / "conv", 3, 8, 4) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn what_is_computed_of_all_images_is() {
        assert!(!slices!("Centred") && !slices!("ComparedImages"));
        let cases = [randn(&[12, 3, 256, 256])];
        agree!(|p| Centred { conv: conv(p / "conv", 3, 4, 4) }, cases, |net, xs| net.forward(xs));
        agree!(|p| ComparedImages { conv: conv(p / "conv", 3, 4, 4) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn what_a_build_cannot_tell_shows_in_the_pieces() {
        assert!(slices!("RowsOfHalves") && slices!("PerImage"));
        let cases = [randn(&[12, 3, 256, 256])];
        agree!(|p| RowsOfHalves { conv: conv(p / "conv", 3, 8, 4) }, cases, |net, xs| net.forward(xs));
        let bias = randn(&[12, 4, 1, 1]);
        agree!(|p| PerImage { conv: conv(p / "conv", 3, 4, 4), bias: p.var_copy("bias", &bias) }, cases, |net, xs| net
            .forward(xs));
    }
}
