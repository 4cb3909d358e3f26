//! Variables that hold a `Result`, and guards of cells that are the forward's own.

use std::cell::RefCell;
use std::sync::Mutex;

use fx_runtime::{Module, Tensor, nn, traceable};

/// `Ok` and `Err` in branches.
#[derive(Debug, Module)]
pub struct Local {
    a: nn::Linear,
    on: bool,
}

#[traceable]
impl Local {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let three: Result<i64, String> = Ok(3);
        let made: Result<Tensor, i64> = if self.on { Ok(xs.apply(&self.a)) } else { Err(4) };
        let three = three.unwrap();
        match made {
            Ok(ys) => ys * three,
            Err(by) => xs * by,
        }
    }
}

/// Where the input decides.
#[derive(Debug, Module)]
pub struct BySize {
    a: nn::Linear,
}

#[traceable]
impl BySize {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let made: Result<Tensor, i64> = if xs.size()[0] > 1 { Ok(xs.apply(&self.a)) } else { Err(4) };
        match made {
            Ok(ys) => ys * 2.0,
            Err(by) => xs * by,
        }
    }
}

/// With a number in its place.
#[derive(Debug, Module)]
pub struct OrElse {
    a: nn::Linear,
    on: bool,
    ok: Option<i64>,
}

#[traceable]
impl OrElse {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let first: Result<i64, String> = if self.on { Ok(3) } else { Err("x".into()) };
        let second = if let Some(by) = self.ok { Ok(by * 2) } else { Err("none") };
        xs.apply(&self.a) * first.unwrap_or(0) + second.unwrap_or(5)
    }
}

/// An option of one.
#[derive(Debug, Module)]
pub struct Transposed {
    a: nn::Linear,
    ok: Option<i64>,
}

#[traceable]
impl Transposed {
    pub fn forward(&self, xs: &Tensor) -> Result<Option<Tensor>, String> {
        let made = self.ok.map(|by| if by > 5 { Ok(xs.apply(&self.a) * by) } else { Err(format!("{by}")) });
        made.transpose()
    }
}

/// Guards of a cell in blocks of their own.
#[derive(Debug, Module)]
pub struct Guarded {
    a: nn::Linear,
}

#[traceable]
impl Guarded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let cell = RefCell::new(vec![xs.relu()]);
        {
            let mut held = cell.borrow_mut();
            held[0] += 1.0;
            held.push(xs.apply(&self.a));
        }
        cell.borrow_mut().push(xs.neg());
        let count = cell.borrow().len() as i64;
        let held = cell.borrow();
        &held[0] * &held[1] * count
    }
}

/// Guards of a lock.
#[derive(Debug, Module)]
pub struct Locked {
    a: nn::Linear,
}

#[traceable]
impl Locked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let lock = Mutex::new(1i64);
        {
            let mut held = lock.lock().unwrap();
            *held += 2;
        }
        let ys = xs.apply(&self.a);
        let by = {
            let mut held = lock.lock().unwrap();
            *held *= 2;
            *held
        };
        *lock.lock().unwrap() += 1;
        ys * by + *lock.lock().unwrap()
    }
}

/// A cell that is taken apart behind a guard.
#[derive(Debug, Module)]
pub struct TakenOut {}

#[traceable]
impl TakenOut {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let cell = RefCell::new(vec![xs.relu()]);
        cell.borrow_mut().push(xs.neg());
        {
            let mut held = cell.borrow_mut();
            held[0] += 1.0;
        }
        let held = cell.into_inner();
        &held[0] * &held[1]
    }
}

/// Given another value.
#[derive(Debug, Module)]
pub struct Reassigned {
    a: nn::Linear,
}

#[traceable]
impl Reassigned {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a);
        let mut found = if xs.size()[0] > 2 { Ok::<&Tensor, i64>(xs) } else { Err(3) };
        if xs.size()[0] > 1 {
            found = Ok(&ys);
        }
        found.unwrap_or(xs).neg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Guarded: 0 of 10);
    understood!(Transposed: 0 of 8);
    understood!(TakenOut: 0 of 8);
    understood!(Locked: 1 of 10);
    understood!(BySize: 0 of 7);
    understood!(Local: 0 of 9);
    understood!(OrElse: 1 of 11);
    understood!(Reassigned: 1 of 7);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn layers(p: &nn::Path) -> Vec<nn::Linear> {
        (0..3).map(|at| linear(p / at)).collect()
    }

    #[test]
    fn local() {
        for flag in [true, false] {
            agree!(
                |p: &nn::Path| Local { a: linear(p / "a"), on: flag },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn by_size() {
        agree!(|p: &nn::Path| Reassigned { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
        agree!(|p: &nn::Path| BySize { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn or_else() {
        for flag in [true, false] {
            agree!(
                |p: &nn::Path| OrElse { a: linear(p / "a"), on: flag, ok: flag.then_some(4) },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn transposed() {
        for ok in [None, Some(3), Some(7)] {
            agree!(
                |p: &nn::Path| Transposed { a: linear(p / "a"), ok: ok },
                [randn(&[2, 4]), randn(&[1, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn guarded() {
        agree!(|p: &nn::Path| Guarded { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn locked() {
        agree!(|p: &nn::Path| Locked { a: linear(p / "a") }, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn taken_out() {
        agree!(|p: &nn::Path| TakenOut {}, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }
}
