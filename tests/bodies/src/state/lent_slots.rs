//! Parts of a state that a caller may lend: a slot of its cache for each layer, found by a method, tested, taken and handed on.

use fx_runtime::{Module, Tensor, nn, traceable};

pub type Slot = Option<(Tensor, Tensor)>;

#[derive(Debug, Default)]
pub struct Cache {
    pub slots: Vec<Slot>,
    pub calls: i64,
}

impl Cache {
    fn slot(&mut self, at: usize) -> &mut Slot {
        &mut self.slots[at]
    }

    fn existing_slot(&mut self, at: usize) -> Result<&mut Slot, String> {
        let count = self.slots.len();
        self.slots.get_mut(at).ok_or_else(|| format!("no slot {at} of {count}"))
    }
}

#[derive(Debug, Module)]
pub struct Attention {
    k: nn::Linear,
    v: nn::Linear,
}

impl Attention {
    fn forward(&self, xs: &Tensor, slot: Option<&mut Slot>) -> Tensor {
        let (mut k, mut v) = (xs.apply(&self.k), xs.apply(&self.v));
        if let Some(slot) = slot {
            if let Some((past_k, past_v)) = slot.take() {
                k = Tensor::cat(&[past_k, k], 1);
                v = Tensor::cat(&[past_v, v], 1);
            }
            slot.replace((k.shallow_clone(), v.shallow_clone()));
        }
        xs + (k * v).sum_dim_intlist([1].as_slice(), true, None)
    }

    fn checked(&self, xs: &Tensor, slot: Option<&mut Slot>) -> Result<Tensor, String> {
        Ok(self.forward(xs, slot))
    }
}

/// Handed to a layer, and tested beside it.
#[derive(Debug, Module)]
pub struct Handed {
    first: Attention,
    second: Attention,
}

#[traceable(strict)]
impl Handed {
    pub fn forward(&self, xs: &Tensor, mut cache: Option<&mut Cache>) -> Tensor {
        let ys = self.first.forward(xs, cache.as_deref_mut().map(|cache| &mut cache.slots[0]));
        let ys = self.second.forward(&ys.tanh(), cache.as_deref_mut().map(|cache| cache.slot(1)));
        if let Some(slot) = cache.map(|cache| cache.slot(0)) {
            if let Some((k, _)) = slot.take() {
                *slot = Some((k.relu(), k));
            }
        }
        ys
    }
}

/// In a loop, with errors, by one entry with the cache and by one without.
#[derive(Debug, Module)]
pub struct Decoder {
    layers: Vec<Attention>,
}

impl Decoder {
    fn run(&self, xs: &Tensor, mut cache: Option<&mut Cache>) -> Result<Tensor, String> {
        let mut xs = xs.relu();
        for (at, layer) in self.layers.iter().enumerate() {
            xs = layer.checked(&xs, cache.as_deref_mut().map(|cache| cache.existing_slot(at)).transpose()?)?;
        }
        Ok(xs)
    }
}

#[traceable(entry = ["forward", "step", "first"], strict)]
impl Decoder {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        self.run(xs, None)
    }

    pub fn step(&self, xs: &Tensor, cache: &mut Cache) -> Result<Tensor, String> {
        self.run(xs, Some(&mut *cache))
    }

    pub fn first(&self, xs: &Tensor, cache: &mut Cache) -> Result<Tensor, String> {
        let slot = cache.existing_slot(0)?;
        let mut ys = xs.relu();
        if let Some((k, v)) = slot.take() {
            ys = ys + k.sum_dim_intlist([1].as_slice(), true, None) * v.mean(None);
        }
        *slot = Some((ys.shallow_clone(), ys.tanh()));
        Ok(ys)
    }
}

/// Taken out of a variable, which lends nothing from there on; another that was lent the same still does.
#[derive(Debug, Module)]
pub struct Taken {
    fc: nn::Linear,
}

impl Taken {
    fn counted(&self, xs: &Tensor, cache: Option<&mut Cache>) -> Tensor {
        match cache {
            Some(cache) => {
                cache.calls += 1;
                xs * cache.calls
            }
            None => xs.relu(),
        }
    }

