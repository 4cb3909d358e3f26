//! Pieces of text encoders: lists that conditions fill, tch's scalars, sizes from behind, weights if they are asked for.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::Scalar;

use crate::language::helpers::limits::smallest;

/// One vector a sequence, of the ways that are asked for.
#[derive(Debug, Module)]
pub struct Pooled {
    fc: nn::Linear,
    first: bool,
    largest: bool,
    mean: bool,
    root: bool,
}

#[traceable]
impl Pooled {
    pub fn forward(&self, mut xs: Tensor, mask: &Tensor) -> (Tensor, i64) {
        let mut all = Vec::new();
        if self.first {
            let first = xs.select(1, 0);
            all.push(first);
        }
        if self.largest {
            let expanded = mask.unsqueeze(-1).expand_as(&xs);
            xs = xs.masked_fill(&expanded.eq(0), -1e9);
            all.push(xs.max_dim(1, false).0);
        }
        if self.mean || self.root {
            let expanded = mask.unsqueeze(-1).expand_as(&xs);
            let sums = (xs * &expanded).sum_dim_intlist([1].as_slice(), false, Kind::Float);
            let counts = expanded.sum_dim_intlist([1].as_slice(), false, Kind::Float).clamp_min(1e-9);
            if self.mean {
                all.push(&sums / &counts);
            }
            if self.root {
                all.push(sums / counts.sqrt());
            }
        }
        let count = all.len() as i64;
        if count == 0 {
            all.push(mask.expand([4, -1, -1], true).select(2, 0).transpose(0, 1));
        }
        let count = all.len() as i64;
        (Tensor::cat(&all, 1).view([-1, 4]).apply(&self.fc), count)
    }
}

/// Lists of a written type, one of which is handed over, and one of the same name that an option holds.
#[derive(Debug, Module)]
pub struct Gathered {
    fc: nn::Linear,
    early: bool,
    late: bool,
}

#[traceable]
impl Gathered {
    pub fn forward(&self, xs: &Tensor) -> (Vec<Tensor>, Option<Vec<Tensor>>) {
        let mut all: Vec<Tensor> = Vec::new();
        let mut kept: Option<Vec<Tensor>> = if self.late { Some(vec![xs.neg()]) } else { None };
        if self.early {
            all.push(xs.apply(&self.fc));
        }
        if let Some(all) = &mut kept {
            all.push(xs * 2.0);
        }
        if self.late {
            all.push(xs.relu());
        }
        let last = if self.early || self.late { all.pop() } else { None };
        all.push(last.unwrap_or_else(|| xs.abs()));
        all.insert(0, xs + 1.0);
        (all, kept)
    }
}

/// Scalars that a function yields, or refuses to, with every operator that tensors have for them.
#[derive(Debug, Module)]
pub struct Scaled {
    fc: nn::Linear,
}

impl Scaled {
    fn bias(n: i64, kind: Kind) -> Tensor {
        Tensor::ones([n, n], (kind, fx_runtime::Device::Cpu)) * smallest(kind).unwrap()
    }
}

#[traceable]
impl Scaled {
    pub fn forward(&self, xs: &Tensor, ids: &Tensor) -> (Tensor, Tensor, Tensor) {
        let ys = xs.apply(&self.fc);
        let scores = (Self::bias(4, ys.kind()).triu(1) + &ys).softmax(-1, Kind::Float);
        let half = Scalar::float(0.5);
        let zs = ((&ys * half) - Scalar::int(3)) / Scalar::from(4.0) + Scalar::from(1);
        let ids = ids * Scalar::int(3) + Scalar::int(1);
        (scores, zs, ids * Scalar::float(0.25))
    }
}

/// Sizes and layers from behind, one by one.
#[derive(Debug, Module)]
pub struct FromBehind {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl FromBehind {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut sizes = xs.size().into_iter().rev();
        sizes.next();
        let rows = sizes.next().unwrap();
        let third = sizes.next().unwrap_or(5);
        let mut layers = self.layers.iter().rev();
        let mut ys = match layers.next() {
            Some(last) => xs.apply(last) * rows,
            None => xs * third,
        };
        if let Some(layer) = layers.next() {
            ys = ys.apply(layer).relu();
        }
        for layer in layers {
            ys = ys.apply(layer) + third;
        }
        ys
    }
}

