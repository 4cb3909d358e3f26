//! State that a caller lends by `&mut`: caches of keys and values, recurrent states, in the forms in which they are written.

use std::collections::HashMap;

use fx_runtime::{Kind, Module, Tensor, nn, nn::Module as _, traceable};

/// A recurrent cell whose state the caller has.
#[derive(Debug, Module)]
pub struct Cell {
    of_input: nn::Linear,
    of_hidden: nn::Linear,
}

#[derive(Debug)]
pub struct CellState {
    pub hidden: Tensor,
    pub steps: i64,
    pub seen: Vec<i64>,
}

#[traceable]
impl Cell {
    pub fn forward(&self, xs: &Tensor, state: &mut CellState) -> Tensor {
        let hidden = (xs.apply(&self.of_input) + state.hidden.apply(&self.of_hidden)).tanh();
        state.hidden = hidden.shallow_clone();
        state.steps += 1;
        state.seen.push(xs.size()[0]);
        hidden * state.steps as f64
    }
}

/// Attention with a cache that has an entry for every layer, found by its number.
#[derive(Debug, Module)]
pub struct Attention {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
}

#[derive(Debug)]
pub struct Cache {
    pub use_kv: bool,
    pub kvs: Vec<Option<(Tensor, Tensor)>>,
}

impl Attention {
    fn forward(&self, xs: &Tensor, layer: usize, cache: &mut Cache) -> Tensor {
        let (q, mut k, mut v) = (xs.apply(&self.q), xs.apply(&self.k), xs.apply(&self.v));
        if cache.use_kv {
            if let Some((past_k, past_v)) = &cache.kvs[layer] {
                k = Tensor::cat(&[past_k, &k], 1);
                v = Tensor::cat(&[past_v, &v], 1);
            }
            cache.kvs[layer] = Some((k.shallow_clone(), v.shallow_clone()));
        }
        (q.matmul(&k.transpose(-2, -1)) * 0.5).softmax(-1, Kind::Float).matmul(&v)
    }
}

#[derive(Debug, Module)]
pub struct Numbered {
    layers: Vec<Attention>,
    head: nn::Linear,
}

#[traceable]
impl Numbered {
    pub fn forward(&self, xs: &Tensor, cache: &mut Cache) -> Tensor {
        let mut xs = xs.shallow_clone();
        for (number, layer) in self.layers.iter().enumerate() {
            xs = &xs + layer.forward(&xs, number, cache);
        }
        xs.apply(&self.head).relu()
    }
}

/// A cache of each layer's own, zipped with the layers, with methods of its own.
#[derive(Debug, Default)]
pub struct LayerCache {
    past: Option<(Tensor, Tensor)>,
    length: i64,
}

impl LayerCache {
    fn update(&mut self, k: &Tensor, v: &Tensor) -> (Tensor, Tensor) {
        let (k, v) = match self.past.take() {
            Some((past_k, past_v)) => (Tensor::cat(&[&past_k, k], 1), Tensor::cat(&[&past_v, v], 1)),
            None => (k.shallow_clone(), v.shallow_clone()),
        };
        self.length = k.size()[1];
        self.past = Some((k.shallow_clone(), v.shallow_clone()));
        (k, v)
    }

    fn length(&self) -> i64 {
        self.length
    }

    pub fn clear(&mut self) {
        self.past = None;
        self.length = 0;
    }
}

#[derive(Debug, Module)]
pub struct Zipped {
    layers: Vec<Attention>,
}

impl Attention {
    fn with(&self, xs: &Tensor, cache: &mut LayerCache) -> Tensor {
        let offset = cache.length();
        let (k, v) = cache.update(&xs.apply(&self.k), &xs.apply(&self.v));
        let q = xs.apply(&self.q) + offset as f64 * 0.125;
        q.matmul(&k.transpose(-2, -1)).softmax(-1, Kind::Float).matmul(&v)
    }
}

#[traceable]
impl Zipped {
    pub fn forward(&self, xs: &Tensor, caches: &mut [LayerCache]) -> Tensor {
        let mut xs = xs.shallow_clone();
        for (layer, cache) in self.layers.iter().zip(caches.iter_mut()) {
            xs = &xs + layer.with(&xs, cache);
        }
        xs
    }
}

/// The same by numbers, with a part lent and cleared.
#[derive(Debug, Module)]
pub struct Cleared {
    layers: Vec<Attention>,
}

#[derive(Debug, Default)]
pub struct Caches {
    pub layers: Vec<LayerCache>,
    pub extra: Option<LayerCache>,
    pub position: usize,
}

#[traceable]
impl Cleared {
    pub fn forward(&self, xs: &Tensor, caches: &mut Caches, fresh: bool) -> Tensor {
        if fresh {
            for cache in &mut caches.layers {
                cache.clear();
            }
            caches.position = 0;
        }
        let mut xs = xs.shallow_clone();
        for (number, layer) in self.layers.iter().enumerate() {
            let cache = &mut caches.layers[number];
            xs = layer.with(&xs, cache).gelu("none");
        }
        if let Some(extra) = caches.extra.as_mut() {
            xs = self.layers[0].with(&xs, extra) + extra.length() as f64;
        }
        caches.position += xs.size()[1] as usize;
        xs / caches.position as f64
    }
}

