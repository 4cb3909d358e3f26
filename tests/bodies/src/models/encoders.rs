//! Encoders and decoders as libraries have them: states in lists of options, lists that are kept where they are asked for,
//! inputs of which there is one or the other, and a table that the model lends to its parts.

use std::borrow::BorrowMut;

use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};

#[derive(Debug)]
pub struct State {
    pub key: Tensor,
    pub value: Tensor,
}

impl Clone for State {
    fn clone(&self) -> State {
        State { key: self.key.copy(), value: self.value.copy() }
    }
}

pub mod attention {
    use fx_runtime::{Module, Tensor, nn};

    use super::State;

    /// Whether it looks at other inputs is known when it is frozen; without them its first branch would fail.
    #[derive(Debug, Module)]
    pub struct Attention {
        q: nn::Linear,
        k: nn::Linear,
        v: nn::Linear,
        crosses: bool,
        keeps: bool,
        pub biases: bool,
    }

    impl Attention {
        pub fn new(p: nn::Path, crosses: bool, keeps: bool, biases: bool) -> Attention {
            let linear = |name: &str| nn::linear(&p / name, 4, 4, Default::default());
            Attention { q: linear("q"), k: linear("k"), v: linear("v"), crosses, keeps, biases }
        }

        fn shape(&self, xs: Tensor, batch: i64) -> Tensor {
            xs.view([batch, -1, 2, 2]).transpose(1, 2).contiguous()
        }

        pub fn forward(
            &self,
            xs: &Tensor,
            other: Option<&Tensor>,
            bias: Option<&Tensor>,
            state: Option<State>,
        ) -> (Tensor, Option<Tensor>, Option<State>) {
            let (batch, _, _) = xs.size3().unwrap();
            let q = self.shape(xs.apply(&self.q), batch);
            let (k, v) = if self.crosses {
                if let Some(state) = state {
                    (state.key, state.value)
                } else {
                    (self.shape(other.unwrap().apply(&self.k), batch), self.shape(other.unwrap().apply(&self.v), batch))
                }
            } else if let Some(state) = state {
                let (k, v) = (self.shape(xs.apply(&self.k), batch), self.shape(xs.apply(&self.v), batch));
                (Tensor::cat(&[state.key, k], 2), Tensor::cat(&[state.value, v], 2))
            } else {
                (self.shape(xs.apply(&self.k), batch), self.shape(xs.apply(&self.v), batch))
            };
            let state = if self.keeps { Some(State { key: k.copy(), value: v.copy() }) } else { None };
            let scores = q.matmul(&k.transpose(-2, -1));
            let made = if bias.is_none() { Some(scores.ones_like() * 0.5) } else { None };
            let bias = if let Some(bias) = bias { bias } else { made.as_ref().unwrap() };
            let ys = (scores + bias).softmax(-1, fx_runtime::Kind::Float).matmul(&v);
            let ys = ys.transpose(1, 2).contiguous().view([batch, -1, 4]);
            (ys, if self.biases { made } else { None }, state)
        }
    }
}

use attention::Attention;

#[derive(Debug)]
pub struct Step {
    pub ys: Tensor,
    pub bias: Option<Tensor>,
    pub states: (Option<State>, Option<State>),
}

#[derive(Debug, Module)]
pub struct Layer {
    own: Attention,
    cross: Attention,
    norm: nn::LayerNorm,
}

#[traceable]
impl Layer {
    pub fn forward(
        &self,
        xs: &Tensor,
        other: &Tensor,
        bias: Option<&Tensor>,
        states: (Option<State>, Option<State>),
    ) -> Step {
        let (ys, bias, own) = self.own.forward(xs, None, bias, states.0);
        let ys = (ys + xs).apply(&self.norm);
        let (zs, _, cross) = self.cross.forward(&ys, Some(other), None, states.1);
        let states = (own, cross);
        Step { ys: zs + ys, bias, states }
    }
}

#[derive(Debug)]
pub struct Decoded {
    pub ys: Tensor,
    pub states: Option<Vec<(Option<State>, Option<State>)>>,
    pub all: Option<Vec<Tensor>>,
}

#[derive(Debug, Module)]
pub struct Decoder {
    layers: Vec<Layer>,
    keeps: bool,
    tells: bool,
}

#[traceable(strict)]
impl Decoder {
    pub fn forward(
        &self,
        ids: &Tensor,
        other: &Tensor,
        table: &nn::Embedding,
        old: Option<Vec<(Option<State>, Option<State>)>>,
    ) -> Decoded {
        let seen =
            if let Some(old) = &old { if let Some(first) = &old[0].0 { first.key.size()[2] } else { 0 } } else { 0 };
        let mut ys = ids.apply(table) + seen;
        let mut all: Option<Vec<Tensor>> = if self.tells { Some(vec![]) } else { None };
        let mut states: Option<Vec<(Option<State>, Option<State>)>> = if self.keeps {
            if old.is_some() { old } else { Some(vec![(None, None); self.layers.len()]) }
        } else {
            None
        };
        let mut bias = None;
        for (at, layer) in self.layers.iter().enumerate() {
            let state = match &states {
                Some(states) => states[at].to_owned(),
                None => (None, None),
            };
            let step = layer.forward(&ys, other, bias.as_ref(), state);
            if at == 0 {
                bias = step.bias;
            }
            ys = step.ys;
            if let Some(all) = all.borrow_mut() {
                all.push(ys.as_ref().copy());
            };
            if let Some(states) = &mut states {
                states[at] = step.states
            };
        }
        Decoded { ys, states, all }
    }
}