/// Weights that become an option where others yield none.
#[derive(Debug, Module)]
pub struct Shown {
    fc: nn::Linear,
    shows: Option<i64>,
}

impl Shown {
    fn run(&self, xs: &Tensor) -> (Tensor, Option<Tensor>) {
        let weights = xs.apply(&self.fc).softmax(-1, Kind::Float);
        let context = &weights * xs;
        let weights = if self.shows.is_some() { weights.into() } else { None };
        (context, weights)
    }

    fn of(&self, xs: &Tensor) -> Option<Tensor> {
        match self.shows {
            Some(3) => None,
            Some(by) => (xs * by).into(),
            None => xs.neg().into(),
        }
    }
}

#[traceable]
impl Shown {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Option<Tensor>, Option<Tensor>) {
        let (ys, weights) = self.run(xs);
        let kept: Option<Tensor> = ys.relu().into();
        let lent = if self.shows.is_none() { xs.into() } else { None };
        let ys = match lent {
            Some(xs) => ys + xs,
            None => ys * 2.0,
        };
        (ys + kept.unwrap(), weights, self.of(xs))
    }
}

/// What a layer yields beside its output, of a type that is made of a tensor.
struct Seen {
    weights: Option<Tensor>,
    scale: Option<f64>,
}

impl From<Tensor> for Seen {
    fn from(weights: Tensor) -> Self {
        Seen { weights: Some(weights), scale: None }
    }
}

/// Conversions into other types than an option of a tensor.
#[derive(Debug, Module)]
pub struct Converted {
    fc: nn::Linear,
    shows: bool,
}

#[traceable]
impl Converted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let scale = if self.shows { 2.0.into() } else { None };
        let own: Tensor = xs.apply(&self.fc).into();
        let whole: Seen = own.shallow_clone().into();
        let seen = if self.shows { own.neg().into() } else { Seen { weights: None, scale } };
        let ys = own + whole.weights.unwrap() * seen.scale.or(whole.scale).unwrap_or(0.5);
        seen.weights.map_or_else(|| ys.relu(), |weights| &ys - weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    understood!(Converted: 5 of 13);
    not_interpreted!(Scaled: "got scalar");

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn pooled() {
        for ways in 0..16 {
            let is = |bit: i32| ways >> bit & 1 == 1;
            let make =
                |p: &nn::Path| Pooled { fc: linear(p / "fc"), first: is(0), largest: is(1), mean: is(2), root: is(3) };
            let mask = Tensor::from_slice(&[1f32, 1.0, 0.0, 1.0, 0.0, 0.0]).view([2, 3]);
            agree!(make, [(randn(&[2, 3, 4]), mask)], |net, (xs, mask)| net.forward(xs.copy(), mask));
        }
    }

    #[test]
    fn gathered() {
        for (early, late) in [(false, false), (true, false), (false, true), (true, true)] {
            let make = |p: &nn::Path| Gathered { fc: linear(p / "fc"), early, late };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn scaled() {
        let ids = Tensor::from_slice(&[1i64, 5, 9, 12]).view([4, 1]);
        agree!(|p| Scaled { fc: linear(p / "fc") }, [(randn(&[4, 4]), ids)], |net, (xs, ids)| net.forward(xs, ids));
    }

    #[test]
    fn from_behind() {
        for count in 0..4 {
            let make = |p: &nn::Path| FromBehind { layers: (0..count).map(|at| linear(p / at)).collect() };
            agree!(make, [randn(&[2, 4]), randn(&[3, 2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn shown() {
        for shows in [None, Some(2), Some(3)] {
            agree!(|p| Shown { fc: linear(p / "fc"), shows }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn converted() {
        for shows in [false, true] {
            agree!(|p| Converted { fc: linear(p / "fc"), shows }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }
}
