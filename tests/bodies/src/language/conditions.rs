//! Conditions with `let` among them, and `let ... else` in the middle.

use fx_runtime::{Module, Tensor, nn, traceable};

/// `if let .. && ..` in every position: a guard that returns, with an `else`, in a row, in `while`.
#[derive(Debug, Module)]
pub struct Chained {
    fc: nn::Linear,
    extra: Option<nn::Linear>,
    limit: i64,
}

#[traceable]
impl Chained {
    pub fn forward(&self, xs: &Tensor, least: Option<i64>, most: Option<i64>) -> Tensor {
        let most_of_all = 7;
        let least_of_all = 1;
        let mut ys = self.fc.forward(xs);
        if let Some(least) = least
            && least > most_of_all
        {
            return ys.relu();
        }
        if ys.dim() == 2
            && let Some(extra) = &self.extra
        {
            ys = ys + extra.forward(xs);
        }
        // What is bound by the first conditions is not what the other side sees.
        let seen = most_of_all;
        ys = if let Some(most_of_all) = most
            && most_of_all > least_of_all
            && let Some(least_of_all) = least
            && least_of_all < most_of_all
        {
            ys * most_of_all + least_of_all
        } else if let Some(seen) = most
            && seen < 0
        {
            ys.tanh() * seen
        } else {
            ys * most_of_all + seen + least_of_all
        };
        let mut left = most;
        let mut turns = 0;
        while let Some(now) = left
            && turns < self.limit
        {
            ys = ys * 0.5 + now;
            turns += 1;
            left = if now > 2 { Some(now - 1) } else { None };
        }
        ys
    }
}

/// `let ... else` in a loop, where what stands behind it is not the function's end.
#[derive(Debug, Module)]
pub struct Halves {
    fc: nn::Linear,
}

#[traceable]
impl Halves {
    pub fn forward(&self, xs: &Tensor, rounds: i64) -> Tensor {
        let mut ys = self.fc.forward(xs);
        for round in 0..rounds {
            let parts = ys.chunk(2, 1);
            let [a, b] = &parts[..] else { unreachable!("two halves") };
            ys = Tensor::cat(&[a + b, a * b], 1) + round;
        }
        ys
    }
}

/// Code that other code is put behind sees its own variables, whatever the branch before it binds.
#[derive(Debug, Module)]
pub struct Hidden {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Hidden {
    pub fn forward(&self, xs: &Tensor, most: Option<i64>) -> Tensor {
        let k = 20;
        let mut ys = match most {
            Some(k) if k > 3 => xs * k,
            _ => xs + k,
        };
        for layer in &self.layers {
            let k = 0.5;
            if ys.dim() == 2 {
                let k = 5.0;
                if ys.size()[0] > 2 {
                    continue;
                }
                ys = ys + k;
            }
            ys = layer.forward(&ys) * k;
        }
        ys
    }
}

/// An iterator that a variable holds.
#[derive(Debug, Module)]
pub struct Held {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Held {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let factor = 0.5;
        let all = self.layers.iter().map(|layer| layer.forward(xs) * factor);
        let factor = 2.0;
        let all: Vec<Tensor> = all.collect();
        Tensor::stack(&all, 0) * factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Chained: 14 of 46);
    understood!(Hidden: 0 of 5);
    understood!(Held: 0 of 5);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn chained() {
        for full in [true, false] {
            let make = |p: &nn::Path| Chained { fc: linear(p / 0), extra: full.then(|| linear(p / 1)), limit: 2 };
            let bounds = [(None, None), (Some(9), None), (Some(2), Some(5)), (Some(5), Some(2)), (None, Some(-3))];
            for (least, most) in bounds {
                agree!(make, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs, least, most));
            }
        }
    }

    #[test]
    fn hidden() {
        for most in [None, Some(2), Some(9)] {
            let make = |p: &nn::Path| Hidden { layers: vec![linear(p / 0), linear(p / 1)] };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs, most));
        }
    }

    #[test]
    fn held() {
        agree!(|p| Held { layers: vec![linear(p / 0), linear(p / 1)] }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn halves() {
        agree!(|p| Halves { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs, 3));
    }
}
