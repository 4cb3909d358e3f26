//! Values whose types have a `Drop` of the crate's, however they are made: it runs where it runs in the user's code.

use std::cell::Cell;

use fx_runtime::{Module, Tensor, nn, traceable};

thread_local! {
    static COUNT: Cell<i64> = const { Cell::new(0) };
}

fn count() -> i64 {
    COUNT.with(Cell::get)
}

/// A tuple struct that borrows what it writes to.
pub struct Guard<'a>(&'a Cell<i64>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

fn guarded(cell: &Cell<i64>) -> Option<Guard<'_>> {
    (cell.get() >= 0).then(|| Guard(cell))
}

/// Guards by a call of a tuple struct, in an option, and dropped at once.
#[derive(Debug, Module)]
pub struct Guarded {
    fc: nn::Linear,
}

#[traceable]
impl Guarded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let cell = Cell::new(0);
        let ys = {
            let _guard = Guard(&cell);
            xs.apply(&self.fc) * (cell.get() + 1)
        };
        let zs = {
            let _ = Guard(&cell);
            ys.relu() * (cell.get() + 1)
        };
        let ws = if let Some(_guard) = guarded(&cell) { zs * cell.get() } else { zs };
        ws + cell.get()
    }
}

/// A struct without fields, and one with a constructor that may fail.
pub struct Scope;

impl Drop for Scope {
    fn drop(&mut self) {
        COUNT.with(|all| all.set(all.get() + 1));
    }
}

fn enter() -> Scope {
    COUNT.with(|all| all.set(all.get() * 2));
    Scope
}

pub struct Step {
    size: i64,
}

impl Step {
    fn of(size: i64) -> Result<Self, String> {
        if size > 100 { Err("too large".to_owned()) } else { Ok(Self { size }) }
    }

    fn get(&self) -> i64 {
        self.size + count()
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        COUNT.with(|all| all.set(all.get() + self.size));
    }
}

/// Guards that functions hand out, in a helper that is inlined, and as temporaries.
#[derive(Debug, Module)]
pub struct Scoped {
    fc: nn::Linear,
}

fn stepped(xs: &Tensor, fc: &nn::Linear) -> Tensor {
    let step = Step::of(3).unwrap();
    let ys = xs.apply(fc);
    ys * step.get()
}

#[traceable]
impl Scoped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        COUNT.with(|all| all.set(1));
        let ys = {
            let _scope = enter();
            stepped(xs, &self.fc) * count()
        };
        let last = Step::of(2).map(|step| step.get()).unwrap_or(0);
        let zs = match Step::of(4) {
            Ok(step) => &ys * step.get(),
            Err(_) => ys.relu(),
        };
        let _ = Step { size: 9 };
        zs + ys * last + count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Guarded: 0 of 12);
    understood!(Scoped: 0 of 24);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn guards_of_all_forms() {
        let cases = || [1, 2, 3].map(|rows| randn(&[rows, 4]));
        agree!(|p: &nn::Path| Guarded { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Scoped { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
