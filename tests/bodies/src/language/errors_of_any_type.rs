//! Errors that have no `Display`, that an arm of a `match` makes, and that a helper returns for what is not there.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Says what is wrong by `Debug` alone.
#[derive(Debug, PartialEq)]
pub enum Fault {
    Missing,
    Shape(Vec<i64>),
    Value(String),
}

/// What another module returns.
#[derive(Debug)]
pub struct Missing;

impl From<Missing> for Fault {
    fn from(_: Missing) -> Self {
        Fault::Missing
    }
}

fn batched(x: &Tensor) -> Result<Tensor, Fault> {
    let s = x.size();
    match s.len() {
        3 => Ok(x.shallow_clone()),
        2 => Ok(x.unsqueeze(0)),
        d => Err(Fault::Value(format!("{d}"))),
    }
}

fn flat(x: &Tensor) -> Result<Tensor, Fault> {
    let ys = match x.dim() {
        3 => x.shallow_clone(),
        2 => x.unsqueeze(0),
        n if n > 4 => return Err(Fault::Value(format!("big {n}"))),
        d => return Err(Fault::Value(format!("{d} of {:?}", x.size()))),
    };
    Ok(ys)
}

/// Arms that end in an error.
#[derive(Debug, Module)]
pub struct Arms {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Arms {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, Fault> {
        let x = batched(x)?;
        let x = flat(&x)?;
        Ok(x.apply(&self.fc))
    }
}

/// An option that becomes an error.
#[derive(Debug, Module)]
pub struct Asks {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Asks {
    pub fn forward(&self, x: &Tensor, ys: Option<&Tensor>) -> Result<Tensor, Missing> {
        let ys = ys.ok_or(Missing)?;
        Ok(x.apply(&self.fc) + ys)
    }
}

/// Errors of a method, and of the body.
#[derive(Debug, Module)]
pub struct Holds {
    fc: nn::Linear,
    extra: Option<Tensor>,
}

#[traceable]
impl Holds {
    fn extra(&self) -> Result<&Tensor, Missing> {
        self.extra.as_ref().ok_or(Missing)
    }

    pub fn forward(&self, x: &Tensor) -> Result<Tensor, Fault> {
        let extra = self.extra()?;
        if x.dim() != 2 {
            return Err(Fault::Shape(x.size()));
        }
        Ok(x.apply(&self.fc) + extra)
    }
}

/// An error that says nothing.
#[derive(Debug, Module)]
pub struct Silent {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Silent {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, ()> {
        if x.dim() != 2 {
            return Err(());
        }
        Ok(x.apply(&self.fc))
    }
}

fn look(table: &nn::Embedding, x: &Tensor) -> Tensor {
    x.apply(table)
}

fn embed(table: Option<&nn::Embedding>, x: &Tensor) -> Result<Tensor, Missing> {
    let table = table.ok_or_else(|| Missing)?;
    Ok(look(table, x))
}

/// A table that may be missing, handed to a helper.
#[derive(Debug, Module)]
pub struct Table {
    table: Option<nn::Embedding>,
    fc: nn::Linear,
}

#[traceable(strict)]
impl Table {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, Missing> {
        Ok(embed(self.table.as_ref(), x)?.apply(&self.fc))
    }
}

/// A part that asks for a table of its caller.
#[derive(Debug, Module)]
pub struct Decoder {
    fc: nn::Linear,
}

impl Decoder {
    fn decode(&self, x: &Tensor, table: Option<&nn::Embedding>) -> Result<Tensor, Missing> {
        let table = table.ok_or_else(|| Missing)?;
        Ok(look(table, x).apply(&self.fc))
    }
}

/// Its caller.
#[derive(Debug, Module)]
pub struct Tied {
    table: nn::Embedding,
    decoder: Decoder,
}

#[traceable(strict)]
impl Tied {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, Missing> {
        self.decoder.decode(x, Some(&self.table))
    }
}

/// A table that comes in from outside.
#[derive(Debug, Module)]
pub struct Given {
    table: nn::Embedding,
    decoder: Decoder,
}

#[cfg(test)]
crate::check::understood!(Given: 2 of 5);
#[traceable]
impl Given {
    pub fn forward(&self, x: &Tensor, table: Option<&nn::Embedding>) -> Result<Tensor, Missing> {
        self.decoder.decode(x, table.or(Some(&self.table)))
    }
}

/// A module that has no words for what its callers return.
mod elsewhere {
    use fx_runtime::{Tensor, nn};