/// Lists, options, tuples and tensors themselves.
#[derive(Debug, Module)]
pub struct Plain {
    fc: nn::Linear,
}

#[traceable]
impl Plain {
    pub fn forward(
        &self,
        xs: &Tensor,
        all: &mut Vec<Tensor>,
        last: &mut Option<Tensor>,
        (sum, count): &mut (Tensor, i64),
        scale: &mut Tensor,
    ) -> Tensor {
        let ys = xs.apply(&self.fc).relu();
        all.push(ys.shallow_clone());
        let before = last.replace(ys.shallow_clone());
        *sum = &*sum + ys.sum(Kind::Float);
        *count += 1;
        let _ = scale.g_mul_scalar_(0.5);
        all[0] = &all[0] + 1.0;
        let mut out = &ys * &*scale + &all[0];
        if let Some(before) = before {
            out = out - before;
        }
        for one in all.iter_mut() {
            *one = &*one * 0.5;
        }
        out + &*sum / *count as f64 + all.len() as f64
    }
}

/// What fails leaves the state as the user's code would.
#[derive(Debug, Module)]
pub struct Failing {
    fc: nn::Linear,
}

#[traceable]
impl Failing {
    pub fn forward(&self, xs: &Tensor, state: &mut CellState) -> Result<Tensor, tch::TchError> {
        state.steps += 1;
        let ys = xs.apply(&self.fc);
        state.hidden = ys.f_add(&state.hidden)?;
        state.steps += 10;
        Ok(ys.relu())
    }
}

/// A container of another crate, which is read by code that is carried along.
#[derive(Debug, Module)]
pub struct Mapped {
    fc: nn::Linear,
}

#[derive(Debug, Default)]
pub struct Notes {
    pub named: HashMap<String, Tensor>,
    pub turns: i64,
}

#[traceable]
impl Mapped {
    pub fn forward(&self, xs: &Tensor, notes: &mut Notes) -> Tensor {
        let ys = xs.apply(&self.fc).tanh();
        notes.named.insert("ys".to_owned(), ys.shallow_clone());
        notes.turns += 1;
        ys * notes.turns as f64
    }
}

/// State that is handed on to functions, whole and in parts.
#[derive(Debug, Module)]
pub struct Handed {
    fc: nn::Linear,
}

fn decayed(mean: &mut Tensor, value: &Tensor, decay: f64) -> Tensor {
    *mean = &*mean * decay + value * (1.0 - decay);
    mean.shallow_clone()
}

fn counted(state: &mut CellState, times: usize) {
    for _ in 0..times {
        state.steps += 2;
    }
    if let Some(last) = state.seen.last_mut() {
        *last += 1;
    }
}

#[traceable]
impl Handed {
    pub fn forward(&self, xs: &Tensor, state: &mut CellState) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mean = decayed(&mut state.hidden, &ys, 0.75);
        counted(state, 3);
        let old = std::mem::replace(&mut state.hidden, &mean * 2.0);
        let CellState { steps, .. } = state;
        *steps += 1;
        ys + mean - old * *steps as f64
    }
}

/// A cache that may be lent, handed on through the layers.
#[derive(Debug, Module)]
pub struct Maybe {
    layers: Vec<Attention>,
}

impl Attention {
    fn with_any(&self, xs: &Tensor, cache: Option<&mut LayerCache>) -> Tensor {
        let q = xs.apply(&self.q);
        let (k, v) = (xs.apply(&self.k), xs.apply(&self.v));
        let (k, v) = match cache {
            Some(cache) => cache.update(&k, &v),
            None => (k, v),
        };
        q.matmul(&k.transpose(-2, -1)).softmax(-1, Kind::Float).matmul(&v)
    }
}

