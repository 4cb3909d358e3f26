//! A module that has others for names of the prelude: they mean the module's own in the user's code, and the prelude's in
//! what is generated.

use anyhow::{Ok, Result};
use fx_runtime::{Module, Tensor, nn, traceable};

use Choice::{None, Some};

/// A bounding box.
#[derive(Clone, Debug)]
pub struct Box {
    left: i64,
    width: f64,
}

/// No `Option`.
#[derive(Clone, Debug)]
pub enum Choice {
    Some(Box),
    None,
}

fn chosen(of: &Box, rows: i64) -> Choice {
    if rows > 2 { Some(of.clone()) } else { None }
}

fn drop(xs: &Tensor) -> Tensor {
    xs.relu()
}

fn shifted(by: Box, xs: &Tensor) -> Result<Tensor> {
    let left: std::option::Option<i64> = std::option::Option::Some(by.left);
    let left = left.ok_or_else(|| anyhow::anyhow!("no left side"))?;
    Ok(xs * left)
}

#[derive(Debug, Module)]
pub struct Shadowed {
    fc: nn::Linear,
}

impl Shadowed {
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p, 4, 4, Default::default()) }
    }
}

#[traceable]
impl Shadowed {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let ys = xs.apply(&self.fc);
        let one = Box { left: xs.size()[0], width: 2.0 };
        let zs = match chosen(&one, xs.size()[0]) {
            Some(other) => ys * other.width + other.left,
            None => drop(&ys),
        };
        let xs = if xs.size()[0] > 1 { std::option::Option::Some(xs) } else { std::option::Option::None };
        let ws = xs.map_or_else(|| zs.sin(), |xs| xs.tanh());
        Ok(shifted(one.clone(), &zs)? + ws)
    }
}

/// Functions of a module inside, which name what is around it.
pub mod inner {
    use fx_runtime::Tensor;

    /// As `anyhow` has it, of an error of its own.
    #[allow(non_snake_case)]
    pub fn Ok<T>(value: T) -> Result<T, String> {
        Result::Ok(value)
    }

    pub fn boxed(xs: &Tensor, by: i64) -> super::Choice {
        if xs.size()[0] > by { super::chosen(&super::Box { left: by, width: 0.5 }, 3) } else { super::Choice::None }
    }

    pub fn wide(xs: &Tensor) -> Result<Tensor, super::Narrow> {
        if xs.size()[0] > 6 {
            return Err(super::Narrow(xs.size()[0]));
        }
        Result::Ok(xs.sin())
    }
}

#[derive(Debug)]
pub struct Narrow(i64);

impl From<Narrow> for String {
    fn from(narrow: Narrow) -> String {
        format!("{narrow:?}")
    }
}

#[derive(Debug, Module)]
pub struct SpelledFromInside {
    fc: nn::Linear,
}

#[traceable]
impl SpelledFromInside {
    pub fn forward(&self, xs: &Tensor) -> std::result::Result<Tensor, String> {
        let ys = xs.apply(&self.fc) + inner::wide(xs)?;
        let ys = match inner::boxed(xs, 1) {
            Some(one) => ys * one.width,
            None => ys,
        };
        inner::Ok(ys)
    }
}

#[cfg(test)]
mod tests {
    use super::{Shadowed, SpelledFromInside, nn};
    use crate::check::{agree, randn, understood};

    understood!(Shadowed: 4 of 12);
    understood!(SpelledFromInside: 3 of 7);

    #[test]
    fn own_names() {
        agree!(Shadowed::new, [1, 2, 3].map(|rows| randn(&[rows, 4])), |net, xs| net.forward(xs).unwrap());
        let make = |p: &nn::Path| SpelledFromInside { fc: nn::linear(p, 4, 4, Default::default()) };
        agree!(make, [1, 2, 3].map(|rows| randn(&[rows, 4])), |net, xs| net.forward(xs).unwrap());
    }
}
