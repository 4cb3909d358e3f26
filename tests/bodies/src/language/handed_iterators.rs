//! Iterators as values: looked into, zipped, over ranges, and handed to functions.

use fx_runtime::{Module, Tensor, nn, traceable};

mod functions {
    use fx_runtime::{Tensor, nn};

    pub fn through<'l>(xs: &Tensor, layers: impl Iterator<Item = &'l nn::Linear>) -> Tensor {
        layers.fold(xs.shallow_clone(), |xs, layer| xs.apply(layer).relu())
    }

    pub fn numbered<'l, I>(xs: &Tensor, layers: I) -> Tensor
    where
        I: IntoIterator<Item = &'l nn::Linear>,
    {
        let mut xs = xs.relu();
        for (i, layer) in layers.into_iter().enumerate() {
            xs = xs.apply(layer) * (i as i64 + 1);
        }
        xs
    }

    pub fn first_two(xs: &Tensor, mut of: impl Iterator<Item = Tensor>) -> Tensor {
        let first = of.next().unwrap();
        match of.next() {
            Some(second) => first * second + xs,
            None => first + xs,
        }
    }

    pub fn scaled(xs: &Tensor, by: impl Iterator<Item = i64>) -> Tensor {
        let mut xs = xs.tanh();
        for k in by {
            xs = xs * k - 1;
        }
        xs
    }
}

#[derive(Debug, Module)]
pub struct Iterators {
    layers: Vec<nn::Linear>,
    weights: Vec<Tensor>,
    n: usize,
}

impl Iterators {
    fn new(p: &nn::Path) -> Iterators {
        let layers = (0..3).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect();
        let weights = ["a", "b"].iter().map(|name| p.randn(name, &[4], 0.0, 1.0)).collect();
        Iterators { layers, weights, n: 3 }
    }
}

#[traceable(strict, entry = ["handed", "looked_into", "zipped", "ranges"])]
impl Iterators {
    pub fn handed(&self, xs: &Tensor) -> Tensor {
        let gate = xs.sigmoid();
        let of = functions::first_two(xs, self.weights.iter().map(|weight| weight * &gate));
        let gate = of.relu();
        functions::through(xs, self.layers.iter().rev())
            + functions::numbered(&gate, self.layers.iter().take(2))
            + functions::numbered(&gate, &self.layers)
            + functions::first_two(xs, xs.unbind(0).into_iter())
            + functions::scaled(xs, (1..self.n as i64).rev())
            + functions::scaled(xs, [3i64, 4, 5].into_iter().skip(1))
    }

    pub fn looked_into(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.relu();
        let mut layers = self.layers.iter().peekable();
        while let Some(layer) = layers.next() {
            ys = ys.apply(layer);
            if layers.peek().is_some() {
                ys = ys.relu();
            }
        }
        let mut numbers = [2i64, 3, 4].iter().peekable();
        while let Some(by) = numbers.next() {
            ys = ys * *by;
            if let Some(&next) = numbers.peek() {
                ys = ys + *next;
            }
        }
        let mut weights = self.weights.iter().peekable();
        if weights.peek().is_none() {
            return ys;
        }
        for weight in weights {
            ys = ys * weight;
        }
        ys
    }

    pub fn zipped(&self, xs: &Tensor) -> Tensor {
        let (halves, gates) = (xs.chunk(2, 1), xs.tanh().chunk(2, 1));
        let mut products = halves.iter().zip(gates.iter()).map(|(half, gate)| half * gate);
        let (one, other) = (products.next().unwrap(), products.next().unwrap());
        let mut ys = Tensor::cat(&[one, other], 1);
        let mut pairs = self.weights.iter().zip(self.layers.iter());
        while let Some((weight, layer)) = pairs.next() {
            ys = ys.apply(layer) * weight;
        }
        let mut chosen = [xs].into_iter().zip(halves.iter().zip(gates.iter()));
        let (whole, (half, gate)) = chosen.next().unwrap();
        let first = gates.iter().map(|gate| gate.relu()).next().unwrap();
        ys + whole * (half * gate + first).sum(fx_runtime::Kind::Float)
    }

    pub fn ranges(&self, xs: &Tensor) -> Tensor {
        let numbers = (0..self.n as i64).rev();
        let ys = numbers.fold(xs.shallow_clone(), |ys, k| ys.apply(&self.layers[0]) * k + 1);
        let others = (1..=self.n as i64).skip(1);
        let mut zs = ys.relu();
        for k in others {
            zs = zs + k;
        }
        zs * ys
    }
}

/// Pairs of weights, which no field of the frozen model can hold whole, beside what a call computes.
#[derive(Debug, Module)]
pub struct Projections {
    weight: Tensor,
    bias: Tensor,
    heads: i64,
}

#[traceable(strict)]
impl Projections {
    pub fn forward(&self, q: &Tensor, k: &Tensor) -> Tensor {
        let (weights, biases) = (self.weight.chunk(2, 0), self.bias.chunk(2, 0));
        let split = |xs: Tensor| {
            let (b, l, _) = xs.size3().unwrap();
            xs.view([b, l, self.heads, -1]).transpose(1, 2)
        };
        let mut projected = [q, k]
            .into_iter()
            .zip(weights.iter().zip(biases.iter()))
            .map(|(xs, (weight, bias))| split(xs.linear(weight, Some(bias))));
        let (q, k) = (projected.next().unwrap(), projected.next().unwrap());
        q.matmul(&k.transpose(-1, -2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn handed_iterators() {
        agree!(Iterators::new, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net.handed(xs));
    }

    #[test]
    fn held_iterators() {
        agree!(Iterators::new, [randn(&[2, 4])], |net, xs| net.looked_into(xs));
        agree!(Iterators::new, [randn(&[2, 4])], |net, xs| net.zipped(xs));
        agree!(Iterators::new, [randn(&[2, 4])], |net, xs| net.ranges(xs));
    }

    #[test]
    fn zipped_weights() {
        let make = |p: &nn::Path| {
            let weight = p.randn("weight", &[8, 4], 0.0, 1.0);
            Projections { weight, bias: p.randn("bias", &[8], 0.0, 1.0), heads: 2 }
        };
        agree!(make, [(randn(&[2, 3, 4]), randn(&[2, 3, 4]))], |net, (q, k)| net.forward(q, k));
    }
}
