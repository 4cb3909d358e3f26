//! Numbers without an end: loops that a `break` ends, and numbers that are zipped with lists.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Layers by numbers from one on, behind and in front of them.
#[derive(Debug, Module)]
pub struct Numbered {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Numbered {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (layer, number) in self.layers.iter().zip(1i64..) {
            ys = ys.apply(layer) * number;
        }
        for (at, layer) in (0..).zip(self.layers.iter().rev()) {
            ys = if at % 2 == 0 { ys.apply(layer) } else { ys + at };
        }
        let scaled: Vec<Tensor> =
            (2..).zip(&self.layers).map(|(number, layer)| ys.apply(layer) / number as f64).collect();
        let summed = self.layers.iter().zip(1..).fold(ys.relu(), |ys, (layer, number)| ys.apply(layer) * number);
        Tensor::stack(&scaled, 0).tanh() + summed
    }
}

/// Loops over numbers alone, and beside the sizes of the input.
#[derive(Debug, Module)]
pub struct Endless {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Endless {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (mut ys, rows) = (xs.shallow_clone(), xs.size()[0]);
        for step in 0.. {
            if step == rows {
                break;
            }
            if step == 1 {
                continue;
            }
            ys = ys.apply(&self.layers[0]).tanh();
        }
        for at in 0.. {
            if at >= self.layers.len() {
                break;
            }
            ys = ys.apply(&self.layers[at]);
        }
        'outer: for number in 1i64.. {
            for other in 0..3i64 {
                if number * other > 4 {
                    break 'outer;
                }
                ys = ys + other;
            }
        }
        let mut first = 3;
        for pair in (first..).zip(xs.size()) {
            let (number, size) = pair;
            first += 1;
            ys = ys * (number + size);
        }
        ys * first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn layers(p: &nn::Path) -> Vec<nn::Linear> {
        (0..3).map(|at| nn::linear(p / at, 4, 4, nn::LinearConfig::default())).collect()
    }

    #[test]
    fn zipped_with_layers() {
        agree!(|p| Numbered { layers: layers(&p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn ended_by_break() {
        agree!(|p| Endless { layers: layers(&p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
