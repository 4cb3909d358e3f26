//! Closures, and functions inside a body, that write to what they are called with.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A state of a tensor and a number, stepped in a loop.
#[derive(Debug, Module)]
pub struct Stepped {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Stepped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        fn step(layer: &nn::Linear, state: &mut Tensor, count: &mut i64, xs: &Tensor) -> Tensor {
            *state = &*state + xs.apply(layer);
            *count += 2;
            state.tanh()
        }
        let mut state = xs.relu();
        let mut count = 1;
        let mut ys = xs.sin();
        for layer in &self.layers {
            ys = &ys + step(layer, &mut state, &mut count, &ys);
        }
        ys + state * count
    }
}

/// A list whose elements a loop in the function writes to.
#[derive(Debug, Module)]
pub struct Listed {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Listed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        fn encode(layers: &[nn::Linear], xs: &Tensor, states: &mut [Tensor]) -> Tensor {
            let mut ys = xs.relu();
            for (layer, state) in layers.iter().zip(states.iter_mut()) {
                let next = ys.apply(layer) + &*state;
                ys = next.shallow_clone();
                *state = next;
            }
            ys
        }
        let mut states: Vec<Tensor> = self.layers.iter().map(|_| xs.cos()).collect();
        let ys = encode(&self.layers, xs, &mut states);
        let ys = encode(&self.layers, &ys, &mut states);
        ys + &states[0] * 2 + &states[1]
    }
}

/// Two variables that a closure exchanges, by names of which each is the other's.
#[derive(Debug, Module)]
pub struct Exchanged {
    fc: nn::Linear,
    #[module(skip)]
    again: bool,
}

#[traceable]
impl Exchanged {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let exchange = |a: &mut Tensor, b: &mut Tensor| {
            let first = a.shallow_clone();
            *a = b.apply(&self.fc);
            *b = first + 1;
        };
        let mut a = xs.relu();
        let mut b = xs.tanh();
        exchange(&mut b, &mut a);
        if self.again {
            exchange(&mut a, &mut b);
        }
        a * 2 + b
    }
}

fn apply(act: impl Fn(&mut Tensor, i64), xs: &mut Tensor) {
    act(xs, 2);
    act(xs, 3);
}

/// Closures that are handed on, and call each other.
#[derive(Debug, Module)]
pub struct HandedOn {
    #[module(skip)]
    shift: i64,
}

#[traceable]
impl HandedOn {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        fn stop(xs: &mut Tensor, count: i64) {
            if count > 3 {
                *xs = xs.sin();
                return;
            }
            *xs += 1;
        }
        let shift = self.shift;
        let up = |xs: &mut Tensor, by: i64| {
            *xs = &*xs * by + shift;
        };
        let twice = |ys: &mut Tensor| {
            up(ys, 1);
            up(&mut *ys, 5);
        };
        let mut ys = xs.relu();
        apply(up, &mut ys);
        twice(&mut ys);
        apply(|zs, by| *zs = zs.sin() * by, &mut ys);
        stop(&mut ys, shift);
        stop(&mut ys, 2);
        ys
    }
}

/// What lies with the caller.
#[derive(Debug, Default)]
pub struct Cache {
    /// The last step.
    pub last: Option<Tensor>,
    /// All steps.
    pub all: Vec<Tensor>,
    /// How many.
    pub count: i64,
}

/// A cache of the caller's, written to by closures.
#[derive(Debug, Module)]
pub struct Cached {
    fc: nn::Linear,
}

#[traceable]
impl Cached {
    pub fn forward(&self, xs: &Tensor, cache: &mut Cache) -> Tensor {
        fn step(cache: &mut Cache, xs: &Tensor) -> Tensor {
            cache.count += 1;
            cache.all.push(xs.relu());
            &cache.all[0] + xs
        }
        let keep = |last: &mut Option<Tensor>, xs: &Tensor| {
            *last = match last.take() {
                Some(ys) => Some(ys + xs),
                None => Some(xs.cos()),
            };
        };
        let ys = step(cache, &xs.apply(&self.fc));
        keep(&mut cache.last, &ys);
        let zs = step(&mut *cache, &ys);
        keep(&mut cache.last, &zs);
        zs * cache.count
    }
}

/// Variables that others borrow as a whole: a tensor, a number, a struct.
#[derive(Debug, Module)]
pub struct BorrowedWhole {
    #[module(skip)]
    steps: i64,
}

#[traceable]
impl BorrowedWhole {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        fn shifted(xs: &mut Tensor, by: &mut i64) {
            *xs = &*xs + *by;
            *by += 1;
        }
        let mut ys = xs.relu();
        let mut count = 2;
        for i in 0..self.steps {
            let number = &mut count;
            *number += i;
            let factor = *number;
            let next = &mut ys;
            *next = next.sin() * factor;
        }
        let borrowed: &mut Tensor = &mut ys;
        *borrowed += 1;
        let before = borrowed.shallow_clone();
        *borrowed = borrowed.sin() * 2;
        let number = &mut count;
        shifted(borrowed, number);
        shifted(&mut *borrowed, number);
        let mut cache = Cache { last: None, all: vec![xs.cos()], count };
        let lent = &mut cache;
        lent.count *= 2;
        lent.all.push(before * lent.count);
        ys * cache.count + &cache.all[0] * &cache.all[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, nn::LinearConfig::default())
    }

    #[test]
    fn in_loops() {
        agree!(|p| Stepped { layers: vec![linear(p / 0), linear(p / 1)] }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(|p| Listed { layers: vec![linear(p / 0), linear(p / 1)] }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn exchanged() {
        for again in [false, true] {
            agree!(|p| Exchanged { fc: linear(p / 0), again }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn handed_on() {
        for shift in [1, 5] {
            agree!(|_| HandedOn { shift }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn cached() {
        agree!(|p| Cached { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| {
            let mut cache = Cache::default();
            let ys = net.forward(xs, &mut cache);
            let ys = ys + net.forward(xs, &mut cache);
            Tensor::cat(&[ys, cache.last.unwrap_or_default() * cache.count], 0)
        });
    }

    #[test]
    fn borrowed_whole() {
        for steps in [0, 2] {
            agree!(|_| BorrowedWhole { steps }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }
}
