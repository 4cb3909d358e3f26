//! Shape- and data-dependent control.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// "Same" padding, as an `EfficientNet` pads.
#[derive(Debug, Module)]
pub struct SamePadding {
    conv: nn::Conv2D,
    stride: i64,
    k: i64,
}

#[traceable]
impl SamePadding {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (_, _, ih, iw) = xs.size4().unwrap();
        let (s, k) = (self.stride, self.k);
        let oh = (ih + s - 1) / s;
        let ow = (iw + s - 1) / s;
        let pad_h = i64::max((oh - 1) * s + k - ih, 0);
        let pad_w = i64::max((ow - 1) * s + k - iw, 0);
        if pad_h > 0 || pad_w > 0 {
            xs.zero_pad2d(pad_w / 2, pad_w - pad_w / 2, pad_h / 2, pad_h - pad_h / 2).apply(&self.conv)
        } else {
            xs.apply(&self.conv)
        }
    }
}

/// The rank of a mask decides.
#[derive(Debug, Module)]
pub struct MaskRank {
    fc: nn::Linear,
}

#[traceable]
impl MaskRank {
    pub fn forward(&self, xs: &Tensor, mask: &Tensor) -> Result<Tensor, Box<dyn std::error::Error>> {
        let mask = match mask.dim() {
            3 => mask.unsqueeze(1),
            2 => mask.unsqueeze(1).unsqueeze(1),
            _ => return Err("a mask has two or three axes".into()),
        };
        let mask: Tensor = (mask.ones_like() - mask) * -1e4;
        Ok((self.fc.forward(xs).unsqueeze(1) + mask).softmax(-1, Kind::Float))
    }
}

/// Positions are interpolated where the input is of another size.
#[derive(Debug, Module)]
pub struct Positions {
    table: Tensor,
}

#[traceable]
impl Positions {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (_b, n, dim) = xs.size3().unwrap();
        let known = self.table.size()[1];
        if n == known {
            return xs + &self.table;
        }
        let side = (known as f64).sqrt() as i64;
        let target = (n as f64).sqrt() as i64;
        let grid = self.table.reshape([1, side, side, dim]).permute([0, 3, 1, 2]);
        let grid = grid.upsample_bilinear2d([target, target], false, None, None);
        let grid = grid.permute([0, 2, 3, 1]).reshape([1, -1, dim]);
        xs + grid
    }
}

/// Nested data-dependent ifs, with work to fuse on each side.
#[derive(Debug, Module)]
pub struct Gated {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
    alt: nn::Conv2D,
}

#[traceable]
impl Gated {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let energy = f64::try_from(xs.abs().mean(Kind::Float)).unwrap();
        let ys = if energy > 0.5 {
            let ys = xs.apply(&self.conv).apply_t(&self.bn, false);
            if xs.size()[2] % 2 == 0 { ys.relu() } else { ys }
        } else {
            xs.apply(&self.alt).relu()
        };
        let label = ys.flat_view().argmax(-1, false).int64_value(&[0]);
        ys + (label % 2) as f64
    }
}

/// `Tensor` to `bool`, `Vec` and numbers.
#[derive(Debug, Module)]
pub struct Conversions {
    fc: nn::Linear,
}

#[traceable]
impl Conversions {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, f64, Vec<i64>) {
        let ys = self.fc.forward(xs);
        let any = bool::try_from(ys.gt(100.).any()).unwrap();
        let sum: f64 = ys.sum(Kind::Double).try_into().unwrap();
        let best: Vec<i64> = ys.argmax(-1, false).try_into().unwrap();
        let values = Vec::<f32>::try_from(ys.flatten(0, -1)).unwrap();
        let biggest = values.iter().cloned().fold(f32::MIN, f32::max) as f64;
        let ys = if any { ys } else { ys / biggest };
        (ys, sum, best)
    }
}

/// A loop that a switch of the model leaves, inside of one that inputs do not decide.
#[derive(Debug, Module)]
pub struct LeftByName {
    fc: nn::Linear,
    flag: bool,
}

#[traceable]
impl LeftByName {
    pub fn forward(&self, xs: &Tensor, p: Option<i64>) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        'outer: for h in 0..2 {
            for k in 1..=4 {
                let held: Option<i64> = p.filter(|_| true);
                if self.flag {
                    break 'outer;
                }
                ys = ys * held.unwrap_or(h + k);
            }
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Conversions: 7 of 7);

    #[test]
    fn same_padding() {
        let make = |p: &nn::Path| SamePadding {
            conv: nn::conv2d(p, 2, 3, 3, nn::ConvConfig { stride: 2, ..Default::default() }),
            stride: 2,
            k: 3,
        };
        agree!(make, [randn(&[1, 2, 7, 7]), randn(&[2, 2, 8, 5])], |net, xs| net.forward(xs));
    }

    #[test]
    fn mask_rank() {
        let make = |p: &nn::Path| MaskRank { fc: nn::linear(p, 4, 4, Default::default()) };
        let ones = |size: &[i64]| Tensor::ones(size, (Kind::Float, fx_runtime::Device::Cpu));
        let cases = [
            (randn(&[2, 3, 4]), ones(&[2, 3, 4])),
            (randn(&[2, 3, 4]), ones(&[2, 4])),
            (randn(&[2, 3, 4]), ones(&[4])),
        ];
        agree!(make, cases, |net, (xs, mask)| net.forward(xs, mask));
    }

    #[test]
    fn positions() {
        let make = |p: &nn::Path| Positions { table: p.randn_standard("t", &[1, 4, 6]) };
        agree!(make, [randn(&[2, 4, 6]), randn(&[1, 9, 6])], |net, xs| net.forward(xs));
    }

    #[test]
    fn gated() {
        let make = |p: &nn::Path| Gated {
            conv: nn::conv2d(p / "conv", 3, 4, 1, Default::default()),
            bn: nn::batch_norm2d(p / "bn", 4, Default::default()),
            alt: nn::conv2d(p / "alt", 3, 4, 1, Default::default()),
        };
        agree!(make, [randn(&[1, 3, 4, 4]), randn(&[1, 3, 5, 4]), randn(&[1, 3, 4, 4]) * 0.1], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn conversions() {
        agree!(|p| Conversions { fc: nn::linear(p, 4, 4, Default::default()) }, [randn(&[2, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn left_by_name() {
        for flag in [true, false] {
            let make = |p: &nn::Path| LeftByName { fc: nn::linear(p, 4, 4, Default::default()), flag };
            agree!(make, [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(3i64))], |net, (xs, p)| net.forward(xs, *p));
        }
    }
}
