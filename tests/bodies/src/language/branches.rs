//! Patterns with guards and named fields, `while let`, jumps with labels, `return` in the middle.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    Plain,
    Scaled { by: f64, shift: f64 },
    Pair(f64, i64),
    Named(i64),
}

impl Mode {
    fn apply(&self, xs: &Tensor) -> Tensor {
        match self {
            Mode::Scaled { by, .. } => xs * *by,
            Mode::Pair(a, _) if *a > 0.5 => xs * *a,
            Mode::Pair(_, n) => xs + *n,
            _ => xs.relu(),
        }
    }

    fn is_plain(self) -> bool {
        matches!(self, Mode::Plain)
    }
}

/// Variants with named fields, ranges, names for whole patterns, several guards.
#[derive(Debug, Module)]
pub struct Patterns {
    fc: nn::Linear,
    mode: Mode,
}

#[traceable]
impl Patterns {
    pub fn forward(&self, xs: &Tensor, extra: Option<&Tensor>) -> Tensor {
        use Mode::*;
        let ys = self.mode.apply(&self.fc.forward(xs));
        let ys = match self.mode {
            Scaled { by, shift } if shift > 1.0 => ys * by - shift,
            Scaled { by, shift } => ys * by + shift,
            Pair(_, n) | Named(n) => ys * n,
            Plain => ys.tanh(),
        };
        let ys = match ys.size()[0] {
            1..=2 => ys.relu(),
            n @ 3..=4 if self.mode.is_plain() => ys * n,
            n @ (3 | 4) => ys + n,
            n if n > 6 => ys.neg(),
            n if n > 5 => ys - n,
            _ => ys.abs(),
        };
        match (extra, ys.dim()) {
            (Some(extra), 2) if extra.size()[0] == 1 => ys + extra,
            (Some(extra), ..) => ys * extra,
            (None, n) => ys * n as f64,
        }
    }
}

/// `while let`, and a stack.
#[derive(Debug, Module)]
pub struct Stack {
    fc: nn::Linear,
}

#[traceable]
impl Stack {
    pub fn forward(&self, xs: &Tensor, parts: &[Tensor]) -> Tensor {
        let mut stack = vec![self.fc.forward(xs).relu(), xs.neg()];
        let mut ys = xs.shallow_clone();
        while let Some(top) = stack.pop() {
            if top.size()[0] > 4 {
                break;
            }
            ys = ys + top;
        }
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            at += 1;
            if part.size()[0] != ys.size()[0] {
                continue;
            }
            ys = ys * part;
        }
        ys
    }
}

/// Jumps with labels.
#[derive(Debug, Module)]
pub struct Labels {
    layers: Vec<nn::Linear>,
    gates: Vec<Option<nn::Linear>>,
}

#[traceable]
impl Labels {
    pub fn forward(&self, xs: &Tensor, limit: i64) -> Tensor {
        let mut ys = xs.shallow_clone();
        'outer: for layer in &self.layers {
            ys = layer.forward(&ys).relu();
            for i in 0..4 {
                if i == limit {
                    continue 'outer;
                }
                for j in 0..2 {
                    if i + j > limit + 2 {
                        break 'outer;
                    }
                    ys = ys + j;
                }
            }
            ys = ys * 0.5;
        }
        for gate in &self.gates {
            let gate = match gate {
                Some(gate) => gate,
                None => continue,
            };
            ys = ys * gate.forward(xs).sigmoid();
        }
        'only: loop {
            ys = ys * 0.5;
            if ys.abs().max().double_value(&[]) < 1.0 {
                break 'only;
            }
        }
        ys
    }
}

/// `return` in loops and in the middle of branches, of the entry and of what it calls.
#[derive(Debug, Module)]
pub struct Returns {
    layers: Vec<nn::Linear>,
}

fn until_small(xs: &Tensor, layers: &[nn::Linear]) -> Tensor {
    let mut ys = xs.shallow_clone();
    for layer in layers {
        let next = layer.forward(&ys).tanh();
        if next.abs().mean(Kind::Float).double_value(&[]) < 0.3 {
            return next;
        }
        ys = next;
    }
    ys
}

