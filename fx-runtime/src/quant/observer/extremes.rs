//! The smallest and the largest value: of all batches or their moving average, per tensor or per channel.

use tch::{Kind, Tensor};

use super::super::QParams;
use super::{Observer, not_a_number, unseen};
use crate::qparams::{Rule, calculate_qparams, wrapped};
use crate::{Error, Result};

/// The four observers of extremes.
#[derive(Debug)]
pub(crate) struct Extremes {
    name: &'static str,
    rule: Rule,
    /// How much a batch counts; none where the extremes of all count.
    averaging_constant: Option<f64>,
    /// Smallest and largest, one for each channel; empty before the first value.
    min: Vec<f32>,
    max: Vec<f32>,
}

impl Extremes {
    pub(super) fn new(name: &'static str, rule: Rule, averaging_constant: Option<f64>) -> Extremes {
        Extremes { name, rule, averaging_constant, min: Vec::new(), max: Vec::new() }
    }

    /// The extremes of one value.
    fn of(&self, xs: &Tensor) -> Result<(Vec<f32>, Vec<f32>)> {
        let xs = xs.f_detach()?.f_to_kind(Kind::Float)?;
        let (min, max) = match self.rule.axis {
            None => xs.f_aminmax(None, false)?,
            Some(axis) => {
                let position = wrapped(axis, xs.dim());
                if position >= xs.dim() {
                    let reason = format!("there is no axis {axis} in a value of shape {:?}", xs.size());
                    return Err(Error::Quantization { site: self.name.to_owned(), reason });
                }
                let rows = xs.f_transpose(0, i64::try_from(position).unwrap_or(0))?;
                // PyTorch's `flatten(start_dim=1)` refuses a vector; each element is a channel of it here.
                rows.f_reshape([rows.size()[0], -1])?.f_aminmax(1, false)?
            }
        };
        let list = |of: Tensor| -> Result<Vec<f32>> { Ok(Vec::try_from(of.f_reshape([-1])?)?) };
        Ok((list(min)?, list(max)?))
    }
}

impl Observer for Extremes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn observe(&mut self, xs: &Tensor) -> Result<()> {
        if xs.numel() == 0 {
            return Ok(());
        }
        let (min, max) = self.of(xs)?;
        if min.iter().chain(&max).any(|bound| bound.is_nan()) {
            return Err(not_a_number(self.name));
        }
        if self.min.is_empty() {
            (self.min, self.max) = (min, max);
            return Ok(());
        }
        if self.min.len() != min.len() {
            let reason = format!("a value with {} channels follows one with {}", min.len(), self.min.len());
            return Err(Error::Quantization { site: self.name.to_owned(), reason });
        }
        let averaging_constant = self.averaging_constant;
        let joined = |known: &mut f32, batch: f32, outermost: fn(f32, f32) -> f32| {
            *known = averaging_constant.map_or_else(|| outermost(*known, batch), |share| moved(*known, batch, share));
        };
        self.min.iter_mut().zip(min).for_each(|(known, batch)| joined(known, batch, f32::min));
        self.max.iter_mut().zip(max).for_each(|(known, batch)| joined(known, batch, f32::max));
        Ok(())
    }

    fn calculate_qparams(&self) -> Result<QParams> {
        if self.min.is_empty() {
            return Err(unseen(self.name));
        }
        calculate_qparams(&self.rule, &self.min, &self.max)
    }

    fn reset(&mut self) {
        self.min.clear();
        self.max.clear();
    }
}

#[expect(clippy::cast_possible_truncation, reason = "PyTorch multiplies an f32 tensor by the number as f32")]
fn moved(known: f32, batch: f32, share: f64) -> f32 {
    known + share as f32 * (batch - known)
}
