//! Numbers that `move` closures count in copies of their own, in chains of iterators.

use fx_runtime::{Module, Tensor, nn, traceable};

/// The variable keeps what it had, whoever runs the chain.
#[derive(Debug, Module)]
pub struct Counts {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Counts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut n = 1;
        let gathered: Vec<Tensor> = self
            .layers
            .iter()
            .map(move |layer| {
                n += 1;
                xs.apply(layer) * n
            })
            .collect();
        let folded = self.layers.iter().fold(xs.shallow_clone(), move |ys, layer| {
            n += 2;
            ys.apply(layer) * n
        });
        let mut ys = folded + Tensor::stack(&gathered, 0).sum_dim_intlist([0i64].as_slice(), false, xs.kind());
        for part in xs.chunk(2, 0).into_iter().map(move |part| {
            n += 3;
            part * n
        }) {
            ys = ys + part;
        }
        self.layers.iter().for_each(|_| n += 4);
        ys * n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    #[test]
    fn counts() {
        let make = |p: &nn::Path| Counts {
            layers: (0..3).map(|at| nn::linear(p / at, 4, 4, nn::LinearConfig::default())).collect(),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
