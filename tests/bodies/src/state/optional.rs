//! State that may not be there yet: pairs and options that loops hand on, fields of structs behind options, caches.

use fx_runtime::{Kind, Module, Tensor, nn, nn::RNN, traceable};

/// A pair of a value and an optional residual through the layers, as Mamba has it.
#[derive(Debug, Module)]
pub struct Layer {
    norm: nn::LayerNorm,
    fc: nn::Linear,
}

impl Layer {
    fn new(p: nn::Path) -> Layer {
        let fc = nn::linear(&p / "fc", 8, 8, Default::default());
        Layer { norm: nn::layer_norm(&p / "norm", vec![8], Default::default()), fc }
    }

    fn forward(&self, xs: &Tensor, residual: Option<&Tensor>) -> (Tensor, Tensor) {
        let residual = match residual {
            Some(residual) => residual + xs,
            None => xs.shallow_clone(),
        };
        (residual.apply(&self.norm).apply(&self.fc).silu(), residual)
    }
}

#[derive(Debug, Module)]
pub struct Carried {
    layers: Vec<Layer>,
}

#[traceable(strict)]
impl Carried {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut state: (Tensor, Option<Tensor>) = (xs.shallow_clone(), None);
        for layer in &self.layers {
            let (ys, residual) = layer.forward(&state.0, state.1.as_ref());
            state = (ys, Some(residual));
        }
        let (ys, residual) = state;
        match residual {
            Some(residual) => ys + residual,
            None => ys,
        }
    }
}

/// The same, where each layer takes and yields the option itself.
#[derive(Debug, Module)]
pub struct HandedOn {
    layers: Vec<Layer>,
}

impl HandedOn {
    fn step(layer: &Layer, xs: Tensor, residual: Option<Tensor>) -> (Tensor, Option<Tensor>) {
        let (ys, residual) = layer.forward(&xs, residual.as_ref());
        (ys, Some(residual))
    }
}

#[traceable(strict)]
impl HandedOn {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (mut hidden, mut residual) = (xs.shallow_clone(), None);
        for layer in self.layers.iter() {
            (hidden, residual) = HandedOn::step(layer, hidden, residual);
        }
        match residual {
            Some(residual) => hidden + residual,
            None => hidden,
        }
    }
}

/// State of a decoder step.
#[derive(Debug)]
pub struct Step {
    pub prev_key: Tensor,
    pub prev_value: Tensor,
}

/// Keys and values that the caller keeps.
#[derive(Debug, Module)]
pub struct Stepped {
    k: nn::Linear,
    v: nn::Linear,
}

#[traceable(strict)]
impl Stepped {
    pub fn forward(&self, xs: &Tensor, mut state: Option<Step>) -> (Tensor, Option<Step>) {
        let (k, v) = (xs.apply(&self.k), xs.apply(&self.v));
        let (k, v) = match &state {
            Some(old) => (Tensor::cat(&[&old.prev_key, &k], 1), Tensor::cat(&[&old.prev_value, &v], 1)),
            None => (k, v),
        };
        let ys = xs.matmul(&k.transpose(-2, -1)).softmax(-1, Kind::Float).matmul(&v);
        if state.is_some() {
            state.as_mut().unwrap().prev_key = k;
            state.as_mut().unwrap().prev_value = v;
        } else {
            state = Some(Step { prev_key: k, prev_value: v });
        }
        (ys, state)
    }
}

/// One cell a layer of a cache that the caller may lend.
#[derive(Debug, Module)]
pub struct Cached {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Cached {
    pub fn forward(&self, xs: &Tensor, cache: &mut Option<Vec<Tensor>>) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            ys = ys.apply(layer).tanh();
            if let Some(cells) = cache.as_mut() {
                ys = ys + &cells[at];
                cells[at] = ys.shallow_clone();
            }
        }
        ys
    }
}

/// The same, owned.
#[derive(Debug, Module)]
pub struct OwnedCache {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl OwnedCache {
    pub fn forward(&self, xs: &Tensor, mut cache: Option<Vec<Tensor>>) -> (Tensor, Option<Vec<Tensor>>) {
        let mut ys = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            ys = ys.apply(layer).tanh();
            if let Some(cells) = &mut cache {
                cells[at] = &cells[at] + &ys;
            }
        }
        (ys, cache)
    }
}

/// The state of a recurrent layer as a field of the model.
#[derive(Debug, Module)]
pub struct Recurrent {
    lstm: nn::LSTM,
    gru: nn::GRU,
    #[module(skip)]
    lstm_state: Option<nn::LSTMState>,
    #[module(skip)]
    gru_state: Option<nn::GRUState>,
}

#[traceable(strict)]
impl Recurrent {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let batch = xs.size()[0];
        let state = match &self.lstm_state {
            Some(state) => nn::LSTMState((state.h().shallow_clone(), state.c().shallow_clone())),
            None => self.lstm.zero_state(batch),
        };
        let (ys, next) = self.lstm.seq_init(xs, &state);
        self.lstm_state = Some(next);
        let zero = self.gru.zero_state(batch);
        let (zs, next) = self.gru.seq_init(&ys, self.gru_state.as_ref().unwrap_or(&zero));
        self.gru_state = Some(next);
        ys + zs
    }
}

