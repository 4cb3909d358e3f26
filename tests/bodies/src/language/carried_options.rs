//! Options that loops carry beside tensors: in pairs, and as states that a function's parameter says the type of.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A layer with a global part beside the local one.
#[derive(Debug, Module)]
pub struct Layer {
    local: nn::Linear,
    global: Option<nn::Linear>,
}

impl Layer {
    fn both(&self, input: (Tensor, Option<Tensor>)) -> (Tensor, Option<Tensor>) {
        let (xs, state) = input;
        let ys = xs.apply(&self.local);
        let own = self.global.as_ref().map(|layer| xs.apply(layer));
        let state = match (own, state) {
            (Some(own), Some(state)) => Some(own + state),
            (Some(only), None) | (None, Some(only)) => Some(only),
            (None, None) => None,
        };
        (ys, state)
    }

    fn step(&self, xs: &Tensor, state: Option<&Tensor>) -> (Tensor, Option<Tensor>) {
        let ys = xs.apply(&self.local).tanh();
        let next = state.map(|state| state + &ys);
        (ys, next)
    }
}

#[derive(Debug, Module)]
pub struct Carried {
    layers: Vec<Layer>,
}

#[traceable(strict)]
impl Carried {
    pub fn forward(&self, xs: &Tensor, start: Option<&Tensor>) -> Tensor {
        let mut pair = (xs.shallow_clone(), Some(xs.tanh()));
        for layer in &self.layers {
            pair = layer.both(pair);
        }
        let mut begun = (xs.sin(), None);
        for layer in &self.layers {
            begun = layer.both(begun);
        }
        let (mut ys, mut state) = (xs.shallow_clone(), None);
        for layer in &self.layers {
            (ys, state) = layer.step(&ys, state.as_ref());
        }
        let first = start.map(Tensor::relu);
        let (zs, last) =
            self.layers.iter().fold((xs.cos(), first), |(zs, state), layer| layer.step(&zs, state.as_ref()));
        let all = [pair.1, begun.1, state, last];
        all.into_iter().flatten().fold(pair.0 + begun.0 + ys + zs, |sum, one| sum + one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn through_layers() {
        for (global, count) in [(true, 2), (false, 2), (true, 0)] {
            let make = |p: &nn::Path| {
                let linear = |name: String| nn::linear(p / name, 4, 4, nn::LinearConfig::default());
                let layer = |at: i64| Layer {
                    local: linear(format!("local{at}")),
                    global: global.then(|| linear(format!("global{at}"))),
                };
                Carried { layers: (0..count).map(layer).collect() }
            };
            let cases = [(randn(&[2, 4]), None), (randn(&[3, 4]), Some(randn(&[3, 4])))];
            agree!(make, cases, |net, (xs, start)| net.forward(xs, start.as_ref()));
        }
    }
}
