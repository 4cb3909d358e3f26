//! Guards of `match` arms, beside arms that have the names of the guarded one for other values.

use fx_runtime::{Module, Tensor, nn, traceable};

/// How points are grouped.
#[derive(Clone, Copy, Debug)]
pub enum Grouping {
    Ball { count: i64, radius: f64 },
    Nearest { count: i64 },
    All,
}

#[derive(Debug, Module)]
pub struct Group {
    fc: nn::Linear,
    #[module(skip)]
    grouping: Grouping,
}

impl Group {
    fn group(&self, xs: &Tensor) -> Tensor {
        let (count, radius) = match self.grouping {
            Grouping::All => return xs.relu(),
            Grouping::Ball { count, radius } if radius > 0.0 => (count, Some(radius)),
            Grouping::Ball { count, .. } | Grouping::Nearest { count } => (count, None),
        };
        let ys = xs.apply(&self.fc);
        if let Some(radius) = radius { ys * radius + count } else { ys * count }
    }
}

/// A method that is called, with an arm that returns.
#[derive(Debug, Module)]
pub struct Grouped {
    group: Group,
}

#[traceable]
impl Grouped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.group.group(xs)
    }
}

/// A name with a guard, and one with a pattern.
#[derive(Debug, Module)]
pub struct Named {
    fc: nn::Linear,
}

#[traceable]
impl Named {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match xs.size()[0] {
            n if n % 2 == 0 => xs.apply(&self.fc) * n,
            1 | 3 => xs.relu(),
            n @ 5..=9 => xs.tanh() * n,
            _ => xs.sin(),
        }
    }
}

/// A name for what a pattern takes, in a `let` and in a condition.
#[derive(Debug, Module)]
pub struct Tested {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Tested {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let n = 7;
        let rows @ 1.. = xs.size()[0] else { panic!("no rows") };
        let ys = if let n @ (2 | 3) = rows { xs.apply(&self.fc) * n } else { xs.tanh() * n };
        ys + rows * n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn in_methods() {
        let all = [
            Grouping::All,
            Grouping::Ball { count: 3, radius: 0.5 },
            Grouping::Ball { count: 3, radius: 0.0 },
            Grouping::Nearest { count: 2 },
        ];
        for grouping in all {
            let make = |p: &nn::Path| Grouped { group: Group { fc: linear(p), grouping } };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn tested() {
        let cases = [1, 2, 5].map(|rows| randn(&[rows, 4]));
        agree!(|p: &nn::Path| Tested { fc: linear(p) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn of_names() {
        let cases = [1, 2, 3, 5, 11].map(|rows| randn(&[rows, 4]));
        agree!(|p: &nn::Path| Named { fc: linear(p) }, cases, |net, xs| net.forward(xs));
    }
}
