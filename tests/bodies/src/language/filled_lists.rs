//! Lists whose `let` does not say what they hold: filled by number, or by `push`, and read while they are filled.

use fx_runtime::{Module, Tensor, nn, traceable};
use tch::TchError;

#[derive(Debug)]
pub struct LayerState {
    pub key: Tensor,
}

impl Clone for LayerState {
    fn clone(&self) -> LayerState {
        LayerState { key: self.key.copy() }
    }
}

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
}

impl Layer {
    fn forward(&self, xs: &Tensor, old: Option<&LayerState>) -> Result<(Tensor, Option<LayerState>), TchError> {
        let ys = xs.apply(&self.fc);
        let ys = match old {
            Some(old) => ys + &old.key,
            None => ys,
        };
        Ok((ys.relu(), Some(LayerState { key: ys })))
    }
}

/// One state for each layer, as GPT-Neo and Reformer have it.
#[derive(Debug, Module)]
pub struct ByNumber {
    layers: Vec<Layer>,
    keep: bool,
}

#[traceable(strict)]
impl ByNumber {
    pub fn forward(
        &self,
        xs: &Tensor,
        states: Option<Vec<Option<LayerState>>>,
    ) -> Result<(Tensor, Option<Vec<Option<LayerState>>>), TchError> {
        let old = states.unwrap_or_else(|| vec![None; self.layers.len()]);
        let mut next = vec![None; self.layers.len()];
        let mut hidden: Option<Tensor> = None;
        for ((at, layer), state) in self.layers.iter().enumerate().zip(old.into_iter()) {
            let (ys, state) = if let Some(hidden) = &hidden {
                layer.forward(hidden, state.as_ref())?
            } else {
                layer.forward(xs, state.as_ref())?
            };
            hidden = Some(ys);
            next[at] = state;
        }
        let next = if self.keep { Some(next) } else { None };
        Ok((hidden.unwrap(), next))
    }
}

/// Not every element is written.
#[derive(Debug, Module)]
pub struct Alternate {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Alternate {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut kept = vec![None; self.layers.len()];
        let mut ys = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            ys = ys.apply(layer);
            if at % 2 == 1 {
                kept[at] = Some(LayerState { key: ys.tanh() });
            }
        }
        for state in kept.iter() {
            if let Some(state) = state {
                ys = ys + &state.key;
            }
        }
        ys
    }
}

/// Each part sees the result of the one before it, as in Res2Net.
#[derive(Debug, Module)]
pub struct Parts {
    convs: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Parts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut list = Vec::new();
        for (at, part) in xs.chunk(4, 1).into_iter().enumerate() {
            if at == 0 {
                list.push(part);
            } else {
                let part = if at == 1 { part } else { part + &list[at - 1] };
                list.push(self.convs[at - 1].forward(&part).relu());
            }
        }
        Tensor::cat(&list, 1)
    }
}

/// A list that branches fill and hand over, as ProphetNet has it for the tokens that it predicts.
#[derive(Debug, Module)]
pub struct HandedOver {
    fcs: Vec<nn::Linear>,
}

#[traceable(strict)]
impl HandedOver {
    pub fn forward(&self, xs: &Tensor, past: Option<&Tensor>) -> Tensor {
        let (mut streams, mask) = {
            let mut streams = Vec::with_capacity(self.fcs.len());
            if let Some(past) = past {
                for fc in &self.fcs {
                    streams.push(xs.apply(fc) + past);
                }
                (streams, None)
            } else {
                for fc in &self.fcs {
                    streams.push(xs.apply(fc));
                }
                let mask = xs.sigmoid();
                (streams, Some(mask))
            }
        };
        streams.insert(0, xs.tanh());
        let ys = Tensor::cat(streams.as_slice(), 0);
        match mask {
            Some(mask) => ys * mask.repeat([3, 1]),
            None => ys,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: nn::Path, size: i64) -> nn::Linear {
        nn::linear(p, size, size, Default::default())
    }

    #[test]
    fn by_number() {
        for keep in [true, false] {
            let make = |p: &nn::Path| {
                let layers = (0..3).map(|at| Layer { fc: linear(p / at, 8) }).collect();
                ByNumber { layers, keep }
            };
            let some = Some(vec![Some(randn(&[2, 8])), None, Some(randn(&[2, 8]))]);
            agree!(make, [(randn(&[2, 8]), None), (randn(&[2, 8]), some)], |net, (xs, old)| {
                let state = |key: &Option<Tensor>| key.as_ref().map(|key| LayerState { key: key.copy() });
                let old = old.as_ref().map(|old| old.iter().map(state).collect());
                let (ys, next) = net.forward(xs, old).unwrap();
                let next = next.map(|next| next.into_iter().map(|state| state.map(|state| state.key)).collect());
                (ys, next.unwrap_or_else(Vec::new))
            });
        }
    }

    #[test]
    fn alternate() {
        let make = |p: &nn::Path| Alternate { layers: (0..4).map(|at| linear(p / at, 8)).collect() };
        agree!(make, [randn(&[2, 8])], |net, xs| net.forward(xs));
    }

    #[test]
    fn parts() {
        let make = |p: &nn::Path| Parts { convs: (0..3).map(|at| linear(p / at, 4)).collect() };
        agree!(make, [randn(&[2, 16])], |net, xs| net.forward(xs));
    }

    #[test]
    fn handed_over() {
        let make = |p: &nn::Path| HandedOver { fcs: (0..2).map(|at| linear(p / at, 8)).collect() };
        let cases = [(randn(&[2, 8]), None), (randn(&[2, 8]), Some(randn(&[2, 8])))];
        agree!(make, cases, |net, (xs, past)| net.forward(xs, past.as_ref()));
    }
}
