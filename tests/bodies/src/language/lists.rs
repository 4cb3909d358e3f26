//! Lists of the forward's own and of the model's that are written where they lie, and what else takes lists apart.

use std::collections::HashMap;

use fx_runtime::{Module, Tensor, nn, traceable};

/// A head of layers of which the last is not activated, and states that derive what they begin with.
#[derive(Debug, Module)]
pub struct Head {
    layers: Vec<nn::Linear>,
}

#[derive(Debug, Default)]
struct Totals {
    sum: Option<Tensor>,
    all: Vec<Tensor>,
    count: i64,
    scale: f64,
}

impl Totals {
    fn add(&mut self, xs: &Tensor) {
        self.sum = Some(match &self.sum {
            Some(sum) => sum + xs,
            None => xs.shallow_clone(),
        });
        self.all.push(xs * 2.0);
        self.count += 1;
        self.scale += 0.5;
    }
}

#[traceable]
impl Head {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut totals = Totals::default();
        let Some((last, others)) = self.layers.split_last() else { return xs.shallow_clone() };
        let mut ys = xs.shallow_clone();
        for layer in others {
            ys = ys.apply(layer).relu();
            totals.add(&ys);
        }
        let (first, rest) = self.layers.split_first().unwrap();
        let zs = rest.iter().fold(ys.apply(first), |zs, layer| zs.apply(layer).tanh());
        let sum = totals.sum.unwrap_or_else(|| ys.zeros_like());
        (ys.apply(last) + zs + sum + &totals.all[0]) * totals.scale / totals.count as f64
    }
}

/// Layers that each go on from a state in a list of the forward's own.
#[derive(Debug, Module)]
pub struct Stack {
    of_input: Vec<nn::Linear>,
    of_hidden: Vec<nn::Linear>,
}

#[derive(Debug)]
struct Running {
    hidden: Tensor,
    steps: i64,
}

#[traceable]
impl Stack {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Vec<Tensor>) {
        let mut hidden: Vec<Tensor> = self.of_hidden.iter().map(|_| xs.select(1, 0).zeros_like()).collect();
        let mut running = Vec::new();
        for _ in &self.of_hidden {
            running.push(Running { hidden: xs.select(1, 0), steps: 0 });
        }
        let mut counts = vec![0i64, 0];
        let mut last = xs.select(1, 0);
        for at in 0..xs.size()[1] {
            let mut ys = xs.select(1, at);
            for ((layer, back), state) in self.of_input.iter().zip(self.of_hidden.iter()).zip(hidden.iter_mut()) {
                *state = (ys.apply(layer) + state.apply(back)).tanh();
                ys = state.shallow_clone();
            }
            for (number, state) in running.iter_mut().enumerate() {
                state.hidden = &state.hidden * 0.5 + &ys;
                state.steps += number as i64 + 1;
                ys = ys + &state.hidden;
            }
            counts[(at % 2) as usize] += 1;
            last = ys;
        }
        if let Some(first) = running.first_mut() {
            first.hidden = first.hidden.relu();
        }
        let steps: i64 = running.iter().map(|state| state.steps).sum();
        let total = &running[0].hidden + &running[1].hidden * counts[0] as f64;
        (last + total * steps as f64, hidden)
    }
}

/// The same kept by the model: lists of tensors and of options that are written by index and by `&mut`.
#[derive(Debug, Module)]
pub struct KeptStack {
    layers: Vec<nn::Linear>,
    hidden: Vec<Tensor>,
    past: Vec<Option<(Tensor, Tensor)>>,
}

fn doubled(tensor: &mut Tensor) {
    *tensor = &*tensor * 2.0;
}

#[traceable]
impl KeptStack {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            let zs = ys.apply(layer);
            let (k, v) = match &self.past[at] {
                Some((k, v)) => (k + &zs, v - &zs),
                None => (zs.relu(), zs.tanh()),
            };
            self.past[at] = Some((k.shallow_clone(), v.shallow_clone()));
            self.hidden[at] = &self.hidden[at] + k * 0.5;
            ys = ys + &self.hidden[at] * v;
        }
        for one in self.hidden.iter_mut() {
            *one = &*one * 0.5;
        }
        doubled(&mut self.hidden[0]);
        ys
    }
}

/// A struct of the forward's own that only code that is carried along can write to.
#[derive(Debug, Module)]
pub struct Noted {
    fc: nn::Linear,
}

#[derive(Debug, Default)]
struct Marks {
    named: HashMap<String, i64>,
    count: i64,
}

impl Marks {
    fn mark(&mut self, name: &str) {
        *self.named.entry(name.to_owned()).or_default() += 1;
        self.count += self.named[name];
    }
}

#[traceable]
impl Noted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut marks = Marks::default();
        marks.mark("a");
        let first = marks.count;
        marks.mark("a");
        let second = marks.count;
        let ys = xs.apply(&self.fc) * first as f64;
        marks.mark("b");
        ys + (second * 10 + marks.count) as f64
    }
}

/// Arrays out of lists, pairs in lists, chains with one element more, and sequentials that closures help to build.
#[derive(Debug, Module)]
pub struct Gathers {
    layers: Vec<nn::Linear>,
    mlp: nn::Sequential,
}

