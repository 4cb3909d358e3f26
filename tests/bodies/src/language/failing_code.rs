//! Code that fx does not understand and that may leave the function with an error, and tests of what failed.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use fx_runtime::{Module, Tensor, nn, traceable};

/// Configuration in strings, read by `?`.
#[derive(Debug, Module)]
pub struct Spelled {
    fc: nn::Linear,
    name: String,
    ids: Vec<i64>,
}

#[traceable]
impl Spelled {
    fn scaled(&self, xs: &Tensor) -> Result<Tensor> {
        let ys = self.fc.forward(xs);
        let mut map = BTreeMap::new();
        map.insert(self.name.clone(), self.ids[0]);
        let by: i64 = *map.get("3").context("no 3")?;
        Ok(ys * by)
    }

    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let by: i64 = self.name.parse().context("no number")?;
        let ys = self.scaled(xs)?;
        let zs = self.scaled(&ys).context("the second time")?.relu();
        ensure!(by < 9, "{by} is too much");
        Ok(zs * by)
    }
}

/// What failed is told apart, and what is done about it.
#[derive(Debug, Module)]
pub struct Tested {
    fc: nn::Linear,
    out: nn::Linear,
    name: String,
}

#[traceable]
impl Tested {
    fn reversed(&self) -> Result<i64> {
        let number: i64 = self.name.chars().rev().collect::<String>().parse()?;
        Ok(number)
    }

    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let ys = self.fc.forward(xs);
        let zs = match self.reversed() {
            Ok(by) => self.out.forward(&ys) * by,
            Err(_) => ys.tanh(),
        };
        let zs = if let Ok(by) = self.name.trim().parse::<i64>() { zs + by } else { zs.relu() };
        let Ok(by) = self.reversed() else { return Ok(zs) };
        let half = match self.name.parse::<i64>() {
            Ok(number) => number / 2,
            Err(error) => return Err(error.into()),
        };
        Ok(zs * by + half)
    }
}

/// An error type of the crate's, and a match at the end of a function.
#[derive(Debug, Module)]
pub struct Ends {
    fc: nn::Linear,
    name: String,
}

#[derive(Debug)]
pub enum Fault {
    Number(std::num::ParseIntError),
    TooLong(usize),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Number(error) => write!(f, "no number: {error}"),
            Fault::TooLong(count) => write!(f, "{count} letters"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<std::num::ParseIntError> for Fault {
    fn from(error: std::num::ParseIntError) -> Fault {
        Fault::Number(error)
    }
}

#[traceable]
impl Ends {
    fn number(&self) -> std::result::Result<i64, Fault> {
        if self.name.len() > 4 {
            return Err(Fault::TooLong(self.name.len()));
        }
        let letters: Vec<char> = self.name.chars().filter(|letter| *letter != '_').collect();
        let number = letters.into_iter().collect::<String>().parse::<i64>()?;
        Ok(number)
    }

    pub fn forward(&self, xs: &Tensor) -> std::result::Result<Tensor, Fault> {
        let ys = self.fc.forward(xs);
        match self.number() {
            Ok(number) if number > 5 => Ok(ys.relu() * number),
            Ok(number) => Ok(ys + number),
            Err(fault) => Err(fault),
        }
    }
}

/// Code that leaves with an error after it has written to variables.
#[derive(Debug, Module)]
pub struct Written {
    fc: nn::Linear,
    names: Vec<String>,
}

#[traceable]
impl Written {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let mut numbers: Vec<i64> = Vec::new();
        let mut total: i64 = 0;
        for name in &self.names {
            numbers.push(name.parse()?);
        }
        let first: i64 = {
            total += self.names[0].trim().parse::<i64>()?;
            if total == 7 {
                bail!("seven");
            }
            total
        };
        Ok(self.fc.forward(xs) * first + total)
    }
}

/// Errors that nobody looks at.
#[derive(Debug, Module)]
pub struct Ignored {
    fc: nn::Linear,
    name: String,
}

#[traceable]
impl Ignored {
    fn checked(&self, xs: &Tensor) -> Result<Tensor> {
        let by: i64 = self.name.parse()?;
        Ok(xs * by)
    }

    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let _ = self.checked(xs);
        self.checked(xs).ok();
        let ys = xs.apply(&self.fc);
        let _held = self.checked(&ys);
        Ok(ys)
    }
}

/// An error of its own, though the module's `Result` is an alias with another.
#[derive(Debug, Module)]
pub struct TextForError {
    fc: nn::Linear,
}

#[traceable]
impl TextForError {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        if xs.size()[0] > 2 {
            return Err(format!("{} rows are too many", xs.size()[0]));
        }
        Ok(xs.apply(&self.fc).relu())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Written: 3 of 16);
    understood!(Ignored: 1 of 8);
    understood!(Ends: 4 of 14);
    understood!(Tested: 6 of 27);
    understood!(Spelled: 6 of 28);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn spelled() {
        for name in ["3", "5", "12", "three"] {
            let make = |p: &nn::Path| Spelled { fc: linear(p / "fc"), name: name.to_owned(), ids: vec![2, 3] };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn tested() {
        for name in ["12", " 12", "12 ", "x"] {
            let make = |p: &nn::Path| Tested { fc: linear(p / "fc"), out: linear(p / "out"), name: name.to_owned() };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn ends() {
        for name in ["2", "_9", "12345", "x"] {
            let make = |p: &nn::Path| Ends { fc: linear(p / "fc"), name: name.to_owned() };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn written() {
        for name in ["2", "7", "x"] {
            let make = |p: &nn::Path| Written { fc: linear(p / "fc"), names: vec![name.to_owned(), "4".to_owned()] };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn ignored() {
        for name in ["2", "x"] {
            let make = |p: &nn::Path| Ignored { fc: linear(p / "fc"), name: name.to_owned() };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn a_text() {
        let make = |p: &nn::Path| TextForError { fc: nn::linear(p, 4, 4, Default::default()) };
        let cases = [1, 2, 3].map(|rows| randn(&[rows, 4]));
        agree!(make, cases, |net, xs| net.forward(xs).unwrap_or_else(|_| Tensor::from(-1)));
    }
}