/// Filled on the first call, and exchanged.
#[derive(Debug, Module)]
pub struct Exchanged {
    fc: nn::Linear,
    #[module(skip)]
    sum: Option<Tensor>,
    #[module(skip)]
    now: Tensor,
    #[module(skip)]
    before: Tensor,
}

#[traceable(strict)]
impl Exchanged {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let first = self.sum.get_or_insert_with(|| ys.zeros_like()).shallow_clone();
        self.sum = Some(&first + &ys);
        std::mem::swap(&mut self.now, &mut self.before);
        let old = std::mem::replace(&mut self.now, ys.relu());
        let taken = std::mem::take(&mut self.sum);
        let total = match taken {
            Some(total) => total,
            None => ys.shallow_clone(),
        };
        self.sum = Some(total.shallow_clone());
        total + old + &self.before
    }
}

/// What is exchanged in variables of the forward's own, and an option of a struct that begins empty.
#[derive(Debug, Module)]
pub struct Handed {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Handed {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let (mut now, mut before) = (xs.shallow_clone(), xs.neg());
        let mut held: Option<Step> = None;
        for layer in &self.layers {
            std::mem::swap(&mut now, &mut before);
            let old = std::mem::replace(&mut now, before.apply(layer).tanh());
            if let Some(step) = &mut held {
                step.prev_key = &step.prev_key + &old;
            } else {
                held = Some(Step { prev_key: old, prev_value: now.shallow_clone() });
            }
        }
        let mut total: Option<Tensor> = None;
        let sum = total.get_or_insert_with(|| now.relu()).shallow_clone();
        let key = match &held {
            Some(step) => &step.prev_key * &step.prev_value,
            None => xs.cos(),
        };
        let taken = std::mem::take(&mut total);
        (key + taken.unwrap_or(before), sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, in_a_row, number, randn};

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 8, 8, Default::default())
    }

    #[test]
    fn carried() {
        for layers in [0, 1, 3] {
            let make = |p: &nn::Path| Carried { layers: (0..layers).map(|at| Layer::new(p / at)).collect() };
            agree!(make, [randn(&[2, 8])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn handed_on() {
        for layers in [0, 1, 3] {
            let make = |p: &nn::Path| HandedOn { layers: (0..layers).map(|at| Layer::new(p / at)).collect() };
            agree!(make, [randn(&[2, 8])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn stepped() {
        let state =
            |held: &Option<Tensor>| held.as_ref().map(|held| Step { prev_key: held.copy(), prev_value: held * 2.0 });
        let cases = [(randn(&[2, 1, 8]), None), (randn(&[2, 1, 8]), Some(randn(&[2, 3, 8])))];
        agree!(|p| Stepped { k: linear(p, "k"), v: linear(p, "v") }, cases, |net, (xs, held)| {
            let (ys, next) = net.forward(xs, state(held));
            let next = next.unwrap();
            (ys, next.prev_key, next.prev_value)
        });
    }

    #[test]
    fn cached() {
        let make = |p: &nn::Path| Cached { layers: vec![linear(p, "a"), linear(p, "b")] };
        let cells = || Some(vec![randn(&[2, 8]), randn(&[2, 8])]);
        let cases = [(randn(&[2, 8]), None), (randn(&[2, 8]), cells())];
        agree!(make, cases, |net, (xs, cache)| crate::check::Twice::of(cache, |cache| net.forward(xs, cache)));
    }

    #[test]
    fn owned_cache() {
        let make = |p: &nn::Path| OwnedCache { layers: vec![linear(p, "a"), linear(p, "b")] };
        let cells = || Some(vec![randn(&[2, 8]), randn(&[2, 8])]);
        let cases = [(randn(&[2, 8]), None), (randn(&[2, 8]), cells())];
        agree!(make, cases, |net, (xs, cache)| {
            let cache = cache.as_ref().map(|cells| cells.iter().map(Tensor::copy).collect());
            net.forward(xs, cache)
        });
    }

    #[test]
    fn exchanged() {
        in_a_row!(
            |p| Exchanged { fc: linear(p, "fc"), sum: None, now: number(1.0), before: number(2.0) },
            vec![randn(&[2, 8]), randn(&[2, 8]), randn(&[2, 8])]
        );
    }

    #[test]
    fn handed() {
        for layers in [0, 1, 3] {
            let make = |p: &nn::Path| Handed { layers: (0..layers).map(|at| linear(p, &format!("l{at}"))).collect() };
            agree!(make, [randn(&[2, 8])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn recurrent() {
        let make = |p: &nn::Path| Recurrent {
            lstm: nn::lstm(p / "lstm", 4, 4, Default::default()),
            gru: nn::gru(p / "gru", 4, 4, Default::default()),
            lstm_state: None,
            gru_state: None,
        };
        in_a_row!(make, vec![randn(&[2, 3, 4]), randn(&[2, 3, 4])]);
    }
}
