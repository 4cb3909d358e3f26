//! Closures and lists that are handed to functions, states and lists of tuples that branches and loops pass on.

use fx_runtime::{Module, Tensor, nn, traceable};
use nn::RNN;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Style {
    Pre,
    Post,
}

/// A closure sees the variables of where it was written; a list is filled by what it is handed to.
#[derive(Debug, Module)]
pub struct Residual {
    fc: nn::Linear,
    norm: nn::LayerNorm,
    gate: Option<nn::Linear>,
    style: Style,
}

impl Residual {
    fn around<F>(&self, xs: &Tensor, f: F) -> Tensor
    where
        F: Fn(&Tensor) -> Tensor,
    {
        if self.style == Style::Pre { xs + f(&self.norm.forward(xs)) } else { self.norm.forward(&(xs + f(xs))) }
    }

    fn run(&self, xs: &Tensor, kept: &mut Vec<Tensor>) -> Tensor {
        let ys = self.around(xs, |ys| self.fc.forward(ys).relu());
        kept.push(ys.shallow_clone());
        match &self.gate {
            Some(gate) => self.around(&ys, |zs| self.around(zs, |t| gate.forward(t)) * 0.5),
            None => ys,
        }
    }
}

#[derive(Debug, Module)]
pub struct Chain {
    blocks: Vec<Residual>,
}

#[traceable]
impl Chain {
    pub fn forward(&self, xs: &Tensor, wide: bool) -> (Tensor, Option<Tensor>, Vec<i64>) {
        let mut kept = vec![xs.neg()];
        let mut ys = xs.shallow_clone();
        for block in self.blocks.iter() {
            ys = block.run(&ys, &mut kept);
        }
        let late = kept.split_off(1);
        for one in &late {
            ys = ys + one;
        }
        let extra = wide.then(|| &ys + &kept[0]);
        let sizes = ys.size();
        (ys, extra, sizes)
    }
}

/// A recurrent state in a loop that may stop.
#[derive(Debug, Module)]
pub struct Stops {
    cell: nn::GRU,
    memory: nn::LSTM,
    head: nn::Linear,
}

#[traceable]
impl Stops {
    pub fn forward(&self, xs: &Tensor, limit: f64) -> Vec<(Tensor, Tensor)> {
        let (batch, steps, _) = xs.size3().unwrap();
        let mut state = self.cell.zero_state(batch);
        let mut memory = self.memory.zero_state(batch);
        let mut outputs = Vec::new();
        for at in 0..steps {
            let x = xs.select(1, at);
            let next = self.cell.step(&x, &state);
            if next.value().abs().max().double_value(&[]) > limit {
                break;
            }
            state = next;
            if at % 2 == 0 {
                memory = self.memory.step(&x, &memory);
            }
            outputs.push((self.head.forward(&state.value()), memory.h()));
        }
        outputs
    }
}

#[derive(Debug, Module)]
pub struct Picks {
    inner: Stops,
}

#[traceable]
impl Picks {
    pub fn forward(&self, xs: &Tensor) -> Vec<Tensor> {
        let pairs = self.inner.forward(xs, 10.0);
        pairs.into_iter().map(|(a, b)| a.max_dim(-1, false).0 + b.sum(fx_runtime::Kind::Float)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn closures_and_lists() {
        for style in [Style::Pre, Style::Post] {
            let block = |p: &nn::Path, gated: bool| Residual {
                fc: linear(p / "fc"),
                norm: nn::layer_norm(p / "norm", vec![4], Default::default()),
                gate: gated.then(|| linear(p / "gate")),
                style,
            };
            for wide in [true, false] {
                agree!(
                    |p| Chain { blocks: vec![block(&(p / "0"), true), block(&(p / "1"), false)] },
                    [randn(&[2, 4])],
                    |net, xs| net.forward(xs, wide)
                );
            }
        }
    }

    fn stops(p: &nn::Path) -> Stops {
        Stops {
            cell: nn::gru(&(p / "gru"), 4, 4, Default::default()),
            memory: nn::lstm(&(p / "lstm"), 4, 4, Default::default()),
            head: linear(p / "head"),
        }
    }

    #[test]
    fn states() {
        for limit in [0.3, 0.6, 9.0] {
            agree!(stops, [randn(&[2, 5, 4])], |net, xs| net.forward(xs, limit));
        }
        agree!(|p| Picks { inner: stops(p) }, [randn(&[2, 5, 4])], |net, xs| net.forward(xs));
    }
}
