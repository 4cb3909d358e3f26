//! References that go into opaque code and come out of it: elements of lists, parts of enums, what a pattern has taken.

use std::borrow::Borrow;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// A tensor of somebody else's with a number.
#[derive(Clone, Copy, Debug)]
pub struct Pick<'a> {
    pub one: &'a Tensor,
    pub by: i64,
}

/// Up to two tensors of somebody else's.
#[derive(Debug)]
pub enum Source<'a> {
    One(&'a Tensor),
    Two(&'a Tensor, &'a Tensor),
    Nothing,
}

impl<'a> Source<'a> {
    pub fn of(one: Option<&'a Tensor>) -> Source<'a> {
        match one {
            Some(one) => Source::One(one),
            None => Source::Nothing,
        }
    }

    pub fn or(&self, other: &'a Tensor) -> &'a Tensor {
        match self {
            Source::One(one) => one,
            Source::Two(_, one) => one,
            Source::Nothing => other,
        }
    }
}

fn source<'a>(one: &'a Tensor, other: &'a Tensor) -> Source<'a> {
    match one.size()[0] {
        2 => Source::One(other),
        _ => Source::Two(other, one),
    }
}

fn is_asked() -> bool {
    std::env::var("FX_BODIES_ASK").is_ok()
}

fn at() -> usize {
    std::env::var("FX_BODIES_ASK").map_or(0, |value| value.len() % 2)
}

fn either<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
    if is_asked() { one } else { other }
}

fn checked(one: &Tensor, by: i64) -> Result<&Tensor, i64> {
    if by > 1 { Err(by) } else { Ok(one) }
}

/// Elements that are taken by value are copies of references.
#[derive(Debug, Module)]
pub struct Elements {
    fc: nn::Linear,
}

#[traceable]
impl Elements {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let least = [xs, &ys].into_iter().min_by_key(|one| one.size()[0]).unwrap();
        let chosen = [least, &zs][std::env::var("FX_BODIES_ASK").map_or(0, |value| value.len() % 2)];
        let pick = if xs.size()[0] > 2 {
            [Pick { one: xs, by: 2 }, Pick { one: &ys, by: 1 }][at()]
        } else {
            Pick { one: either(&zs, xs), by: 4 }
        };
        let picked = pick.one * pick.by;
        chosen.relu() + chosen + picked
    }
}

/// The code has a variable of the name that generated code gives what it borrows.
#[derive(Debug, Module)]
pub struct SharedName {
    fc: nn::Linear,
}

#[traceable]
impl SharedName {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let (own, by) = (xs.shallow_clone(), 2);
        let chosen = [
            &own,
            Borrow::<Tensor>::borrow(match xs.size()[0] % 3 {
                0 => &own,
                _ => xs,
            }),
        ];
        ys + chosen.into_iter().min_by_key(|one| one.size()[0]).unwrap() * by
    }
}

/// References of a loop to what a pattern has taken out of an option.
#[derive(Debug, Module)]
pub struct Taken {
    fc: nn::Linear,
}

fn taken(pair: &mut Option<(Tensor, Tensor)>, xs: &Tensor) -> Tensor {
    let Some((one, other)) = pair.take() else { return xs.relu() };
    let mut kept = vec![];
    for i in 0..xs.size()[0] {
        kept.push(if i % 2 == 0 {
            xs
        } else {
            either(
                either([&other, &one][1], either(&one, &other)),
                match xs.size()[0] % 3 {
                    0 => &one,
                    _ => either(xs, &other),
                },
            )
        });
    }
    Tensor::cat(&kept, 0)
}

#[traceable]
impl Taken {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut pair = Some((ys.sin(), ys.cos()));
        taken(&mut pair, xs)
    }
}

/// A reference within a variant that a branch makes, and results whose type stands behind `Ok` and `Err`.
#[derive(Debug, Module)]
pub struct Variants {
    fc: nn::Linear,
}

#[traceable]
impl Variants {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let zs = ys.relu();
        let found = checked(xs, xs.size()[0] % 3);
        let made = if is_asked() { source(xs, found.unwrap_or(&ys)) } else { Source::of(Some(found.unwrap_or(&zs))) };
        let held = Ok::<&Tensor, i64>([xs, &ys].into_iter().find(|one| one.dim() == 2).unwrap());
        let result = if xs.size()[0] > 2 { checked(&ys, xs.size()[0] % 3) } else { Err::<&Tensor, i64>(3) };
        let total = [xs, held.unwrap_or(&zs)].into_iter().fold(made.or(xs).neg(), |sum, one| sum + one);
        total + result.map_or_else(|by| &zs * by, |one| one.neg()).sum(Kind::Float)
    }
}

/// What a loop returns early is an element of a list.
#[derive(Debug, Module)]
pub struct Returned {
    fc: nn::Linear,
}

fn returned<'a>(one: &'a Tensor, two: &'a Tensor, three: &'a Tensor) -> &'a Tensor {
    for i in 0..one.size()[0] {
        if i < 2 {
            let Some(found) = (if i == 1 { Some(three.sigmoid()) } else { None }) else {
                return [either(either(two, one), three), if i == 0 { three } else { either(two, two) }][0];
            };
            if found.sum(Kind::Float).double_value(&[]) > 0. {
                return two;
            }
        }
    }
    one
}

#[traceable]
impl Returned {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        returned(xs, &ys, &ys.relu()) + xs
    }
}

/// An option in a field, which opaque code borrows, and a field that is a reference to what such code chooses.
#[derive(Debug, Module)]
pub struct LentOption {
    fc: nn::Linear,
    kept: Option<Tensor>,
}

#[traceable]
impl LentOption {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let all: Vec<&Tensor> =
            [self.kept.as_ref().unwrap_or(xs), xs].into_iter().filter(|one| one.dim() > 0).collect();
        let found = checked(&ys, xs.size()[0] % 3);
        let pick = Pick { one: found.unwrap_or(xs), by: 3 };
        let picked = pick.one * pick.by;
        Tensor::cat(&all, 0).sum(Kind::Float) + picked
    }
}

/// A tensor that a pattern binds, borrowed where its type decides that of what stands beside it.
#[derive(Debug, Module)]
pub struct BorrowedBinding {
    fc: nn::Linear,
}

#[traceable]
impl BorrowedBinding {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Some(one) = (xs.size()[0] > 1).then(|| xs.apply(&self.fc)) else {
            return xs.relu();
        };
        let mut all = one.zeros_like();
        for _ in 0..2 {
            all = all + Some(&one).or(Some(xs)).unwrap().sin();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Elements: 3 of 18);
    understood!(LentOption: 5 of 18);
    understood!(SharedName: 0 of 8);
    understood!(Returned: 5 of 11);
    understood!(Taken: 4 of 12);
    understood!(Variants: 4 of 30);
    understood!(BorrowedBinding: 3 of 8);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn elements_of_lists() {
        agree!(|p: &nn::Path| Elements { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Returned { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn names_of_the_code() {
        agree!(|p: &nn::Path| SharedName { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn parts_of_options_and_variants() {
        for kept in [None, Some(randn(&[2, 4]))] {
            let net = |p: &nn::Path| LentOption { fc: linear(p), kept: kept.as_ref().map(Tensor::shallow_clone) };
            agree!(net, cases(), |net, xs| net.forward(xs));
        }
        agree!(|p: &nn::Path| Taken { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| BorrowedBinding { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Variants { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
