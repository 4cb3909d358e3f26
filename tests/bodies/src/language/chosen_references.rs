//! References that branches, loops and opaque code choose, and lists that are made of them.

use std::borrow::Cow;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Chosen in a loop that runs by the input, by an `if` and by a `match` with another choice in it.
#[derive(Debug, Module)]
pub struct Gathered {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Gathered {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let mut kept: Vec<&Tensor> = vec![];
        for i in 0..xs.size()[0] {
            kept.push(if i % 2 == 0 { &zs } else { &ys });
        }
        for i in 0..xs.size()[0] {
            let chosen = match i % 3 {
                0 => xs,
                1 => {
                    if i > 2 {
                        &zs
                    } else {
                        &ys
                    }
                }
                _ => &ys,
            };
            kept.push(chosen);
        }
        Tensor::cat(&kept, 0)
    }
}

/// Chosen in an iterator, and with a number beside it.
#[derive(Debug, Module)]
pub struct Mapped {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Mapped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let kept: Vec<&Tensor> = (0..xs.size()[0]).map(|i| if i % 2 == 0 { &zs } else { &ys }).collect();
        let mut weighted = vec![];
        for i in 0..xs.size()[0] {
            weighted.push((if i % 2 == 0 { &zs } else { xs }, i as f64));
        }
        let sum = weighted.iter().fold(ys.zeros_like(), |sum, (one, weight)| sum + *one * *weight);
        Tensor::cat(&kept, 0).sum(Kind::Float) + sum
    }
}

/// What a loop carries is another reference in the next iteration.
#[derive(Debug, Module)]
pub struct Best {
    fc: nn::Linear,
}

#[traceable]
impl Best {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut kept: Vec<(i64, &Tensor)> = vec![];
        let mut best = xs;
        for i in 0..xs.size()[0] {
            let one = if i % 2 == 0 { best } else { &ys };
            kept.push((i, one));
            if i > 1 {
                best = one;
            }
        }
        let scaled: Vec<Tensor> = kept.iter().map(|(i, one)| *one * *i).collect();
        Tensor::cat(&scaled, 0) + best.sum(Kind::Float)
    }
}

/// Out of arrays, tuples, options and lists that opaque code makes.
#[derive(Debug, Module)]
pub struct Unknown {
    fc: nn::Linear,
}

fn is_set() -> bool {
    std::env::var("FX_BODIES_UNSET").is_ok()
}

fn both<'a>(a: &'a Tensor, b: &'a Tensor) -> (&'a Tensor, &'a Tensor) {
    if std::env::var("FX_BODIES_UNSET").is_ok() { (a, b) } else { (b, a) }
}

fn some(a: &Tensor) -> Option<&Tensor> {
    std::env::var("FX_BODIES_UNSET").is_err().then_some(a)
}

fn largest<'a>(all: &[&'a Tensor]) -> &'a Tensor {
    all.iter().copied().max_by_key(|one| one.numel()).unwrap()
}

pub enum Output {
    One(Tensor),
    Two(Tensor, Tensor),
}

impl Output {
    pub fn first(&self) -> &Tensor {
        match self {
            Output::One(one) | Output::Two(one, _) => one,
        }
    }
}

#[traceable]
impl Unknown {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let pair: [&Tensor; 2] = if is_set() { [xs, &ys] } else { [&ys, xs] };
        let [a, b] = pair;
        let (c, d) = both(&ys, xs);
        let e = some(&ys);
        let f = if let Some(one) = e { Tensor::cat(&[one, a, c], 0) } else { Tensor::cat(&[b, d], 0) };
        let outputs = vec![Output::One(xs.shallow_clone()), Output::Two(ys.relu(), ys.tanh())];
        let firsts = outputs.iter().map(Output::first).collect::<Vec<_>>();
        let g = largest(&[&ys, xs]);
        Tensor::cat(&[&f, g, &Tensor::cat(&firsts, 0)], 0)
    }
}

/// What opaque code yields, joined with tensors that are known.
#[derive(Debug, Module)]
pub struct Joined {
    fc: nn::Linear,
}

fn ordered<'a>(one: &'a Tensor, other: &'a Tensor) -> (&'a Tensor, &'a Tensor) {
    let (mut low, mut high) = (one, other);
    if high.size()[0] < 3 {
        (low, high) = (high, low);
    }
    (low, high)
}

