//! What functions write through `&mut`: numbers, options, tensors, lists, iterators and structs of the forward's own.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn bump(n: &mut i64) {
    *n += 1;
}

fn twice(n: &mut i64) -> i64 {
    let before = *n;
    bump(n);
    bump(n);
    before
}

fn set_if(n: &mut i64, wide: bool) -> bool {
    if wide {
        *n = 7;
        return true;
    }
    *n -= 2;
    false
}

fn mask_in(x: &mut Tensor, by: f64) {
    *x = &*x * by;
    let _ = x.relu_();
}

fn add_in(x: &mut Tensor) {
    *x += 1;
}

fn take(o: &mut Option<Tensor>) -> Tensor {
    match o.take() {
        Some(x) => x,
        None => Tensor::ones([1], (Kind::Float, fx_runtime::Device::Cpu)),
    }
}

fn put(o: &mut Option<Tensor>, x: &Tensor) {
    *o = Some(x.relu());
}

fn next_of<'a>(it: &mut impl Iterator<Item = &'a nn::Linear>, xs: &Tensor) -> Tensor {
    match it.next() {
        Some(layer) => xs.apply(layer),
        None => xs.neg(),
    }
}

/// Numbers, before, in and behind loops and branches.
#[derive(Debug, Module)]
pub struct Counts {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Counts {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, i64, i64) {
        let mut n = 3;
        let m = n;
        bump(&mut n);
        let before = twice(&mut n);
        let mut ys = xs * n;
        for layer in &self.layers {
            ys = ys.apply(layer) + n;
            bump(&mut n);
        }
        let wide = set_if(&mut n, xs.size()[0] > 2);
        if !wide {
            bump(&mut n);
        }
        let mut pair = (n, 1);
        bump(&mut pair.1);
        bump(&mut pair.0);
        (ys * before, pair.0 * 100 + pair.1, m)
    }
}

/// Tensors, of which others know.
#[derive(Debug, Module)]
pub struct Tensors {
    fc: nn::Linear,
}

#[traceable]
impl Tensors {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let mut ys = self.fc.forward(xs);
        let same = ys.shallow_clone();
        add_in(&mut ys);
        let old = ys.shallow_clone();
        mask_in(&mut ys, 0.5);
        add_in(&mut ys);
        let mut zs = xs.copy();
        for _ in 0..2 {
            mask_in(&mut zs, 2.0);
            add_in(&mut zs);
        }
        if xs.size()[0] > 2 {
            mask_in(&mut zs, 3.0);
        } else {
            add_in(&mut zs);
        }
        (ys, same, old, zs)
    }
}

/// Options that are emptied and filled.
#[derive(Debug, Module)]
pub struct Options {
    fc: nn::Linear,
}

#[traceable]
impl Options {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, bool) {
        let mut kept = Some(self.fc.forward(xs));
        let first = take(&mut kept);
        let second = take(&mut kept);
        put(&mut kept, &first);
        let mut ys = kept.as_ref().unwrap() + &second;
        let mut last: Option<Tensor> = None;
        for step in 0..3 {
            if step == 1 {
                ys = ys + take(&mut last);
            } else {
                put(&mut last, &ys);
            }
        }
        let is_there = last.is_some();
        (ys, take(&mut last), is_there && last.is_none())
    }
}

/// An iterator that is handed on, and lists.
#[derive(Debug, Module)]
pub struct HandedOn {
    layers: Vec<nn::Linear>,
}

fn keep(all: &mut Vec<Tensor>, seen: &mut Vec<i64>, xs: &Tensor) {
    all.push(xs.shallow_clone());
    seen.push(xs.size()[0]);
}

fn keep_both(all: &mut Vec<Tensor>, seen: &mut Vec<i64>, xs: &Tensor) {
    keep(all, seen, xs);
    keep(all, seen, &xs.neg());
}

#[traceable]
impl HandedOn {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Vec<Tensor>, Vec<i64>) {
        let mut it = self.layers.iter();
        let ys = next_of(&mut it, xs);
        let mut ys = next_of(&mut it, &ys);
        let (mut all, mut seen) = (vec![], Vec::new());
        keep(&mut all, &mut seen, &ys);
        for layer in it {
            ys = ys.apply(layer);
            keep_both(&mut all, &mut seen, &ys);
        }
        (ys, all, seen)
    }
}

