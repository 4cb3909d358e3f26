//! Options that are there for sure and that branches set anew, values that a flag makes options of, and helpers with results
//! that closures call.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A step with a residual.
#[derive(Debug, Module)]
pub struct Step {
    fc: nn::Linear,
}

impl Step {
    pub fn forward_t(&self, xs: &Tensor, residual: &Tensor, _train: bool) -> Tensor {
        let xs = xs.apply(&self.fc).relu();
        if xs.size()[0] > 2 { residual + xs } else { xs - residual }
    }
}

/// The option that an iteration sets goes through another layer in the first one.
#[derive(Debug, Module)]
pub struct MappedOption {
    layers: Vec<nn::Linear>,
    step: Option<Step>,
    keeps: bool,
}

#[traceable]
impl MappedOption {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Option<Vec<Tensor>>) {
        let mut all: Option<Vec<Tensor>> = if self.keeps { Some(vec![]) } else { None };
        let mut hidden = xs.shallow_clone();
        let mut out: Option<Tensor> = None;
        for (at, layer) in self.layers.iter().enumerate() {
            out = Some(hidden.apply(layer));
            if at == 0 {
                if let Some(step) = &self.step {
                    out = out.map(|out| step.forward_t(&hidden, &out, false));
                }
            }
            hidden = out.as_ref().unwrap().tanh();
            if let Some(all) = &mut all {
                all.push(out.as_ref().unwrap().copy());
            }
        }
        (out.unwrap(), all)
    }
}

/// Options that are there in all branches, and in some.
#[derive(Debug, Module)]
pub struct SetAnew {
    fc: nn::Linear,
    flag: bool,
}

#[traceable]
impl SetAnew {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut one: Option<Tensor> = Some(xs.apply(&self.fc));
        let mut pair = Some((xs.tanh(), 2));
        if self.flag {
            one = Some(one.unwrap().relu());
            pair = Some((xs.relu(), 3));
        } else if xs.size()[0] > 2 {
            one = one.map(|one| one * 2.0);
        }
        let (other, by) = pair.unwrap();
        let mut rest = Some(xs.exp());
        if xs.size()[0] == 3 {
            rest = None;
        }
        let mut ys = one.as_ref().unwrap() + other * by;
        if let Some(rest) = rest {
            ys += rest;
        }
        match one {
            Some(one) => ys * one,
            None => ys,
        }
    }
}

/// Why a shape was refused.
#[derive(Debug)]
pub struct Refused(pub String);

fn split(xs: &Tensor, rows: i64, width: Option<i64>) -> Result<Tensor, Refused> {
    let mut shape = vec![rows, -1];
    if xs.dim() == 2 {
        let width = if let Some(width) = width {
            width
        } else {
            return Err(Refused("a matrix needs a width".to_string()));
        };
        shape.push(width);
    }
    Ok(xs.reshape(shape.as_slice()))
}

/// A helper that may fail, called in a closure, whose errors are panics.
#[derive(Debug, Module)]
pub struct UnwrappedInside {
    fc: nn::Linear,
    width: i64,
}

#[traceable]
impl UnwrappedInside {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mask = mask.map(|mask| {
            let mut mask = mask.tanh();
            if mask.size()[0] > 1 {
                mask = split(&mask, 1, Some(self.width)).unwrap();
            }
            let flat = split(&mask.flatten(0, -1), 1, None).unwrap();
            flat.sum(None)
        });
        match mask {
            Some(mask) => ys * mask,
            None => ys,
        }
    }
}

/// `then` and `then_some` of values that are worked out.
#[derive(Debug, Module)]
pub struct ByFlag {
    fc: nn::Linear,
    flag: bool,
}

#[traceable]
impl ByFlag {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Option<Tensor>) {
        let weights = self.flag.then_some(xs.apply(&self.fc).tanh());
        let other = (xs.size()[0] > 2).then(|| (xs.exp(), xs.relu()));
        let ys = if let Some((one, two)) = other { one + two } else { xs.shallow_clone() };
        (ys, weights)
    }
}

/// What a flag of the model makes, taken and filled where it lies.
#[derive(Debug, Module)]
pub struct TakenByFlag {
    fc: nn::Linear,
    flag: bool,
}

#[traceable]
impl TakenByFlag {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut last = if self.flag { Some(xs.shallow_clone()) } else { None };
        let mut sum = xs.apply(&self.fc);
        if let Some(last) = last.take() {
            sum += last;
        }
        *last.get_or_insert(xs.relu()) += 1;
        for _ in 0..2 {
            if let Some(one) = last.as_mut() {
                *one = one.tanh();
            }
        }
        last.map_or_else(|| xs.neg(), |one| one + sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(TakenByFlag: 7 of 7);

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn what_is_mapped_in_a_branch() {
        for flag in [false, true] {
            let make = |p: &nn::Path| MappedOption {
                layers: (0..3).map(|at| linear(&(p / at))).collect(),
                step: flag.then(|| Step { fc: linear(&(p / "step")) }),
                keeps: flag,
            };
            agree!(make, cases(), |net, xs| {
                let (out, all) = net.forward(xs);
                all.iter().flatten().fold(out, |sum, one| sum + one)
            });
        }
    }

    #[test]
    fn what_branches_set() {
        for flag in [false, true] {
            agree!(|p: &nn::Path| SetAnew { fc: linear(p), flag }, cases(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn helpers_in_closures() {
        let make = |p: &nn::Path| UnwrappedInside { fc: linear(p), width: 2 };
        let cases =
            [(randn(&[1, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4]))), (randn(&[2, 4]), Some(randn(&[1, 4])))];
        agree!(make, cases, |net, (xs, mask)| net.forward(xs, mask.as_ref()));
    }

    #[test]
    fn what_flags_make() {
        for flag in [false, true] {
            agree!(|p: &nn::Path| ByFlag { fc: linear(p), flag }, cases(), |net, xs| {
                let (ys, weights) = net.forward(xs);
                weights.iter().fold(ys, |ys, weights| ys + weights)
            });
        }
    }

    #[test]
    fn what_flags_make_is_taken() {
        for flag in [false, true] {
            agree!(|p: &nn::Path| TakenByFlag { fc: linear(p), flag }, cases(), |net, xs| net.forward(xs));
        }
    }
}