#[traceable]
impl Maybe {
    pub fn forward(&self, xs: &Tensor, mut cache: Option<&mut LayerCache>) -> Tensor {
        let first = self.layers[0].with_any(xs, cache.as_deref_mut());
        let second = self.layers[1].with_any(&first, None);
        let mut own = LayerCache::default();
        let third = self.layers[1].with_any(&second, Some(&mut own));
        if let Some(cache) = cache {
            cache.length += 100;
        }
        third + own.length() as f64
    }
}

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

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, agree, randn, root};

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn attention(p: &nn::Path) -> Attention {
        Attention { q: linear(p / "q"), k: linear(p / "k"), v: linear(p / "v") }
    }

    impl Close for CellState {
        fn close(&self, eager: &CellState) {
            self.hidden.close(&eager.hidden);
            assert_eq!((self.steps, &self.seen), (eager.steps, &eager.seen));
        }
    }

    impl Close for LayerCache {
        fn close(&self, eager: &LayerCache) {
            self.past.close(&eager.past);
            assert_eq!(self.length, eager.length);
        }
    }

    fn state() -> CellState {
        CellState { hidden: Tensor::zeros([2, 4], (Kind::Float, tch::Device::Cpu)), steps: 0, seen: vec![7] }
    }

    #[test]
    fn recurrent() {
        let (_vs, net) = root(|p| Cell { of_input: linear(p / 0), of_hidden: linear(p / 1) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (state(), state());
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
            ours.close(&theirs);
        }
    }

    #[test]
    fn numbered() {
        let (_vs, net) = root(|p| Numbered {
            layers: (0..2).map(|at| attention(&(p / at))).collect(),
            head: linear(p / "head"),
        });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        for use_kv in [true, false] {
            let cache = || Cache { use_kv, kvs: vec![None, None] };
            let (mut ours, mut theirs) = (cache(), cache());
            for length in [3, 1, 1] {
                let xs = randn(&[2, length, 4]);
                frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
                ours.kvs.close(&theirs.kvs);
            }
        }
    }

    #[test]
    fn zipped() {
        let (_vs, net) = root(|p| Zipped { layers: (0..2).map(|at| attention(&(p / at))).collect() });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let caches = || vec![LayerCache::default(), LayerCache::default()];
        let (mut ours, mut theirs) = (caches(), caches());
        for length in [3, 1, 2] {
            let xs = randn(&[2, length, 4]);
            frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
            ours.close(&theirs);
        }
        let short = &mut [LayerCache::default()];
        let xs = randn(&[2, 3, 4]);
        frozen.forward(&xs, short).close(&net.forward(&xs, &mut [LayerCache::default()]));
    }

    #[test]
    fn cleared() {
        let (_vs, net) = root(|p| Cleared { layers: (0..2).map(|at| attention(&(p / at))).collect() });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        for extra in [true, false] {
            let caches = || Caches {
                layers: vec![LayerCache::default(), LayerCache::default()],
                extra: extra.then(LayerCache::default),
                position: 5,
            };
            let (mut ours, mut theirs) = (caches(), caches());
            for fresh in [false, false, true, false] {
                let xs = randn(&[2, 3, 4]);
                frozen.forward(&xs, &mut ours, fresh).close(&net.forward(&xs, &mut theirs, fresh));
                ours.layers.close(&theirs.layers);
                ours.extra.close(&theirs.extra);
                assert_eq!(ours.position, theirs.position);
            }
        }
    }

    #[test]
    fn plain() {
        let (_vs, net) = root(|p| Plain { fc: linear(p / 0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let new = || (Vec::new(), None, (Tensor::from(0f32), 0), Tensor::from(2f32));
        let ((mut all, mut last, mut pair, mut scale), mut theirs) = (new(), new());
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            let eager = net.forward(&xs, &mut theirs.0, &mut theirs.1, &mut theirs.2, &mut theirs.3);
            frozen.forward(&xs, &mut all, &mut last, &mut pair, &mut scale).close(&eager);
            all.close(&theirs.0);
            last.close(&theirs.1);
            pair.0.close(&theirs.2.0);
            assert_eq!(pair.1, theirs.2.1);
            scale.close(&theirs.3);
        }
    }

    #[test]
    fn failing() {
        let (_vs, net) = root(|p| Failing { fc: linear(p / 0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (state(), state());
        let wrong = randn(&[3, 4]);
        assert!(net.forward(&wrong, &mut theirs).is_err());
        let error = frozen.forward(&wrong, &mut ours).unwrap_err().to_string();
        assert!(error.contains("lent_state.rs"), "{error}");
        ours.close(&theirs);
        let xs = randn(&[2, 4]);
        frozen.forward(&xs, &mut ours).unwrap().close(&net.forward(&xs, &mut theirs).unwrap());
        ours.close(&theirs);
    }

    #[test]
    fn mapped() {
        let (_vs, net) = root(|p| Mapped { fc: linear(p / 0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (Notes::default(), Notes::default());
        for _ in 0..2 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
            ours.named["ys"].close(&theirs.named["ys"]);
        }
    }

    #[test]
    fn handed_on() {
        let (_vs, net) = root(|p| Handed { fc: linear(p / 0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (state(), state());
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
            ours.close(&theirs);
        }
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
    fn noted() {
        agree!(|p| Noted { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn gathers() {
        agree!(Gathers::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
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
        let (_vs, mut net) = root(|p| KeptStack {
            layers: (0..2).map(|at| linear(p / at)).collect(),
            hidden,
            past: vec![None, None],
        });
        let mut frozen = net.freeze(&Freeze::default()).unwrap();
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs).close(&net.forward(&xs));
        }
    }

    #[test]
    fn maybe() {
        let (_vs, net) = root(|p| Maybe { layers: (0..2).map(|at| attention(&(p / at))).collect() });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (LayerCache::default(), LayerCache::default());
        for length in [3, 1] {
            let xs = randn(&[2, length, 4]);
            frozen.forward(&xs, Some(&mut ours)).close(&net.forward(&xs, Some(&mut theirs)));
            ours.close(&theirs);
            frozen.forward(&xs, None).close(&net.forward(&xs, None));
        }
    }
}
