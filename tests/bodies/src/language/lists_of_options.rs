//! Lists of options, asked for what is there, and errors where nothing is.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug)]
pub struct Fault(pub String);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl From<tch::TchError> for Fault {
    fn from(error: tch::TchError) -> Fault {
        Fault(error.to_string())
    }
}

#[derive(Debug, Module)]
pub struct Block {
    fc: nn::Linear,
    skip: Option<nn::Linear>,
}

impl Block {
    fn forward(&self, xs: &Tensor, past: Option<&Tensor>) -> (Tensor, Tensor) {
        let ys = xs.apply(&self.fc);
        let ys = match past {
            Some(past) => ys + past,
            None => ys,
        };
        (ys.relu(), ys)
    }
}

/// What a decoder keeps of each layer: nothing yet, or what it was handed.
#[derive(Debug, Module)]
pub struct Decoder {
    blocks: Vec<Block>,
}

#[traceable]
impl Decoder {
    pub fn forward(&self, xs: &Tensor, past: Option<&Vec<Tensor>>) -> (Tensor, Vec<Tensor>, i64) {
        let (layer_past, length) = match past {
            Some(value) => {
                assert_eq!(value.len(), self.blocks.len(), "one a layer");
                (value.iter().map(|v| Some(v.copy())).collect::<Vec<Option<Tensor>>>(), value[0].size()[1])
            }
            None => {
                let mut out = Vec::with_capacity(self.blocks.len());
                out.resize_with(self.blocks.len(), || None::<Tensor>);
                (out, 0)
            }
        };
        let mut presents: Vec<Tensor> = vec![];
        let mut ys = xs + length;
        let layer_iter = self.blocks.iter().zip(layer_past);
        for layer_values in layer_iter {
            let (block, past) = layer_values;
            let temp = block.forward(&ys, past.as_ref());
            ys = temp.0;
            presents.push(temp.1);
        }
        (ys, presents, length)
    }
}

/// Lists that are filled with nothing, and written to.
#[derive(Debug, Module)]
pub struct Slots {
    blocks: Vec<Block>,
    keeps: bool,
}

#[traceable]
impl Slots {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, usize, Vec<i64>) {
        let n = self.blocks.len();
        let mut slots: Vec<Option<Tensor>> = std::iter::repeat_with(|| None).take(n).collect();
        let mut others: Vec<Option<Tensor>> = (0..n).map(|_| None).collect();
        let mut grown: Vec<Option<Tensor>> = Vec::new();
        grown.resize_with(1, || None);
        grown.push(Some(xs.neg()));
        grown.resize_with(4, || None);
        let mut ys = xs.shallow_clone();
        for (i, block) in self.blocks.iter().enumerate() {
            let (zs, kept) = block.forward(&ys, slots[i].as_ref());
            ys = zs;
            slots[i] = Some(kept);
            if self.keeps {
                others[i] = Some(ys.tanh());
            }
        }
        for (slot, other) in slots.iter().zip(&others) {
            ys = match (slot, other) {
                (Some(a), Some(b)) => ys + a * b,
                (Some(a), None) => ys - a,
                _ => ys,
            };
        }
        for one in grown.iter() {
            if let Some(one) = one {
                ys = ys + one;
            }
        }
        let mut counts = vec![0i64; 2];
        counts.resize(n + 2, 7);
        counts[0] += 5;
        (ys, grown.len(), counts)
    }
}

/// What is asked for may not be there: an error, not a panic, and none while the model is frozen.
#[derive(Debug, Module)]
pub struct Asks {
    blocks: Vec<Block>,
    limit: Option<i64>,
}

#[traceable]
impl Asks {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Result<Tensor, Fault> {
        let mask = mask.ok_or_else(|| Fault("no mask".to_string()))?;
        let limit = self.limit.ok_or(Fault(format!("no limit for {}", 1)))?;
        let last = self.blocks.last().ok_or(Fault("no block".into()))?;
        let skip = last.skip.as_ref().ok_or_else(|| Fault("no skip".into()))?;
        let there = Some(xs.relu());
        let there = there.ok_or(Fault("nothing".to_owned()))?;
        Ok((xs * mask).apply(skip) * limit + there + last.forward(xs, None).0)
    }
}

/// Numbers of tensors, read before the tensor is written to.
#[derive(Debug, Module)]
pub struct Reads {
    fc: nn::Linear,
}

#[traceable]
impl Reads {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, Fault> {
        let mut ys = self.fc.forward(xs);
        let sum = f64::try_from(ys.sum(Kind::Double))?;
        let _ = ys.fill_(2.0);
        let count = i64::try_from(&ys.to_kind(Kind::Int64).sum(Kind::Int64))?;
        let is_positive = bool::try_from(xs.sum(Kind::Float).gt(0.0))?;
        let one = f64::try_from(xs.select(0, 0))?;
        Ok(if is_positive { ys * sum } else { ys + count } * one)
    }
}

#[derive(Debug, Module)]
pub struct ReadsOrPanics {}

#[traceable]
impl ReadsOrPanics {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let sum = f64::try_from(xs.sum(Kind::Double)).unwrap();
        if bool::try_from(xs.gt(0.0).any()).unwrap() { xs * sum } else { xs.neg() }
    }
}

/// Lists that begin with nothing in them, written out.
#[derive(Debug, Module)]
pub struct BegunWithNone {
    fc: nn::Linear,
}