fn doubled(xs: &Tensor) -> Tensor {
    [1, 2].iter().filter(|n| xs.size()[0] > -**n).map(|_| xs.copy() + xs).max_by_key(|one| one.numel()).unwrap()
}

#[traceable]
impl Joined {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let mut one = [xs, &ys].into_iter().min_by_key(|one| one.size()[0]).unwrap();
        if xs.size()[0] > 2 {
            one = xs;
        }
        let (low, high) = ordered([xs, &ys].into_iter().min_by_key(|one| one.numel()).unwrap(), xs);
        let mut some: Option<&Tensor> = [xs, &ys].into_iter().find(|one| one.size()[0] > 2);
        if xs.size()[0] > 3 {
            some = Some(&zs);
        }
        let parts = (ys.sin(), ys.cos());
        let part = [xs, &parts.0].into_iter().min_by_key(|one| one.size()[0]).unwrap();
        let more = doubled([xs, &ys].into_iter().min_by_key(|one| one.size()[0]).unwrap());
        one.relu() + low - high + some.unwrap_or(xs) + part + &parts.1 + more
    }
}

/// References into a state that is lent by `&mut`, kept from one iteration to the next by opaque code.
#[derive(Debug, Module)]
pub struct Kept {
    fc: nn::Linear,
}

pub struct State {
    rows: [Tensor; 2],
    calls: i64,
}

impl State {
    fn pick(&self) -> &Tensor {
        if std::env::var("FX_BODIES_UNSET").is_ok() { &self.rows[0] } else { &self.rows[1] }
    }
}

fn gathered(state: &mut State, xs: &Tensor) -> Tensor {
    state.calls += 1;
    let mut all = vec![xs];
    for _ in 0..xs.size()[0] {
        all.push(state.pick());
    }
    Tensor::cat(&all, 0) * state.calls
}

#[traceable]
impl Kept {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut state = State { rows: [ys.relu(), ys.sin()], calls: 0 };
        gathered(&mut state, &ys)
    }
}

/// Lists that lose elements in branches, options of tuples, and references into lists and options.
#[derive(Debug, Module)]
pub struct Changed {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Changed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let mut all = vec![&ys, &zs, xs];
        let last = if xs.size()[0] > 2 { all.pop().unwrap() } else { all.remove(0) };
        let mut best: Option<(&Tensor, i64)> = None;
        if xs.size()[0] > 2 {
            best = Some((&ys, 1));
        }
        let (kept, number) = if let Some(best) = best { best } else { (xs, 2) };
        let halves = ys.chunk(2, 1);
        let parts =
            if xs.size()[0] > 3 { vec![if xs.size()[0] > 4 { &halves[1] } else { &halves[0] }] } else { vec![&zs] };
        last.relu() + all[0] + kept * number + Tensor::cat(&parts, 0).sum(Kind::Float)
    }
}

/// Lists of references that are extended.
#[derive(Debug, Module)]
pub struct Extended {
    fc: nn::Linear,
}

#[traceable]
impl Extended {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let mut all = vec![&ys];
        if xs.size()[0] > 2 {
            all.extend([xs, &zs]);
        }
        all.extend_from_slice(&[&zs, xs]);
        Tensor::cat(&all, 0)
    }
}

/// The same by references to the elements of an array.
#[derive(Debug, Module)]
pub struct ExtendedByArray {
    fc: nn::Linear,
}

#[traceable]
impl ExtendedByArray {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut all = vec![&ys];
        let more = [ys.relu(), ys.tanh()];
        all.extend(&more);
        all.extend(more.iter());
        Tensor::cat(&all, 0)
    }
}

/// Lists of which only the parameter of a function says what they hold, and which stay empty.
#[derive(Debug, Module)]
pub struct Logged {
    fc: nn::Linear,
}

fn block(xs: &Tensor, log: &mut Vec<Tensor>, context: Option<&Tensor>) -> Tensor {
    if let Some(context) = context {
        log.push(context * 2.0);
    }
    xs.relu()
}

#[traceable(strict)]
impl Logged {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (mut empty, mut filled) = (vec![], Vec::new());
        let mut ys = xs.apply(&self.fc);
        for i in 0..xs.size()[0] {
            ys = block(&ys, &mut empty, None) + i;
        }
        ys = block(&ys, &mut filled, Some(xs));
        ys * filled.len() as i64
    }
}

