//! Variants with data that the forward makes, and matches where it or a helper made them.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug)]
pub enum Out {
    Pair(Tensor, Tensor),
    One(Tensor),
    Scaled(Tensor, i64),
}

impl Out {
    fn sum(&self) -> Tensor {
        match self {
            Out::Pair(a, b) => a + b,
            Out::One(a) => a.relu(),
            Out::Scaled(a, by) => a * *by,
        }
    }
}

#[derive(Debug, Module)]
pub struct Net {
    fc: nn::Linear,
    deep: bool,
}

impl Net {
    fn run(&self, xs: &Tensor) -> Out {
        let ys = self.fc.forward(xs);
        if self.deep { Out::Pair(ys.tanh(), ys) } else { Out::One(ys) }
    }

    fn by_size(&self, xs: &Tensor) -> Out {
        match xs.size()[0] {
            0..=2 => Out::Pair(xs.tanh(), self.fc.forward(xs)),
            3 => Out::Scaled(xs.neg(), 3),
            _ => Out::One(xs.shallow_clone()),
        }
    }
}

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let out = Out::Scaled(self.fc.forward(xs), 5);
        let ys = match out {
            Out::Pair(a, b) => a - b,
            Out::Scaled(a, by) => a * by,
            Out::One(a) => a,
        };
        let zs = match &self.run(xs) {
            Out::Pair(a, b) => a * b,
            Out::One(a) => a.neg(),
            Out::Scaled(a, _) => a.exp(),
        };
        let ws = self.by_size(xs).sum() + self.run(&ys).sum();
        let vs = match self.by_size(xs) {
            Out::Pair(a, b) => a + b,
            Out::Scaled(a, by) => a * by + by,
            Out::One(mut a) => {
                let _ = a.relu_();
                a + 1
            }
        };
        (ys, zs, ws, vs)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    Plain,
    Times(i64),
    Both { by: f64, is: bool },
}

/// Variants with named parts and without any, made here and matched.
#[derive(Debug, Module)]
pub struct Matched {
    is_short: bool,
}

#[traceable(strict)]
impl Matched {
    pub fn forward(&self, xs: &Tensor, mut ys: Tensor) -> Tensor {
        let of_two = match 1 {
            2 => 1,
            _ => 2,
        } % 9;
        let unread = of_two as f64 * 0.25;
        let both = Mode::Both { by: 2.0, is: self.is_short };
        match both {
            Mode::Plain => {}
            Mode::Times(k) => {
                ys = xs + if matches!(both, Mode::Plain | Mode::Times(_)) { k } else { 1 } % 7;
            }
            Mode::Both { by, is } => {
                if by > 1.0 && is {
                    ys = xs.cos();
                }
            }
        }
        let mode = if self.is_short { Mode::Plain } else { Mode::Times(of_two) };
        let times = match Mode::Plain {
            Mode::Times(g) => g,
            _ => 5,
        };
        let ys = match mode {
            Mode::Times(k) => ys * k * times,
            _ => ys.neg(),
        };
        match (Mode::Both { by: 0.5, is: xs.size()[0] > 2 }) {
            Mode::Both { is: true, .. } => ys + 1,
            _ => ys,
        }
    }
}

/// A layer behind a pointer in a variant.
#[derive(Debug, Module)]
pub enum Step {
    Boxed(Box<nn::Linear>),
    Scaled(nn::Linear, f64),
    Same,
}

#[derive(Debug, Module)]
pub struct Steps {
    steps: Vec<Step>,
}

#[traceable(strict)]
impl Steps {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.steps.iter().fold(xs.shallow_clone(), |x, step| match step {
            Step::Boxed(layer) => x.apply(layer.as_ref()),
            Step::Scaled(layer, by) => x.apply(layer) * *by + &x,
            Step::Same => x,
        })
    }
}

/// A method that changes a copy of its receiver.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    mul: f64,
    add: f64,
}

impl Scale {
    fn on(self, xs: &Tensor) -> Tensor {
        xs * self.mul + self.add
    }

    fn shifted(mut self, by: f64) -> Self {
        self.add += by;
        self
    }
}

