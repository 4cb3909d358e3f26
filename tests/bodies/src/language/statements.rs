//! Asserts, prints, `cfg`, attributes, items inside a body.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Asserts {
    fc: nn::Linear,
    name: String,
}

#[traceable]
impl Asserts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        assert!(xs.dim() == 2, "{} wants two axes, not {:?}", self.name, xs.size());
        debug_assert_eq!(xs.size().as_slice(), &[xs.size()[0], 4]);
        let n = xs.size()[0];
        assert_ne!(n, 0);
        if n > 100 {
            panic!("{}: {n} is too many", self.name);
        }
        let ys = self.fc.forward(xs);
        println!("{n} rows through {}: {ys:?}", self.name);
        eprintln!("{:?}", ys.kind());
        debug_assert! {
            { let total = ys.numel(); total > 0 }
        }
        ys
    }
}

/// `cfg` on statements and expressions, attributes on lets.
#[derive(Debug, Module)]
pub struct Cfg {
    fc: nn::Linear,
    #[cfg(feature = "unreachable")]
    absent: nn::Linear,
}

#[traceable]
impl Cfg {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        #[cfg(feature = "unreachable")]
        let xs = &self.absent.forward(xs);
        #[allow(unused_mut)]
        let mut ys = self.fc.forward(xs);
        #[cfg(feature = "unreachable")]
        {
            ys = ys * 100;
        }
        #[cfg(not(feature = "unreachable"))]
        {
            ys = ys.relu();
        }
        if cfg!(feature = "unreachable") {
            ys = ys.neg();
        }
        if cfg!(debug_assertions) { ys } else { ys }
    }

    #[cfg(feature = "unreachable")]
    pub fn absent(&self) -> &nn::Linear {
        &self.absent
    }
}

/// Items inside a body.
#[derive(Debug, Module)]
pub struct InnerItems {
    fc: nn::Linear,
}

#[traceable]
impl InnerItems {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        use std::cmp::min;
        const FACTOR: f64 = 0.5;
        fn shift(xs: &Tensor, by: i64) -> Tensor {
            xs.roll([by], [0])
        }
        struct Pair {
            a: Tensor,
            b: Tensor,
        }
        let pair = Pair { a: self.fc.forward(xs), b: shift(xs, 1) };
        let k = min(pair.a.size()[0], 2);
        (pair.a + pair.b) * FACTOR + k
    }
}

/// Strings, formats, logs, timing: work that is not tensors.
#[derive(Debug, Module)]
pub struct Strings {
    fc: nn::Linear,
    labels: Vec<String>,
}

#[traceable]
impl Strings {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, String) {
        let start = std::time::Instant::now();
        let ys = self.fc.forward(xs);
        let best = ys.argmax(-1, false).int64_value(&[0]) as usize;
        let text = format!("{}:{:>3}", self.labels[best], ys.size()[0]);
        let text = text.to_uppercase() + "!";
        let _elapsed = start.elapsed();
        let key = match text.len() {
            0 => "empty",
            n if n > 3 => "long",
            _ => "short",
        };
        (ys * key.len() as f64, text)
    }
}

/// Maps, sets, sorting.
#[derive(Debug, Module)]
pub struct Collections {
    fc: nn::Linear,
}

#[traceable]
impl Collections {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut parts = std::collections::BTreeMap::new();
        parts.insert("b", self.fc.forward(xs));
        parts.insert("a", xs.relu());
        let mut order: Vec<(usize, i64)> = xs.size().into_iter().enumerate().collect();
        order.sort_by(|a, b| b.1.cmp(&a.1));
        let biggest = order[0].0;
        let values: Vec<&Tensor> = parts.values().collect();
        Tensor::cat(&values, 1) + parts["a"].sum(Kind::Float) + biggest as f64
    }
}

/// `unsafe`, references to references, dereferences.
#[derive(Debug, Module)]
pub struct References {
    fc: nn::Linear,
}

#[traceable]
impl References {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let this = self;
        let reference = &xs;
        let twice: &&Tensor = &reference;
        let ys = this.fc.forward(*reference);
        let boxed = Box::new(ys);
        let n = unsafe { *xs.size().get_unchecked(0) };
        let zs = &*boxed + &**twice + (*boxed).relu() + n;
        let list = [&zs, *reference];
        list[0] - list[1]
    }
}

/// A variable that begins as a tensor without anything in it.
#[derive(Debug, Module)]
pub struct BeginsUndefined {
    fc: nn::Linear,
    rounds: usize,
}

#[traceable]
impl BeginsUndefined {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = Tensor::new();
        for round in 0..self.rounds {
            ys = if round == 0 { xs.apply(&self.fc) } else { ys.apply(&self.fc).relu() };
        }
        ys
    }
}

/// Code that is carried along, which moves what it has written to, and leaves by `return` from the middle of a list.
#[derive(Debug, Module)]
pub struct CarriedAway {
    is_short: bool,
}

#[traceable]
impl CarriedAway {
    pub fn forward(&self, xs: &Tensor, mut ys: Tensor) -> Tensor {
        ys *= 0.5;
        let moved = match (0..2).max() {
            Some(g) if g > 0 => {
                ys = xs.tanh() + ys;
                ys
            }
            _ => xs.relu(),
        };
        let list: Vec<Tensor> = vec![
            match (0..3).max() {
                Some(2) if self.is_short => return xs * 3,
                _ => xs.sin(),
            },
            moved,
        ];
        let copy = xs.copy();
        for at in 0..list.len() {
            let mut part = list[at].narrow(1, 0, 2);
            part.copy_(&copy.narrow(1, 1, 2));
        }
        &list[0] + &list[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    not_interpreted!(Asserts: "interpreting the code");

    understood!(Strings: 3 of 11);
    understood!(Collections: 2 of 17);
    understood!(References: 0 of 5);
    understood!(CarriedAway: 0 of 8);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn asserts() {
        agree!(|p| Asserts { fc: linear(p), name: "net".into() }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    #[should_panic(expected = "net wants two axes, not [2, 2, 4]")]
    fn a_failed_assert_says_what_the_user_wrote() {
        let (_vs, net) = crate::check::root(|p| Asserts { fc: linear(p), name: "net".into() });
        let _ = net.freeze(&fx_runtime::Freeze::default()).unwrap().forward(&randn(&[2, 2, 4]));
    }

    #[test]
    fn cfg() {
        agree!(|p| Cfg { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn inner_items() {
        agree!(|p| InnerItems { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn strings() {
        let labels = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        agree!(|p| Strings { fc: linear(p), labels: labels.clone() }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn collections() {
        agree!(|p| Collections { fc: linear(p) }, [randn(&[2, 4]), randn(&[7, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn references() {
        agree!(|p| References { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn begins_undefined() {
        let fc = |p: &nn::Path| nn::linear(p / "fc", 4, 4, Default::default());
        agree!(|p| BeginsUndefined { fc: fc(p), rounds: 3 }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn carried_away() {
        for is_short in [true, false] {
            let inputs = [(randn(&[2, 4]), randn(&[2, 4]))];
            agree!(|_| CarriedAway { is_short }, inputs, |net, (xs, ys)| net.forward(xs, ys.copy()));
        }
    }
}
