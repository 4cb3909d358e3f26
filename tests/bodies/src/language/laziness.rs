//! What runs only where the code reaches it, and what is written to a copy: `&&` and `||`, `move` closures, macros that
//! return; names that a `*` could bring in, and numbers whose types are said elsewhere.

use std::cell::*;
use std::collections::*;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Reached {
    fc: nn::Linear,
    more: Vec<nn::Linear>,
    none: Option<nn::Linear>,
    calls: Cell<i64>,
}

impl Reached {
    fn is_wide(&self, xs: &Tensor) -> bool {
        xs.dim() == 3 && xs.size()[2] > 1
    }
}

#[traceable(strict)]
impl Reached {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let rows = xs.size()[0];
        let n = rows as usize;
        let mut by = if xs.dim() == 3 && xs.size()[2] == 4 { 1.0 } else { 2.0 };
        if rows - 2 != 0 && 12 / (rows - 2) > 3 {
            by += 3.0;
        }
        if n > 2 && n - 3 < 1 {
            by += 5.0;
        }
        if mask.is_some() && mask.unwrap().size()[0] == rows {
            by += 7.0;
        }
        if rows > 1 && xs.get(1).max().double_value(&[]) > 0. {
            by += 11.0;
        }
        if self.none.is_some() && self.none.as_ref().unwrap().ws.size()[0] > 2 {
            by += 13.0;
        }
        if self.more.is_empty() || self.more[0].ws.size()[0] < 2 {
            by += 17.0;
        }
        if rows > 2 && self.calls.replace(rows) > 0 {
            by += 19.0;
        }
        if self.is_wide(xs) {
            by += 23.0;
        }
        let ys = xs.apply(&self.fc) * by;
        ys + self.calls.get()
    }
}

/// A `move` closure writes to numbers of its own.
#[derive(Debug, Module)]
pub struct Moved {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Moved {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut n = 5;
        let mut f = move |x: f64| {
            n -= 1;
            x * n as f64
        };
        let ys = xs.apply(&self.fc) * f(1.0) + f(2.0);
        n += 1;
        ys + n
    }
}

macro_rules! fail {
    ($($told:tt)*) => {
        return Err(format!($($told)*))
    };
}

mod anyhow {
    macro_rules! bail {
        ($($told:tt)*) => {
            return Err(format!($($told)*))
        };
    }
    pub(super) use bail;
}
use anyhow::bail;

/// Macros that return in the midst of code that is not understood.
#[derive(Debug, Module)]
pub struct Failing {
    fc: nn::Linear,
    mode: i64,
}

#[cfg(test)]
crate::check::understood!(Failing: 0 of 5);
#[traceable]
impl Failing {
    pub fn forward(&self, xs: &Tensor, table: &BTreeMap<i64, i64>) -> Result<Tensor, String> {
        let h = xs.apply(&self.fc);
        for (k, v) in table {
            if *k > 100 {
                bail!("{k} is big");
            }
            if *v > 100 {
                fail!("{v} is big");
            }
        }
        let ys = match self.mode {
            0 => h,
            m if m < 0 => fail!("{m} is negative"),
            m => h + m,
        };
        Ok(ys.softmax(-1, Kind::Float))
    }
}

/// Numbers of a range whose type what they are compared with says, lists that are cloned and asked.
#[derive(Debug, Module)]
pub struct Counters {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl Counters {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (i, layer) in self.layers.iter().enumerate() {
            for j in 0..2 {
                if j < i {
                    ys = ys.apply(layer) + j as f64;
                }
            }
        }
        let rows = xs.size()[0] as usize;
        for i in 0..4 {
            if i >= rows {
                break;
            }
            ys = ys + i as f64;
        }
        let dims = vec![xs.size()[0], 2];
        let mut shape = dims.clone();
        shape.push(2);
        let by = [1i64, 3];
        let parts: Vec<Tensor> = ys.chunk(2, 1).iter().zip(by.iter()).map(|(part, &one)| part * one).collect();
        let ys = Tensor::cat(&parts, 1);
        let stop = [3i64, 7];
        let ys = if stop.contains(&xs.size()[0]) { ys.tanh() } else { ys };
        ys.view(shape.as_slice()) * dims[1]
    }
}

/// Numbers that are not there, in a branch that no input of these takes.
#[derive(Debug, Module)]
pub struct Unasked {
    fc: nn::Linear,
    sizes: Vec<i64>,
    count: usize,
}

#[traceable]
impl Unasked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        if xs.size()[0] > 100 {
            let last = self.count - 1;
            ys.narrow(1, 0, self.sizes[3] / self.sizes[last]) * (10 % self.count) as f64
        } else {
            ys.relu()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    #[test]
    fn reached() {
        let make = |p: &nn::Path| Reached { fc: linear(p, "fc"), more: Vec::new(), none: None, calls: Cell::new(0) };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("nothing is asked of what is not there");
        for (shape, has_mask) in [(&[1i64, 4][..], true), (&[2, 4], false), (&[3, 4], true), (&[3, 2, 4], false)] {
            let (xs, mask) = (randn(shape), randn(shape));
            let mask = has_mask.then_some(&mask);
            assert!(frozen.forward(&xs, mask).allclose(&net.forward(&xs, mask), 1e-5, 1e-5, false));
        }
    }

    #[test]
    fn moved() {
        agree!(|p: &nn::Path| Moved { fc: linear(p, "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn failing() {
        for mode in [0, 2, -1] {
            let (_vs, net) = crate::check::root(|p: &nn::Path| Failing { fc: linear(p, "fc"), mode });
            let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
            for table in [BTreeMap::from([(1, 2)]), BTreeMap::from([(101, 2)]), BTreeMap::from([(1, 102)])] {
                let xs = randn(&[2, 4]);
                match (frozen.forward(&xs, &table), net.forward(&xs, &table)) {
                    (Ok(ours), Ok(expected)) => assert!(ours.allclose(&expected, 1e-5, 1e-5, false)),
                    (ours, expected) => assert_eq!(ours.is_err(), expected.is_err()),
                }
            }
        }
    }

    #[test]
    fn counters() {
        let make = |p: &nn::Path| Counters { layers: (0..3).map(|at| linear(p, &format!("l{at}"))).collect() };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn unasked() {
        let make =
            |p: &nn::Path| Unasked { fc: nn::linear(p / "fc", 4, 4, Default::default()), sizes: vec![2], count: 0 };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