#[traceable(strict)]
impl BegunWithNone {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut nodes: Vec<Option<Tensor>> = vec![None, None];
        nodes[0] = Some(xs.apply(&self.fc));
        nodes[1] = Some(nodes[0].as_ref().unwrap().relu());
        let mut levels: [Option<Tensor>; 3] = [None, None, None];
        for at in 0..3 {
            if at < xs.dim() {
                levels[at] = Some(xs * at as i64);
            }
        }
        let mut pairs: Vec<Option<(Tensor, Tensor)>> = vec![None, None];
        for at in 0..2 {
            let key = xs + at as i64;
            pairs[at] = Some((key.shallow_clone(), key.sin()));
        }
        let (key, value) = pairs[1].take().unwrap();
        let mut last: [Option<Tensor>; 2] = Default::default();
        for (at, slot) in last.iter_mut().enumerate() {
            *slot = Some(xs - at as i64);
        }
        let mut sizes: Vec<Option<i64>> = vec![None, Some(2)];
        sizes[0] = Some(xs.size()[0]);
        let sum = levels.iter().flatten().fold(nodes[1].take().unwrap(), |sum, level| sum + level);
        let sum = sum * (sizes[0].unwrap() + sizes[1].unwrap()) + key * value;
        match (&last[0], &last[1], &pairs[1], &nodes[0]) {
            (Some(first), Some(second), None, Some(node)) => sum + first * second * node,
            _ => sum.neg(),
        }
    }
}

/// Keys and values of each layer, and how many steps there were.
#[derive(Debug, Default)]
pub struct Steps {
    kept: Vec<Option<(Tensor, Tensor)>>,
    count: i64,
}

/// A cache of the forward's own, which a method fills in each step.
#[derive(Debug, Module)]
pub struct Stepped {
    fc: nn::Linear,
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Stepped {
    fn step(&self, xs: &Tensor, steps: &mut Steps) -> Tensor {
        if steps.kept.len() < self.layers.len() {
            for _ in 0..self.layers.len() {
                steps.kept.push(None);
            }
        }
        let mut ys = xs.apply(&self.fc);
        for (layer, kept) in self.layers.iter().zip(steps.kept.iter_mut()) {
            let (mut sum, zs) = (ys.relu(), ys.apply(layer));
            if let Some((one, other)) = kept {
                sum = sum + &*one + &*other * 2;
            }
            *kept = Some((sum.shallow_clone(), zs.shallow_clone()));
            ys = sum + zs;
        }
        steps.count += xs.size()[0];
        ys.tanh() * steps.count
    }

    pub fn forward(&self, xs: &Tensor, rounds: i64) -> Tensor {
        let mut steps = Steps::default();
        let mut ys = xs.shallow_clone();
        for _ in 0..rounds {
            ys = self.step(&ys, &mut steps);
        }
        ys + steps.count
    }
}

/// `None`s that are pushed to lists whose variables say of what.
#[derive(Debug, Module)]
pub struct NonesPushed {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl NonesPushed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut all: Vec<Option<Tensor>> = Vec::new();
        let mut sizes: Vec<Option<i64>> = Vec::new();
        for layer in &self.layers {
            if layer.ws.size()[0] > 4 {
                all.push(None);
                sizes.push(Some(xs.size()[0]));
            } else {
                all.push(Some(xs.apply(layer)));
                sizes.push(None);
            }
        }
        let mut ys = xs * sizes.iter().flatten().sum::<i64>();
        for one in all.iter().flatten() {
            ys = ys + one;
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn blocks(p: &nn::Path, count: i64, skips: bool) -> Vec<Block> {
        let linear = |p: nn::Path| nn::linear(p, 4, 4, Default::default());
        let skip = |at| skips.then(|| linear(p / "skip" / at));
        (0..count).map(|at| Block { fc: linear(p / at), skip: skip(at) }).collect()
    }

    #[test]
    fn a_decoder() {
        let past = || Some(vec![randn(&[2, 4]), randn(&[2, 4])]);
        let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), past())];
        agree!(|p| Decoder { blocks: blocks(p, 2, false) }, cases, |net, (xs, past)| net.forward(xs, past.as_ref()));
    }

    #[test]
    fn slots() {
        for keeps in [false, true] {
            for count in [0, 1, 3] {
                agree!(|p| Slots { blocks: blocks(p, count, false), keeps }, [randn(&[2, 4])], |net, xs| net
                    .forward(xs));
            }
        }
    }

    #[test]
    fn errors_where_nothing_is() {
        for (limit, count, skips) in [(Some(3), 2, true), (None, 2, true), (Some(3), 0, true), (Some(3), 2, false)] {
            let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
            agree!(|p| Asks { blocks: blocks(p, count, skips), limit }, cases, |net, (xs, mask)| net
                .forward(xs, mask.as_ref()));
        }
    }

    #[test]
    fn numbers_of_tensors() {
        let make = |p: &nn::Path| Reads { fc: nn::linear(p / "fc", 1, 1, Default::default()) };
        agree!(make, [randn(&[2, 1]).abs(), -randn(&[3, 1]).abs()], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Reads { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(|_| ReadsOrPanics {}, [randn(&[2, 4]), -randn(&[2, 4]).abs()], |net, xs| net.forward(xs));
    }

    #[test]
    fn begun_with_none() {
        let make = |p: &nn::Path| BegunWithNone { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn stepped() {
        for rounds in [0, 3] {
            let make = |p: &nn::Path| Stepped {
                fc: nn::linear(p / "fc", 4, 4, Default::default()),
                layers: (0..2).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
            };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs, rounds));
        }
    }

    #[test]
    fn nones_pushed() {
        let make = |p: &nn::Path| NonesPushed {
            layers: [4, 8, 4, 6]
                .into_iter()
                .enumerate()
                .map(|(at, to)| nn::linear(p / at, 4, to, Default::default()))
                .collect(),
        };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
