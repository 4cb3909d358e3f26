//! Values that are made in an arm, a block or opaque code, and that lists and structs refer to which leave it.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

fn is_asked() -> bool {
    std::env::var("FX_BODIES_ASK").is_ok()
}

fn either<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
    if is_asked() { one } else { other }
}

fn checked(one: &Tensor, by: i64) -> Result<&Tensor, i64> {
    if by > 1 { Err(by) } else { Ok(one) }
}

fn at<'a>(all: &[&'a Tensor], at: usize) -> &'a Tensor {
    all[at % all.len()]
}

fn found<'a>(all: &[&'a Tensor], rows: i64) -> Option<&'a Tensor> {
    for one in all {
        if one.size()[0] == rows {
            return Some(one);
        }
    }
    None
}

fn smallest<'a>(mut all: Vec<&'a Tensor>) -> &'a Tensor {
    all.sort_by_key(|one| one.numel());
    all[0]
}

fn noted<'a>(log: &mut Vec<&'a Tensor>, one: &'a Tensor) -> &'a Tensor {
    log.push(one);
    one
}

/// The last of some tensors of somebody else's.
#[derive(Debug)]
pub enum Last<'a> {
    Is(&'a Tensor),
    Nothing,
}

impl<'a> Last<'a> {
    pub fn of(one: Option<&'a Tensor>) -> Last<'a> {
        match one {
            Some(one) => Last::Is(one),
            None => Last::Nothing,
        }
    }
}

/// A tensor with a number.
#[derive(Debug)]
pub struct Weighed {
    one: Tensor,
    by: i64,
}

/// A variable that is a `Result` of a reference in every branch.
#[derive(Debug, Module)]
pub struct ResultOfBranches {
    fc: nn::Linear,
}

#[traceable]
impl ResultOfBranches {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let one = if xs.size()[0] > 2 { checked(&ys, 0) } else { checked(xs, xs.size()[0] % 3) };
        if let Ok(one) = one { one.relu() } else { one.unwrap_or(xs).sin() }
    }
}

/// A part of a tuple, to which a list of the arm refers, and an element to which a struct does.
#[derive(Debug, Module)]
pub struct PartsOfArms {
    fc: nn::Linear,
}

#[traceable]
impl PartsOfArms {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let made = vec![ys.relu(), ys.sin()];
        let last = if xs.size()[0] > 2 {
            let (high, _) = if xs.size()[0] > 3 { (ys.sin(), 1) } else { (ys.cos(), 2) };
            let log = vec![&high, xs];
            Some(Tensor::cat(&log, 0).sum(Kind::Float) * &high)
        } else {
            None
        };
        let kept = match xs.size()[0] {
            1 => Last::Nothing,
            2 => Last::Is(either(xs, &ys)),
            _ => Last::of(made.last()),
        };
        let kept = match kept {
            Last::Is(one) => one.tanh(),
            Last::Nothing => ys.neg(),
        };
        kept + last.unwrap_or(ys)
    }
}

/// Elements of lists of references that are written out, behind functions that hand them on.
#[derive(Debug, Module)]
pub struct HandedElements {
    fc: nn::Linear,
}

#[traceable]
impl HandedElements {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut log = Vec::new();
        let one = noted(&mut log, at(&[&ys, xs], xs.size()[0] as usize));
        log.push(one);
        log.push(either(&ys, xs));
        let other = noted(&mut log, smallest(vec![&ys, xs]));
        log.push(other);
        let products = if xs.size()[0] > 2 {
            let mut kept = vec![at(&[found(&[&ys], xs.size()[0]).unwrap_or(xs), &ys], 1), xs, xs];
            if xs.size()[0] > 3 {
                kept.pop();
                kept.swap(0, 1);
            }
            kept[0] * kept[1]
        } else {
            ys.relu()
        };
        Tensor::cat(&log, 0).sum(Kind::Float) * products
    }
}

/// Structs and options to which the value of opaque code refers.
#[derive(Debug, Module)]
pub struct MadeForCode {
    fc: nn::Linear,
}

