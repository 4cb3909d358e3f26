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
}
