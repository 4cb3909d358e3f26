//! References to values of the forward, in lists, structs and branches: what they refer to lives as long as they do.

use std::cell::RefCell;
use std::collections::HashMap;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// An element of a list of references, at an index that depends on the input.
#[derive(Debug, Module)]
pub struct Picked {
    fc: nn::Linear,
}

fn pick<'a>(all: &[&'a Tensor], at: usize) -> &'a Tensor {
    all[at % all.len()]
}

#[traceable(strict)]
impl Picked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let at = (xs.size()[0] % 2) as usize;
        let all = [xs, &ys];
        let chosen = all[at];
        let zs = pick(&[&ys, xs], at);
        chosen.relu() + all[1 - at] + zs
    }
}

/// A list of references that a branch on the input changes.
#[derive(Debug, Module)]
pub struct Lengthened {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Lengthened {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let mut all = vec![&ys, &zs];
        if xs.size()[0] > 2 {
            all.push(xs);
        }
        all.last().unwrap().tanh() + all[0]
    }
}

/// Structs and enums of references that a branch makes.
#[derive(Debug, Module)]
pub struct Wrapped {
    fc: nn::Linear,
}

struct Weighted<'a> {
    tensor: &'a Tensor,
    weight: f64,
}

enum Source<'a> {
    One(&'a Tensor),
    Two(&'a Tensor, &'a Tensor),
}

#[traceable(strict)]
impl Wrapped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let many = xs.size()[0] > 2;
        let one = if many { Weighted { tensor: &ys, weight: 2.0 } } else { Weighted { tensor: &zs, weight: 3.0 } };
        let source = if many { Source::One(&ys) } else { Source::Two(&zs, xs) };
        let both = match source {
            Source::One(tensor) => tensor.tanh(),
            Source::Two(left, right) => left * right,
        };
        one.tensor.tanh() * one.weight + both
    }
}

/// References around what may not be there.
#[derive(Debug, Module)]
pub struct Optional {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Optional {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let parts = match mask {
            Some(mask) => vec![&ys, mask, &zs],
            None => vec![&zs],
        };
        let whole = Tensor::cat(&parts, 0);
        whole + parts[0].sum(Kind::Float)
    }
}

/// A struct of references, of which one may not be there.
#[derive(Debug, Module)]
pub struct Remembering {
    fc: nn::Linear,
}

#[derive(Clone, Copy)]
struct Memory<'m> {
    features: &'m Tensor,
    position: Option<&'m Tensor>,
    size: Option<&'m [i64]>,
}

impl Remembering {
    fn attend(&self, memory: Memory<'_>) -> Tensor {
        let ys = match memory.position {
            Some(position) => (memory.features + position).apply(&self.fc),
            None => memory.features.apply(&self.fc),
        };
        memory.size.map_or_else(|| ys.tanh(), |size| ys.view(size))
    }

    fn placed(&self, features: &Tensor, position: Option<&Tensor>) -> Tensor {
        self.attend(Memory { features, position, size: None })
    }
}

#[traceable(strict)]
impl Remembering {
    pub fn forward(&self, xs: &Tensor, position: Option<&Tensor>, size: Option<&[i64]>) -> Tensor {
        let memory = Memory { features: xs, position, size };
        let mut ys = self.attend(memory);
        for _ in 0..2 {
            ys = self.attend(Memory { features: &ys, ..memory });
        }
        let own = Some(ys.relu());
        let zs = self.placed(&ys, own.as_ref()) + self.placed(&ys, position) + self.placed(&ys, None);
        zs + self.placed(xs, if xs.size()[0] > 2 { position } else { None })
    }
}

/// What the layers of a pass share.
#[derive(Clone, Copy)]
struct Shared<'s> {
    padding: Option<&'s Tensor>,
    position: &'s Tensor,
}

fn counted(shared: Shared<'_>) -> Tensor {
    let last = shared.position.size().into_iter().rposition(|size| size == 4).map_or(1, |at| at as i64);
    shared.padding.map_or_else(|| shared.position * last, |padding| padding * last)
}

/// A struct of references, one of them to an option of the forward's own, which closures, methods and opaque code read.
#[derive(Debug, Module)]
pub struct Padded {
    fc: nn::Linear,
}

impl Padded {
    fn attend(&self, xs: &Tensor, Shared { padding, position }: Shared<'_>) -> Tensor {
        let ys = xs.apply(&self.fc) + position;
        if let Some(padding) = padding { ys.masked_fill(padding, 0.) } else { ys }
    }
}

#[traceable]
impl Padded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let padding = (xs.size()[0] > 2).then(|| xs.gt(0.));
        let position = xs.sin();
        let shared = Shared { padding: padding.as_ref(), position: &position };
        let again = |xs: Tensor, Shared { padding, position }: Shared<'_>| {
            let ys = xs * position;
            padding.map_or_else(|| ys.tanh(), |padding| &ys + padding)
        };
        let ys = self.attend(xs, shared);
        let ys = (0..2).fold(ys, |ys, _| again(ys, shared));
        counted(Shared { position: &ys, ..shared }) + counted(Shared { padding: None, ..shared })
    }
}

