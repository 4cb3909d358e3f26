//! Loops that take one step after another: greedy decoding, windows to mask, messages with a gated update, stacks of lists
//! that are walked together.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Ends at a length or by what is computed.
#[derive(Debug, Module)]
pub struct Greedy {
    fc: nn::Linear,
    #[module(skip)]
    max_len: usize,
}

#[traceable(strict)]
impl Greedy {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut last = xs.apply(&self.fc);
        let mut out = vec![last.shallow_clone()];
        while out.len() < self.max_len {
            last = last.apply(&self.fc);
            if last.sum(None).double_value(&[]) > 0.0 {
                break;
            }
            out.push(last.shallow_clone());
        }
        Tensor::cat(&out, 1)
    }
}

/// Windows from and to, of which the last has no end.
#[derive(Debug, Module)]
pub struct Windows {
    #[module(skip)]
    size: i64,
    #[module(skip)]
    shift: i64,
}

#[traceable(strict)]
impl Windows {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mask = xs.zeros_like();
        let windows = [(0, -self.size), (-self.size, -self.shift), (-self.shift, i64::MAX)];
        let mut count = 0;
        for (from, to) in windows {
            let to = if to == i64::MAX { None } else { Some(to) };
            let _ = mask.slice(1, from, to, 1).fill_(count as f64);
            count += 1;
        }
        xs.masked_fill(&mask.eq(1), -1.0)
    }
}

/// The state by a pattern, the step by the path of its trait.
#[derive(Debug, Module)]
pub struct Messages {
    layers: Vec<nn::Linear>,
    gru: nn::GRU,
}

#[traceable(strict)]
impl Messages {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut hs = xs.shallow_clone();
        for layer in self.layers.iter() {
            let state = nn::GRUState(hs.unsqueeze(0).contiguous());
            let nn::GRUState(next) = nn::RNN::step(&self.gru, &hs.apply(layer).relu(), &state);
            hs = next.squeeze_dim(0);
        }
        hs
    }
}

/// Pairs beside pairs.
#[derive(Debug, Module)]
pub struct Dilated {
    filters: Vec<nn::Linear>,
    gates: Vec<nn::Linear>,
    residuals: Vec<nn::Linear>,
    skips: Vec<nn::Linear>,
    #[module(skip)]
    scales: Vec<f64>,
}

#[traceable(strict)]
impl Dilated {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        let mut sum: Option<Tensor> = None;
        let stack = self.filters.iter().zip(&self.gates).zip(self.residuals.iter().zip(&self.skips));
        for (((filter, gate), (residual, skip)), scale) in stack.zip(&self.scales) {
            let ys = xs.apply(filter).tanh() * xs.apply(gate).sigmoid() * *scale;
            let skipped = ys.apply(skip);
            sum = Some(match sum {
                Some(sum) => sum + skipped,
                None => skipped,
            });
            xs = ys.apply(residual) + xs;
        }
        sum.unwrap().relu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linears(p: &nn::Path, name: &str, count: i64) -> Vec<nn::Linear> {
        (0..count).map(|at| nn::linear(p / name / at, 4, 4, Default::default())).collect()
    }

    #[test]
    fn greedy() {
        for max_len in [0, 1, 5] {
            let make = |p: &nn::Path| Greedy { fc: nn::linear(p, 4, 4, Default::default()), max_len };
            agree!(make, [randn(&[1, 4]), randn(&[3, 4]), -randn(&[2, 4]).abs()], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn windows() {
        agree!(|_| Windows { size: 3, shift: 1 }, [randn(&[2, 8])], |net, xs| net.forward(xs));
    }

    #[test]
    fn messages() {
        let make = |p: &nn::Path| Messages {
            layers: linears(p, "layers", 3),
            gru: nn::gru(p / "gru", 4, 4, Default::default()),
        };
        agree!(make, [randn(&[5, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn lists_of_any_length_beside_each_other() {
        for [gates, skips, scales] in [[3, 3, 3], [2, 3, 3], [3, 1, 3], [3, 3, 2]] {
            let make = |p: &nn::Path| Dilated {
                filters: linears(p, "filters", 3),
                gates: linears(p, "gates", gates),
                residuals: linears(p, "residuals", 3),
                skips: linears(p, "skips", skips),
                scales: (1..=scales).map(|at| at as f64 / 2.0).collect(),
            };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }
}
