//! `&mut self` forwards: what the model keeps from one call to the next.

use std::collections::VecDeque;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// An attention with a cache of keys and values, as a part of a decoder.
#[derive(Debug, Module)]
pub struct Attention {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    #[module(skip)]
    pub cache: Option<(Tensor, Tensor)>,
}

impl Attention {
    fn new(p: &nn::Path) -> Attention {
        let linear = |name: &str| nn::linear(p / name, 8, 8, Default::default());
        Attention { q: linear("q"), k: linear("k"), v: linear("v"), cache: None }
    }

    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let q = xs.apply(&self.q);
        let (mut k, mut v) = (xs.apply(&self.k), xs.apply(&self.v));
        if let Some((old_k, old_v)) = &self.cache {
            k = Tensor::cat(&[old_k, &k], 1);
            v = Tensor::cat(&[old_v, &v], 1);
        }
        self.cache = Some((k.shallow_clone(), v.shallow_clone()));
        let weights = (q.matmul(&k.transpose(-2, -1)) / 8f64.sqrt()).softmax(-1, Kind::Float);
        weights.matmul(&v)
    }
}

/// One layer, whose cache is a part of the model's state.
#[derive(Debug, Module)]
pub struct Single {
    attn: Attention,
    out: nn::Linear,
}

#[traceable]
impl Single {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = self.attn.forward(xs) + xs;
        ys.apply(&self.out).relu()
    }
}

/// Layers of several kinds.
#[derive(Debug, Module)]
pub enum Unit {
    Plain(nn::Linear),
    Squared(nn::Linear),
}

impl Unit {
    fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Unit::Plain(fc) => xs.apply(fc),
            Unit::Squared(fc) => xs.apply(fc).square(),
        }
    }
}

/// A list of layers that opaque code reads beside state that it writes to.
#[derive(Debug, Module)]
pub struct Stepped {
    units: Vec<Unit>,
    #[module(skip)]
    seen: Vec<Tensor>,
    #[module(skip)]
    total: Option<Tensor>,
}

#[traceable]
impl Stepped {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = xs.relu();
        if let Some(first) = self.seen.first() {
            let zs = &mut ys;
            self.total = Some(first * 0.5);
            for unit in &self.units {
                *zs += unit.forward(first);
            }
        }
        self.seen.push(xs.shallow_clone());
        self.seen.iter().fold(ys, |sum, one| sum + one)
    }
}

/// A list that opaque code reads beside the state that it writes to, and that is read once more.
#[derive(Debug, Module)]
pub struct ReadTwice {
    #[module(skip)]
    seen: Vec<Tensor>,
    #[module(skip)]
    total: Option<Tensor>,
}

#[traceable]
impl ReadTwice {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = xs.relu();
        if let Some(second) = self.seen.get(1) {
            let zs = &mut ys;
            self.total = Some(second * 0.5);
            if let Some(total) = &self.total {
                *zs += total;
            }
        }
        self.seen.iter().fold(ys, |sum, one| sum + one)
    }
}

/// An input that is kept itself, so that later calls write to what an earlier caller holds.
#[derive(Debug, Module)]
pub struct KeepsInput {
    #[module(skip)]
    first: Option<(Tensor, Tensor)>,
}

#[traceable]
impl KeepsInput {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.first.get_or_insert_with(|| (xs.shallow_clone(), xs.neg())).0 += 1.0;
        xs.relu()
    }
}

/// State that an operand of a macro writes to, and nothing else.
#[derive(Debug, Module)]
pub struct WrittenInMacro {
    count: i64,
    #[module(skip)]
    seen: Vec<Tensor>,
}

#[traceable]
impl WrittenInMacro {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = xs.relu();
        if let Some(first) = self.seen.first() {
            let zs = &mut ys;
            let both = vec![
                match self.count % 4 {
                    0 => {
                        self.count += 3;
                        first.tanh()
                    }
                    _ => first.sin(),
                },
                xs.neg(),
            ];
            *zs += &both[0] - &both[1];
        }
        if self.seen.is_empty() {
            self.seen.push(xs.shallow_clone());
        }
        ys * self.count
    }
}

/// Many layers, each with its own cache, and a count of the tokens that were seen.
#[derive(Debug, Module)]
pub struct Decoder {
    layers: Vec<Attention>,
    norm: nn::LayerNorm,
    seen: i64,
}

