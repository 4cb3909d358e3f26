//! Parts of lists: patterns that name them, `split_at`, lists made of several, and lists of different lengths side by side.

use fx_runtime::{Module, Tensor, nn, traceable};

/// All layers but the last with an activation behind them.
fn perceptron(layers: &[nn::Linear], xs: &Tensor) -> Tensor {
    match layers {
        [] => xs.shallow_clone(),
        [only] => xs.apply(only),
        [body @ .., last] => {
            let ys = body.iter().fold(xs.shallow_clone(), |ys, layer| ys.apply(layer).relu());
            ys.apply(last)
        }
    }
}

/// Patterns that name a part.
#[derive(Debug, Module)]
pub struct NamedParts {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl NamedParts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let sizes = xs.size();
        let ys = match &sizes[..] {
            [rows, rest @ ..] if *rows > 100 => xs.relu(),
            [rows, rest @ ..] => xs.view([*rows, rest.iter().product()]),
            [] => xs.tanh(),
        };
        let ys = perceptron(&self.layers, &ys);
        let [first, middle @ .., last] = sizes.as_slice() else { return ys };
        let count = middle.len() as i64;
        if let [head, tail @ ..] = &self.layers[..] { &ys * (first + last + count) + ys.apply(head) } else { ys }
    }
}

/// Sizes put together, elements of two lists side by side, and neighbours in a list.
#[derive(Debug, Module)]
pub struct Joined {
    fc: nn::Linear,
}

fn summed(left: &[Tensor], right: &[Tensor]) -> Vec<Tensor> {
    left.iter().zip(right).map(|(left, right)| left + right).collect()
}

#[traceable(strict)]
impl Joined {
    pub fn forward(&self, xs: &Tensor, others: &[Tensor]) -> Tensor {
        let sizes = xs.size();
        let (rows, columns) = sizes.split_at(1);
        let ys = xs.reshape([rows, &[1, 1], columns].concat()).squeeze();
        let parts = vec![ys.apply(&self.fc), ys.relu(), ys.tanh()];
        let mut steps = vec![];
        for pair in parts.windows(2) {
            steps.push(&pair[0] - &pair[1]);
        }
        let sums = summed(&parts, others);
        Tensor::cat(&steps, 0).mean(fx_runtime::Kind::Float) + Tensor::stack(&sums, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn named_parts() {
        for count in 0..4 {
            let make = |p: &nn::Path| {
                let layers = (0..count).map(|at| nn::linear(p / at, 4, 4, nn::LinearConfig::default())).collect();
                NamedParts { layers }
            };
            agree!(make, [randn(&[2, 4]), randn(&[3, 2, 2])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn joined() {
        let make = |p: &nn::Path| Joined { fc: nn::linear(p / "fc", 4, 4, nn::LinearConfig::default()) };
        let cases = [(randn(&[2, 4]), vec![randn(&[2, 4])]), (randn(&[3, 4]), vec![randn(&[3, 4]), randn(&[1, 4])])];
        agree!(make, cases, |net, (xs, others)| net.forward(xs, others));
    }
}
