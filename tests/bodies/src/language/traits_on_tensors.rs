//! Functions of the crate's traits without a receiver, on tensors too; types that deref to a tensor; and tch's plain enums that
//! branches choose.

use std::ops::Deref;

use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};
use tch::{Reduction, TchError};

/// A trait of the program's on tensors, and on a struct.
pub trait Positions: Sized {
    fn positions(count: i64) -> Result<Self, TchError>;
    fn doubled(xs: &Self) -> Tensor;
    fn scaled(&self, by: f64) -> Tensor;
}

impl Positions for Tensor {
    fn positions(count: i64) -> Result<Self, TchError> {
        Tensor::f_arange(count, (Kind::Float, Device::Cpu))?.f_unsqueeze(1)
    }

    fn doubled(xs: &Self) -> Tensor {
        xs * 2.0
    }

    fn scaled(&self, by: f64) -> Tensor {
        self * by
    }
}

/// Only a tensor has it.
pub trait Ramp {
    fn ramp(count: i64) -> Self;
}

impl Ramp for Tensor {
    fn ramp(count: i64) -> Self {
        Tensor::arange(count, (Kind::Float, Device::Cpu))
    }
}

#[derive(Debug)]
struct Both {
    a: Tensor,
    b: Tensor,
}

impl Positions for Both {
    fn positions(count: i64) -> Result<Self, TchError> {
        Ok(Both { a: Tensor::positions(count)?, b: Tensor::ramp(4) })
    }

    fn doubled(xs: &Self) -> Tensor {
        &xs.a + &xs.b
    }

    fn scaled(&self, by: f64) -> Tensor {
        &self.a * by - &self.b
    }
}

/// Calls by the type, by the trait, and by both.
#[derive(Debug, Module)]
pub struct ByTrait {
    fc: nn::Linear,
}

#[traceable]
impl ByTrait {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let rows = xs.size()[0];
        let ys = xs.apply(&self.fc);
        let ramp: Tensor = Ramp::ramp(4);
        let both = Both::positions(rows)?;
        let places = Tensor::positions(rows)? + <Tensor as Positions>::positions(rows)?;
        let sum =
            Positions::scaled(&ys, 2.0) + Positions::scaled(&both, 3.0) + Tensor::doubled(&ys) + Both::doubled(&both);
        Ok(sum + places + ramp + <Tensor as Ramp>::ramp(4))
    }
}

/// A tensor that is owned or borrowed.
#[derive(Debug)]
pub enum TensorCow<'a> {
    Owned(Tensor),
    Borrowed(&'a Tensor),
}

impl Deref for TensorCow<'_> {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        match self {
            TensorCow::Owned(tensor) => tensor,
            TensorCow::Borrowed(tensor) => tensor,
        }
    }
}

/// One that names the tensor by `as_ref`.
#[derive(Debug)]
struct Labelled {
    tensor: Tensor,
    number: i64,
}

impl Deref for Labelled {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.tensor
    }
}

fn layer(xs: &Tensor) -> Tensor {
    xs.relu()
}

fn weighted(xs: &Tensor, by: Option<&Tensor>) -> Tensor {
    let by = match by {
        Some(by) => TensorCow::Borrowed(by),
        None => TensorCow::Owned(xs.tanh()),
    };
    xs * by.sigmoid() + layer(&by)
}

/// Such a value chosen by an `if`, handed to functions and ops.
#[derive(Debug, Module)]
pub struct OwnedOrBorrowed {
    fc: nn::Linear,
}

#[traceable]
impl OwnedOrBorrowed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = if xs.size()[0] > 2 { TensorCow::Owned(xs.tanh()) } else { TensorCow::Borrowed(xs) };
        let zs = ys.softmax(-1, Kind::Float);
        let held = Labelled { tensor: xs.apply(&self.fc), number: 2 };
        let sum = layer(&held) + held.tanh() * held.number + xs.maximum(&held) + held.as_ref();
        sum * zs + layer(&ys) + weighted(xs, Some(ys.as_ref())) + weighted(xs, None)
    }
}

/// Dtypes, devices and reductions that branches choose.
#[derive(Debug, Module)]
pub struct ChosenEnums {
    fc: nn::Linear,
    heads: i64,
}

#[traceable]
impl ChosenEnums {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let by_field = match self.heads {
            1 => Reduction::Mean,
            _ => Reduction::None,
        };
        let by_input = if xs.size()[0] > 2 { Reduction::Sum } else { Reduction::Mean };
        let ys = xs.apply(&self.fc);
        let loss = ys.mse_loss(xs, by_field) + ys.l1_loss(xs, by_input) + ys.mse_loss(xs, by_input);
        let kind = match xs.size()[0] {
            1 => Kind::Float,
            2 => Kind::Double,
            _ => xs.kind(),
        };
        let other = if kind == Kind::Float { tch::Kind::Float } else { kind };
        let (dtype, device) = if xs.size()[0] > 2 { (Kind::Float, Device::Cpu) } else { (Kind::Double, xs.device()) };
        let sum = ys.to_kind(kind).sum(other) + Tensor::ones([4], (dtype, device)) + loss;
        match kind {
            Kind::Float => sum.to_kind(Kind::Float),
            _ => sum.to_kind(Kind::Float) * 2.0,
        }
    }
}

/// What a trait of the crate does to a tensor where it lies.
pub trait InPlace: Sized {
    fn scale_(&mut self, by: Option<f64>) -> Result<(), TchError>;
    fn restart(&mut self, from: &Tensor);
    fn scaled(rows: i64, by: Option<f64>) -> Result<Self, TchError>;
}

impl InPlace for Tensor {
    fn scale_(&mut self, by: Option<f64>) -> Result<(), TchError> {
        let other = self.f_exp()?;
        self.f_slice(1, 0, 4, 2)?.f_copy_(&other.f_slice(1, 0, 4, 2)?.f_sin()?)?;
        if let Some(by) = by {
            let _ = self.f_div_scalar_(by)?;
        }
        Ok(())
    }

    fn restart(&mut self, from: &Tensor) {
        *self = &*self + from;
    }

    fn scaled(rows: i64, by: Option<f64>) -> Result<Self, TchError> {
        let mut made = Tensor::f_ones([rows, 4], (Kind::Float, Device::Cpu))?;
        made.scale_(by)?;
        Ok(made)
    }
}

/// Methods that take `&mut self`, of variables that are tensors.
#[derive(Debug, Module)]
pub struct Written {
    fc: nn::Linear,
    by: Option<f64>,
}

#[traceable]
impl Written {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let mut ys = xs.apply(&self.fc);
        ys.scale_(self.by)?;
        ys.restart(xs);
        ys.restart(&xs.relu());
        let other: Tensor = InPlace::scaled(xs.size()[0], self.by)?;
        ys.f_add(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};

    not_interpreted!(ChosenEnums: "takes `int` for `reduction`");

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn functions_of_traits() {
        agree!(|p: &nn::Path| ByTrait { fc: linear(p) }, cases(), |net, xs| net.forward(xs).unwrap());
    }

    #[test]
    fn types_that_deref_to_a_tensor() {
        agree!(|p: &nn::Path| OwnedOrBorrowed { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn enums_of_tch() {
        for heads in [1, 2] {
            agree!(|p: &nn::Path| ChosenEnums { fc: linear(p), heads }, cases(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn written_where_it_lies() {
        for by in [None, Some(2.0)] {
            agree!(|p: &nn::Path| Written { fc: linear(p), by }, cases(), |net, xs| net.forward(xs).unwrap());
        }
    }
}
