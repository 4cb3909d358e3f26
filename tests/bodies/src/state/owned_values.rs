//! Lists and structs that options hold and that the forward takes for its own: it hands them on, adds to them and gives
//! them back, as a decoder does with its cache.

use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: nn::Path) -> nn::Linear {
    nn::linear(p, 8, 8, Default::default())
}

#[derive(Debug)]
pub struct State {
    pub k: Tensor,
    pub v: Tensor,
}

/// A list out of an option, or a new one.
#[derive(Debug, Module)]
pub struct TakenOrMade {
    fc: nn::Linear,
}

#[traceable(strict)]
impl TakenOrMade {
    pub fn forward(&self, xs: &Tensor, given: Option<Vec<Tensor>>) -> (Tensor, Vec<Tensor>) {
        let ys = xs.apply(&self.fc);
        let mut all = match given {
            Some(all) => all,
            None => vec![xs.copy()],
        };
        all.push(ys.relu());
        (ys + &all[0], all)
    }
}

#[derive(Debug, Module)]
pub struct Defaulted {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Defaulted {
    pub fn forward(&self, xs: &Tensor, given: Option<Vec<Tensor>>) -> (Tensor, Vec<Tensor>) {
        let mut all = given.unwrap_or_default();
        all.push(xs.apply(&self.fc));
        (&all[0] * 2.0, all)
    }
}

#[derive(Debug, Module)]
pub struct NewList {
    fc: nn::Linear,
}

#[traceable(strict)]
impl NewList {
    pub fn forward(&self, xs: &Tensor, given: Option<Vec<Tensor>>) -> (Tensor, Vec<Tensor>) {
        (xs.apply(&self.fc), given.unwrap_or_else(Vec::new))
    }
}

#[derive(Debug, Module)]
pub struct AddedWithin {
    fc: nn::Linear,
}

#[traceable(strict)]
impl AddedWithin {
    pub fn forward(&self, xs: &Tensor, given: Option<Vec<Tensor>>) -> (Tensor, Option<Vec<Tensor>>) {
        let ys = xs.apply(&self.fc);
        let given = given.map(|mut all| {
            all.push(ys.copy());
            all
        });
        (ys, given)
    }
}

#[derive(Debug, Module)]
pub struct ChangedInPattern {
    fc: nn::Linear,
}

#[traceable(strict)]
impl ChangedInPattern {
    pub fn forward(&self, xs: &Tensor, given: Option<Vec<Tensor>>) -> Tensor {
        let ys = xs.apply(&self.fc);
        if let Some(mut all) = given {
            all[0] = ys.relu();
            ys + &all[0]
        } else {
            ys
        }
    }
}

/// What an option holds, handed back.
#[derive(Debug, Module)]
pub struct HandedBack {
    fc: nn::Linear,
}

#[traceable(strict)]
impl HandedBack {
    pub fn forward(&self, xs: &Tensor, given: Option<Vec<Tensor>>) -> (Tensor, Vec<Tensor>) {
        match given {
            Some(all) => (xs.apply(&self.fc), all),
            None => (xs.apply(&self.fc).relu(), vec![]),
        }
    }
}

#[derive(Debug, Module)]
pub struct Unwrapped {
    fc: nn::Linear,
    keeps: bool,
}

#[traceable(strict)]
impl Unwrapped {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Vec<Tensor>) {
        let mut all: Option<Vec<Tensor>> = if self.keeps { Some(vec![]) } else { Some(vec![xs.copy()]) };
        let ys = xs.apply(&self.fc);
        if let Some(all) = all.as_mut() {
            all.push(ys.copy());
        }
        (ys, all.unwrap())
    }
}

#[derive(Debug, Module)]
pub struct Either {
    fc: nn::Linear,
    keeps: bool,
}

#[traceable(strict)]
impl Either {
    pub fn forward(&self, xs: &Tensor, given: Vec<Tensor>) -> (Tensor, Vec<Tensor>) {
        let all = if self.keeps { given } else { vec![xs.neg()] };
        (xs.apply(&self.fc), all)
    }
}

