//! State that a caller lends by `&mut`: caches of keys and values, recurrent states, in the forms in which they are written.

use std::collections::HashMap;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

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

/// State that carried code reaches: whole and in parts at once, by a name of its own, as a slice.
#[derive(Debug, Module)]
pub struct Reached {
    fc: nn::Linear,
    maybe: Option<i64>,
    #[module(skip)]
    bias: Option<Tensor>,
}

fn both(of: &Tensor, state: &CellState) -> Tensor {
    of * state.steps as f64
}

fn bumped(caches: &mut [LayerCache]) {
    caches[1].bump(match 1 {
        n if n > 2 => n,
        _ => caches[0].length,
    });
}

impl LayerCache {
    fn bump(&mut self, by: i64) {
        self.length += by;
    }
}

#[traceable]
impl Reached {
    pub fn forward(
        &self,
        xs: &Tensor,
        state: &mut CellState,
        caches: &mut Vec<LayerCache>,
        last: &mut Tensor,
    ) -> Tensor {
        let ys = Some(xs.apply(&self.fc)).filter(|ys| ys.dim() > 1).map(|ys| both(&state.hidden, &*state) + ys);
        bumped(caches);
        let kept = last;
        let mut keep = |one: &Tensor| *kept = one.tanh();
        keep(xs);
        let seen = state.seen.iter().rev().skip(1).step_by(2).sum::<i64>();
        let by = self.bias.as_ref().zip(self.maybe).map(|(bias, by)| bias - xs * by).unwrap_or_else(|| xs.neg());
        state.seen.push(seen + 1);
        ys.unwrap() + by
    }
}

/// References into what is lent, which code that is carried hands over.
#[derive(Debug, Module)]
pub struct Referred {
    fc: nn::Linear,
}

impl Caches {
    fn longest(&mut self) -> Option<&mut LayerCache> {
        self.layers.iter_mut().max_by_key(|cache| cache.length)
    }
}

#[traceable]
impl Referred {
    pub fn forward(&self, xs: &Tensor, caches: &mut Caches) -> Tensor {
        if let Some(longest) = caches.longest() {
            longest.bump(2);
        }
        let mut first = &mut caches.layers[0];
        first.length += 1;
        if xs.dim() > 1 {
            first = &mut caches.layers[1];
        }
        first.length += 5;
        let LayerCache { length, .. } = *first;
        first.length += 1;
        xs.apply(&self.fc) * length
    }
}

/// Chains that ask no further than they have to, and numbers that carried code looks behind.
#[derive(Debug, Module)]
pub struct Asking {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Asking {
    pub fn forward(&self, xs: &Tensor, caches: &mut [LayerCache]) -> Tensor {
        let is_any = caches.iter_mut().any(|cache| {
            cache.length += 1;
            cache.length > 1
        });
        let mut asked = 0;
        let are_all = [1, 2, 3].iter().all(|by| {
            asked += 1;
            *by < 2
        });
        for (at, cache) in caches.iter_mut().enumerate().filter(|(at, cache)| *at > 0 || cache.length > 2) {
            cache.length += at as i64;
        }
        xs.apply(&self.fc) * (is_any as i64 + are_all as i64 + asked)
    }
}

/// A list within a list of the model's own state, which is found by `last_mut`.
#[derive(Debug, Module)]
pub struct Nested {
    fc: nn::Linear,
    #[module(skip)]
    lists: Vec<Vec<Tensor>>,
}

#[traceable]
impl Nested {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        self.lists.push(vec![ys.relu()]);
        if let Some(list) = self.lists.last_mut() {
            list.push(ys.tanh());
        }
        ys + self.lists[0].len() as f64
    }
}

/// A struct that is taken out of an option, or made.
#[derive(Debug, Module)]
pub struct Remade {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Remade {
    pub fn forward(&self, xs: &Tensor, cache: &mut Option<LayerCache>) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut own = cache.take().unwrap_or_else(|| LayerCache { past: None, length: 3 });
        own.length += 1;
        let by = own.length;
        *cache = Some(own);
        ys * by
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, device, in_a_row, number, randn, root, understood};

    understood!(Mapped: 3 of 6);
    understood!(Maybe: 0 of 52);
    understood!(Referred: 0 of 5);

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
        CellState { hidden: Tensor::zeros([2, 4], (Kind::Float, device())), steps: 0, seen: vec![7] }
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
        let (_vs, net) =
            root(|p| Numbered { layers: (0..2).map(|at| attention(&(p / at))).collect(), head: linear(p / "head") });
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
        let new = || (Vec::new(), None, (number(0.0), 0), number(2.0));
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
        assert!(error.contains("state/lent.rs"), "{error}");
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

    #[test]
    fn reached() {
        for bias in [true, false] {
            let make = |p: &nn::Path| Reached {
                fc: linear(p / 0),
                maybe: Some(2),
                bias: bias.then(|| Tensor::ones([2, 4], (Kind::Float, p.device()))),
            };
            let (_vs, net) = root(make);
            let frozen = net.freeze(&Freeze::default()).unwrap();
            let new = || (state(), vec![LayerCache { past: None, length: 2 }, LayerCache::default()], number(2.0));
            let ((mut ours, mut caches, mut last), mut theirs) = (new(), new());
            for _ in 0..3 {
                let xs = randn(&[2, 4]);
                let eager = net.forward(&xs, &mut theirs.0, &mut theirs.1, &mut theirs.2);
                frozen.forward(&xs, &mut ours, &mut caches, &mut last).close(&eager);
                ours.close(&theirs.0);
                caches.close(&theirs.1);
                last.close(&theirs.2);
            }
        }
    }

    #[test]
    fn remade() {
        let (_vs, net) = root(|p| Remade { fc: linear(p / 0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (None, None);
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
            ours.close(&theirs);
        }
    }

    #[test]
    fn referred() {
        let (_vs, net) = root(|p| Referred { fc: linear(p / 0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let new = || Caches {
            layers: vec![LayerCache { past: None, length: 2 }, LayerCache::default()],
            ..Caches::default()
        };
        let (mut ours, mut theirs) = (new(), new());
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
            ours.layers.close(&theirs.layers);
        }
    }

    #[test]
    fn asking() {
        let (_vs, net) = root(|p| Asking { fc: linear(p / 0) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let new = || [1, 0].map(|length| LayerCache { past: None, length });
        let (mut ours, mut theirs) = (new(), new());
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
            ours.close(&theirs);
        }
    }

    #[test]
    fn nested() {
        in_a_row!(|p| Nested { fc: linear(p / 0), lists: Vec::new() }, vec![randn(&[2, 4]), randn(&[2, 4])]);
    }
}
