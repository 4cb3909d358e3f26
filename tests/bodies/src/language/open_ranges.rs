//! Ranges: numbers without an end, in loops that a `break` ends and zipped with lists, and ranges that are asked for their
//! bounds.

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

/// Ranges in variables, whose bounds are numbers like others, and what lies within a range.
#[derive(Debug, Module)]
pub struct Bounds {
    layers: Vec<nn::Linear>,
    limit: f64,
}

#[traceable(strict)]
impl Bounds {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let columns = 1i64..3;
        let all = 0..self.layers.len();
        let clip = -0.5..=2.0;
        let mut ys = xs.shallow_clone();
        for at in all.clone() {
            ys = ys.apply(&self.layers[at]);
        }
        let parts: Vec<Tensor> = columns.clone().map(|column| ys.narrow(1, column, 1) * column).collect();
        let ys = ys.narrow(1, columns.start, columns.end - columns.start) * all.end as i64;
        let (low, high) = (*clip.start(), *clip.end());
        let ys = if clip.contains(&self.limit) { ys.clamp(low, high) } else { ys * (high - low) };
        let (rows, is_small) = (xs.size()[0], (0.0..1.0).contains(&self.limit.abs()));
        let many = 3..;
        if (2..=3).contains(&xs.dim()) && !is_small || many.contains(&rows) { ys + Tensor::cat(&parts, 1) } else { ys }
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
        agree!(|p: &nn::Path| Numbered { layers: layers(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn ended_by_break() {
        agree!(|p: &nn::Path| Endless { layers: layers(p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn asked_for_bounds() {
        for limit in [0.5, -0.7, 1.5] {
            let make = |p: &nn::Path| Bounds { layers: layers(p), limit };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }
}
