//! Caches in options: lists of pairs of options that a loop takes from and writes to, as T5, LongT5 and ProphetNet have
//! them.

use fx_runtime::{Module, Tensor, nn, traceable};
use std::borrow::BorrowMut;

/// Keys and values of one layer.
#[derive(Debug)]
pub struct LayerState {
    pub prev_key: Tensor,
    pub prev_value: Tensor,
}

impl Clone for LayerState {
    fn clone(&self) -> LayerState {
        LayerState { prev_key: self.prev_key.copy(), prev_value: self.prev_value.copy() }
    }
}

/// Of each layer its own state, and that of its attention to an encoder.
pub type States = Vec<(Option<LayerState>, Option<LayerState>)>;

pub struct BlockOutput {
    pub hidden: Tensor,
    pub cache: (Option<LayerState>, Option<LayerState>),
}

pub struct StackOutput {
    pub hidden: Tensor,
    pub all_hidden: Option<Vec<Tensor>>,
    pub next_cache: Option<Vec<(Option<LayerState>, Option<LayerState>)>>,
}

#[derive(Debug, Module)]
pub struct Block {
    fc: nn::Linear,
    cross: Option<nn::Linear>,
}

impl Block {
    fn attend(layer: &nn::Linear, xs: &Tensor, mut state: Option<LayerState>) -> (Tensor, Option<LayerState>) {
        let key = xs.apply(layer);
        let key = if let Some(old) = &state { Tensor::cat(&[&old.prev_key, &key], 0) } else { key };
        state =
            if key.size()[0] > 2 { Some(LayerState { prev_key: key.copy(), prev_value: key.relu() }) } else { None };
        (key.mean_dim(&[0i64][..], true, None), state)
    }

    fn forward(&self, xs: &Tensor, mut states: (Option<LayerState>, Option<LayerState>)) -> BlockOutput {
        let (ys, own) = Block::attend(&self.fc, xs, states.0);
        let (zs, cross) = match &self.cross {
            Some(cross) => Block::attend(cross, xs, states.1),
            None => (xs.tanh(), None),
        };
        states = (own, cross);
        BlockOutput { hidden: xs + ys * zs, cache: states }
    }
}

/// The states of the caller's, or new ones, which each layer reads and writes.
#[derive(Debug, Module)]
pub struct Stack {
    blocks: Vec<Block>,
    store_cache: bool,
    output_hidden: bool,
}

#[traceable(strict)]
impl Stack {
    pub fn forward(&self, xs: &Tensor, old: Option<Vec<(Option<LayerState>, Option<LayerState>)>>) -> StackOutput {
        let length = if let Some(states) = &old {
            if states[0].0.is_some() { states[0].0.as_ref().unwrap().prev_key.size()[0] } else { 1 }
        } else {
            2
        };
        let mut all_hidden: Option<Vec<Tensor>> = if self.output_hidden { Some(vec![]) } else { None };
        let mut next_cache: Option<Vec<(Option<LayerState>, Option<LayerState>)>> = if self.store_cache {
            if old.is_some() { old } else { Some(vec![(None, None); self.blocks.len()]) }
        } else {
            None
        };
        let mut hidden = xs * length;
        for (at, block) in self.blocks.iter().enumerate() {
            let state = match &next_cache {
                Some(states) => states[at].to_owned(),
                None => (None, None),
            };
            let output = block.forward(&hidden, state);
            hidden = output.hidden;
            if let Some(all) = all_hidden.borrow_mut() {
                all.push(hidden.copy());
            };
            if let Some(states) = &mut next_cache {
                states[at] = output.cache
            };
        }
        StackOutput { hidden, all_hidden, next_cache }
    }
}

/// The same, each state taken out of the list.
#[derive(Debug, Module)]
pub struct Taking {
    blocks: Vec<Block>,
}