/// Its decoder is a part that is handed a layer, and states by value.
#[derive(Debug, Module)]
pub struct Whole {
    table: nn::Embedding,
    decoder: Decoder,
    head: nn::Linear,
}

#[traceable(strict)]
impl Whole {
    pub fn forward(
        &self,
        ids: &Tensor,
        other: Option<&Tensor>,
        old: Option<Vec<(Option<State>, Option<State>)>>,
    ) -> Decoded {
        let made = if other.is_none() { Some(ids.apply(&self.table).relu()) } else { None };
        let other = other.unwrap_or_else(|| made.as_ref().unwrap());
        let decoded = self.decoder.forward(ids, other, &self.table, old);
        Decoded { ys: decoded.ys.apply(&self.head), ..decoded }
    }
}

fn one_of(
    ids: Option<&Tensor>,
    embeds: Option<&Tensor>,
    table: &nn::Embedding,
) -> Result<(Option<Tensor>, Vec<i64>, Device), String> {
    Ok(match (ids, embeds) {
        (Some(_), Some(_)) => return Err("both".into()),
        (Some(ids), None) => (Some(ids.apply(table)), ids.size(), ids.device()),
        (None, Some(embeds)) => {
            let size = vec![embeds.size()[0], embeds.size()[1]];
            (None, size, embeds.device())
        }
        (None, None) => return Err("neither".into()),
    })
}

/// Inputs of which there is one or the other, and what is known of both.
#[derive(Debug, Module)]
pub struct OneOf {
    table: nn::Embedding,
    places: nn::Embedding,
}

#[traceable]
impl OneOf {
    pub fn forward(&self, ids: Option<&Tensor>, embeds: Option<&Tensor>) -> Result<Tensor, String> {
        let (made, size, device) = one_of(ids, embeds, &self.table)?;
        let embeds = embeds.unwrap_or_else(|| made.as_ref().unwrap());
        let places = Tensor::arange(size[1], (Kind::Int64, device)).expand(size.as_slice(), true);
        let sides = if size[0] > 2 { [size[0], 1] } else { [1, size[0]] };
        Ok(embeds + places.apply(&self.places) * sides[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, randn};

    type States = Option<Vec<(Option<State>, Option<State>)>>;

    impl Close for State {
        fn close(&self, eager: &State) {
            self.key.close(&eager.key);
            self.value.close(&eager.value);
        }
    }

    impl Close for Decoded {
        fn close(&self, eager: &Decoded) {
            self.ys.close(&eager.ys);
            self.states.close(&eager.states);
            self.all.close(&eager.all);
        }
    }

    fn decoder(p: &nn::Path, keeps: bool, tells: bool) -> Decoder {
        let layer = |at: i64| {
            let p = p / "layers" / at;
            Layer {
                own: Attention::new(&p / "own", false, keeps, at == 0),
                cross: Attention::new(&p / "cross", true, keeps, false),
                norm: nn::layer_norm(&p / "norm", vec![4], Default::default()),
            }
        };
        Decoder { layers: (0..3).map(layer).collect(), keeps, tells }
    }

    fn table(p: nn::Path) -> nn::Embedding {
        nn::embedding(p, 6, 4, Default::default())
    }

    fn states() -> States {
        let state = || Some(State { key: randn(&[2, 2, 3, 2]), value: randn(&[2, 2, 3, 2]) });
        Some((0..3).map(|_| (state(), state())).collect())
    }

    #[test]
    fn states_in_lists_of_options() {
        let ids = || Tensor::from_slice(&[0i64, 5, 2, 3]).view([2, 2]);
        for (keeps, tells) in [(true, false), (true, true), (false, true)] {
            let old = states();
            let make = |p: &nn::Path| Whole {
                table: table(p / "table"),
                decoder: decoder(&(p / "decoder"), keeps, tells),
                head: nn::linear(p / "head", 4, 6, Default::default()),
            };
            let cases = [(ids(), Some(randn(&[2, 3, 4]))), (ids(), None)];
            agree!(make, cases, |net, (ids, other)| net.forward(ids, other.as_ref(), None));
            // One number is added to each place of what a bias is for: only without more of them it fits.
            let one = Tensor::from_slice(&[1i64, 4]).view([2, 1]);
            agree!(make, [(one, Some(randn(&[2, 3, 4])))], |net, (ids, other)| {
                net.forward(ids, other.as_ref(), old.clone())
            });
            let (_vs, lent) = crate::check::root(|p| table(p / 0));
            agree!(|p| decoder(p, keeps, tells), [(ids(), randn(&[2, 3, 4]))], |net, (ids, other)| {
                net.forward(ids, other, &lent, None)
            });
        }
    }

    #[test]
    fn one_input_or_the_other() {
        let make = |p: &nn::Path| OneOf { table: table(p / 0), places: table(p / 1) };
        let ids = Tensor::from_slice(&[0i64, 5, 2, 3]).view([2, 2]);
        let cases = [
            (Some(ids.shallow_clone()), None),
            (None, Some(randn(&[3, 2, 4]))),
            (Some(ids), Some(randn(&[1, 2, 4]))),
            (None, None),
        ];
        agree!(make, cases, |net, (ids, embeds)| net.forward(ids.as_ref(), embeds.as_ref()));
    }

    #[test]
    fn layers_are_understood() {
        let report = include_str!(concat!(env!("OUT_DIR"), "/fx/report.txt"));
        let line = report.lines().find(|line| line.starts_with("`Layer` (src/models/encoders.rs")).unwrap();
        assert!(line.contains("100.0 %"), "{line}");
    }
}