/// A struct of the forward's own, written field by field.
#[derive(Debug)]
pub struct State {
    h: Tensor,
    c: Option<Tensor>,
    n: i64,
    seen: Vec<Tensor>,
}

#[derive(Debug)]
pub struct Outer {
    state: State,
    scale: f64,
}

impl State {
    fn step(&mut self, fc: &nn::Linear) {
        self.h = self.h.apply(fc).tanh();
        self.n += 1;
        self.note();
    }

    fn note(&mut self) {
        if self.n > 2 {
            self.c = Some(self.h.neg());
        }
        self.seen.push(self.h.shallow_clone());
    }

    fn total(&self) -> Tensor {
        let mut sum = &self.h * self.n;
        for one in &self.seen {
            sum = sum + one;
        }
        match &self.c {
            Some(c) => sum + c,
            None => sum,
        }
    }
}

fn reset(state: &mut State, xs: &Tensor) {
    state.h = xs.shallow_clone();
    state.n = 0;
    let _ = state.c.take();
}

#[derive(Debug, Module)]
pub struct Fields {
    fc: nn::Linear,
}

#[traceable]
impl Fields {
    pub fn forward(&self, xs: &Tensor, times: i64) -> (Tensor, Tensor, i64, Option<Tensor>) {
        let mut state = State { h: xs.shallow_clone(), c: None, n: 0, seen: vec![] };
        state.h = state.h.relu();
        state.n += 2;
        for i in 0..times {
            if i == 1 {
                state.n += 10;
                state.c = Some(xs.neg());
            }
            state.step(&self.fc);
        }
        let first = state.total();
        let kept = state.h.shallow_clone();
        let _ = state.h.g_add_scalar_(1.0);
        let mut outer = Outer { state, scale: 0.5 };
        outer.scale *= 3.0;
        outer.state.step(&self.fc);
        let c = outer.state.c.as_ref().map(|c| c + 1);
        reset(&mut outer.state, &kept);
        outer.state.step(&self.fc);
        let second = outer.state.total() * outer.scale + kept;
        (first, second, outer.state.n, c)
    }
}

/// Second names, shadowed names, and returns in the middle.
#[derive(Debug, Module)]
pub struct Alias {
    fc: nn::Linear,
    layers: Vec<nn::Linear>,
}
#[derive(Debug)]
pub struct Noted {
    h: Tensor,
    n: i64,
}
fn set(a: &mut Tensor, b: &mut Tensor) {
    *a = b.shallow_clone();
    *b += 1;
}
fn early(n: &mut i64, xs: &Tensor) -> Tensor {
    for i in 0..3 {
        *n += i;
        if *n > 2 {
            return xs * *n;
        }
    }
    xs.neg()
}
fn peek(n: &mut i64) -> i64 {
    let n = *n + 1;
    n * 2
}
fn swap(a: &mut i64, b: &mut i64) {
    let t = *a;
    *a = *b;
    *b = t;
}
#[traceable]
impl Alias {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor, i64) {
        let mut t = xs + 1;
        let list = vec![t.shallow_clone(), xs.neg()];
        let pair = (t.shallow_clone(), 3);
        let _ = t.neg_();
        let mut a = self.fc.forward(xs);
        let mut b = a.relu();
        set(&mut a, &mut b);
        let c = &a + &b + &list[0] + &pair.0;
        let mut n = 0;
        let d = early(&mut n, xs);
        let m = peek(&mut n);
        let mut k = 9;
        swap(&mut n, &mut k);
        let mut s = Noted { h: d.shallow_clone(), n: k };
        s.n += 1;
        let _ = s.h.g_add_scalar_(1.0);
        let mut it = self.layers.iter();
        let e = {
            let it = it.next();
            it.map_or_else(|| xs.neg(), |l| xs.apply(l))
        };
        let mut sum = 0;
        (0..3).for_each(|i| sum += i);
        let g = sum;
        let rest = it.map(|l| l.forward(&e)).collect::<Vec<Tensor>>();
        (c + d, e + s.h, rest.iter().fold(xs.copy(), |a, b| a + b), n * 1000 + m * 100 + s.n + g)
    }
}

/// A second reference, and a closure that writes: what is not understood stays what the user wrote.
#[derive(Debug, Module)]
pub struct Second {
    fc: nn::Linear,
}