/// Sizes that are a `Cow`, and types with lifetimes of the function that is inlined.
#[derive(Debug, Module)]
pub struct Sized {
    fc: nn::Linear,
}

fn dims<'a>(size: &'a [i64], last: Option<i64>) -> Cow<'a, [i64]> {
    match last {
        Some(last) => {
            let mut size = size.to_vec();
            size.push(last);
            Cow::Owned(size)
        }
        None => Cow::Borrowed(size),
    }
}

fn cut<'t>(all: &'t [Tensor], count: usize) -> &'t [Tensor] {
    let part: &'t [Tensor] = if count < all.len() { &all[..count] } else { all };
    part
}

#[traceable]
impl Sized {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let size = ys.size();
        let zs = ys.reshape(&*dims(&size, Some(1))).squeeze_dim(-1) + ys.reshape(&*dims(&size, None));
        let own: Cow<[i64]> = Cow::Owned(size);
        let rows = ys.unbind(0);
        Tensor::stack(cut(&rows, 3), 0).sum(Kind::Float) + zs.reshape(&own[..]).view(own.as_ref())
    }
}

/// A mode that is known when the code is read.
#[derive(Clone, Copy, Debug)]
pub enum Preference {
    First,
    Either,
}

fn noted<'a>(log: &mut Vec<&'a Tensor>, one: &'a Tensor) -> &'a Tensor {
    if std::env::var("FX_BODIES_ASK").is_err() {
        log.push(one);
    }
    one
}

fn larger<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
    if one.size()[0] > 2 { one } else { other }
}

fn logged<'a>(one: &'a Tensor, other: &'a Tensor) -> Tensor {
    let mut log = vec![match Preference::First {
        Preference::First => one,
        Preference::Either => other,
    }];
    let last = noted(&mut log, [one, other][(one.size()[0] % 2) as usize]);
    log.push(last);
    Tensor::cat(&log, 0).sum(Kind::Float)
}

/// What opaque code yields, chosen by a branch and among the elements of a map.
#[derive(Debug, Module)]
pub struct ChosenOfCode {
    fc: nn::Linear,
}

#[traceable]
impl ChosenOfCode {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let sum = logged(std::borrow::Borrow::<Tensor>::borrow(xs), xs);
        let map = std::collections::BTreeMap::from([(0, xs), (1, &ys)]);
        let made = {
            let calls = std::cell::Cell::new(2);
            let _guard = calls.replace(3);
            xs + calls.get()
        };
        let mut all = ys.zeros_like();
        let mut turn = 0;
        while turn < 3 {
            turn += 1;
            let one = match xs.size()[0] % 3 {
                0 => larger(map[&1], &made),
                _ => larger(&made, map[&0]),
            };
            all = all + one.sum(Kind::Float);
        }
        all + ys * sum
    }
}

/// Lists that a `match` takes apart, with one tensor in them twice.
#[derive(Debug, Module)]
pub struct Matched {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Matched {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for _ in 0..xs.size()[0] {
            ys = ys.relu() + 1;
        }
        let zs = ys.tanh();
        let mut kept = Vec::with_capacity(4);
        kept.push(&ys);
        kept.extend([&ys, &zs]);
        ys = match &kept[..] {
            [one, .., other] => *one - *other,
            _ => xs.cos(),
        };
        ys.sin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Best: 4 of 12);
    understood!(Unknown: 7 of 18);
    understood!(Extended: 0 of 6);
    understood!(Joined: 10 of 38);
    understood!(Kept: 3 of 7);
    understood!(Sized: 11 of 19);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn chosen_by_branches() {
        agree!(|p: &nn::Path| Gathered { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Mapped { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Best { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn changed_in_branches() {
        agree!(|p: &nn::Path| Changed { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn made_by_opaque_code() {
        agree!(|p: &nn::Path| Kept { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Joined { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Unknown { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn lists_that_are_extended() {
        agree!(|p: &nn::Path| Extended { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| ExtendedByArray { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn lists_that_are_matched() {
        agree!(|p: &nn::Path| Matched { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn lists_that_stay_empty() {
        agree!(|p: &nn::Path| Logged { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    understood!(ChosenOfCode: 8 of 19);

    #[test]
    fn chosen_of_what_code_yields() {
        agree!(|p: &nn::Path| ChosenOfCode { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn types_of_inlined_functions() {
        agree!(|p: &nn::Path| Sized { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