#[traceable]
impl Decoder {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = xs + self.seen as f64 * 0.01;
        for layer in &mut self.layers {
            ys = layer.forward(&ys) + ys;
        }
        self.seen += xs.size()[1];
        ys.apply(&self.norm)
    }
}

/// The same by position.
#[derive(Debug, Module)]
pub struct Indexed {
    layers: Vec<Attention>,
}

#[traceable]
impl Indexed {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for i in 0..self.layers.len() {
            ys = (self.layers[i].forward(&ys) + ys).tanh();
        }
        for (i, layer) in self.layers.iter_mut().enumerate() {
            ys = (layer.forward(&ys) * (i as f64 + 0.5)).tanh();
        }
        ys
    }
}

/// A streaming convolution with the tail of what came before.
#[derive(Debug, Module)]
pub struct Streaming {
    conv: nn::Conv1D,
    #[module(skip)]
    tail: Tensor,
}

#[traceable]
impl Streaming {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let xs = Tensor::cat(&[&self.tail, xs], -1);
        let len = xs.size()[2];
        self.tail = xs.narrow(2, len - 2, 2).copy();
        self.conv.forward(&xs).relu()
    }
}

/// A recurrent net with its hidden state, which begins with nothing.
#[derive(Debug, Module)]
pub struct Recurrent {
    input: nn::Linear,
    hidden: nn::Linear,
    #[module(skip)]
    state: Option<Tensor>,
    steps: i64,
}

impl Recurrent {
    fn step(&mut self, x: &Tensor) -> Tensor {
        let mut next = x.apply(&self.input);
        if let Some(state) = self.state.take() {
            next = next + state.apply(&self.hidden);
        }
        let next = next.tanh();
        self.state = Some(next.shallow_clone());
        self.steps += 1;
        next
    }
}

#[traceable]
impl Recurrent {
    pub fn forward(&mut self, xs: &Tensor) -> (Tensor, i64) {
        let mut outs = vec![];
        for t in 0..xs.size()[0] {
            outs.push(self.step(&xs.get(t)));
        }
        (Tensor::stack(&outs, 0), self.steps)
    }
}

/// Running statistics, some of them in place.
#[derive(Debug, Module)]
pub struct Running {
    fc: nn::Linear,
    mean: Tensor,
    total: Tensor,
    momentum: f64,
    ready: bool,
}

#[traceable]
impl Running {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let now = ys.mean_dim(0i64, false, Kind::Float);
        self.total += &now;
        let _ = self.total.clamp_(-1.0, 1.0);
        self.mean = if self.ready { &self.mean * self.momentum + now * (1.0 - self.momentum) } else { now };
        self.momentum *= 0.5;
        self.ready = true;
        ys - &self.mean + &self.total
    }
}

/// Lists, queues, swaps, and what is read back in the same call.
#[derive(Debug, Module)]
pub struct Windows {
    fc: nn::Linear,
    #[module(skip)]
    keys: Vec<Tensor>,
    #[module(skip)]
    last: VecDeque<Tensor>,
    #[module(skip)]
    pair: [Tensor; 2],
    #[module(skip)]
    previous: Tensor,
    limit: usize,
    word: String,
}

#[traceable]
impl Windows {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let k = self.fc.forward(xs);
        self.keys.push(k.shallow_clone());
        if self.keys.len() > self.limit {
            let _ = self.keys.remove(0);
        }
        self.last.push_back(k.relu());
        if self.last.len() > 2 {
            let _ = self.last.pop_front();
        }
        let previous = std::mem::replace(&mut self.previous, k.shallow_clone());
        self.pair = [previous.shallow_clone(), k.shallow_clone()];
        self.word.push('x');
        let queue = Tensor::stack(&self.last.iter().map(|one| one.shallow_clone()).collect::<Vec<_>>(), 0);
        let sum = Tensor::stack(&self.keys, 0).sum_dim_intlist([0i64].as_slice(), false, Kind::Float);
        sum + previous * 0.5
            + &self.pair[1] * self.word.len() as f64
            + queue.sum_dim_intlist([0i64].as_slice(), false, Kind::Float)
    }
}

/// A state of a type of its own, which its methods change.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    calls: i64,
    seen: Vec<i64>,
}

