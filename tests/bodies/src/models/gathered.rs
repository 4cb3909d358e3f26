//! What encoders and decoders gather on their way, if they are asked for it: states, attentions, caches.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use std::borrow::BorrowMut;

use crate::language::helpers::limits::smallest;

#[derive(Debug)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// One of two inputs: nothing is embedded where the input is embedded already.
fn embedded(
    ids: Option<&Tensor>,
    embeds: Option<&Tensor>,
    table: &nn::Embedding,
) -> Result<(Option<Tensor>, Vec<i64>, Kind), Refused> {
    Ok(match (ids, embeds) {
        (Some(_), Some(_)) => {
            return Err(Refused("only one of the two".into()));
        }
        (Some(ids), None) => (Some(ids.apply(table)), ids.size(), Kind::Int64),
        (None, Some(embeds)) => {
            let size = vec![embeds.size()[0], embeds.size()[1]];
            (None, size, embeds.kind())
        }
        (None, None) => {
            return Err(Refused("none of the two".into()));
        }
    })
}

#[derive(Debug, Module)]
pub struct Pair {
    table: nn::Embedding,
    fc: nn::Linear,
}

#[traceable]
impl Pair {
    pub fn forward(&self, ids: Option<&Tensor>, embeds: Option<&Tensor>) -> Result<Tensor, Refused> {
        let (calculated, size, kind) = embedded(ids, embeds, &self.table)?;
        let xs = embeds.unwrap_or_else(|| calculated.as_ref().unwrap());
        let length = xs.as_ref().size()[1].to_owned();
        let positions = Tensor::arange(length, (kind, xs.device())).view([1, -1, 1]);
        let positions = if positions.kind() != xs.kind() { positions.to_kind(xs.kind()) } else { positions };
        Ok((xs + positions * size[0]).apply(&self.fc))
    }
}

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
    gives_weights: bool,
}

impl Layer {
    fn run(&self, xs: &Tensor, mask: Option<&Tensor>) -> (Tensor, Option<Tensor>) {
        let ys = xs.apply(&self.fc);
        let weights = ys.softmax(-1, Kind::Float);
        let ys = match mask {
            Some(mask) => ys * mask,
            None => ys,
        };
        (ys.relu(), if self.gives_weights { Some(weights) } else { None })
    }
}

/// Lists that are there only if the configuration asks for them.
#[derive(Debug, Module)]
pub struct Encoder {
    layers: Vec<Layer>,
    gives_states: bool,
    gives_weights: bool,
}

pub struct Encoded {
    pub output: Tensor,
    pub states: Option<Vec<Tensor>>,
    pub weights: Option<Vec<Tensor>>,
}

impl Encoder {
    fn encode(&self, xs: &Tensor, mask: Option<&Tensor>) -> Encoded {
        let mut states: Option<Vec<Tensor>> = if self.gives_states { Some(vec![]) } else { None };
        let mut all_weights: Option<Vec<Tensor>> =
            if self.gives_weights { Some(Vec::with_capacity(self.layers.len())) } else { None };
        let mut last = None::<Tensor>;
        let mut weights: Option<Tensor>;
        for layer in &self.layers {
            let (ys, found) = if let Some(last) = &last { layer.run(last, mask) } else { layer.run(xs, mask) };
            last = Some(ys);
            weights = found;
            if let Some(all) = all_weights.borrow_mut() {
                all.push(std::mem::take(&mut weights.unwrap()));
            };
            if let Some(states) = states.borrow_mut() {
                states.push(last.as_ref().unwrap().copy());
            };
        }
        Encoded { output: last.unwrap(), states, weights: all_weights }
    }
}

#[derive(Debug, Module)]
pub struct Model {
    encoder: Encoder,
    head: nn::Linear,
}

#[traceable]
impl Model {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> (Tensor, Option<Vec<Tensor>>, Option<Vec<Tensor>>) {
        // A mask that is lent to every layer, of a branch that may have made it.
        let made = if let Some(mask) = mask { Some(smaller(mask, xs.kind())) } else { None };
        let encoded = self.encoder.encode(xs, made.as_ref());
        let encoded = Encoded { output: encoded.output.apply(&self.head), ..encoded };
        (encoded.output, encoded.states, encoded.weights)
    }
}

/// The smallest number of a dtype, which a helper elsewhere looks up.
fn smaller(mask: &Tensor, kind: Kind) -> Tensor {
    let filled = mask.to_kind(kind).masked_fill(&mask.eq(0), smallest(kind).unwrap());
    filled.clamp(tch::Scalar::from(-2.0), tch::Scalar::float(1.0))
}

/// States of the layers, handed in and out.
#[derive(Debug)]
pub struct Past {
    pub key: Tensor,
}

impl Clone for Past {
    fn clone(&self) -> Past {
        Past { key: self.key.copy() }
    }
}

#[derive(Debug, Module)]
pub struct Decoder {
    layers: Vec<nn::Linear>,
    keeps: bool,
}