fn by_rank(xs: &Tensor) -> Tensor {
    let wide = match xs.dim() {
        1 => xs.unsqueeze(0),
        2 => xs.shallow_clone(),
        _ => return xs.neg(),
    };
    wide.relu()
}

#[traceable]
impl Returns {
    pub fn forward(&self, xs: &Tensor, depth: usize) -> (Tensor, i64) {
        for (i, layer) in self.layers.iter().enumerate() {
            if i == depth {
                return (layer.forward(xs), i as i64);
            }
        }
        let ys = until_small(xs, &self.layers);
        if ys.dim() == 1 {
            return (ys, -1);
        } else if xs.size()[0] > 3 {
            return (by_rank(&ys), -2);
        }
        let zs = match depth {
            9 => return (xs.neg(), -3),
            _ => by_rank(&ys.unsqueeze(0)),
        };
        (zs, -4)
    }
}

const STEPS: i64 = 2;

/// Values that are known when the code is written, matched against patterns.
#[derive(Debug, Module)]
pub struct Known {
    maybe: Option<i64>,
    fc: nn::Linear,
}

#[traceable]
impl Known {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = match STEPS {
            1 => xs.relu(),
            2 => self.fc.forward(xs),
            _ => xs.cos(),
        };
        let mut n = match STEPS * 2 % 3 {
            0 => 3,
            k if k > 0 => k * 2,
            _ => 7,
        };
        match 3 {
            0 => ys = ys.sin(),
            m if m > 1 => ys = ys * m,
            _ => {}
        }
        match (self.maybe, true) {
            (Some(h), true) => n += h,
            (Some(_), false) => {}
            (None, _) => n -= 1,
        }
        let k = match 2 {
            2 => -1,
            k => k,
        };
        let c = match n > 2 {
            true => 1,
            false => k,
        };
        ys * n + k + c
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
    fn patterns() {
        let modes = [
            Mode::Plain,
            Mode::Scaled { by: 0.5, shift: 0.25 },
            Mode::Scaled { by: 0.5, shift: 1.25 },
            Mode::Pair(0.75, 3),
            Mode::Pair(0.25, 3),
            Mode::Named(2),
        ];
        for mode in modes {
            let cases: Vec<(Tensor, Option<Tensor>)> = (1..=7)
                .flat_map(|n| [(randn(&[n, 4]), None), (randn(&[n, 4]), Some(randn(&[1, 4])))])
                .chain([(randn(&[3, 4]), Some(randn(&[3, 4])))])
                .collect();
            agree!(|p| Patterns { fc: linear(p / "fc"), mode }, cases, |net, (xs, extra)| net
                .forward(xs, extra.as_ref()));
        }
    }

    #[test]
    fn stacks() {
        let cases = [2, 5].map(|n| (randn(&[n, 4]), vec![randn(&[2, 4]), randn(&[1, 4]), randn(&[5, 4])]));
        let cases = cases.map(|(xs, parts)| {
            let parts: Vec<Tensor> =
                parts.into_iter().filter(|part| [1, xs.size()[0]].contains(&part.size()[0])).collect();
            (xs, parts)
        });
        agree!(|p| Stack { fc: linear(p / "fc") }, cases, |net, (xs, parts)| net.forward(xs, parts));
    }

    #[test]
    fn labels() {
        let make = |p: &nn::Path| Labels {
            layers: (0..3).map(|i| linear(p / "layers" / i)).collect(),
            gates: vec![Some(linear(p / "gate")), None, Some(linear(p / "last"))],
        };
        let xs = randn(&[2, 4]);
        for limit in [-3, -1, 0, 1, 2, 7] {
            agree!(make, [xs.shallow_clone()], |net, xs| net.forward(xs, limit));
        }
    }

    #[test]
    fn returns() {
        let make = |p: &nn::Path| Returns { layers: (0..3).map(|i| linear(p / "layers" / i)).collect() };
        for depth in [0, 2, 5, 9] {
            agree!(make, [randn(&[2, 4]), randn(&[5, 4]), randn(&[4])], |net, xs| net.forward(xs, depth));
        }
    }

    #[test]
    fn known_values() {
        for maybe in [None, Some(1), Some(5)] {
            let make = |p: &nn::Path| Known { maybe, fc: nn::linear(p / 0, 4, 4, Default::default()) };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }
}
