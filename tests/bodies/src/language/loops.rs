//! Loops over layers, numbers and steps.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
    norm: nn::LayerNorm,
}

impl Layer {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs + xs.apply(&self.norm).apply(&self.fc).gelu("none")
    }
}

pub fn layer(p: nn::Path) -> Layer {
    Layer {
        fc: nn::linear(&p / "fc", 4, 4, Default::default()),
        norm: nn::layer_norm(&p / "norm", vec![4], Default::default()),
    }
}

/// Every adaptor on a list of layers.
#[derive(Debug, Module)]
pub struct Adaptors {
    layers: Vec<Layer>,
    scales: Vec<f64>,
}

#[traceable]
impl Adaptors {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for layer in &self.layers {
            ys = layer.forward(&ys);
        }
        for (i, layer) in self.layers.iter().enumerate() {
            ys = layer.forward(&ys) + i as f64;
        }
        for layer in self.layers.iter().rev() {
            ys = layer.forward(&ys);
        }
        for (layer, scale) in self.layers.iter().zip(&self.scales) {
            ys = layer.forward(&ys) * *scale;
        }
        for layer in self.layers.iter().skip(1).take(1) {
            ys = layer.forward(&ys);
        }
        for i in 0..self.layers.len() {
            ys = self.layers[i].forward(&ys) * self.scales[i];
        }
        ys
    }
}

/// Hidden states are collected on the way.
#[derive(Debug, Module)]
pub struct Encoder {
    layers: Vec<Layer>,
    keep: bool,
}

#[traceable]
impl Encoder {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Option<Vec<Tensor>>) {
        let mut hidden: Option<Vec<Tensor>> = if self.keep { Some(vec![]) } else { None };
        let mut state = xs.shallow_clone();
        for layer in self.layers.iter() {
            if let Some(hidden) = hidden.as_mut() {
                hidden.push(state.shallow_clone());
            }
            state = layer.forward(&state);
        }
        (state, hidden)
    }
}

/// `fold` instead of `for`.
#[derive(Debug, Module)]
pub struct Folds {
    pairs: Vec<(nn::Linear, nn::Linear)>,
}

#[traceable]
impl Folds {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.pairs.iter().fold(xs.shallow_clone(), |xs, (a, b)| {
            let ys = xs.apply(a).relu().apply(b);
            xs + ys
        })
    }
}

/// A recurrence over time with two carried values.
#[derive(Debug, Module)]
pub struct Recurrent {
    ih: nn::Linear,
    hh: nn::Linear,
    size: i64,
}

#[traceable]
impl Recurrent {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let (batch, steps, _) = xs.size3().unwrap();
        let mut h = Tensor::zeros([batch, self.size], (Kind::Float, xs.device()));
        let mut c = h.shallow_clone();
        let mut outs = Vec::with_capacity(steps as usize);
        for t in 0..steps {
            let gates = self.ih.forward(&xs.select(1, t)) + self.hh.forward(&h);
            let gates = gates.chunk(4, 1);
            let (i, f, g, o) = (gates[0].sigmoid(), gates[1].sigmoid(), gates[2].tanh(), gates[3].sigmoid());
            c = f * c + i * g;
            h = o * c.tanh();
            outs.push(h.shallow_clone());
        }
        (Tensor::stack(&outs, 1), c)
    }
}

/// It stops when the data says so.
#[derive(Debug, Module)]
pub struct Halting {
    fc: nn::Linear,
    limit: i64,
}

#[traceable]
impl Halting {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        let mut steps = 0;
        while ys.abs().max().double_value(&[]) > 0.1 && steps < self.limit {
            ys = self.fc.forward(&ys).tanh() * 0.9;
            steps += 1;
        }
        ys + steps
    }
}

/// `loop`, `break` with a value, `continue`, labels.
#[derive(Debug, Module)]
pub struct Jumps {
    fc: nn::Linear,
}

#[traceable]
impl Jumps {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.fc.forward(xs).relu();
        let mut turns = 0;
        let found = 'outer: loop {
            turns += 1;
            for i in 0..3 {
                if i == 1 {
                    continue;
                }
                ys = &ys * 0.5;
                if f64::try_from(ys.sum(Kind::Float)).unwrap() < 1.0 {
                    break 'outer i;
                }
            }
            if turns > 5 {
                break -1;
            }
        };
        self.fc.forward(&ys) + found
    }
}

/// A break out of a `for`.
#[derive(Debug, Module)]
pub struct Breaks {
    layers: Vec<Layer>,
}

#[traceable]
impl Breaks {
    pub fn forward(&self, xs: &Tensor, depth: usize) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (i, layer) in self.layers.iter().enumerate() {
            if i >= depth {
                break;
            }
            ys = layer.forward(&ys);
        }
        ys
    }
}

/// A stack of skip connections.
#[derive(Debug, Module)]
pub struct UNet {
    down: Vec<nn::Linear>,
    up: Vec<nn::Linear>,
}