/// Opaque code whose value holds references: a map of them, the smallest of two, a list in order.
#[derive(Debug, Module)]
pub struct HeldByCode {
    fc: nn::Linear,
}

fn sorted<'a>(mut tensors: Vec<&'a Tensor>) -> Vec<&'a Tensor> {
    tensors.sort_by_key(|tensor| tensor.numel());
    tensors
}

#[traceable]
impl HeldByCode {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let named = HashMap::from([("ys", &ys), ("zs", &zs)]);
        let best = named.get("zs").copied().unwrap_or(xs);
        let smallest: &Tensor = [xs, &ys].into_iter().min_by_key(|tensor| tensor.size()[0]).unwrap();
        let ordered = sorted(vec![&zs, &ys]);
        named["ys"].tanh() + best + smallest + ordered[0].mean(Kind::Float)
    }
}

/// What opaque code calls may be written to by the call.
#[derive(Debug, Module)]
pub struct Watched {
    fc: nn::Linear,
}

#[traceable]
impl Watched {
    pub fn forward(&self, xs: &Tensor, mut watch: impl FnMut(&str, &Tensor)) -> Tensor {
        let ys = xs.apply(&self.fc);
        watch("fc", &ys);
        ys.relu()
    }
}

/// A guard that a function of the crate makes.
#[derive(Debug, Module)]
pub struct Timed {
    fc: nn::Linear,
}

struct Timer<'a> {
    name: &'static str,
    log: &'a RefCell<Vec<&'static str>>,
}

impl<'a> Timer<'a> {
    fn new(name: &'static str, log: &'a RefCell<Vec<&'static str>>) -> Self {
        Timer { name, log }
    }
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        self.log.borrow_mut().push(self.name);
    }
}

fn timed<R>(name: &'static str, log: &RefCell<Vec<&'static str>>, run: impl FnOnce() -> R) -> R {
    let _timer = Timer::new(name, log);
    run()
}

#[traceable]
impl Timed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let log: RefCell<Vec<&'static str>> = RefCell::new(vec![]);
        let ys = {
            let _timer = Timer::new("fc", &log);
            xs.apply(&self.fc)
        };
        let zs = timed("relu", &log, || ys.relu());
        let count = log.borrow().len() as i64;
        zs + count
    }
}

/// A module that has another `Ok` in scope.
pub mod another_ok {
    use anyhow::{Ok, Result};
    use fx_runtime::{Module, Tensor, nn, traceable};

    #[derive(Debug, Module)]
    pub struct OtherOk {
        pub(super) fc: nn::Linear,
    }

    #[traceable(strict)]
    impl OtherOk {
        pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
            Ok(xs.apply(&self.fc).relu())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::another_ok::OtherOk;
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Padded: 9 of 20);
    understood!(HeldByCode: 4 of 17);
    understood!(Watched: 2 of 4);
    understood!(Timed: 0 of 10);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn references_in_lists() {
        agree!(|p: &nn::Path| Picked { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Lengthened { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn references_in_structs() {
        agree!(|p: &nn::Path| Wrapped { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn references_around_options() {
        let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
        agree!(|p: &nn::Path| Optional { fc: linear(p) }, cases, |net, (xs, mask)| net.forward(xs, mask.as_ref()));
    }

    #[test]
    fn structs_of_references() {
        let make = |p: &nn::Path| Remembering { fc: linear(p) };
        let cases = [(randn(&[2, 4]), None), (randn(&[3, 4]), Some(randn(&[3, 4])))];
        agree!(make, cases, |net, (xs, position)| net.forward(xs, position.as_ref(), None));
        let size: &[i64] = &[-1, 4];
        agree!(make, cases, |net, (xs, position)| net.forward(xs, position.as_ref(), Some(size)));
    }

    #[test]
    fn structs_of_own_options() {
        agree!(|p: &nn::Path| Padded { fc: linear(p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn references_that_opaque_code_makes() {
        agree!(|p: &nn::Path| HeldByCode { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn a_closure_that_opaque_code_calls() {
        agree!(|p: &nn::Path| Watched { fc: linear(p) }, cases(), |net, xs| {
            let mut seen = Vec::new();
            let ys = net.forward(xs, |_, ys| seen.push(ys.shallow_clone()));
            (ys, seen.remove(0))
        });
    }

    #[test]
    fn guards_are_dropped_where_their_block_ends() {
        agree!(|p: &nn::Path| Timed { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn another_ok_in_scope() {
        agree!(|p: &nn::Path| OtherOk { fc: linear(p) }, cases(), |net, xs| net.forward(xs).unwrap());
    }
}