    use super::Missing;

    pub(super) fn applied(fc: Option<&nn::Linear>, x: &Tensor) -> Result<Tensor, Missing> {
        let fc = fc.ok_or_else(|| Missing)?;
        Ok(x.apply(fc))
    }

    pub(super) fn converted(x: &Tensor) -> Result<Tensor, Missing> {
        if x.dim() > 2 {
            return Err(From::from(Missing));
        }
        Ok(x.relu())
    }
}

/// Errors of helpers of another module, made those of the body.
#[derive(Debug, Module)]
pub struct Converts {
    fc: Option<nn::Linear>,
}

#[traceable]
impl Converts {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, Fault> {
        let (ys, zs) = (elsewhere::applied(self.fc.as_ref(), x)?, elsewhere::converted(x)?);
        Ok(ys + zs)
    }
}

fn rows(x: &Tensor) -> Result<i64, Fault> {
    match x.size().as_slice() {
        [n, 4] => Ok(*n),
        other => Err(Fault::Shape(other.to_vec())),
    }
}

fn doubled(x: &Tensor) -> Result<Tensor, Fault> {
    match x.size().iter().rev().skip_while(|&&size| size == 1).next() {
        Some(4) => Ok(x * 2),
        _ => Err(Fault::Missing),
    }
}

/// Helpers whose last expression is kept as it is: it is a `Result` then.
#[derive(Debug, Module)]
pub struct LastOfHelper {
    fc: nn::Linear,
}

#[traceable]
impl LastOfHelper {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, Fault> {
        let n = rows(x)?;
        let x = doubled(x)?;
        Ok(x.apply(&self.fc).view([n, -1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};
    use fx_runtime::Kind;

    understood!(LastOfHelper: 2 of 16);

    fn told<T, E: std::fmt::Debug>(result: Result<T, E>) -> Result<T, String> {
        result.map_err(|error| format!("{error:?}"))
    }

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn arms() {
        let cases = [randn(&[2, 4]), randn(&[3, 2, 4]), randn(&[4]), randn(&[2, 1, 3, 4])];
        agree!(|p| Arms { fc: linear(p) }, cases, |net, xs| told(net.forward(xs)));
    }

    #[test]
    fn last_of_helper() {
        let cases = [randn(&[2, 4]), randn(&[3, 4]), randn(&[4]), randn(&[2, 4, 1])];
        agree!(|p| LastOfHelper { fc: linear(p) }, cases, |net, xs| told(net.forward(xs)));
    }

    #[test]
    fn asks() {
        let cases = [(randn(&[2, 4]), Some(randn(&[2, 4]))), (randn(&[2, 4]), None)];
        agree!(|p| Asks { fc: linear(p) }, cases, |net, (xs, ys)| told(net.forward(xs, ys.as_ref())));
    }

    #[test]
    fn holds() {
        for full in [true, false] {
            let extra = |p: &nn::Path| full.then(|| p.randn("extra", &[4], 0., 1.));
            agree!(|p| Holds { fc: linear(p), extra: extra(p) }, [randn(&[2, 4]), randn(&[2, 2, 4])], |net, xs| told(
                net.forward(xs)
            ));
        }
    }

    #[test]
    fn converts() {
        for full in [true, false] {
            let cases = [randn(&[2, 4]), randn(&[2, 2, 4])];
            agree!(|p| Converts { fc: full.then(|| linear(p)) }, cases, |net, xs| told(net.forward(xs)));
        }
    }

    #[test]
    fn silent() {
        agree!(|p| Silent { fc: linear(p) }, [randn(&[2, 4]), randn(&[2, 2, 4])], |net, xs| told(net.forward(xs)));
    }

    #[test]
    fn tables() {
        let ids = || [Tensor::arange(5, (Kind::Int64, fx_runtime::Device::Cpu))];
        let table = |p: &nn::Path| nn::embedding(p / "table", 5, 4, Default::default());
        for full in [true, false] {
            agree!(|p| Table { table: full.then(|| table(p)), fc: linear(p) }, ids(), |net, xs| told(net.forward(xs)));
        }
        let decoder = |p: &nn::Path| Decoder { fc: linear(p) };
        agree!(|p| Tied { table: table(p), decoder: decoder(p) }, ids(), |net, xs| told(net.forward(xs)));
        agree!(|p| Given { table: table(p), decoder: decoder(p) }, ids(), |net, xs| told(net.forward(xs, None)));
    }
}