#[derive(Debug, Module)]
pub struct Sizes {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Sizes {
    pub fn forward(&self, xs: &Tensor, size: Option<Vec<i64>>) -> (Tensor, Tensor) {
        let size = match size {
            Some(size) => size,
            None => xs.size(),
        };
        let ys = xs.apply(&self.fc).view(size.as_slice());
        (&ys + 1.0, ys)
    }
}

/// A struct out of an option, or a new one.
#[derive(Debug, Module)]
pub struct OwnedState {
    fc: nn::Linear,
}

#[traceable(strict)]
impl OwnedState {
    pub fn forward(&self, xs: &Tensor, given: Option<State>) -> (Tensor, Tensor) {
        let ys = xs.apply(&self.fc);
        let mut state = given.unwrap_or_else(|| State { k: xs.copy(), v: xs.relu() });
        state.k = &ys + &state.v;
        (ys + &state.k, state.k)
    }
}

#[derive(Debug, Module)]
pub struct OrElse {
    fc: nn::Linear,
}

#[traceable(strict)]
impl OrElse {
    pub fn forward(&self, xs: &Tensor, given: Option<State>) -> (Tensor, Tensor) {
        let ys = xs.apply(&self.fc);
        let mut state = given.or_else(|| Some(State { k: ys.zeros_like(), v: ys.ones_like() }));
        let k = &ys + &state.as_ref().unwrap().k;
        state.as_mut().unwrap().k = k.shallow_clone();
        let state = state.unwrap();
        (k - &state.v, state.k)
    }
}

#[derive(Debug, Module)]
pub struct Matched {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Matched {
    pub fn forward(&self, xs: &Tensor, given: Option<State>) -> (Tensor, Tensor) {
        let ys = xs.apply(&self.fc);
        let state = match given {
            Some(state) => state,
            None => State { k: ys.relu(), v: ys.neg() },
        };
        (ys * &state.k, state.v)
    }
}

/// Numbers whose list says their type.
#[derive(Debug, Module)]
pub struct Ordered {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Ordered {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let order: Vec<usize> = (0..3).map(|i| 2 - i).collect();
        let scales: Vec<(f64, usize)> = (0..3).map(|i| (1.0 - 0.5 * i as f64, i)).collect();
        let mut xs = xs.copy();
        for i in order {
            xs = xs.apply(&self.layers[i]);
        }
        for (scale, i) in scales {
            xs = xs.apply(&self.layers[i]) * scale;
        }
        xs
    }
}

/// A `Result` with a name, of a method that leaves early.
#[derive(Debug, Module)]
pub struct NamedResult {
    fc: nn::Linear,
}

impl NamedResult {
    fn run(&self, xs: &Tensor) -> Result<Tensor, String> {
        if xs.dim() != 2 {
            return Err("rank".into());
        }
        Ok(xs.apply(&self.fc))
    }
}

#[traceable]
impl NamedResult {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        let run = self.run(xs);
        let ys = run?;
        Ok(ys.relu())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(NamedResult: 1 of 11);

    fn cases() -> [(Tensor, Option<Tensor>); 2] {
        [(randn(&[2, 8]), Some(randn(&[2, 8]))), (randn(&[2, 8]), None)]
    }

    fn list(held: &Option<Tensor>) -> Option<Vec<Tensor>> {
        held.as_ref().map(|held| vec![held.neg(), held.sin()])
    }

    fn state(held: &Option<Tensor>) -> Option<State> {
        held.as_ref().map(|held| State { k: held.neg(), v: held.sin() })
    }

    #[test]
    fn lists_that_are_taken_out_of_options() {
        let make = |p: &nn::Path| TakenOrMade { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, list(held)));
        let make = |p: &nn::Path| Defaulted { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, list(held)));
        let make = |p: &nn::Path| NewList { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, list(held)));
        let make = |p: &nn::Path| AddedWithin { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, list(held)));
        let make = |p: &nn::Path| ChangedInPattern { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, list(held)));
    }

    #[test]
    fn lists_that_are_handed_back() {
        for keeps in [true, false] {
            let make = |p: &nn::Path| HandedBack { fc: linear(p / "fc") };
            agree!(make, cases(), |net, (xs, held)| net.forward(xs, list(held)));
            let make = |p: &nn::Path| Unwrapped { fc: linear(p / "fc"), keeps };
            agree!(make, cases(), |net, (xs, _)| net.forward(xs));
            let make = |p: &nn::Path| Either { fc: linear(p / "fc"), keeps };
            agree!(make, cases(), |net, (xs, _)| net.forward(&*xs, vec![xs.copy()]));
            let make = |p: &nn::Path| Sizes { fc: linear(p / "fc") };
            agree!(make, cases(), |net, (xs, held)| net.forward(xs, held.is_some().then(|| vec![4, 4])));
        }
    }

    #[test]
    fn structs_that_are_taken_out_of_options() {
        let make = |p: &nn::Path| OwnedState { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, state(held)));
        let make = |p: &nn::Path| OrElse { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, state(held)));
        let make = |p: &nn::Path| Matched { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, held)| net.forward(xs, state(held)));
    }

    #[test]
    fn numbers_of_a_written_list() {
        let make = |p: &nn::Path| Ordered { layers: (0..3).map(|i| linear(p / i)).collect() };
        agree!(make, [randn(&[2, 8])], |net, xs| net.forward(xs));
    }

    #[test]
    fn a_result_with_a_name() {
        let make = |p: &nn::Path| NamedResult { fc: linear(p / "fc") };
        agree!(make, [randn(&[2, 8])], |net, xs| net.forward(xs).unwrap());
    }
}