impl Decoder {
    fn step(
        layer: &nn::Linear,
        xs: &Tensor,
        past: (Option<Past>, Option<Past>),
    ) -> (Tensor, (Option<Past>, Option<Past>)) {
        let ys = xs.apply(layer);
        let ys = match past.0 {
            Some(past) => ys + past.key,
            None => ys,
        };
        let next = Some(Past { key: ys.tanh() });
        (ys.relu(), (next, past.1))
    }
}

#[traceable(strict)]
impl Decoder {
    pub fn forward(
        &self,
        xs: &Tensor,
        old: Option<Vec<(Option<Past>, Option<Past>)>>,
    ) -> (Tensor, Option<Vec<(Option<Past>, Option<Past>)>>) {
        let mut next: Option<Vec<(Option<Past>, Option<Past>)>> = if self.keeps {
            if old.is_some() { old } else { Some(vec![(None, None); self.layers.len()]) }
        } else {
            None
        };
        let mut ys = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            let past = match &next {
                Some(all) => all[at].to_owned(),
                None => (None, None),
            };
            let temp = Self::step(layer, &ys, past);
            ys = temp.0;
            if let Some(all) = &mut next {
                all[at] = temp.1
            };
        }
        (ys, next)
    }
}

/// What a block of a network that a list describes does.
#[derive(Debug, Module)]
pub enum Block {
    Layer(nn::Linear),
    Route(Vec<usize>),
    Shortcut(usize),
    Scaled(Vec<(i64, i64)>),
}

/// Results of earlier blocks are looked up by number; the first block finds none.
#[derive(Debug, Module)]
pub struct Described {
    blocks: Vec<Block>,
    kept: Vec<usize>,
}

#[traceable]
impl Described {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut outs: Vec<Tensor> = vec![];
        let mut found: Vec<Tensor> = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let ys = match block {
                Block::Layer(layer) => outs.last().unwrap_or(xs).apply(layer).relu(),
                Block::Route(from) => {
                    let from: Vec<_> = from.iter().map(|at| &outs[*at]).collect();
                    Tensor::stack(&from, 0).mean_dim(0, false, Kind::Float)
                }
                Block::Shortcut(from) => outs.last().unwrap() + &outs[*from],
                Block::Scaled(pairs) => {
                    let numbers: Vec<f32> =
                        pairs.iter().flat_map(|&(a, b)| vec![a as f32, b as f32].into_iter()).collect();
                    let last = outs.last().unwrap();
                    last * Tensor::from_slice(&numbers).to_kind(last.kind())
                }
            };
            if self.kept.contains(&at) {
                found.push(ys.shallow_clone());
            }
            outs.push(ys);
        }
        Tensor::cat(&found, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};

    not_interpreted!(Model: "got scalar");

    fn linear(p: &nn::Path, at: i64) -> nn::Linear {
        nn::linear(p / at, 4, 4, Default::default())
    }

    #[test]
    fn one_of_two_inputs() {
        let pair =
            |p: &nn::Path| Pair { table: nn::embedding(p / "table", 7, 4, Default::default()), fc: linear(p, 0) };
        let ids = || Tensor::from_slice(&[1i64, 4, 2, 6, 0, 3]).view([2, 3]);
        let cases = [
            (Some(ids()), None),
            (None, Some(randn(&[2, 3, 4]))),
            (None, None),
            (Some(ids()), Some(randn(&[2, 3, 4]))),
        ];
        agree!(pair, cases, |net, (ids, embeds)| net.forward(ids.as_ref(), embeds.as_ref()));
    }

    #[test]
    fn lists_if_they_are_asked_for() {
        for (gives_states, gives_weights) in [(false, false), (true, false), (true, true)] {
            let layer = |p: &nn::Path, at| Layer { fc: linear(p, at), gives_weights };
            let encoder =
                |p: &nn::Path| Encoder { layers: (0..3).map(|at| layer(p, at)).collect(), gives_states, gives_weights };
            let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4]).gt(0).to_kind(Kind::Float)))];
            agree!(|p| Model { encoder: encoder(p), head: linear(p, 9) }, cases, |net, (xs, mask)| net
                .forward(xs, mask.as_ref()));
        }
    }

    #[test]
    fn states_handed_in_and_out() {
        for keeps in [false, true] {
            let decoder = |p: &nn::Path| Decoder { layers: (0..3).map(|at| linear(p, at)).collect(), keeps };
            let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
            agree!(decoder, cases, |net, (xs, key)| {
                let past = |key: &Tensor| (Some(Past { key: key.copy() }), None);
                let old = key.as_ref().map(|key| (0..3).map(|_| past(key)).collect());
                let (ys, next) = net.forward(xs, old);
                let keys = next.map(|all| all.into_iter().map(|(one, _)| one.unwrap().key).collect::<Vec<Tensor>>());
                (ys, keys)
            });
        }
    }

    #[test]
    fn described() {
        let layer = |p: nn::Path| Block::Layer(nn::linear(p, 4, 4, Default::default()));
        let make = |p: &nn::Path| Described {
            blocks: vec![
                layer(p / 0),
                layer(p / 1),
                Block::Shortcut(0),
                Block::Route(vec![2, 0]),
                Block::Scaled(vec![(1, 2), (3, 4)]),
            ],
            kept: vec![1, 4],
        };
        agree!(make, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }
}