#[traceable]
impl UNet {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut skips: Vec<Tensor> = vec![];
        let mut ys = xs.shallow_clone();
        for down in &self.down {
            ys = down.forward(&ys).relu();
            skips.push(ys.shallow_clone());
        }
        for up in self.up.iter() {
            let skip = skips.pop().unwrap();
            ys = up.forward(&Tensor::cat(&[&ys, &skip], -1));
        }
        ys
    }
}

/// A fixed number of layers by name, looped over as a list literal.
#[derive(Debug, Module)]
pub struct Named {
    a: Layer,
    b: Layer,
}

#[traceable(unroll)]
impl Named {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (i, layer) in [&self.a, &self.b].into_iter().enumerate() {
            ys = layer.forward(&ys);
            if i == 0 {
                ys = ys.relu();
            }
        }
        for dim in [0i64, 1] {
            ys = ys.softmax(dim, Kind::Float);
        }
        ys
    }
}

/// Ranges of every form.
#[derive(Debug, Module)]
pub struct Ranges {
    n: i64,
}

#[traceable]
impl Ranges {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for i in 0..=self.n {
            ys = ys + i;
        }
        for i in (0..xs.dim()).rev() {
            ys = ys.cumsum(i as i64, Kind::Float);
        }
        for _ in (0..xs.size()[0]).step_by(2) {
            ys = ys * 0.5;
        }
        let mut total = 0.0;
        for i in 0..4 {
            total += (i * i) as f64;
        }
        ys * total
    }
}

/// Loops that end in a value.
#[derive(Debug, Module)]
pub struct Settles {
    fc: nn::Linear,
    limit: i64,
}

#[traceable]
impl Settles {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, i64) {
        let mut ys = xs.shallow_clone();
        let mut turns = 0;
        let settled = loop {
            let next = self.fc.forward(&ys).tanh();
            turns += 1;
            if turns >= self.limit {
                break next;
            }
            if (&next - &ys).abs().max().double_value(&[]) < 0.5 {
                break next * 2.0;
            }
            ys = next;
        };
        let mut size = xs.size()[0];
        let halvings: i64 = loop {
            match size {
                0 | 1 => break size + 10,
                _ => size /= 2,
            }
        };
        let (shifted, at) = 'all: loop {
            for t in 0..xs.size()[0] {
                if t == 1 {
                    break 'all (settled.get(t) + &settled, t);
                }
            }
            break (settled.relu(), -1);
        };
        (shifted * halvings, at + turns)
    }
}

/// A loop that begins with a value and reads it in every turn.
#[derive(Debug, Module)]
pub struct Skips {
    layers: Vec<nn::Linear>,
    skips: Vec<usize>,
}

#[traceable]
impl Skips {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let first = Tensor::cat(&[xs, &xs.relu()], -1);
        let mut ys = first.shallow_clone();
        for (i, layer) in self.layers.iter().enumerate() {
            ys = layer.forward(&ys).tanh();
            if self.skips.contains(&i) {
                ys = Tensor::cat(&[&first, &ys], -1);
            }
        }
        ys
    }
}

/// A `while` that counts on numbers alone and writes to a tensor, and loops that are left for good.
#[derive(Debug, Module)]
pub struct LeftForGood {
    is_short: bool,
}

#[traceable]
impl LeftForGood {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut turn = 0;
        while turn < 3 {
            turn += 1;
            let _ = xs.select(1, 1).g_mul_scalar_(0.5);
        }
        for _ in 0..3 {
            if self.is_short {
                return xs.shallow_clone();
            }
        }
        loop {
            break {
                return xs * turn;
            };
        }
    }
}

/// The same in a method that is inlined: nothing stands behind its loop.
#[derive(Debug, Module)]
pub struct LeftInPart {
    fc: nn::Linear,
    is_short: bool,
}

impl LeftInPart {
    fn part(&self, xs: &Tensor, turn: i64) -> Tensor {
        loop {
            if self.is_short {
                return xs.neg();
            }
            break {
                return xs * turn;
            };
        }
    }
}

#[traceable]
impl LeftInPart {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.part(&xs.apply(&self.fc), 3).tanh()
    }
}

/// Loops that do nothing, where the model keeps a count.
#[derive(Debug, Module)]
pub struct Idle {
    calls: i64,
}

#[traceable]
impl Idle {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        loop {
            break;
        }
        self.calls += 1;
        xs * self.calls
    }
}

/// Numbers that loops carry which write to tensors, and one that is hidden in the loop by a struct of its name.
#[derive(Debug, Module)]
pub struct Counting {
    times: i64,
}

pub struct Step {
    h: Tensor,
    n: i64,
}

#[traceable]
impl Counting {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, i64) {
        let mut count = 0;
        for e in 0..self.times {
            for _ in 0..2 {
                let mut e = Step { h: xs.shallow_clone(), n: 1 };
                let _ = e.h.g_add_scalar_(1.0);
                e.h = xs.neg();
                e.n += 1;
            }
            count += e;
            let _ = xs.select(0, 0).g_mul_scalar_(0.5);
        }
        (xs * 2, count)
    }
}

