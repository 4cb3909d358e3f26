//! Layers at a position that a variable counts beside the loop.

use fx_runtime::{Module, Tensor, nn, traceable};

fn conv_module(p: &nn::Path, c: i64) -> nn::SequentialT {
    nn::seq_t().add(nn::linear(p, c, c, Default::default())).add_fn(|xs| xs.relu())
}

#[derive(Debug, Module)]
pub struct ByCounter {
    convs: Vec<nn::SequentialT>,
    levels: i64,
}
#[traceable]
impl ByCounter {
    fn new(p: &nn::Path, n: i64) -> Self {
        let mut convs = Vec::new();
        for _ in 0..n {
            convs.push(conv_module(p, 8));
        }
        Self { convs, levels: n }
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        let mut idx = 0;
        for _ in 1..self.levels {
            xs = xs.apply_t(&self.convs[idx], false);
            idx += 1;
        }
        xs
    }
}

#[derive(Debug, Module)]
pub struct FromAbove {
    pub convs: Vec<nn::SequentialT>,
    pub levels: i64,
}
#[traceable]
impl FromAbove {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        let mut idx = 0;
        for _ in (1..self.levels).rev() {
            xs = xs.apply_t(&self.convs[idx], false);
            idx = idx + 1;
        }
        xs
    }
}

#[derive(Debug, Module)]
pub struct BothSides {
    down: Vec<nn::Linear>,
    up: Vec<nn::Linear>,
}

#[traceable]
impl BothSides {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        let mut at = 0;
        for layer in self.down.iter() {
            ys = ys.apply(layer) + at as f64;
            at += 1;
            ys = ys.apply(&self.up[at]) * at as f64;
        }
        ys + at as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    fn inputs() -> [Tensor; 2] {
        [randn(&[2, 8]), randn(&[3, 8])]
    }

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 8, 8, Default::default())
    }

    understood!(FromAbove: 0 of 1);

    #[test]
    fn by_counter() {
        for count in [1, 3] {
            agree!(|p| ByCounter::new(p, count), inputs(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn from_above() {
        let chain = |p: nn::Path| nn::seq_t().add(linear(p)).add_fn(|xs| xs.relu());
        let make = |p: &nn::Path| FromAbove { convs: (0..3).map(|at| chain(p / at)).collect(), levels: 3 };
        agree!(make, inputs(), |net, xs| net.forward(xs));
    }

    #[test]
    fn both_sides() {
        for count in [0, 2] {
            let list = |p: nn::Path, count: i64| (0..count).map(|at| linear(&p / at)).collect();
            let make = |p: &nn::Path| BothSides { down: list(p / "down", count), up: list(p / "up", count + 1) };
            agree!(make, inputs(), |net, xs| net.forward(xs));
        }
    }
}
