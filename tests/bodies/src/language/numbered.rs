//! Loops over numbered elements: the pair of a number and an element under one name.

use fx_runtime::{Module, Tensor, nn, traceable};

fn step(pair: (usize, &nn::Linear), xs: &Tensor) -> Tensor {
    xs.apply(pair.1) * (pair.0 as i64 + 1)
}

/// Pairs of a number and an element under one name: compared, handed on, and behind other adaptors.
#[derive(Debug, Module)]
pub struct WholePairs {
    layers: Vec<nn::Linear>,
    scales: Vec<f64>,
}

#[traceable(strict)]
impl WholePairs {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for pair in self.layers.iter().enumerate() {
            ys = step(pair, &ys).relu() + ys.apply(pair.1) * pair.0 as i64;
        }
        let sizes = xs.size();
        let mut most = (0, 0);
        for pair in sizes.iter().enumerate() {
            if *pair.1 >= most.1 {
                most = (pair.0, *pair.1);
            }
        }
        for mut pair in self.scales.iter().enumerate().rev() {
            pair.0 += 1;
            if pair.0 > 1 {
                ys = ys * *pair.1 + pair.0 as i64;
            }
        }
        let odd: f64 = self.scales.iter().enumerate().filter(|pair| pair.0 % 2 == 1).map(|pair| *pair.1).sum();
        ys * most.0 as i64 + most.1 * 2 + odd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn whole_pairs() {
        let make = |p: &nn::Path| WholePairs {
            layers: (0..3).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
            scales: vec![0.5, -1.5, 2.0],
        };
        agree!(make, [randn(&[2, 4]), randn(&[5, 4]), randn(&[4, 4])], |net, xs| net.forward(xs));
    }
}
