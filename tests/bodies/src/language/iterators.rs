//! Iterators in variables, asked before, in and behind loops.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
}

impl Layer {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).tanh()
    }
}

/// The first layer by itself, then the others.
#[derive(Debug, Module)]
pub struct FirstApart {
    layers: Vec<Layer>,
}

#[traceable]
impl FirstApart {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut it = self.layers.iter();
        let Some(first) = it.next() else { return xs.neg() };
        let mut ys = first.forward(xs) * 2;
        if xs.size()[0] > 2 {
            let _ = it.next();
        }
        for layer in it {
            ys = layer.forward(&ys) + 1;
        }
        ys
    }
}

/// Norms beside layers, asked for in each turn or in some.
#[derive(Debug, Module)]
pub struct Beside {
    layers: Vec<Layer>,
    norms: Vec<nn::LayerNorm>,
    scales: Vec<f64>,
}

#[traceable]
impl Beside {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor) {
        let mut norms = self.norms.iter();
        let mut scales = self.scales.iter();
        let mut ys = xs.shallow_clone();
        for layer in &self.layers {
            ys = layer.forward(&ys);
            if let Some(norm) = norms.next() {
                ys = ys.apply(norm);
            }
        }
        let left = norms.next().is_some();
        let mut zs = xs.shallow_clone();
        for (i, layer) in self.layers.iter().enumerate() {
            zs = layer.forward(&zs);
            if i % 2 == 1 {
                zs = zs * *scales.next().unwrap_or(&0.5);
            }
        }
        let rest = match scales.next() {
            Some(scale) => xs * *scale,
            None => xs.neg(),
        };
        (if left { ys } else { ys.relu() }, zs, rest)
    }
}

/// An iterator that several loops share.
#[derive(Debug, Module)]
pub struct Shared {
    layers: Vec<Layer>,
    limit: f64,
}

#[traceable]
impl Shared {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, i64) {
        let mut it = self.layers.iter();
        let mut ys = xs.shallow_clone();
        let mut turns = 0;
        for layer in it.by_ref().take(1) {
            ys = layer.forward(&ys);
        }
        for layer in it.by_ref() {
            ys = layer.forward(&ys) * 2;
            turns += 1;
            if ys.abs().max().double_value(&[]) > self.limit {
                break;
            }
        }
        let mut zs = xs.shallow_clone();
        while let Some(layer) = it.next() {
            zs = layer.forward(&zs) + 3;
            turns += 10;
        }
        (ys, zs, turns)
    }
}

/// Pairs of lists of which one is an iterator already.
#[derive(Debug, Module)]
pub struct Zipped {
    layers: Vec<Layer>,
    others: Vec<Layer>,
}

#[traceable]
impl Zipped {
    pub fn forward(&self, xs: &Tensor, pasts: Vec<Tensor>) -> (Tensor, Tensor, Tensor) {
        let mut others = self.others.iter();
        let first = others.next().unwrap();
        let mut ys = first.forward(xs);
        for (layer, other) in self.layers.iter().zip(others) {
            ys = layer.forward(&ys) + other.forward(xs);
        }
        let pairs = self.layers.iter().zip(pasts);
        let mut zs = xs.shallow_clone();
        for pair in pairs {
            let (layer, past) = pair;
            zs = layer.forward(&zs) + past;
        }
        let mut again = self.others.iter();
        let mut ws = xs.shallow_clone();
        for (layer, other) in self.layers.iter().zip(again.by_ref()) {
            ws = layer.forward(&other.forward(&ws));
        }
        if let Some(last) = again.next() {
            ws = last.forward(&ws) * 5;
        }
        (ys, zs, ws)
    }
}

/// Two elements a turn, and what tensors are made of.
#[derive(Debug, Module)]
pub struct Pairs {
    layers: Vec<Layer>,
}

#[traceable]
impl Pairs {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let mut it = self.layers.iter();
        let mut ys = xs.shallow_clone();
        while let Some(a) = it.next() {
            ys = match it.next() {
                Some(b) => a.forward(&ys) + b.forward(&ys),
                None => a.forward(&ys).neg(),
            };
        }
        let mut parts = xs.chunk(2, -1).into_iter();
        let left = parts.next().unwrap();
        let mut right = parts.next().unwrap();
        let _ = right.fill_(1.0);
        let sizes = xs.size();
        let mut dims = sizes.iter().rev();
        let width = *dims.next().unwrap();
        (ys, left + right * width)
    }
}