/// Layers of a list by numbers that only the call knows.
#[derive(Debug, Module)]
pub struct Worklist {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Worklist {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut work = vec![xs.shallow_clone()];
        let (mut sum, mut at) = (xs.zeros_like(), 0);
        while let Some(x) = work.pop() {
            if at < self.layers.len() {
                work.push(x.apply(&self.layers[at]).sigmoid());
                at += 1;
            }
            sum += x;
        }
        sum
    }
}

/// Layers that a variable counts, which the last line of a loop's body adds one to without a semicolon.
#[derive(Debug, Module)]
pub struct CountedLast {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl CountedLast {
    #[rustfmt::skip]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut outs = vec![xs.shallow_clone(), xs.sin(), xs.cos()];
        let mut at = 0;
        for i in (1..3usize).rev() {
            outs[i - 1] = outs[i].apply(&self.layers[at]) + &outs[i - 1];
            at = at + 1
        }
        for i in 0..2usize {
            outs[i + 1] = outs[i].apply(&self.layers[at]);
            at += 1
        }
        Tensor::cat(&outs, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(LeftInPart: 2 of 6);

    fn linear(p: nn::Path, from: i64, to: i64) -> nn::Linear {
        nn::linear(p, from, to, Default::default())
    }

    #[test]
    fn worklist() {
        let make = |p: &nn::Path| Worklist { layers: (0..3).map(|at| linear(p / at, 4, 4)).collect() };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn skips() {
        let make = |p: &nn::Path| Skips {
            layers: vec![linear(p / 0, 8, 4), linear(p / 1, 12, 4), linear(p / 2, 4, 3)],
            skips: vec![0],
        };
        agree!(make, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn adaptors() {
        let make = |p: &nn::Path| Adaptors { layers: vec![layer(p / 0), layer(p / 1)], scales: vec![0.5, 2.0] };
        agree!(make, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn encoder() {
        for keep in [true, false] {
            let make = |p: &nn::Path| Encoder { layers: vec![layer(p / 0), layer(p / 1)], keep };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn folds() {
        let make = |p: &nn::Path| Folds {
            pairs: vec![(linear(p / 0, 4, 8), linear(p / 1, 8, 4)), (linear(p / 2, 4, 2), linear(p / 3, 2, 4))],
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn recurrent() {
        let make = |p: &nn::Path| Recurrent { ih: linear(p / 0, 3, 8), hh: linear(p / 1, 2, 8), size: 2 };
        agree!(make, [randn(&[2, 5, 3]), randn(&[1, 1, 3])], |net, xs| net.forward(xs));
    }

    #[test]
    fn halting() {
        let make = |p: &nn::Path| Halting { fc: linear(p / 0, 3, 3), limit: 10 };
        agree!(make, [randn(&[2, 3]), randn(&[2, 3]) * 0.01], |net, xs| net.forward(xs));
    }

    #[test]
    fn jumps() {
        agree!(|p| Jumps { fc: linear(p / 0, 3, 3) }, [randn(&[2, 3]), randn(&[20, 3]) * 10], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn breaks() {
        let make = |p: &nn::Path| Breaks { layers: vec![layer(p / 0), layer(p / 1)] };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, 1));
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, 9));
    }

    #[test]
    fn unet() {
        let make = |p: &nn::Path| UNet {
            down: vec![linear(p / 0, 4, 4), linear(p / 1, 4, 4)],
            up: vec![linear(p / 2, 8, 4), linear(p / 3, 8, 4)],
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn named() {
        agree!(|p| Named { a: layer(p / "a"), b: layer(p / "b") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn ranges() {
        agree!(|_| Ranges { n: 3 }, [randn(&[2, 4]), randn(&[5, 2])], |net, xs| net.forward(xs));
    }

    #[test]
    fn settles() {
        let cases = [randn(&[2, 3]), randn(&[1, 3]) * 0.01, randn(&[7, 3]) * 10];
        for limit in [1, 4, 40] {
            agree!(|p| Settles { fc: linear(p / 0, 3, 3), limit }, cases, |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn left_for_good() {
        for is_short in [true, false] {
            agree!(|_| LeftForGood { is_short }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn left_in_part() {
        for is_short in [true, false] {
            let make = |p: &nn::Path| LeftInPart { fc: nn::linear(p / "fc", 4, 4, Default::default()), is_short };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn idle() {
        crate::check::in_a_row!(|_| Idle { calls: 0 }, vec![randn(&[2, 4])]);
    }

    #[test]
    fn counting() {
        for times in [0, 1, 3] {
            agree!(|_| Counting { times }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn counted_at_the_end() {
        let make = |p: &nn::Path| CountedLast {
            layers: (0..4).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
