//! What never comes to its end: a call that always fails in the middle of an expression, and what stands behind it.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug)]
pub struct Missing;

impl From<Missing> for String {
    fn from(_: Missing) -> String {
        "missing".to_owned()
    }
}

#[derive(Debug, Module)]
pub struct Replaced {
    fc: nn::Linear,
    flag: bool,
}
#[traceable]
impl Replaced {
    pub fn forward(&self, xs: &Tensor, mut p: Option<Tensor>) -> Result<Tensor, String> {
        if self.flag {
            let _ = std::mem::replace(&mut p, Some((None::<Tensor>).ok_or(Missing)?));
        } else {
            let _ = p.take();
        }
        Ok(p.as_ref().map_or_else(|| xs.neg(), |one| one.shallow_clone()))
    }
}

#[derive(Debug, Module)]
pub struct Within {
    fc: nn::Linear,
    flag: bool,
}
#[traceable]
impl Within {
    pub fn forward(&self, xs: &Tensor, mut p: Option<Tensor>) -> Result<Tensor, String> {
        if let Some(x) = self.flag.then(|| xs.size()[0]) {
            let _ = std::mem::replace(&mut p, Some((None::<Tensor>).ok_or(Missing)?));
        } else {
            let _ = p.take();
        }
        Ok(p.as_ref().map_or_else(|| xs.neg(), |one| one.shallow_clone()))
    }
}

#[derive(Debug, Module)]
pub struct Assigned {
    fc: nn::Linear,
    flag: bool,
}
#[allow(unused_assignments, reason = "a branch that fails assigns what nobody reads")]
#[traceable]
impl Assigned {
    pub fn forward(&self, xs: &Tensor, mut p: Option<Tensor>) -> Result<Tensor, String> {
        if self.flag {
            p = Some((None::<Tensor>).ok_or(Missing)?);
        } else {
            p = None;
        }
        Ok(p.as_ref().map_or_else(|| xs.neg(), |one| one.shallow_clone()))
    }
}

#[derive(Debug, Module)]
pub struct Written {
    fc: nn::Linear,
    flag: bool,
}
#[traceable]
impl Written {
    pub fn forward(&self, xs: &Tensor, mut p: Option<Tensor>) -> Result<Tensor, String> {
        if let Some(x) = self.flag.then(|| xs.sum(Kind::Double).double_value(&[]) as i64) {
            let mut y = xs.relu();
            let _ = y.relu_();
            let _ = std::mem::replace(&mut p, Some((None::<Tensor>).ok_or(Missing)?));
        } else {
            let _ = p.take();
        }
        Ok(p.as_ref().map_or_else(|| xs.neg(), |one| one.shallow_clone()))
    }
}

/// Nothing is reached behind the `let` of the loop, and so not what says of which type `found` is.
#[derive(Debug, Module)]
pub struct Endless {
    fc: nn::Linear,
}
#[traceable]
impl Endless {
    pub fn forward(&self, xs: &Tensor) -> Option<Tensor> {
        let ys = self.fc.forward(xs);
        let mut turns = 0;
        let found = loop {
            turns += 1;
            let Some(zs) = None::<Tensor> else {
                return None;
            };
            if turns > 2 {
                break zs + &ys;
            }
        };
        Some(Tensor::cat(&[xs.shallow_clone(), found.shallow_clone()], 0) * 2)
    }
}

/// The same of an option that a loop over numbers would fill.
#[derive(Debug, Module)]
pub struct Unfilled {
    fc: nn::Linear,
}
#[traceable]
impl Unfilled {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, bool) {
        let ys = self.fc.forward(xs);
        let mut found = None;
        for turn in 0..xs.size()[0] {
            if turn == 2 {
                break;
            }
            let Some(zs) = None::<Tensor> else {
                return (ys, false);
            };
            found = Some(zs);
        }
        let found = match found {
            Some(found) => found,
            None => return (ys.neg(), true),
        };
        (Tensor::cat(&[xs.shallow_clone(), found.shallow_clone()], 0) * 2, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    macro_rules! flagged {
        ($($name:ident: $net:ident),*) => {
            $(#[test]
            fn $name() {
                for flag in [false, true] {
                    let make = |p: &nn::Path| $net { fc: nn::linear(p / "fc", 8, 8, Default::default()), flag };
                    let cases = [(randn(&[2, 8]), None), (randn(&[2, 8]), Some(randn(&[2, 8])))];
                    agree!(make, cases, |net, (xs, p)| net.forward(xs, p.as_ref().map(|p| p.copy())));
                }
            })*
        };
    }
    flagged!(replaced: Replaced, within: Within, assigned: Assigned, written: Written);

    #[test]
    fn endless() {
        agree!(|p: &nn::Path| Endless { fc: nn::linear(p, 8, 8, Default::default()) }, [randn(&[2, 8])], |net, xs| {
            net.forward(xs)
        });
    }

    #[test]
    fn unfilled() {
        let inputs = [randn(&[2, 8]), randn(&[0, 8])];
        agree!(|p: &nn::Path| Unfilled { fc: nn::linear(p, 8, 8, Default::default()) }, inputs, |net, xs| {
            net.forward(xs)
        });
    }
}
