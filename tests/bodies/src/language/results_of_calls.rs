//! A `Result` on the way from the call that makes it to its `?`: behind a `match`, in a variable, through `map`.

use fx_runtime::{Module, Tensor, nn, traceable};
use tch::TchError;

#[derive(Debug)]
pub enum Error {
    Value(String),
    Tch(TchError),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Error {}

impl From<TchError> for Error {
    fn from(error: TchError) -> Error {
        Error::Tch(error)
    }
}

#[derive(Debug, Module)]
pub struct Inner {
    fc: nn::Linear,
}

impl Inner {
    fn forward(&self, xs: &Tensor, past: Option<&Tensor>) -> Result<Tensor, Error> {
        if let Some(past) = past {
            if past.size()[0] != xs.size()[0] {
                return Err(Error::Value(format!("{:?}", past.size())));
            }
        }
        let ys = match past {
            Some(past) => xs + past,
            None => xs.shallow_clone(),
        };
        Ok(ys.f_linear(&self.fc.ws, self.fc.bs.as_ref())?)
    }
}

#[derive(Debug)]
pub enum Cache {
    List(Vec<Tensor>),
    One(Option<Tensor>),
    Empty,
}

/// A cache that is not of this model's is an error, as in GPT-J.
#[derive(Debug, Module)]
pub struct Matched {
    inner: Inner,
    head: nn::Linear,
}

#[traceable(strict)]
impl Matched {
    pub fn forward(&self, xs: &Tensor, cache: Cache) -> Result<Tensor, Error> {
        let ys = match cache {
            Cache::One(past) => self.inner.forward(xs, past.as_ref()),
            Cache::Empty => self.inner.forward(xs, None),
            _ => {
                return Err(Error::Value("cache".into()));
            }
        }?;
        let zs = if ys.dim() == 2 { Ok(ys.relu()) } else { Err(Error::Value("rank".into())) }?;
        Ok(zs.apply(&self.head))
    }
}

#[derive(Debug, Module)]
pub struct Named {
    inner: Inner,
}

#[traceable(strict)]
impl Named {
    pub fn forward(&self, xs: &Tensor, past: Option<&Tensor>) -> Result<Tensor, Error> {
        let first = self.inner.forward(xs, past);
        let ys = first?;
        let second = self.inner.forward(&ys, None);
        match second {
            Ok(zs) => Ok(zs + ys),
            Err(error) => Err(error),
        }
    }
}

#[derive(Debug, Module)]
pub struct Mapped {
    inner: Inner,
}

impl Mapped {
    fn twice(&self, xs: &Tensor, past: Option<&Tensor>) -> Result<Tensor, Error> {
        self.inner.forward(xs, past).and_then(|ys| self.inner.forward(&ys, past))
    }
}

#[traceable(strict)]
impl Mapped {
    pub fn forward(&self, xs: &Tensor, past: Option<&Tensor>) -> Result<Tensor, Error> {
        let ys = self.inner.forward(xs, past).map(|ys| ys.relu())?;
        self.twice(&ys, past).map(|zs| {
            let sum = zs.relu() + &ys;
            sum * 2.0
        })
    }
}

/// What a layer has kept.
#[derive(Debug)]
pub struct Kept {
    key: Tensor,
}

impl Inner {
    fn step(&self, xs: &Tensor, past: Option<&Kept>) -> Result<Tensor, Error> {
        match past {
            Some(kept) => self.forward(xs, Some(&kept.key)),
            None => self.forward(xs, None),
        }
    }
}

#[derive(Debug, Module)]
pub struct Decoder {
    inners: Vec<Inner>,
    keeps: bool,
}

/// What a decoder has kept, by the layer.
#[derive(Debug)]
pub enum Memory {
    Layers(Option<Vec<Tensor>>),
    Whole(Tensor),
    Empty,
}

pub struct Decoded {
    ys: Tensor,
    kept: Memory,
}

impl Decoder {
    fn forward(&self, xs: &Tensor, past: Option<Vec<Option<Kept>>>) -> Result<Decoded, Error> {
        let (past, count) = match past {
            Some(given) => {
                if given.len() != self.inners.len() {
                    return Err(Error::Value(format!("{} of {}", given.len(), self.inners.len())));
                } else {
                    let count = given.len();
                    (given, count)
                }
            }
            None => {
                let mut made = Vec::with_capacity(self.inners.len());
                made.resize_with(self.inners.len(), || None);
                (made, 0)
            }
        };
        let mut all: Option<Vec<Tensor>> = self.keeps.then(Vec::new);
        let mut ys = xs.shallow_clone();
        for (inner, kept) in self.inners.iter().zip(past) {
            ys = inner.step(&ys, kept.as_ref())?;
            if let Some(all) = all.as_mut() {
                all.push(ys.relu());
            }
        }
        Ok(Decoded { ys: ys + count as i64, kept: Memory::Layers(all) })
    }
}

/// A decoder that is called with what it has kept, or without, in which case only the layers say what that would be; the
/// error says how long a list is of which the code has no copy.
#[derive(Debug, Module)]
pub struct Counted {
    decoder: Decoder,
}

#[traceable(strict)]
impl Counted {
    pub fn forward(&self, xs: &Tensor, past: Option<Vec<Option<Kept>>>) -> Result<Decoded, Error> {
        let decoded = match past {
            Some(past) => self.decoder.forward(xs, Some(past)),
            None => self.decoder.forward(xs, None),
        }?;
        let kept = if decoded.ys.dim() > 2 { Memory::Empty } else { Memory::Whole(decoded.ys.neg()) };
        match decoded.kept {
            Memory::Layers(all) => Ok(Decoded { ys: decoded.ys.tanh(), kept: Memory::Layers(all) }),
            _ => Ok(Decoded { ys: decoded.ys, kept }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 8, 8, Default::default())
    }

    fn inner(p: &nn::Path) -> Inner {
        Inner { fc: linear(p / "fc") }
    }

    #[test]
    fn matched() {
        let make = |p: &nn::Path| Matched { inner: inner(p), head: linear(p / "head") };
        let cases = [
            (randn(&[2, 8]), Some(randn(&[2, 8])), 0i64),
            (randn(&[2, 8]), Some(randn(&[3, 8])), 0i64),
            (randn(&[2, 8]), None, 0i64),
            (randn(&[2, 8]), None, 1i64),
            (randn(&[1, 2, 8]), None, 1i64),
            (randn(&[2, 8]), None, 2i64),
        ];
        agree!(make, cases, |net, (xs, past, kind)| {
            let cache = match kind {
                0 => Cache::One(past.as_ref().map(Tensor::copy)),
                1 => Cache::Empty,
                _ => Cache::List(vec![]),
            };
            net.forward(xs, cache)
        });
    }

    #[test]
    fn named() {
        let cases =
            [(randn(&[2, 8]), None), (randn(&[2, 8]), Some(randn(&[2, 8]))), (randn(&[2, 8]), Some(randn(&[3, 8])))];
        agree!(|p| Named { inner: inner(p) }, cases, |net, (xs, past)| net.forward(xs, past.as_ref()));
        agree!(|p| Mapped { inner: inner(p) }, cases, |net, (xs, past)| net.forward(xs, past.as_ref()));
    }

    #[test]
    fn counted() {
        let cases = [(randn(&[2, 8]), 0usize), (randn(&[2, 8]), 1), (randn(&[2, 8]), 2)];
        for keeps in [true, false] {
            let decoder = |p: &nn::Path| Decoder { inners: vec![inner(&(p / 0)), inner(&(p / 1))], keeps };
            agree!(|p| Counted { decoder: decoder(p) }, cases, |net, (xs, count)| {
                let kept = |at: usize| (at == 1).then(|| Kept { key: xs.tanh() });
                let past = (*count > 0).then(|| (0..*count).map(kept).collect());
                net.forward(xs, past).map(|decoded| match decoded.kept {
                    Memory::Layers(Some(all)) => (decoded.ys, Some(Tensor::stack(&all, 0))),
                    Memory::Whole(whole) => (whole, None),
                    Memory::Layers(None) | Memory::Empty => (decoded.ys, None),
                })
            });
        }
    }
}