impl Gathers {
    pub fn new(p: &nn::Path) -> Self {
        let lin = |p: nn::Path, out| nn::linear(p, 4, out, Default::default());
        let block = |p: nn::Path| nn::seq().add(lin(&p / 0, 4)).add_fn(|xs| xs.relu());
        let mlp = nn::seq().add(block(p / "a")).add(lin(p / "b", 4)).add_fn(|xs| xs.leaky_relu());
        Gathers { layers: (0..3).map(|at| lin(p / at, 4)).collect(), mlp }
    }
}

#[traceable]
impl Gathers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (last, others) = self.layers.split_last().expect("a layer");
        let mut pairs = Vec::new();
        let mut ys = xs.shallow_clone();
        for layer in others.iter().chain(std::iter::once(last)) {
            ys = ys.apply(layer).tanh();
            pairs.push((ys.shallow_clone(), ys.neg()));
        }
        let (a, b) = pairs.pop().unwrap();
        let [c, d]: [Tensor; 2] = self.mlp.forward(&ys).chunk(2, -1).try_into().unwrap();
        let (first, _) = &pairs[0];
        a * 2.0 + b + first + Tensor::cat(&[d, c], -1)
    }
}

/// What each group of layers leaves, in lists of lists and options of these.
#[derive(Debug, Module)]
pub struct Grouped {
    layers: Vec<nn::Linear>,
    keeps: bool,
}

#[traceable]
impl Grouped {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Option<Vec<Vec<Tensor>>>, Vec<Vec<Tensor>>) {
        let mut hidden: Option<Vec<Tensor>> = Some(vec![]);
        let mut all: Option<Vec<Vec<Tensor>>> = if self.keeps { Some(vec![]) } else { None };
        let mut plain: Vec<Vec<Tensor>> = Vec::new();
        let mut ys = xs.shallow_clone();
        for _ in 0..2 {
            let mut inner = vec![];
            for layer in &self.layers {
                ys = ys.apply(layer).tanh();
                inner.push(ys.shallow_clone());
            }
            if let Some(hidden) = hidden.as_mut() {
                hidden.push(ys.neg());
            }
            if let Some(all) = all.as_mut() {
                all.push(inner);
            }
            let mut pair = Vec::with_capacity(2);
            pair.push(ys.relu());
            pair.push(ys.abs());
            plain.push(pair);
        }
        let sum = hidden.unwrap().iter().fold(ys, |sum, one| sum + one);
        (sum + &plain[1][0], all, plain)
    }
}

/// Lists that move into another, and references that are gathered of a list.
#[derive(Debug, Module)]
pub struct Moved {
    layers: Vec<nn::Linear>,
}

impl Moved {
    fn both(&self, xs: &Tensor, layer: &nn::Linear) -> (Tensor, Vec<Tensor>) {
        let normed = xs.tanh();
        let ys = normed.apply(layer);
        let kept = ys.relu();
        (ys, vec![normed, kept])
    }
}

#[traceable(strict)]
impl Moved {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        let mut all = Vec::with_capacity(self.layers.len() * 2);
        for layer in &self.layers {
            let (next, mut kept) = self.both(&xs, layer);
            xs = next;
            all.append(&mut kept);
        }
        let maps = self.layers.iter().map(|layer| xs.apply(layer)).collect::<Vec<_>>();
        let mut refs = maps.iter().collect::<Vec<_>>();
        refs.reverse();
        let shifted = [xs.shallow_clone(), xs.roll([1], [0])];
        let shifted: Vec<&Tensor> = shifted.iter().collect();
        Tensor::stack(&all, 0).sum(None) + Tensor::cat(&refs, 1)
            - Tensor::cat(&maps, 1) * Tensor::cat(&shifted, 1).narrow(1, 0, 4).repeat([1, 3])
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, agree, randn, root, understood};

    understood!(Noted: 3 of 11);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn head() {
        for count in [1, 3] {
            let make = |p: &nn::Path| Head { layers: (0..count).map(|at| linear(p / at)).collect() };
            if count > 1 {
                agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
            } else {
                let (_vs, net) = root(make);
                net.freeze(&Freeze::default()).unwrap();
            }
        }
    }

    #[test]
    fn moved() {
        let make = |p: &nn::Path| Moved { layers: (0..3).map(|at| linear(p / at)).collect() };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn gathers() {
        agree!(Gathers::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn noted() {
        agree!(|p| Noted { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn grouped() {
        for keeps in [true, false] {
            let make = |p: &nn::Path| Grouped { layers: (0..2).map(|at| linear(p / at)).collect(), keeps };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn stack() {
        let make = |p: &nn::Path| Stack {
            of_input: (0..2).map(|at| linear(p / at)).collect(),
            of_hidden: (2..4).map(|at| linear(p / at)).collect(),
        };
        agree!(make, [randn(&[2, 3, 4]), randn(&[1, 2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn kept_stack() {
        let hidden = vec![randn(&[2, 4]), randn(&[2, 4])];
        let (_vs, mut net) =
            root(|p| KeptStack { layers: (0..2).map(|at| linear(p / at)).collect(), hidden, past: vec![None, None] });
        let mut frozen = net.freeze(&Freeze::default()).unwrap();
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs).close(&net.forward(&xs));
        }
    }
}
