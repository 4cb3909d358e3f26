//! What a loop gathers in an option of a tensor that begins empty.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Sum {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Sum {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut sum: Option<Tensor> = None;
        for layer in &self.layers {
            let ys = xs.apply(layer);
            if let Some(sum) = sum.as_mut() {
                *sum += &ys;
            } else {
                sum = Some(ys);
            }
        }
        sum.unwrap().relu()
    }
}

/// By a `match`, and looked at in between.
#[derive(Debug, Module)]
pub struct Product {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Product {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut product: Option<Tensor> = None;
        let mut seen = xs.zeros_like();
        for layer in &self.layers {
            let ys = xs.apply(layer);
            match &mut product {
                Some(held) => {
                    let _ = held.g_mul_(&ys);
                }
                None => product = Some(ys),
            }
            seen = seen + product.as_ref().map(|held| held.tanh()).unwrap();
            if let Some(held) = &product {
                seen = seen - held;
            }
        }
        match product {
            Some(held) => held * seen,
            None => seen,
        }
    }
}

/// The accumulator begins as a second handle on the input, which so changes, too.
#[derive(Debug, Module)]
pub struct OnInput {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl OnInput {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let mut held: Option<Tensor> = Some(xs.shallow_clone());
        for layer in &self.layers {
            let ys = xs.apply(layer);
            if let Some(held) = &mut held {
                *held += ys.relu();
            }
        }
        let before = xs.tanh();
        if let Some(held) = held.as_mut() {
            *held = &*held * 2.0;
        }
        let after = xs.cos();
        (before + after, held.unwrap())
    }
}

/// A mean and its weight, moved and filled anew.
#[derive(Debug, Module)]
pub struct Mean {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Mean {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut mean: Option<(Tensor, Tensor)> = None;
        for layer in &self.layers {
            let ys = xs.apply(layer);
            if let Some((sum, weight)) = mean.as_mut() {
                *sum = &*sum * 0.5 + &ys;
                *weight += 1.0;
            } else {
                mean = Some((ys.shallow_clone(), ys.ones_like()));
            }
        }
        let old = mean;
        mean = Some((xs.neg(), xs.ones_like()));
        let now = match &mean {
            Some((sum, weight)) => sum / weight,
            None => xs.shallow_clone(),
        };
        match old {
            Some((sum, weight)) => sum / weight + now,
            None => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn layers(p: &nn::Path, count: i64) -> Vec<nn::Linear> {
        (0..count).map(|at| nn::linear(p / at, 8, 8, Default::default())).collect()
    }

    #[test]
    fn accumulated() {
        for count in [1, 3] {
            agree!(|p| Sum { layers: layers(p, count) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
            agree!(|p| Product { layers: layers(p, count) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
            agree!(|p| OnInput { layers: layers(p, count) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
            agree!(|p| Mean { layers: layers(p, count) }, [randn(&[2, 8])], |net, xs| net.forward(xs));
        }
    }
}