#[traceable]
impl MadeForCode {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let weighed = Weighed { one: xs.apply(&self.fc), by: 2 };
        let nothing: Option<Tensor> = None;
        let kept = {
            let mut kept = vec![either(xs, &weighed.one), nothing.as_ref().unwrap_or(xs)];
            if xs.size()[0] > 2 {
                kept.push([&weighed.one, xs][i64::rem_euclid(xs.size()[0], 2) as usize]);
            }
            kept.sort_by_key(|one| one.numel());
            kept
        };
        Tensor::cat(&kept, 0).sum(Kind::Float) * &weighed.one * weighed.by
    }
}

/// Arms of which one is decided when the model is frozen, and which index arrays of references that leave them.
#[derive(Debug, Module)]
pub struct DecidedArms {
    fc: nn::Linear,
    by: i64,
}

#[traceable]
impl DecidedArms {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for k in (0..3).rev() {
            let (one, by) = if k != 2 {
                let at = if xs.size()[0] > 2 { 2 } else { 1 };
                [(if is_asked() { xs } else { xs }, 2), (xs, 3)][i64::rem_euclid(at, 2) as usize]
            } else {
                let other = [either(xs, xs), xs][1];
                [(if xs.size()[0] > 2 { xs } else { other }, 1), (other, 2)][i64::rem_euclid(self.by, 2) as usize]
            };
            ys = ys + one * by;
        }
        ys
    }
}

/// A struct of a reference that opaque code yields.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    one: &'a Tensor,
    by: i64,
}

impl<'a> Chosen<'a> {
    fn new(one: &'a Tensor, by: i64) -> Chosen<'a> {
        Chosen { one, by }
    }

    fn or(self, other: &'a Tensor) -> Chosen<'a> {
        if is_asked() { self } else { Chosen { one: other, by: self.by } }
    }
}

/// Such structs that leave arms.
#[derive(Debug, Module)]
pub struct ChosenByCode {
    fc: nn::Linear,
}

#[traceable]
impl ChosenByCode {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        for k in 0..2 {
            let chosen = if xs.size()[0] > 2 {
                Chosen::new(xs, k).or(xs)
            } else {
                Chosen::new([xs, xs].into_iter().find(|one| one.dim() == 2).unwrap(), k + 1)
            };
            ys = ys + chosen.one * chosen.by;
        }
        ys
    }
}

/// A tensor and a number beside it, of somebody else's.
#[derive(Clone, Copy)]
pub struct Pick<'a> {
    one: &'a Tensor,
    by: i64,
}

fn picked<'a>(_: &'a Tensor, pick: Pick<'a>) -> &'a Tensor {
    pick.one
}

/// A list of references, made in an arm, to what a loop of that arm picks.
#[derive(Debug, Module)]
pub struct PickedInLoop {
    fc: nn::Linear,
}

#[traceable]
impl PickedInLoop {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let both = if xs.size()[0] > 1 {
            vec![
                xs,
                picked(xs, {
                    let mut pick = Pick { one: xs, by: 1 };
                    for at in 0..xs.size()[0] {
                        if at > pick.by {
                            pick = Pick { one: &ys, by: at };
                        }
                    }
                    pick
                }),
            ]
        } else {
            vec![&ys, &ys]
        };
        Tensor::cat(&both, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(ResultOfBranches: 0 of 10);
    understood!(PartsOfArms: 11 of 13);
    understood!(HandedElements: 6 of 14);
    understood!(MadeForCode: 4 of 16);
    understood!(DecidedArms: 3 of 7);
    understood!(ChosenByCode: 3 of 9);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn what_leaves_an_arm() {
        agree!(|p: &nn::Path| ResultOfBranches { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| PartsOfArms { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn what_leaves_decided_arms() {
        for by in [1, 2] {
            agree!(|p: &nn::Path| DecidedArms { fc: linear(p), by }, cases(), |net, xs| net.forward(xs));
        }
        agree!(|p: &nn::Path| ChosenByCode { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn what_a_loop_of_an_arm_picks() {
        agree!(|p: &nn::Path| PickedInLoop { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn elements_that_functions_hand_on() {
        agree!(|p: &nn::Path| HandedElements { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn what_opaque_code_makes() {
        agree!(|p: &nn::Path| MadeForCode { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