#[derive(Debug, Module)]
pub struct Shifted {
    fc: nn::Linear,
    scale: Scale,
}

#[traceable]
impl Shifted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let scale = Scale { add: 1.0, ..self.scale }.shifted(0.5);
        let ys = scale.on(&xs.apply(&self.fc));
        self.scale.shifted(2.0).on(&ys)
    }
}

/// Why a loop has ended: what its `break` yields, and a variable.
#[derive(Debug, PartialEq, Clone)]
pub enum Ended {
    Gate(i64),
    Steps,
}

#[derive(Debug, Module)]
pub struct Decoded {
    fc: nn::Linear,
    most: i64,
}

#[traceable]
impl Decoded {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, i64) {
        let (mut ys, mut step) = (xs.apply(&self.fc), 0);
        let ended = loop {
            if step >= self.most {
                break Ended::Steps;
            }
            ys = ys.apply(&self.fc).tanh();
            step += 1;
            if ys.abs().max().double_value(&[]) < 0.1 {
                break Ended::Gate(step);
            }
        };
        let mut why = Ended::Steps;
        for at in 0..xs.size()[0] {
            ys = ys * 1.5;
            if ys.abs().max().double_value(&[]) > 0.2 {
                why = Ended::Gate(at);
                break;
            }
        }
        let more = match why {
            Ended::Gate(at) => at + 1,
            Ended::Steps => 0,
        };
        match ended {
            Ended::Gate(step) => (ys, step * 100 + more),
            Ended::Steps => (ys, more - 100),
        }
    }
}

/// A tree whose methods call themselves, and name its variants by `Self`.
#[derive(Debug)]
pub enum Tree<T> {
    Leaf(T),
    Next { held: Box<Tree<T>> },
    Nothing,
}

impl Tree<i64> {
    const BY: i64 = 3;

    fn total(&self) -> i64 {
        match self {
            Self::Leaf(held) => *held * Self::BY,
            Self::Next { held } => 1 + held.total(),
            Self::Nothing => 1,
        }
    }
}

#[derive(Debug, Module)]
pub struct OfTree {
    fc: nn::Linear,
}

#[traceable]
impl OfTree {
    pub fn forward(&self, xs: &Tensor, k: i64) -> Tensor {
        let tree = Tree::Next { held: Box::new(Tree::Leaf(k)) };
        xs.apply(&self.fc) * tree.total() + Tree::<i64>::Nothing.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Shifted: 5 of 7);
    understood!(Decoded: 8 of 13);
    understood!(OfTree: 2 of 7);

    #[test]
    fn trees() {
        for k in [1, 4] {
            let make = |p: &nn::Path| OfTree { fc: nn::linear(p, 4, 4, Default::default()) };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, k));
        }
    }

    #[test]
    fn steps() {
        let linear = |p: &nn::Path, at: i64| nn::linear(p / at, 4, 4, Default::default());
        let make = |p: &nn::Path| Steps {
            steps: vec![Step::Boxed(Box::new(linear(p, 0))), Step::Same, Step::Scaled(linear(p, 1), 0.5)],
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn decoded() {
        for most in [0, 2, 50] {
            let make = |p: &nn::Path| Decoded { fc: nn::linear(p / "fc", 4, 4, Default::default()), most };
            agree!(make, [randn(&[1, 4]), randn(&[6, 4]) * 0.01], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn shifted() {
        let fc = |p: &nn::Path| nn::linear(p / "fc", 4, 4, Default::default());
        let scale = Scale { mul: 2.0, add: 0.25 };
        agree!(|p| Shifted { fc: fc(p), scale }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn made_variants() {
        for deep in [false, true] {
            let make = |p: &nn::Path| Net { fc: nn::linear(p / "fc", 4, 4, Default::default()), deep };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn matched() {
        for is_short in [true, false] {
            let inputs = [(randn(&[2, 4]), randn(&[2, 4]))];
            agree!(|_| Matched { is_short }, inputs, |net, (xs, ys)| net.forward(xs, ys.copy()));
        }
    }
}
