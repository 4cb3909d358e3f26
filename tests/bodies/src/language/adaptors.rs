//! Adaptors of iterators in front of loops and at their ends, as people who write chains write them.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
    gate: Option<nn::Linear>,
    active: bool,
}

impl Layer {
    fn new(p: nn::Path, gated: bool, active: bool) -> Layer {
        let fc = nn::linear(&p / "fc", 4, 4, Default::default());
        let gate = gated.then(|| nn::linear(&p / "gate", 4, 4, Default::default()));
        Layer { fc, gate, active }
    }

    fn forward(&self, xs: &Tensor) -> Result<Tensor, tch::TchError> {
        self.fc.forward(xs).f_relu()
    }
}

#[derive(Debug, Module)]
pub struct Chains {
    stages: Vec<Vec<Layer>>,
    gates: Vec<Option<nn::Linear>>,
}

impl Chains {
    fn new(p: &nn::Path) -> Chains {
        let layer = |at: i64| Layer::new(p / at, at % 2 == 0, at != 1);
        let stages = vec![vec![layer(0), layer(1)], vec![layer(2), layer(3), layer(4)]];
        let gate = |at: i64| nn::linear(p / "gates" / at, 4, 4, Default::default());
        Chains { stages, gates: vec![Some(gate(0)), None, Some(gate(2))] }
    }
}

#[traceable(entry = ["forward", "picked", "collected", "reversed", "asked"])]
impl Chains {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, tch::TchError> {
        let mut ys = xs.shallow_clone();
        for layer in self.stages.iter().flatten().filter(|layer| layer.active) {
            ys = layer.forward(&ys)?;
        }
        for gate in self.gates.iter().flatten() {
            ys = ys * gate.forward(xs).sigmoid();
        }
        let zs = self.stages.iter().flat_map(|stage| stage.iter()).try_fold(xs.shallow_clone(), |xs, layer| {
            let ys = layer.forward(&xs)?;
            ys.f_add(&xs)
        })?;
        Ok(ys + zs)
    }

    pub fn picked(&self, xs: &Tensor) -> Tensor {
        let layer = 2.0;
        let mut ys = xs.shallow_clone();
        for gate in self.stages[1].iter().filter_map(|layer| layer.gate.as_ref()) {
            ys = gate.forward(&ys) * layer;
        }
        for (at, scaled) in self.stages[0].iter().map(|layer| xs.apply(&layer.fc)).enumerate() {
            if at == 1 {
                continue;
            }
            ys = ys + scaled;
        }
        for layer in self.stages[0].iter().chain(self.stages[1].iter()) {
            ys = ys.apply(&layer.fc).tanh();
        }
        for layer in self.stages[1].iter().take_while(|layer| layer.active).inspect(|_| ()) {
            ys = ys + xs.apply(&layer.fc);
        }
        ys
    }

    pub fn collected(&self, xs: &Tensor) -> (Tensor, Tensor, Vec<Tensor>, i64) {
        let all: Vec<Tensor> =
            self.stages.iter().flatten().filter(|layer| layer.active).map(|layer| xs.apply(&layer.fc)).collect();
        let total: Tensor = all.iter().sum();
        let (left, right): (Vec<Tensor>, Vec<Tensor>) =
            self.stages[1].iter().map(|layer| (xs.apply(&layer.fc), xs.apply(&layer.fc).relu())).unzip();
        let pairs: Vec<i64> = (0..3).flat_map(|a: i64| (0..2).map(move |b: i64| a * 2 + b)).collect();
        let count = xs.size().iter().product::<i64>() + pairs.iter().sum::<i64>() + *pairs.iter().max().unwrap();
        let halves = self.stages[0].iter().map(|layer| xs.apply(&layer.fc) / 2.0).sum::<Tensor>();
        (total + halves, Tensor::cat(&left, 0), right, count)
    }

    pub fn reversed(&self, xs: &Tensor) -> Tensor {
        let mut kept = Vec::new();
        let mut ys = xs.shallow_clone();
        for layer in &self.stages[1] {
            ys = ys.apply(&layer.fc).relu();
            kept.push(ys.shallow_clone());
        }
        for (layer, skip) in self.stages[1].iter().zip(kept.iter().rev()) {
            ys = (ys + skip).apply(&layer.fc);
        }
        // More layers than are kept behind the first, and fewer.
        for (layer, skip) in self.stages[1].iter().rev().zip(kept.iter().rev().skip(1)) {
            ys = ys.apply(&layer.fc) * skip;
        }
        for (layer, skip) in self.stages[0].iter().zip(kept.into_iter().rev()) {
            ys = ys.apply(&layer.fc) - skip;
        }
        ys
    }

    pub fn asked(&self, xs: &Tensor) -> (Tensor, Vec<i64>) {
        let any = self.gates.iter().any(|gate| gate.is_none());
        let all = self.stages.iter().flatten().all(|layer| layer.active);
        let ys = if any && !all { xs.relu() } else { xs.neg() };
        let best: Vec<i64> = Vec::<i64>::try_from(ys.argmax(-1, false)).unwrap();
        let moved = best.iter().map(|at| at + 1).collect();
        (ys.softmax(-1, Kind::Float), moved)
    }
}

/// What a later turn adds to what the first one found, of a type that is not written.
#[derive(Debug, Module)]
pub struct Shared {
    layers: Vec<Layer>,
}

impl Shared {
    fn biased(&self, layer: &Layer, xs: &Tensor, bias: Option<&Tensor>) -> (Tensor, Option<Tensor>) {
        let ys = xs.apply(&layer.fc);
        match bias {
            Some(bias) => (ys + bias, Some(bias.shallow_clone())),
            None => match &layer.gate {
                None => (ys, None),
                Some(gate) => {
                    let bias = xs.apply(gate).tanh();
                    (ys + &bias, Some(bias))
                }
            },
        }
    }
}

#[traceable]
impl Shared {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        let mut bias = None;
        for layer in self.layers.iter() {
            let (next, found) = self.biased(layer, &ys, bias.as_ref());
            ys = next;
            bias = found;
        }
        ys
    }
}

/// Tensors of the model's own, reduced to one.
#[derive(Debug, Module)]
pub struct ReducedParts {
    parts: Vec<Tensor>,
}

#[traceable(strict)]
impl ReducedParts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let all = self.parts.iter().map(Tensor::shallow_clone).reduce(|a, b| a.tanh() - b);
        all.unwrap_or_else(|| xs.neg()) + xs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn reduced_parts() {
        for n in 0..3 {
            let parts = |p: &nn::Path| (0..n).map(|at| p.randn_standard(&format!("part{at}"), &[4])).collect();
            agree!(|p: &nn::Path| ReducedParts { parts: parts(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn chains() {
        let cases = [randn(&[3, 4]), randn(&[1, 4])];
        agree!(Chains::new, cases, |net, xs| net.forward(xs).map_err(|error| error.to_string()));
        agree!(Chains::new, cases, |net, xs| net.picked(xs));
        agree!(Chains::new, cases, |net, xs| net.collected(xs));
        agree!(Chains::new, cases, |net, xs| net.reversed(xs));
        agree!(Chains::new, cases, |net, xs| net.asked(xs));
    }

    #[test]
    fn shared() {
        for gated in [true, false] {
            let layers = |p: &nn::Path| (0..3).map(|at| Layer::new(p / at, gated, true)).collect();
            agree!(|p| Shared { layers: layers(p) }, [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn saves() {
        let (_vs, net) = crate::check::root(Chains::new);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).expect("nothing of the program's own is kept");
    }
}
