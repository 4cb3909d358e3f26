//! Feature pyramids: lists of maps, each of which is added to the next, from the coarsest to the finest.

use fx_runtime::nn::Path;
use fx_runtime::{Module, Tensor, nn, traceable};

fn linears(p: &Path, name: &str) -> Vec<nn::Linear> {
    (0..3).map(|i| nn::linear(p / name / i, 4, 4, Default::default())).collect()
}

/// Maps that are written out, each through a layer of a list, summed where they lie.
#[derive(Debug, Module)]
pub struct Summed {
    lateral: Vec<nn::Linear>,
    out: Vec<nn::Linear>,
}

#[traceable]
impl Summed {
    pub fn new(p: &Path) -> Self {
        Self { lateral: linears(p, "l"), out: linears(p, "o") }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let maps = [xs.shallow_clone(), xs * 2.0, xs * 3.0];
        let mut sums: Vec<Tensor> = maps.iter().zip(self.lateral.iter()).map(|(c, l)| c.apply(l)).collect();
        for i in (0..sums.len() - 1).rev() {
            sums[i] = &sums[i] + &sums[i + 1].relu();
        }
        let outs: Vec<Tensor> = sums.iter().zip(&self.out).map(|(t, o)| t.apply(o)).collect();
        Tensor::cat(&outs, 1)
    }
}

/// The same with `+=` and a list of layers on the left of `zip`.
#[derive(Debug, Module)]
pub struct Added {
    lateral: Vec<nn::Linear>,
}

#[traceable]
impl Added {
    pub fn new(p: &Path) -> Self {
        Self { lateral: linears(p, "l") }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut sums: Vec<Tensor> = self.lateral.iter().map(|l| xs.apply(l)).collect();
        for i in (0..2).rev() {
            let up = sums[i + 1].relu();
            sums[i] += up;
        }
        let outs: Vec<Tensor> = sums.iter().zip(&self.lateral).map(|(t, o)| t.apply(o)).collect();
        Tensor::cat(&outs, 1)
    }
}

/// torchvision's way: maps out of a method, results put in front.
#[derive(Debug, Module)]
pub struct Inserted {
    lateral: Vec<nn::Linear>,
}

#[traceable]
impl Inserted {
    pub fn new(p: &Path) -> Self {
        Self { lateral: linears(p, "l") }
    }

    fn features(&self, xs: &Tensor) -> Vec<Tensor> {
        let mut out = vec![];
        let mut ys = xs.shallow_clone();
        for l in &self.lateral {
            ys = ys.apply(l).relu();
            out.push(ys.shallow_clone());
        }
        out
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let features = self.features(xs);
        let mut results = vec![features[features.len() - 1].apply(&self.lateral[2])];
        for idx in (0..features.len() - 1).rev() {
            let inner = features[idx].apply(&self.lateral[idx]);
            let last = results[0].shallow_clone();
            results.insert(0, inner + last.relu());
        }
        let coarsest = results.last().unwrap().max_dim(1, true).0;
        results.iter().fold(xs.zeros_like(), |sum, x| sum + x) + coarsest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn pyramids() {
        agree!(Summed::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(Added::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(Inserted::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