fn both(s: &mut Noted) {
    s.n += 1;
    let h = &mut s.h;
    let _ = h.g_add_scalar_(1.0);
}
#[traceable]
impl Second {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, i64) {
        let mut s = Noted { h: self.fc.forward(xs), n: 1 };
        both(&mut s);
        let mut sum = s.n;
        let mut f = |x: i64| {
            sum += x;
            sum
        };
        let g = f(2) + f(3);
        (s.h.relu(), g + sum)
    }
}

/// A struct that methods by value hand on, and an iterator that goes round what it is lent.
#[derive(Debug, Module)]
pub struct Rounds {
    fc: nn::Linear,
}

pub struct Built {
    h: Tensor,
    n: i64,
}

impl Built {
    fn with(mut self, h: Tensor) -> Built {
        self.n += 1;
        self.h = self.h + h;
        self
    }
}

#[traceable]
impl Rounds {
    pub fn forward(&self, xs: &Tensor, times: i64) -> Tensor {
        let old = xs.neg();
        let built = Built { h: self.fc.forward(xs), n: times }.with(old);
        let mut built = built.with(xs.cos());
        let _ = built.h.relu_();
        let twice = xs * 2;
        let mut round = [xs, &twice].into_iter().cycle();
        let mut sum = built.h * built.n;
        for _ in 0..times {
            sum = sum.sin() + round.next().unwrap();
        }
        sum
    }
}

/// A part that the caller keeps.
pub struct Part {
    k: Tensor,
}

/// Opaque code computes, from what borrows a part, what is put into the part.
#[derive(Debug, Module)]
pub struct PutBack {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl PutBack {
    pub fn forward(&self, xs: &Tensor, parts: &mut [Part]) -> Tensor {
        let mut sum = xs.copy();
        for (layer, part) in self.layers.iter().zip(parts) {
            let seen = {
                let mut map = std::collections::BTreeMap::new();
                for row in 0..xs.size()[0] {
                    map.insert(row, &part.k);
                }
                map
            };
            part.k = seen[&0].tanh();
            sum = sum.apply(layer) + &part.k;
        }
        sum
    }
}

/// A number that opaque code gives multiplies, in place, a tensor that opaque code makes.
#[derive(Debug, Module)]
pub struct ToldLate {
    fc: nn::Linear,
}

/// Counts on its way out.
pub struct Counted<'a>(&'a std::cell::Cell<i64>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[traceable]
impl ToldLate {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let cell = std::cell::Cell::new(1i64);
        let mut ys = {
            let _counted = Counted(&cell);
            xs.apply(&self.fc) * cell.get()
        };
        let by = cell.get();
        ys *= by % 3;
        let zs: Tensor = ys;
        zs + xs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Second: 3 of 3);
    understood!(Rounds: 0 of 11);
    understood!(PutBack: 3 of 7);
    understood!(ToldLate: 1 of 8);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn counts() {
        agree!(
            |p| Counts { layers: vec![linear(p / 0), linear(p / 1)] },
            [randn(&[2, 4]), randn(&[3, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn tensors() {
        agree!(|p| Tensors { fc: linear(p / 0) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn options() {
        agree!(|p| Options { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn handed_on() {
        for count in [0, 1, 2, 4] {
            agree!(
                |p| HandedOn { layers: (0..count).map(|at| linear(p / at)).collect() },
                [randn(&[2, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn fields() {
        for times in [0, 1, 2, 5] {
            agree!(|p| Fields { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs, times));
        }
    }

    #[test]
    fn rounds() {
        for times in [0, 1, 4] {
            agree!(|p| Rounds { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs, times));
        }
    }

    #[test]
    fn second_references() {
        agree!(|p| Second { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn second_names() {
        for count in [0, 1, 3] {
            let make =
                |p: &nn::Path| Alias { fc: linear(p / "fc"), layers: (0..count).map(|at| linear(p / at)).collect() };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn of_opaque_code() {
        let make = |p: &nn::Path| PutBack { layers: vec![linear(p / 0), linear(p / 1)] };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| {
            let mut parts = vec![Part { k: xs.sin() }, Part { k: xs.cos() }];
            let ys = net.forward(xs, &mut parts);
            (ys, parts[0].k.shallow_clone(), parts[1].k.shallow_clone())
        });
        agree!(|p| ToldLate { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
