//! Blocks with labels, which are left before their end, and closures that are left out of a loop.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Labelled {
    fc: nn::Linear,
    bias: Option<Tensor>,
}

#[traceable(strict)]
impl Labelled {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let mut ys = xs.relu();
        let count = 'count: {
            let Some(mask) = mask else { break 'count 4 };
            ys = ys + mask;
            if xs.dim() > 2 {
                ys = ys.sin();
                break 'count 2;
            }
            ys = ys.apply(&self.fc);
            3
        };
        'shift: {
            let Some(bias) = &self.bias else { break 'shift };
            ys = ys * bias;
        }
        for step in 0..3 {
            'once: {
                if step == 1 {
                    break 'once;
                }
                ys = ys * 0.5;
            }
            ys = ys + 1;
        }
        let first = || {
            for size in xs.size() {
                if size > 2 {
                    return size;
                }
            }
            7
        };
        let size = 'size: {
            for size in xs.size() {
                if size > 3 {
                    break 'size size;
                }
            }
            5
        };
        'last: {
            if size > first() {
                break 'last ys.tanh() * count;
            }
            ys * count
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn left_before_their_end() {
        for is_shifted in [false, true] {
            let make = |p: &nn::Path| Labelled {
                fc: nn::linear(p / "fc", 4, 4, nn::LinearConfig::default()),
                bias: is_shifted.then(|| p.var("bias", &[4], nn::Init::Const(0.5))),
            };
            let cases = [
                (randn(&[2, 4]), None),
                (randn(&[3, 4]), Some(randn(&[3, 4]))),
                (randn(&[2, 2, 4]), Some(randn(&[4]))),
            ];
            agree!(make, cases, |net, (xs, mask)| net.forward(xs, mask.as_ref()));
        }
    }
}