    fn twice(&self, xs: &Tensor, mut cache: Option<&mut Cache>) -> Tensor {
        let ys = self.counted(xs, cache.take());
        self.counted(&ys, cache)
    }
}

#[traceable(strict)]
impl Taken {
    pub fn forward(&self, xs: &Tensor, mut cache: Option<&mut Cache>) -> Tensor {
        let ys = self.twice(&xs.apply(&self.fc), cache.as_deref_mut());
        let mut zs = self.counted(&ys, cache.as_deref_mut());
        if let Some(cache) = cache.take() {
            cache.calls *= 10;
            zs = zs + cache.calls;
        }
        if cache.is_some() { zs * 2 } else { zs }
    }
}

/// Taken in the first iteration that finds it.
#[derive(Debug, Module)]
pub struct TakenInLoop {
    fc: nn::Linear,
}

#[traceable]
impl TakenInLoop {
    pub fn forward(&self, xs: &Tensor, mut cache: Option<&mut Cache>) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for at in 0..3 {
            if let Some(cache) = cache.take() {
                cache.calls += 1;
                ys = ys * (at + 2);
            }
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, randn, root, understood};

    understood!(TakenInLoop: 0 of 2);

    impl Close for Cache {
        fn close(&self, eager: &Cache) {
            self.slots.close(&eager.slots);
            assert_eq!(self.calls, eager.calls);
        }
    }

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn attention(p: nn::Path) -> Attention {
        Attention { k: linear(&p / "k"), v: linear(&p / "v") }
    }

    fn cache(slots: usize) -> Cache {
        Cache { slots: (0..slots).map(|_| None).collect(), calls: 0 }
    }

    #[test]
    fn handed() {
        let (_vs, net) = root(|p| Handed { first: attention(p / "a"), second: attention(p / "b") });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (cache(2), cache(2));
        for length in [3, 1, 2] {
            let xs = randn(&[2, length, 4]);
            frozen.forward(&xs, Some(&mut ours)).close(&net.forward(&xs, Some(&mut theirs)));
            ours.close(&theirs);
            frozen.forward(&xs, None).close(&net.forward(&xs, None));
        }
    }

    #[test]
    fn in_a_loop() {
        let (_vs, net) = root(|p| Decoder { layers: (0..2).map(|at| attention(p / at)).collect() });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = (cache(2), cache(2));
        for length in [3, 1, 2] {
            let xs = randn(&[2, length, 4]);
            frozen.step(&xs, &mut ours).unwrap().close(&net.step(&xs, &mut theirs).unwrap());
            ours.close(&theirs);
            frozen.first(&xs, &mut ours).unwrap().close(&net.first(&xs, &mut theirs).unwrap());
            ours.close(&theirs);
            frozen.forward(&xs).unwrap().close(&net.forward(&xs).unwrap());
        }
        let (mut ours, mut theirs, xs) = (cache(1), cache(1), randn(&[2, 1, 4]));
        assert!(frozen.step(&xs, &mut ours).is_err() && net.step(&xs, &mut theirs).is_err());
        ours.close(&theirs);
        assert!(frozen.first(&xs, &mut cache(0)).is_err());
    }

    #[test]
    fn taken() {
        let (_vs, net) = root(|p| Taken { fc: linear(p / "fc") });
        let (_vs, other) = root(|p| TakenInLoop { fc: linear(p / "fc") });
        let (frozen, looped) = (net.freeze(&Freeze::default()).unwrap(), other.freeze(&Freeze::default()).unwrap());
        let (mut ours, mut theirs) = (cache(0), cache(0));
        for _ in 0..2 {
            let xs = randn(&[2, 4]);
            frozen.forward(&xs, Some(&mut ours)).close(&net.forward(&xs, Some(&mut theirs)));
            ours.close(&theirs);
            frozen.forward(&xs, None).close(&net.forward(&xs, None));
            looped.forward(&xs, Some(&mut ours)).close(&other.forward(&xs, Some(&mut theirs)));
            ours.close(&theirs);
            looped.forward(&xs, None).close(&other.forward(&xs, None));
        }
    }
}
