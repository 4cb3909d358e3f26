//! References into state that a caller lends, in lists and maps of opaque code which stay while more of the state is read.

use std::collections::BTreeMap;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn is_asked() -> bool {
    std::env::var("FX_BODIES_ASK").is_ok()
}

fn either<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
    if is_asked() { one } else { other }
}

fn at<'a>(all: &[&'a Tensor], at: usize) -> &'a Tensor {
    all[at % all.len()]
}

/// A part of the state.
#[derive(Debug)]
pub struct Slot {
    key: Tensor,
    count: i64,
    maybe: Option<Tensor>,
}

/// A map that refers to what an option of a `&mut` lends, filled in two statements.
#[derive(Debug, Module)]
pub struct MappedSlot {
    fc: nn::Linear,
}

#[traceable]
impl MappedSlot {
    pub fn forward(&self, xs: &Tensor, mut slot: Option<&mut Slot>) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        if let Some(slot) = slot.as_mut() {
            slot.count += 1;
            for _ in 0..2 {
                let mut map = BTreeMap::new();
                map.insert(0, either(xs, &slot.key));
                map.insert(1, slot.maybe.as_ref().map_or(&slot.key, |one| one));
                ys = ys + map[&0] * map[&1];
            }
            slot.key = ys.shallow_clone();
        }
        ys
    }
}

/// A list that a chain gathers, of elements of a slice of state.
#[derive(Debug, Module)]
pub struct GatheredSlots {
    fc: nn::Linear,
}

#[traceable]
impl GatheredSlots {
    pub fn forward(&self, xs: &Tensor, slots: &mut [Slot]) -> Tensor {
        let ys = xs.apply(&self.fc);
        let keys: Vec<&Tensor> = (0..3usize).map(|i| [&slots[0].key, at(&[&slots[1].key, xs], 1)][i % 2]).collect();
        let sum = Tensor::cat(&keys, 0).sum(Kind::Float);
        slots[0].key = &ys + sum;
        slots[1].count += 1;
        ys * &slots[0].key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_understood, randn, root, understood};
    use fx_runtime::Freeze;

    understood!(MappedSlot: 1 of 9);
    understood!(GatheredSlots: 5 of 5);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn slot(by: i64) -> Slot {
        let key = Tensor::ones([2, 4], (Kind::Float, fx_runtime::Device::Cpu)) * by;
        Slot { maybe: (by > 1).then(|| key.sin()), key, count: by }
    }

    fn assert_same(ours: &Slot, theirs: &Slot) {
        assert!(ours.key.allclose(&theirs.key, 1e-5, 1e-6, false));
        assert_eq!(ours.count, theirs.count);
    }

    #[test]
    fn in_a_map() {
        let (_vs, net) = root(|p| MappedSlot { fc: linear(&(p / 0)) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        for by in [1, 2] {
            let (mut ours, mut theirs) = (slot(by), slot(by));
            for _ in 0..2 {
                let xs = randn(&[2, 4]);
                let (got, expected) = (frozen.forward(&xs, Some(&mut ours)), net.forward(&xs, Some(&mut theirs)));
                assert!(got.allclose(&expected, 1e-5, 1e-6, false));
                assert_same(&ours, &theirs);
            }
        }
        assert_understood("MappedSlot", file!());
    }

    #[test]
    fn in_a_list() {
        let (_vs, net) = root(|p| GatheredSlots { fc: linear(&(p / 0)) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (mut ours, mut theirs) = ([slot(1), slot(2)], [slot(1), slot(2)]);
        for _ in 0..2 {
            let xs = randn(&[2, 4]);
            let (got, expected) = (frozen.forward(&xs, &mut ours), net.forward(&xs, &mut theirs));
            assert!(got.allclose(&expected, 1e-5, 1e-6, false));
            ours.iter().zip(&theirs).for_each(|(ours, theirs)| assert_same(ours, theirs));
        }
        assert_understood("GatheredSlots", file!());
    }
}