impl Meter {
    fn note(&mut self, rows: i64) -> i64 {
        self.calls += 1;
        let seen = &mut self.seen;
        seen.push(rows);
        seen.iter().sum()
    }
}

/// Another without `Clone`, of which the forward names every field.
#[derive(Debug)]
pub struct Memory {
    keys: Option<Tensor>,
    uses: i64,
}

#[derive(Debug, Module)]
pub struct Metered {
    fc: nn::Linear,
    #[module(skip)]
    meter: Meter,
    #[module(skip)]
    memory: Memory,
}

#[traceable]
impl Metered {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let rows: i64 = self.meter.note(xs.size()[0]);
        self.memory.uses += rows;
        let ys = match &self.memory.keys {
            Some(keys) => ys + keys,
            None => ys,
        };
        self.memory.keys = Some(ys.mean_dim(0i64, true, Kind::Float));
        ys * self.memory.uses as f64
    }
}

/// Writes that only some calls do, in a loop that a call may leave.
#[derive(Debug, Module)]
pub struct Sometimes {
    fc: nn::Linear,
    #[module(skip)]
    best: Option<Tensor>,
    wins: i64,
    scale: f64,
    bias: Option<nn::Linear>,
}

impl Sometimes {
    fn offer(&mut self, ys: &Tensor) -> bool {
        let better = match &self.best {
            Some(best) => ys.sum(Kind::Float).double_value(&[]) > best.sum(Kind::Float).double_value(&[]),
            None => true,
        };
        if better {
            self.best = Some(ys.shallow_clone());
            self.wins += 1;
        }
        better
    }
}

#[traceable]
impl Sometimes {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = self.fc.forward(xs) * self.scale;
        if let Some(bias) = &self.bias {
            ys = ys.apply(bias);
        }
        for _ in 0..3 {
            if !self.offer(&ys) {
                break;
            }
            ys = ys * 0.5;
        }
        let best = self.best.as_ref().unwrap().shallow_clone();
        if self.wins > 2 && self.scale > 0.0 {
            self.wins = 0;
            self.best = None;
        }
        best + ys
    }
}

/// Nothing of it is understood but that it writes.
#[derive(Debug, Module)]
pub struct Carried {
    fc: nn::Linear,
    #[module(skip)]
    cache: Option<Tensor>,
    count: u32,
}

#[traceable]
impl Carried {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let cache = &mut self.cache;
        let ys = self.fc.forward(xs);
        let sum = cache.get_or_insert_with(|| ys.zeros_like());
        *sum = &*sum + &ys;
        self.count = self.count.wrapping_add(1);
        sum.shallow_clone() * f64::from(self.count)
    }
}

/// It takes the model by `&mut self`, and writes to nothing.
#[derive(Debug, Module)]
pub struct Idle {
    fc: nn::Linear,
}

#[traceable]
impl Idle {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs).relu()
    }
}

/// A part that is one of several, and is only asked by code that is carried along.
#[derive(Debug, Module)]
pub enum Stage {
    Fc(nn::Linear),
    Skip,
}

impl Stage {
    fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Stage::Fc(fc) => fc.forward(xs),
            Stage::Skip => xs.shallow_clone(),
        }
    }
}

#[derive(Debug, Module)]
pub struct Staged {
    stage: Stage,
    calls: i64,
}

#[traceable]
impl Staged {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let by_key = std::collections::BTreeMap::from([(2, self.stage.forward(xs))]);
        self.calls += 1;
        &by_key[&2] * self.calls
    }
}

/// Caches that a chain of calls empties.
#[derive(Debug, Module)]
pub struct Emptied {
    layers: Vec<Attention>,
}

#[traceable(entry = ["forward", "clear"])]
impl Emptied {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.layers.iter_mut().fold(xs.shallow_clone(), |xs, layer| layer.forward(&xs))
    }

    pub fn clear(&mut self) {
        self.layers.iter_mut().for_each(|layer| layer.cache = None);
    }
}

/// A loop borrows what the model keeps, and writes nothing to it.
#[derive(Debug, Module)]
pub struct Untouched {
    fc: nn::Linear,
    #[module(skip)]
    seen: Vec<Tensor>,
}