#[traceable(strict)]
impl Taking {
    pub fn forward(&self, xs: &Tensor, old: Option<States>) -> (Tensor, Option<States>) {
        let mut next: Option<States> =
            if old.is_some() { old } else { Some(self.blocks.iter().map(|_| (None, None)).collect()) };
        let mut hidden = xs.shallow_clone();
        for (at, block) in self.blocks.iter().enumerate() {
            let (own, cross) = match &mut next {
                Some(states) => std::mem::take(&mut states[at]),
                None => (None, None),
            };
            let own = if at == 0 { own } else { None };
            let output = block.forward(&hidden, (own, cross));
            hidden = output.hidden;
            if let Some(states) = next.as_mut() {
                states[at].1 = output.cache.0;
            }
        }
        (hidden, next)
    }
}

/// The states from the end of a list that is turned around.
#[derive(Debug, Module)]
pub struct Popping {
    blocks: Vec<Block>,
}

#[traceable(strict)]
impl Popping {
    pub fn forward(&self, xs: &Tensor, old: Option<States>) -> (Tensor, States) {
        let mut next: States = Vec::with_capacity(self.blocks.len());
        let mut old = old.map(|mut states| {
            states.reverse();
            states
        });
        let mut hidden = xs.shallow_clone();
        for block in &self.blocks {
            let state = if let Some(states) = old.borrow_mut() { states.pop().unwrap() } else { (None, None) };
            let output = block.forward(&hidden, state);
            hidden = output.hidden;
            next.push(output.cache);
        }
        (hidden, next)
    }
}

/// Options of tensors, where those are not behind a struct.
#[derive(Debug, Module)]
pub struct Tensors {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Tensors {
    pub fn forward(&self, xs: &Tensor, old: Option<Vec<Option<Tensor>>>) -> (Tensor, i64, Option<Vec<Option<Tensor>>>) {
        let mut next = old;
        let mut hidden = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            let state = match &mut next {
                Some(states) => states[at].take(),
                None => None,
            };
            hidden = hidden.apply(layer);
            if let Some(state) = state {
                hidden = hidden + state;
            } else if let Some(states) = &mut next {
                states[at] = Some(hidden.tanh());
            }
        }
        let count = match &next {
            Some(states) => states.iter().flatten().count() as i64,
            None => -1,
        };
        (hidden, count, next)
    }
}

/// A variable that is looked at, cloned, moved and filled anew.
#[derive(Debug, Module)]
pub struct Looked {
    fc: nn::Linear,
}

fn key_of(state: Option<&LayerState>) -> Tensor {
    state.map(|state| state.prev_key.relu()).unwrap()
}

fn value_of(state: &Option<LayerState>) -> Tensor {
    state.as_ref().unwrap().prev_value.relu()
}

#[traceable(strict)]
impl Looked {
    pub fn forward(&self, xs: &Tensor, mut state: Option<LayerState>) -> (Tensor, Option<LayerState>) {
        let ys = xs.apply(&self.fc);
        if let Some(held) = &mut state {
            held.prev_key = ys.relu();
        } else {
            state = Some(LayerState { prev_key: ys.shallow_clone(), prev_value: ys.tanh() });
        }
        let sum = key_of(state.as_ref()) + value_of(&state) + state.clone().unwrap().prev_value;
        let old = state;
        state = Some(LayerState { prev_key: sum.cos(), prev_value: sum.sin() });
        let sum = sum + old.unwrap().prev_key * &state.as_ref().unwrap().prev_value;
        (sum, state)
    }
}

/// The state of the caller's, or one that is made here.
#[derive(Debug, Module)]
pub struct Begun {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Begun {
    pub fn forward(&self, xs: &Tensor, state: Option<LayerState>) -> (Tensor, Option<LayerState>) {
        let (key, value) = (xs.apply(&self.fc), xs.tanh());
        let begun = LayerState { prev_key: key.shallow_clone(), prev_value: value.shallow_clone() };
        let mut state = state.or_else(|| Some(begun));
        state.as_mut().unwrap().prev_key = key + &state.as_ref().unwrap().prev_value;
        (value, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 8, 8, Default::default())
    }

