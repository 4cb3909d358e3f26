//! Variables that borrow parts of tuples and structs to be written to.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// An accumulator that is taken apart by reference.
#[derive(Debug, Module)]
pub struct Folded {
    cells: Vec<nn::Linear>,
}

#[traceable]
impl Folded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (a, b) = self.cells.iter().fold((vec![], vec![]), |mut both, cell| {
            let (a, b) = &mut both;
            a.push(xs.apply(cell));
            b.push(xs.apply(cell).relu());
            both
        });
        Tensor::stack(&a, 0) + Tensor::stack(&b, 0)
    }
}

fn halved(ys: &mut Tensor, count: &mut i64) {
    *ys = &*ys * 0.5;
    *count += 1;
}

/// A part of a struct, in a loop, and handed to a function.
#[derive(Debug, Module)]
pub struct OfStruct {
    cells: Vec<nn::Linear>,
}

pub struct State {
    h: Tensor,
    count: i64,
    seen: Vec<Tensor>,
}

#[traceable]
impl OfStruct {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut state = State { h: xs.copy(), count: 1, seen: vec![] };
        for cell in &self.cells {
            let h = &mut state.h;
            *h = h.apply(cell).tanh();
            let seen = &mut state.seen;
            seen.push(xs.apply(cell));
            let count = &mut state.count;
            *count += 2;
            if *count > 3 {
                halved(&mut state.h, count);
            }
        }
        let State { h, count, seen } = state;
        Tensor::stack(&seen, 0).sum_dim_intlist([0i64].as_slice(), false, Kind::Float) * count + h
    }
}

/// The names of what is borrowed are other variables' later.
#[derive(Debug, Module)]
pub struct Renamed {
    fc: nn::Linear,
}

#[traceable]
impl Renamed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut both = (xs.apply(&self.fc), 2);
        {
            let (h, n) = &mut both;
            *h = h.relu();
            *n *= 3;
        }
        let h = &mut both.0;
        *h = h.sin();
        let h = h.cos();
        h * both.1 + both.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Renamed: 0 of 4);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 2] {
        [1, 3].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn of_tuples() {
        agree!(|p| Folded { cells: vec![linear(p / 0), linear(p / 1)] }, cases(), |net, xs| net.forward(xs));
        agree!(|p| Renamed { fc: linear(p / 0) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn of_structs() {
        agree!(|p| OfStruct { cells: vec![linear(p / 0), linear(p / 1)] }, cases(), |net, xs| net.forward(xs));
    }
}