#[traceable]
impl Untouched {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut turn = 0;
        loop {
            if turn > 3 {
                break;
            }
            let _seen = &mut self.seen;
            turn += 1;
        }
        xs.apply(&self.fc) * turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, here, in_a_row, randn, root, understood};
    use fx_runtime::Freeze;

    understood!(Windows: 11 of 14);
    understood!(Carried: 0 of 13);
    understood!(Staged: 0 of 8);

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 8, 8, Default::default())
    }

    fn tokens() -> Vec<Tensor> {
        [3, 1, 1, 2].map(|len| randn(&[2, len, 8])).into()
    }

    #[test]
    fn read_twice() {
        let seen = [randn(&[1, 8]), randn(&[1, 8])];
        let make = |_: &nn::Path| ReadTwice { seen: seen.iter().map(Tensor::copy).collect(), total: None };
        in_a_row!(make, vec![randn(&[2, 8]), randn(&[3, 8])]);
    }

    #[test]
    fn keeps_input() {
        in_a_row!(|_| KeepsInput { first: None }, vec![randn(&[2, 8]), randn(&[3, 8])]);
    }

    #[test]
    fn written_in_macro() {
        let inputs = [2, 2, 2, 2, 2, 2].map(|rows| randn(&[rows, 8])).into();
        in_a_row!(|_| WrittenInMacro { count: 0, seen: Vec::new() }, inputs);
    }

    #[test]
    fn stepped() {
        let units = |p: &nn::Path| vec![Unit::Plain(linear(p, "0")), Unit::Squared(linear(p, "1"))];
        in_a_row!(
            |p| Stepped { units: units(p), seen: Vec::new(), total: None },
            [2, 2, 2].map(|rows| randn(&[rows, 8])).into()
        );
    }

    #[test]
    fn a_cache() {
        in_a_row!(|p| Single { attn: Attention::new(&(p / "attn")), out: linear(p, "out") }, tokens());
    }

    #[test]
    fn a_cache_in_each_layer() {
        let layers = |p: &nn::Path| (0..3).map(|i| Attention::new(&(p / i))).collect();
        let norm = |p: &nn::Path| nn::layer_norm(p / "norm", vec![8], Default::default());
        in_a_row!(|p| Decoder { layers: layers(p), norm: norm(p), seen: 0 }, tokens());
        in_a_row!(|p| Indexed { layers: layers(p) }, tokens());
    }

    #[test]
    fn a_tail() {
        let zeros = |p: &nn::Path| Tensor::zeros([1, 4, 2], (Kind::Float, p.device()));
        let make = |p: &nn::Path| Streaming { conv: nn::conv1d(p / 0, 4, 6, 3, Default::default()), tail: zeros(p) };
        in_a_row!(make, [5, 1, 7].map(|len| randn(&[1, 4, len])).into());
    }

    fn recurrent(p: &nn::Path) -> Recurrent {
        Recurrent { input: linear(p, "input"), hidden: linear(p, "hidden"), state: None, steps: 0 }
    }

    #[test]
    fn a_hidden_state() {
        in_a_row!(recurrent, [4, 1, 2].map(|len| randn(&[len, 2, 8])).into());
    }

    #[test]
    fn statistics() {
        let make = |p: &nn::Path| Running {
            fc: linear(p, "fc"),
            mean: p.zeros_no_train("mean", &[8]),
            total: p.zeros_no_train("total", &[8]),
            momentum: 0.9,
            ready: false,
        };
        in_a_row!(make, vec![randn(&[3, 8]), randn(&[2, 8]), randn(&[4, 8])]);
    }

    #[test]
    fn lists_and_queues() {
        let zeros = |p: &nn::Path| Tensor::zeros([2, 8], (Kind::Float, p.device()));
        let make = |p: &nn::Path| Windows {
            fc: linear(p, "fc"),
            keys: Vec::new(),
            last: VecDeque::new(),
            pair: [zeros(p), zeros(p)],
            previous: zeros(p),
            limit: 2,
            word: String::new(),
        };
        in_a_row!(make, (0..4).map(|_| randn(&[2, 8])).collect());
    }

    #[test]
    fn types_of_its_own() {
        let memory = || Memory { keys: None, uses: 1 };
        let make = |p: &nn::Path| Metered { fc: linear(p, "fc"), meter: Meter::default(), memory: memory() };
        in_a_row!(make, vec![randn(&[3, 8]), randn(&[2, 8]), randn(&[4, 8])]);
    }

    #[test]
    fn some_calls_write() {
        let make = |p: &nn::Path| Sometimes {
            fc: linear(p, "fc"),
            best: None,
            wins: 0,
            scale: 1.0,
            bias: Some(linear(p, "bias")),
        };
        in_a_row!(make, (0..5).map(|_| randn(&[2, 8])).collect());
    }

    #[test]
    fn carried_whole() {
        let make = |p: &nn::Path| Carried { fc: linear(p, "fc"), cache: None, count: 0 };
        in_a_row!(make, vec![randn(&[2, 8]), randn(&[2, 8])]);
    }

    #[test]
    fn emptied() {
        let layers = |p: &nn::Path| (0..2).map(|i| Attention::new(&(p / i))).collect();
        let mut frozen = in_a_row!(|p| Emptied { layers: layers(p) }, tokens());
        frozen.clear();
        let once = frozen.forward(&tokens()[0]);
        frozen.clear();
        frozen.forward(&tokens()[0]).size().close(&once.size());
    }

    #[test]
    fn idle() {
        in_a_row!(|p| Idle { fc: linear(p, "fc") }, vec![randn(&[2, 8])]);
    }

    #[test]
    fn nothing_is_shared_with_the_model() {
        let (_vs, mut model) = root(|p| Running {
            fc: linear(p, "fc"),
            mean: p.zeros_no_train("mean", &[8]),
            total: p.zeros_no_train("total", &[8]),
            momentum: 0.9,
            ready: false,
        });
        let xs = randn(&[3, 8]);
        let mut frozen = model.freeze(&Freeze::default()).unwrap();
        let mut untouched = model.freeze(&Freeze::default()).unwrap();
        let expected = frozen.forward(&xs);
        // In place, on the model's own tensors.
        let _ = tch::no_grad(|| model.total.fill_(5.0));
        let _ = tch::no_grad(|| model.forward(&xs));
        untouched.forward(&xs).close(&expected);
    }

    #[test]
    fn the_state_at_freeze_is_saved() {
        let (_vs, mut model) = root(recurrent);
        let xs = randn(&[3, 2, 8]);
        let _ = tch::no_grad(|| model.forward(&xs));
        let mut frozen = model.freeze(&Freeze::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frozen.safetensors");
        let expected = [frozen.forward(&xs), frozen.forward(&xs)];
        frozen.save(&path).unwrap();
        let mut loaded = RecurrentFrozen::load(&path, &here()).unwrap();
        [loaded.forward(&xs), loaded.forward(&xs)].close(&expected);
        loaded.reset_state().unwrap();
        loaded.forward(&xs).close(&expected[0]);
    }

    #[test]
    fn a_warm_up_leaves_no_trace() {
        let (_vs, model) = root(|p| Single { attn: Attention::new(&(p / "attn")), out: linear(p, "out") });
        let mut frozen = model.freeze(&Freeze::default()).unwrap();
        let mut cold = model.freeze(&Freeze::default()).unwrap();
        let report = frozen.warm_up(&[[2, 3, 8]]).unwrap();
        assert!(report.to_string().contains("&mut self"), "{report}");
        let xs = randn(&[2, 3, 8]);
        frozen.forward(&xs).close(&cold.forward(&xs));
    }

    #[test]
    fn what_cannot_be_saved_is_named() {
        let memory = Memory { keys: None, uses: 1 };
        let (_vs, model) = root(|p| Metered { fc: linear(p, "fc"), meter: Meter::default(), memory });
        let frozen = model.freeze(&Freeze::default()).unwrap();
        let error = frozen.save("never.safetensors").unwrap_err().to_string();
        assert!(error.contains("meter: ") && error.contains("Meter"), "{error}");
    }

    #[test]
    fn asked_by_carried_code() {
        for is_deep in [false, true] {
            let stage = |p: &nn::Path| if is_deep { Stage::Fc(linear(p, "fc")) } else { Stage::Skip };
            in_a_row!(|p| Staged { stage: stage(p), calls: 0 }, vec![randn(&[2, 8]), randn(&[3, 8])]);
        }
    }

    #[test]
    fn borrowed_and_left_alone() {
        in_a_row!(|p| Untouched { fc: linear(p, "fc"), seen: Vec::new() }, vec![randn(&[2, 8]), randn(&[3, 8])]);
    }
}