    fn blocks(p: &nn::Path) -> Vec<Block> {
        let block = |at: i64| {
            let p = p / at;
            Block { fc: linear(&p / "fc"), cross: (at == 1).then(|| linear(&p / "cross")) }
        };
        (0..3).map(block).collect()
    }

    type Pair = Option<(Tensor, Tensor)>;
    type Given = Option<Vec<(Pair, Pair)>>;

    fn pair(rows: i64) -> Pair {
        Some((randn(&[rows, 8]), randn(&[rows, 8])))
    }

    fn cases() -> [(Tensor, Given); 3] {
        [
            (randn(&[2, 8]), None),
            (randn(&[2, 8]), Some(vec![(pair(1), None), (None, pair(2)), (pair(2), pair(1))])),
            (randn(&[2, 8]), Some(vec![(None, None), (None, None), (pair(3), None)])),
        ]
    }

    fn state(pair: &Pair) -> Option<LayerState> {
        pair.as_ref().map(|(key, value)| LayerState { prev_key: key.copy(), prev_value: value.copy() })
    }

    fn states(given: &Given) -> Option<States> {
        given.as_ref().map(|given| given.iter().map(|(own, cross)| (state(own), state(cross))).collect())
    }

    fn flat(states: Option<States>) -> Vec<Tensor> {
        let each = states.into_iter().flatten().flat_map(|(own, cross)| [own, cross]);
        let tensors = |state: Option<LayerState>| match state {
            Some(state) => vec![state.prev_key, state.prev_value],
            None => vec![Tensor::from(0i64)],
        };
        each.flat_map(tensors).collect()
    }

    #[test]
    fn stack() {
        for (store_cache, output_hidden) in [(true, true), (true, false), (false, true)] {
            let make = |p: &nn::Path| Stack { blocks: blocks(p), store_cache, output_hidden };
            agree!(make, cases(), |net, (xs, old)| {
                let output = net.forward(xs, states(old));
                (output.hidden, output.all_hidden.unwrap_or_default(), flat(output.next_cache))
            });
        }
    }

    #[test]
    fn taking() {
        agree!(|p| Taking { blocks: blocks(p) }, cases(), |net, (xs, old)| {
            let (hidden, next) = net.forward(xs, states(old));
            (hidden, flat(next))
        });
    }

    #[test]
    fn popping() {
        agree!(|p| Popping { blocks: blocks(p) }, cases(), |net, (xs, old)| {
            let (hidden, next) = net.forward(xs, states(old));
            (hidden, flat(Some(next)))
        });
    }

    #[test]
    fn tensors() {
        let make = |p: &nn::Path| Tensors { layers: (0..3).map(|at| linear(p / at)).collect() };
        let some = Some(vec![Some(randn(&[2, 8])), None, Some(randn(&[2, 8]))]);
        agree!(make, [(randn(&[2, 8]), None), (randn(&[2, 8]), some)], |net, (xs, old)| {
            let old = old.as_ref().map(|old| old.iter().map(|one| one.as_ref().map(Tensor::copy)).collect());
            let (hidden, count, next) = net.forward(xs, old);
            (hidden, count, next.into_iter().flatten().flatten().collect::<Vec<Tensor>>())
        });
    }

    #[test]
    fn begun() {
        let make = |p: &nn::Path| Begun { fc: linear(p / "fc") };
        agree!(make, [(randn(&[2, 8]), None), (randn(&[2, 8]), pair(2))], |net, (xs, old)| {
            let (value, state) = net.forward(xs, state(old));
            let state = state.unwrap();
            (value, state.prev_key, state.prev_value)
        });
    }

    #[test]
    fn looked() {
        let make = |p: &nn::Path| Looked { fc: linear(p / "fc") };
        agree!(make, [(randn(&[2, 8]), None), (randn(&[2, 8]), pair(2))], |net, (xs, old)| {
            let (sum, state) = net.forward(xs, state(old));
            let state = state.unwrap();
            (sum, state.prev_key, state.prev_value)
        });
    }
}
