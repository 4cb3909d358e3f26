//! State that functions write to which get it as a part of something else, or in a list of the caller's own.

use std::fmt::Write as _;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// What the caller keeps.
#[derive(Debug)]
pub struct Held {
    pub lists: Vec<Vec<Tensor>>,
    pub tensors: Vec<Tensor>,
    pub counts: Vec<i64>,
    pub log: String,
}

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
}

impl Layer {
    fn with_list(&self, xs: &Tensor, held: Option<&mut Vec<Tensor>>) -> Tensor {
        let ys = xs.apply(&self.fc);
        match held {
            Some(held) => {
                let zs = &held[0] + &ys;
                held[0] = zs.relu();
                zs
            }
            None => ys.tanh(),
        }
    }

    fn with_tensor(&self, xs: &Tensor, held: Option<&mut Tensor>) -> Tensor {
        let ys = xs.apply(&self.fc);
        match held {
            Some(held) => {
                *held = &*held + &ys;
                ys
            }
            None => ys.tanh(),
        }
    }

    fn with_both(&self, xs: &Tensor, (held, count): (&mut Tensor, &mut i64)) -> Tensor {
        *count += 1;
        *held = held.relu() + xs.apply(&self.fc) * *count;
        held.tanh()
    }
}

/// Elements of a list that the caller keeps, in options.
#[derive(Debug, Module)]
pub struct InOptions {
    layers: Vec<Layer>,
}

#[traceable]
impl InOptions {
    pub fn forward(&self, xs: &Tensor, held: &mut Held) -> Tensor {
        let mut ys = xs.relu();
        for (layer, list) in self.layers.iter().zip(&mut held.lists) {
            ys = layer.with_list(&ys, Some(list));
        }
        for (layer, tensor) in self.layers.iter().zip(held.tensors.iter_mut()) {
            ys = layer.with_tensor(&ys, Some(tensor));
        }
        self.layers[0].with_list(&ys, None)
    }
}

/// The same in tuples.
#[derive(Debug, Module)]
pub struct InTuples {
    layers: Vec<Layer>,
}

#[traceable]
impl InTuples {
    pub fn forward(&self, xs: &Tensor, held: &mut Held) -> Tensor {
        let mut ys = xs.relu();
        for ((layer, tensor), count) in self.layers.iter().zip(&mut held.tensors).zip(&mut held.counts) {
            let pair = (tensor, count);
            ys = layer.with_both(&ys, pair);
        }
        ys
    }
}

/// Text that `write!` adds to.
#[derive(Debug, Module)]
pub struct Written {
    fc: nn::Linear,
}

#[traceable]
impl Written {
    pub fn forward(&self, xs: &Tensor, held: &mut Held) -> Tensor {
        let ys = xs.apply(&self.fc);
        let _ = write!(held.log, "{} of {}", ys.size()[0], held.counts.len());
        ys * held.log.len() as i64
    }
}

/// A list that is taken apart to be written to.
#[derive(Debug, Module)]
pub struct Sliced {
    fc: nn::Linear,
}

#[traceable]
impl Sliced {
    pub fn forward(&self, xs: &Tensor, held: &mut Held) -> Tensor {
        let ys = xs.apply(&self.fc);
        if let [first, .., last] = held.tensors.as_mut_slice() {
            *first = &*first + &ys;
            std::mem::swap(first, last);
        }
        held.counts.as_mut_slice()[0] += 3;
        ys * held.counts[0]
    }
}

fn run(layers: &[Layer], xs: &Tensor, states: &mut [Tensor]) -> Tensor {
    let mut ys = xs.relu();
    for (layer, state) in layers.iter().zip(states.iter_mut()) {
        let next = ys.apply(&layer.fc) + &*state;
        ys = next.shallow_clone();
        *state = next;
    }
    ys
}

fn by_number(layers: &[Layer], xs: &Tensor, states: &mut Vec<Tensor>) -> Tensor {
    let mut ys = xs.tanh();
    for (at, layer) in layers.iter().enumerate() {
        ys = ys.apply(&layer.fc) + &states[at];
        states[at] = ys.shallow_clone();
    }
    ys
}

