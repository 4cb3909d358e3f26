//! Second handles of a tensor that no variable holds when the tensor is written to.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Two handles of one tensor.
pub struct Both {
    one: Tensor,
    other: Tensor,
}

/// Made in a part of a tuple, of a struct and of a list, in front of a part that writes to the tensor.
#[derive(Debug, Module)]
pub struct InParts {
    fc: nn::Linear,
}

#[traceable(strict)]
impl InParts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut t = ys.cos();
        let pair = (t.shallow_clone(), {
            t += 1;
            t.copy()
        });
        let both = Both {
            one: t.shallow_clone(),
            other: {
                t *= 2;
                t.copy()
            },
        };
        let all = [t.shallow_clone(), {
            t -= 3;
            t.copy()
        }];
        pair.0 + pair.1 * 2 + both.one * 3 + both.other * 4 + &all[0] * 5 + &all[1] * 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn handles() {
        let make = |p: &nn::Path| InParts { fc: nn::linear(p, 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
