//! References that fields, options, elements and lists keep, and that opaque code is handed as the user's code has them.

use std::collections::BTreeMap;

use fx_runtime::{Module, Tensor, nn, traceable};

mod choices {
    use std::collections::BTreeMap;

    use fx_runtime::Tensor;

    #[derive(Clone, Copy)]
    pub struct Pick<'a> {
        pub one: &'a Tensor,
        pub by: i64,
    }

    pub fn either<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
        if std::env::var("FX_BODIES_UNSET").is_ok() { one } else { other }
    }

    pub fn found<'a>(all: &[&'a Tensor], rows: i64) -> Option<&'a Tensor> {
        all.iter().find(|one| one.size()[0] == rows).copied()
    }

    pub fn summed(all: BTreeMap<i64, &Tensor>) -> Tensor {
        all.into_iter().map(|(at, one)| one * (at + 1)).reduce(|sum, one| sum + one).unwrap()
    }
}

/// Fields of a struct that branches choose.
#[derive(Debug, Module)]
pub struct OfFields {
    fc: nn::Linear,
}

#[traceable]
impl OfFields {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let at = xs.size()[0] as usize % 2;
        let pick = [choices::Pick { one: xs, by: 2 }, choices::Pick { one: &ys, by: 3 }][at];
        let (one, by) = (pick.one, pick.by);
        let kept = BTreeMap::from([(0, choices::either(one, one)), (1, one)]);
        choices::summed(kept) * by + [xs, pick.one][1]
    }
}

/// Elements of a list that is written out.
#[derive(Debug, Module)]
pub struct OfElements {
    fc: nn::Linear,
}

#[traceable]
impl OfElements {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let outs = vec![xs.apply(&self.fc), xs.tanh()];
        let Some(last) = outs.get(1) else { return xs.shallow_clone() };
        let first = outs.first().unwrap();
        let one = if xs.size()[0] > 2 { choices::found(&[first], xs.size()[0]).unwrap_or(last) } else { last };
        one + first
    }
}

/// Parts of an option of a tuple.
#[derive(Debug, Module)]
pub struct OfPairs {
    fc: nn::Linear,
    held: Option<i64>,
}

#[traceable]
impl OfPairs {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let pair = if xs.size()[0] > 2 { Some((&ys, 3)) } else { None };
        let sum = match pair {
            Some((one, by)) => choices::summed(BTreeMap::from([(0, xs), (1, one)])) * by,
            None => xs.neg(),
        };
        let last = (xs.size()[0] > 1).then(|| xs.sin());
        let zipped = last.as_ref().zip((xs.size()[0] > 3).then(|| 2 + self.held.unwrap_or(1)));
        sum + zipped.map_or_else(|| ys.cos(), |(one, by)| choices::summed([(by, one), (0, &ys)].into()) * by)
    }
}

/// Put into lists that outlive a branch: in front, and in place of an element.
#[derive(Debug, Module)]
pub struct PutIntoLists {
    fc: nn::Linear,
}

#[traceable]
impl PutIntoLists {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut all = vec![xs, &ys];
        let mut ends = vec![&ys, xs];
        for at in 0..xs.size()[0] as usize {
            let smallest = || [xs, &ys].into_iter().min_by_key(|one| one.numel()).unwrap();
            if at > 0 {
                all.insert(0, if at > 1 { choices::either(&ys, smallest()) } else { xs });
            }
            ends[at % 2] = match at {
                0 => choices::either(xs, [&ys, &ys].into_iter().max_by_key(|one| one.dim()).unwrap()),
                _ => &ys,
            };
        }
        all.iter().fold(xs.copy(), |sum, one| sum.tanh() - *one) + ends[0] * 2 + ends[1]
    }
}

/// Lists that branches hand over: written out, and gathered.
#[derive(Debug, Module)]
pub struct HandedOver {
    fc: nn::Linear,
}

#[traceable]
impl HandedOver {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let all = match xs.size()[0] % 3 {
            0 => vec![choices::either(&ys, xs), &ys],
            1 => {
                let mut all = Vec::new();
                for at in 0..xs.size()[0] {
                    let one = match at {
                        0 => choices::either(xs, [&ys, xs].into_iter().max_by_key(|one| one.numel()).unwrap()),
                        _ => &ys,
                    };
                    all.push(one);
                }
                all
            }
            _ => {
                let mut all = vec![xs];
                all.push(&ys);
                all
            }
        };
        all.iter().fold(xs.copy(), |sum, one| sum.tanh() - *one)
    }
}

/// An array that opaque code replaces.
#[derive(Debug, Module)]
pub struct Replaced {
    fc: nn::Linear,
}

#[traceable]
impl Replaced {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut both = [choices::either(xs, &ys), &ys].map(|one| one);
        for at in 0..xs.size()[0] {
            if std::env::var("FX_BODIES_UNSET").is_err() && at > 1 {
                both = [&ys, xs];
            }
        }
        both.iter().fold(xs.copy(), |sum, one| sum.tanh() - *one)
    }
}

/// A tensor that is replaced by opaque code in a loop, beside what branches choose it for.
#[derive(Debug, Module)]
pub struct Retaken {
    fcs: Vec<nn::Linear>,
}

#[traceable]
impl Retaken {
    pub fn forward(&self, xs: &Tensor, mut rs: Tensor) -> Tensor {
        let _ = rs.fill_(0.25);
        let mut sum = xs.copy();
        for fc in &self.fcs {
            let one = if xs.size()[0] > 1 {
                if xs.size()[0] > 2 { xs.shallow_clone() } else { rs.shallow_clone() }
            } else {
                choices::found(&[xs], xs.size()[0]).unwrap_or(xs).shallow_clone()
            };
            sum = sum + std::mem::replace(&mut rs, xs.apply(fc)).relu() + one;
            (rs, ..) = (rs.tanh(), 1);
        }
        sum + rs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(OfFields: 3 of 14);
    understood!(OfElements: 3 of 9);
    understood!(OfPairs: 7 of 25);
    understood!(PutIntoLists: 7 of 22);
    understood!(HandedOver: 4 of 12);
    understood!(Replaced: 4 of 8);
    understood!(Retaken: 8 of 15);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn of_what_holds_them() {
        agree!(|p: &nn::Path| OfFields { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| OfElements { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        for held in [None, Some(2)] {
            agree!(|p: &nn::Path| OfPairs { fc: linear(p), held }, cases(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn in_lists() {
        agree!(|p: &nn::Path| PutIntoLists { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| HandedOver { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Replaced { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn taken_again() {
        let net = |p: &nn::Path| Retaken { fcs: (0..2).map(|at| linear(&(p / at))).collect() };
        agree!(net, cases(), |net, xs| {
            let rs = xs.sin();
            net.forward(xs, rs)
        });
    }
}