/// A list of the forward's own, which functions write to.
#[derive(Debug, Module)]
pub struct OwnList {
    layers: Vec<Layer>,
}

#[traceable(strict)]
impl OwnList {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut states: Vec<Tensor> = self.layers.iter().map(|_| xs.zeros_like()).collect();
        let ys = run(&self.layers, xs, &mut states);
        let zs = by_number(&self.layers, &ys, &mut states);
        zs + &states[0] * 2 + &states[1]
    }
}

#[derive(Debug, Default)]
struct Slot {
    pair: Option<(Tensor, Tensor)>,
}

#[derive(Debug)]
struct Cache {
    slots: Vec<Slot>,
    seen: i64,
}

/// A cache that lives for one forward.
#[derive(Debug, Module)]
pub struct OwnCache {
    layers: Vec<Layer>,
}

impl OwnCache {
    fn run(&self, xs: &Tensor, cache: &mut Cache) -> Tensor {
        let mut ys = xs.relu();
        for (layer, slot) in self.layers.iter().zip(cache.slots.iter_mut()) {
            ys = ys.apply(&layer.fc);
            let (k, v) = match slot.pair.take() {
                Some((k, v)) => (Tensor::cat(&[&k, &ys], 0), v + 1),
                None => (ys.shallow_clone(), ys.sin()),
            };
            ys = &ys + k.mean(Kind::Float) + v.max();
            slot.pair = Some((k, v));
        }
        cache.seen += xs.size()[0];
        ys
    }
}

#[traceable(strict)]
impl OwnCache {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut cache = Cache { slots: (0..self.layers.len()).map(|_| Slot::default()).collect(), seen: 0 };
        let ys = self.run(xs, &mut cache);
        let zs = self.run(&ys, &mut cache);
        zs * cache.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, nn::LinearConfig::default())
    }

    not_interpreted!(OwnCache: "cannot take the field");
    understood!(Written: 0 of 2);
    understood!(Sliced: 2 of 5);

    fn held() -> Held {
        let two = || vec![randn(&[2, 4]), randn(&[2, 4])];
        Held { lists: vec![two(), two()], tensors: two(), counts: vec![1, 2], log: "0".to_owned() }
    }

    fn copied(held: &Held) -> Held {
        let copies = |list: &Vec<Tensor>| list.iter().map(Tensor::copy).collect::<Vec<_>>();
        let lists = held.lists.iter().map(copies).collect();
        Held { lists, tensors: copies(&held.tensors), counts: held.counts.clone(), log: held.log.clone() }
    }

    macro_rules! three_calls {
        ($make:expr) => {{
            let (_vs, net) = root($make);
            let frozen = net.freeze(&fx_runtime::Freeze::default()).unwrap();
            let mut ours = held();
            let mut theirs = copied(&ours);
            for _ in 0..3 {
                let xs = randn(&[2, 4]);
                frozen.forward(&xs, &mut ours).close(&net.forward(&xs, &mut theirs));
                ours.lists.close(&theirs.lists);
                ours.tensors.close(&theirs.tensors);
                assert_eq!((&ours.counts, &ours.log), (&theirs.counts, &theirs.log));
            }
        }};
    }

    fn layers(p: &nn::Path) -> Vec<Layer> {
        (0..2).map(|at| Layer { fc: linear(p / at) }).collect()
    }

    #[test]
    fn in_options() {
        three_calls!(|p| InOptions { layers: layers(p) });
    }

    #[test]
    fn in_tuples() {
        three_calls!(|p| InTuples { layers: layers(p) });
    }

    #[test]
    fn written() {
        three_calls!(|p| Written { fc: linear(p / 0) });
    }

    #[test]
    fn sliced() {
        three_calls!(|p| Sliced { fc: linear(p / 0) });
    }

    #[test]
    fn own_lists() {
        agree!(|p| OwnList { layers: layers(p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn own_caches() {
        agree!(|p| OwnCache { layers: layers(p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