/// A closure's iterator, and one under a name that is used again.
#[derive(Debug, Module)]
pub struct Ends {
    layers: Vec<Layer>,
}

#[traceable]
impl Ends {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor) {
        let it = self.layers.iter();
        let ys = it.fold(xs.shallow_clone(), |ys, layer| layer.forward(&ys));
        let mut it = self.layers.iter().skip(1);
        let zs = it.next().unwrap().forward(xs);
        let all: Vec<Tensor> = it.map(|layer| layer.forward(&zs)).collect();
        let it = ys.relu();
        let mut ws = it.shallow_clone();
        let mut layers = self.layers.iter().enumerate();
        while let Some((i, layer)) = layers.next() {
            ws = layer.forward(&ws) * (i as f64);
        }
        (Tensor::stack(&all, 0), ws, it)
    }
}

/// An iterator from behind, asked by `next` in front of a loop, in it and behind it.
#[derive(Debug, Module)]
pub struct FromBehind {
    layers: Vec<Layer>,
}

#[traceable]
impl FromBehind {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let outs = vec![xs.relu(), xs.sin(), xs.cos(), xs.tanh()];
        let mut from_behind = outs.iter().rev();
        let mut ys = from_behind.next().unwrap() * 2;
        for (i, out) in from_behind.by_ref().enumerate().take(2) {
            ys = ys * (i as i64 + 2) + out;
        }
        ys = ys + from_behind.next().unwrap() * 3;
        let mut some = outs.iter().rev();
        for i in 0..xs.size()[0] {
            if i % 2 == 0
                && let Some(out) = some.next()
            {
                ys = ys * 2 + out;
            }
        }
        self.layers.iter().fold(ys, |ys, layer| layer.forward(&ys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    not_interpreted!(Shared: "the method `get`");
    not_interpreted!(Zipped: "the method `get`");
    not_interpreted!(FirstApart: "the method `len`");
    not_interpreted!(Pairs: "the method `get`");
    not_interpreted!(FromBehind: "the method");

    understood!(Ends: 0 of 23);

    fn layers(p: &nn::Path, name: &str, count: i64) -> Vec<Layer> {
        (0..count).map(|at| Layer { fc: nn::linear(p / name / at, 4, 4, Default::default()) }).collect()
    }

    #[test]
    fn from_behind() {
        let cases = [1, 2, 3, 9, 12].map(|rows| randn(&[rows, 4]));
        agree!(|p| FromBehind { layers: layers(p, "a", 2) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn the_first_apart() {
        for count in [0, 1, 2, 3] {
            agree!(|p| FirstApart { layers: layers(p, "a", count) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn beside() {
        for (count, norms) in [(3, 0), (3, 2), (2, 3), (4, 4)] {
            let make = |p: &nn::Path| Beside {
                layers: layers(p, "a", count),
                norms: (0..norms).map(|at| nn::layer_norm(p / "n" / at, vec![4], Default::default())).collect(),
                scales: vec![3.0, 0.25],
            };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn shared() {
        for limit in [0.0, 1.0, 100.0] {
            agree!(|p| Shared { layers: layers(p, "a", 4), limit }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn zipped() {
        for (count, others) in [(2, 1), (2, 2), (2, 4), (3, 3)] {
            let make = |p: &nn::Path| Zipped { layers: layers(p, "a", count), others: layers(p, "b", others) };
            let cases = [(randn(&[2, 4]), vec![randn(&[2, 4]), randn(&[2, 4])]), (randn(&[2, 4]), vec![])];
            agree!(make, cases, |net, (xs, pasts)| net.forward(xs, pasts.iter().map(Tensor::shallow_clone).collect()));
        }
    }

    #[test]
    fn pairs() {
        for count in [0, 1, 2, 3, 4] {
            agree!(|p| Pairs { layers: layers(p, "a", count) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn ends() {
        for count in [3, 4] {
            agree!(|p| Ends { layers: layers(p, "a", count) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }
}
