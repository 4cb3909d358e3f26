//! Functions behind casts, in arrays, lists and variables, and lists that options extend.

use fx_runtime::{Module, Tensor, nn, traceable};

type Act = fn(&Tensor) -> Tensor;

fn doubled(xs: &Tensor) -> Tensor {
    xs.sin() * 2.0
}

/// Functions behind casts, in arrays, lists and variables.
#[derive(Debug, Module)]
pub struct CastFunctions {
    fc: nn::Linear,
    head: Option<nn::Linear>,
}

#[traceable(strict)]
impl CastFunctions {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let waves = [Tensor::sin as fn(&Tensor) -> Tensor, Tensor::cos, doubled];
        let mut all: Vec<Tensor> = waves.iter().map(|wave| wave(xs)).collect();
        let acts = [Tensor::tanh as Act, doubled as Act];
        let mut ys = xs.apply(&self.fc);
        for act in &acts {
            ys = act(&ys);
        }
        let other = if xs.size()[0] > 2 { Tensor::relu as Act } else { doubled as Act };
        all.push(other(&acts[1](&ys)));
        all.extend(self.head.as_ref().map(|head| xs.apply(head)));
        all.extend(Some(xs.tanh()));
        let last: Option<Tensor> = if xs.size()[0] > 2 { Some(xs.sin()) } else { None };
        all.extend(last);
        Tensor::cat(&all, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn cast_functions() {
        for with_head in [true, false] {
            let make = |p: &nn::Path| {
                let head = with_head.then(|| nn::linear(p / "head", 4, 4, Default::default()));
                CastFunctions { fc: nn::linear(p / "fc", 4, 4, Default::default()), head }
            };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }
}
