//! Closures that constructors give to chains in other ways than in place: by variables, from tables, by functions.

use std::borrow::Borrow;

use fx_runtime::nn::{Module as _, ModuleT as _, Path};
use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: Path) -> nn::Linear {
    nn::linear(p, 4, 4, Default::default())
}

/// Closures in variables, in an impl that holds constructors alone.
#[derive(Debug, Module)]
pub struct Gated {
    body: nn::SequentialT,
}

#[traceable]
impl Gated {
    pub fn new(p: &Path, is_gated: bool) -> Self {
        let fc = linear(p / "fc");
        let relu = |xs: &Tensor| xs.relu();
        let gate = move |xs: &Tensor| match is_gated {
            true => xs * xs.apply(&fc).sigmoid(),
            false => xs.shallow_clone(),
        };
        let rate = 0.5;
        let scale = nn::func_t(move |xs, train| xs.dropout(rate, train) * (1.0 + rate));
        Gated { body: nn::seq_t().add_fn(relu).add(linear(p / "a")).add_fn(gate).add(scale).add_fn(relu) }
    }
}

#[traceable(strict)]
impl nn::ModuleT for Gated {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.body, train)
    }
}

/// A variable that means another value where the chain is given the closure.
#[derive(Debug, Module)]
pub struct Shadowed {
    body: nn::Sequential,
}

#[traceable]
impl Shadowed {
    pub fn new(p: &Path) -> Self {
        let scale = 2.0;
        let double = move |xs: &Tensor| xs * scale;
        let scale = 3.0;
        Shadowed { body: nn::seq().add(linear(p / "a")).add_fn(double).add_fn(move |xs| xs + scale) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.body.forward(xs)
    }
}

/// What a table says of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    Relu,
    Hardswish,
    Scaled(f64),
}

/// A row of a table.
#[derive(Debug, Clone)]
pub struct Row {
    width: i64,
    act: Act,
}

const SHIFTS: [(&str, i64); 2] = [("a", 1), ("b", 2)];

/// Closures that capture what loops and folds take from tables.
#[derive(Debug, Module)]
pub struct Tabled {
    tuples: nn::SequentialT,
    rows: nn::SequentialT,
    folded: nn::Sequential,
    zipped: nn::Sequential,
}

#[traceable(strict)]
impl Tabled {
    pub fn new(p: &Path, rows: &[Row]) -> Self {
        let table = [(4, 4, Act::Relu), (4, 4, Act::Hardswish), (4, 4, Act::Scaled(0.5))];
        let mut tuples = nn::seq_t();
        for (i, &(from, to, act)) in table.iter().enumerate() {
            tuples = tuples.add(nn::linear(p / "t" / i, from, to, Default::default())).add_fn(move |xs| match act {
                Act::Relu => xs.relu(),
                Act::Hardswish => xs.hardswish(),
                Act::Scaled(scale) => xs * scale,
            });
        }
        let mut in_rows = nn::seq_t();
        for (i, row) in rows.iter().enumerate() {
            let (act, width) = (row.act, row.width);
            in_rows = in_rows.add(nn::linear(p / "r" / i, 4, row.width, Default::default()));
            in_rows = in_rows.add_fn(move |xs| if act == Act::Relu { xs.relu() } else { xs / width });
        }
        let folded = SHIFTS
            .iter()
            .fold(nn::seq(), |seq, &(name, shift)| seq.add(linear(p / "f" / name)).add_fn(move |xs| xs + shift));
        let mut zipped = nn::seq();
        for (act, k) in [Act::Relu, Act::Hardswish].into_iter().zip([1i64, 2]) {
            zipped = zipped.add_fn(move |xs| if act == Act::Relu { xs.relu() } else { xs * k });
        }
        for k in 0..SHIFTS[1].1 {
            zipped = zipped.add_fn(move |xs| xs + k);
        }
        Tabled { tuples, rows: in_rows, folded, zipped }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.tuples, false).apply_t(&self.rows, false).apply(&self.folded).apply(&self.zipped)
    }
}

fn activation(act: Act) -> impl nn::ModuleT {
    nn::func_t(move |xs, _| match act {
        Act::Relu => xs.relu(),
        Act::Hardswish => xs.hardswish(),
        Act::Scaled(scale) => xs * scale,
    })
}

fn residual(p: Path) -> impl nn::ModuleT + use<> {
    let fc = linear(&p / "r");
    nn::func_t(move |xs, _| xs + xs.apply(&fc).relu())
}

fn residual_func<'a>(p: Path) -> nn::FuncT<'a> {
    let fc = linear(&p / "r");
    nn::func_t(move |xs, _| xs + xs.apply(&fc).tanh())
}

fn doubled<'a>(k: i64) -> nn::Func<'a> {
    nn::func(move |xs| xs * k)
}

fn normed<'a, P: Borrow<Path<'a>>>(p: P) -> nn::SequentialT {
    let p = p.borrow();
    nn::seq_t().add(linear(p / "n")).add_fn(|xs| xs.relu())
}

/// Functions that return modules of a type of their own, or closures, in the chain of a constructor.
#[derive(Debug, Module)]
pub struct Composed {
    body: nn::SequentialT,
}

#[traceable]
impl Composed {
    fn shifted(k: f64) -> impl nn::Module {
        nn::func(move |xs| xs + k)
    }

