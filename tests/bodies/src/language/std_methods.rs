//! Methods of the standard library's numbers and options, which one table of the graph's crate describes.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Options that meet, and numbers with methods beyond the elementary ones.
#[derive(Debug, Module)]
pub struct Methods {
    limit: Option<i64>,
    scale: Option<f64>,
}

#[traceable(strict)]
impl Methods {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let n = xs.size()[1];
        let ys = match self.limit.zip(self.scale) {
            Some((limit, scale)) => xs * (limit as f64 * scale),
            None => xs + 1.0,
        };
        let ys = if n.div_euclid(4).is_positive() { ys.relu() } else { ys * 0.5 };
        ys * (n as f64).hypot(2.0).to_radians() + n.wrapping_add(3).signum()
    }
}

/// Options that stand for the default value of what they hold, and arrays by the references to their elements.
#[derive(Debug, Module)]
pub struct Defaults {
    layers: Vec<nn::Linear>,
    scale: Option<f64>,
    affine: Option<(f64, i64)>,
    axes: Option<Vec<i64>>,
}

#[traceable(strict)]
impl Defaults {
    pub fn forward(&self, xs: &Tensor, shift: Option<i64>) -> Tensor {
        let outputs = [xs.relu(), xs.tanh()];
        let rows = self.layers.iter().map(|layer| xs.apply(layer).size()[0]).max().unwrap_or_default();
        let (factor, summand) = self.affine.unwrap_or_default();
        let axes = self.axes.clone().unwrap_or_default();
        let axis = axes.iter().copied().min().unwrap_or_default();
        let [first, second] = outputs.each_ref().map(|one| one * factor + summand);
        let ys = first * &outputs[1] + second * rows + self.scale.unwrap_or_default();
        let ys = (ys + shift.unwrap_or_default()).narrow(axis, 0, xs.size().first().copied().unwrap_or_default());
        if self.scale.map(|scale| scale > 1.0).unwrap_or_default() { ys.sin() } else { ys }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn options_and_numbers() {
        let cases = [randn(&[2, 3]), randn(&[1, 8])];
        agree!(|_| Methods { limit: Some(3), scale: Some(0.5) }, cases, |net, xs| net.forward(xs));
        agree!(|_| Methods { limit: Some(3), scale: None }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn default_values() {
        for (scale, affine, axes) in [(None, None, None), (Some(1.5), Some((2.0, 3)), Some(vec![1, 0]))] {
            for count in [0, 1] {
                let make = |p: &nn::Path| Defaults {
                    layers: (0..count).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
                    scale,
                    affine,
                    axes: axes.clone(),
                };
                for shift in [None, Some(2)] {
                    agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs, shift));
                }
            }
        }
    }
}