    pub fn new(p: &Path) -> Self {
        let mut body = nn::seq_t().add(linear(p / "a")).add(residual(p / "b")).add(doubled(2)).add(normed(p / "n"));
        for i in 0..2 {
            let layer = residual_func(p / "l" / i);
            body = body.add(layer);
        }
        let skip = activation(Act::Hardswish);
        let branch = 0.5;
        let inner = residual_func(p / "inner");
        let body =
            body.add(Self::shifted(0.5)).add(skip).add_fn_t(move |xs, train| inner.forward_t(xs, train) * branch);
        Composed { body: body.add(activation(Act::Scaled(0.25))) }
    }

    /// The same functions, once more.
    pub fn small(p: &Path) -> Self {
        Composed { body: nn::seq_t().add(residual(p / "b")) }
    }
}

#[traceable]
impl Composed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.body, false)
    }
}

/// An impl of constructors without a closure of its own.
#[derive(Debug, Module)]
pub struct Called {
    body: nn::SequentialT,
}

#[traceable]
impl Called {
    pub fn new(p: &Path) -> Self {
        Called { body: nn::seq_t().add(linear(p / "a")).add(residual_func(p / "b")) }
    }
}

#[traceable(strict)]
impl Called {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.body, false)
    }
}

/// What a function makes that is marked by itself.
#[derive(Debug, Module)]
pub struct Scaled {
    body: nn::SequentialT,
}

#[traceable]
pub fn scaled(p: &Path, scale: f64) -> Scaled {
    let body = nn::seq_t().add(linear(p / "a")).add_fn(move |xs| xs * scale);
    Scaled { body }
}

#[traceable(strict)]
impl Scaled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.body, false)
    }
}

/// The same functions in a constructor that is not marked.
#[derive(Debug, Module)]
pub struct Unmarked {
    body: nn::SequentialT,
}

impl Unmarked {
    pub fn new(p: &Path) -> Self {
        let relu = |xs: &Tensor| xs.relu();
        Unmarked {
            body: nn::seq_t().add(linear(p / "a")).add_fn(relu).add(residual(p / "b")).add(activation(Act::Relu)),
        }
    }
}

#[traceable]
impl Unmarked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.body, false)
    }
}

/// Fields that are closures of their own, which capture nothing.
#[derive(Debug, Module)]
pub struct Functions {
    fc: nn::Linear,
    act: nn::Func<'static>,
    gate: nn::Func<'static>,
    drop: nn::FuncT<'static>,
}

impl Functions {
    pub fn new(p: &Path) -> Self {
        let gate = |xs: &Tensor| xs.sigmoid();
        let drop = nn::func_t(|xs, train| xs.dropout(0.5, train) * 2.0);
        Functions { fc: linear(p / "fc"), act: nn::func(|xs| xs.relu()), gate: nn::func(gate), drop }
    }
}

#[traceable(strict)]
impl Functions {
    pub fn forward(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply(&self.fc).apply(&self.act).apply_t(&self.drop, train);
        ys * self.gate.forward(xs) + xs.apply_t(&self.gate, train)
    }
}

/// Closures in fields that are functions, of which one may be missing.
#[derive(Debug, Module)]
pub struct Pointers {
    fc: nn::Linear,
    #[module(skip)]
    act: Option<fn(&Tensor) -> Tensor>,
    #[module(skip)]
    last: fn(&Tensor) -> Tensor,
}

impl Pointers {
    pub fn new(p: &Path) -> Self {
        Pointers { fc: linear(p / "fc"), act: Some(|xs| xs.silu()), last: |xs| xs.tanh() }
    }

    pub fn plain(p: &Path) -> Self {
        Pointers { fc: linear(p / "fc"), act: None, last: |xs| xs.tanh() }
    }
}

#[traceable(strict)]
impl Pointers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let ys = match self.act {
            Some(f) => f(&ys),
            None => ys,
        };
        (self.last)(&ys)
    }
}

/// A field that says whether the model trains, which a layer without a training does not ask.
#[derive(Debug, Module)]
pub struct Flagged {
    fc: nn::Linear,
    training: bool,
}

#[traceable(strict)]
impl Flagged {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.fc, self.training) + self.fc.forward_t(xs, self.training) + xs.apply_t(&self.fc, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Shadowed: 2 of 3);
    understood!(Unmarked: 2 of 4);

    #[test]
    fn closures_in_variables() {
        for is_gated in [true, false] {
            agree!(|p| Gated::new(p, is_gated), [randn(&[3, 4])], |net, xs| net.forward_t(xs, false));
        }
        agree!(Shadowed::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn fields() {
        agree!(Functions::new, [randn(&[3, 4])], |net, xs| net.forward(xs, false));
        agree!(Pointers::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(Pointers::plain, [randn(&[3, 4])], |net, xs| net.forward(xs));
        let flagged = |p: &Path| Flagged { fc: linear(p / "fc"), training: false };
        agree!(flagged, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn tables() {
        let rows = [Row { width: 4, act: Act::Relu }, Row { width: 4, act: Act::Hardswish }];
        agree!(|p| Tabled::new(p, &rows), [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn functions() {
        agree!(Composed::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(Composed::small, [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(Called::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(|p| scaled(p, 2.5), [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(Unmarked::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
