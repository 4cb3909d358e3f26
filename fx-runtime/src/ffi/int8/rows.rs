//! Rows whose parameters are known at the call alone: to codes, and from sums of products of codes.

use tch::{TchError, Tensor};

use super::super::tensor::refused;
use super::super::vector::{Body, vectorised};
use super::lanes::checked;
use super::{Dense, Element as _, Output, PerTensor, in_parts, stored, unwritten, zero};

/// When halves are decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `round(x / scale + zero)`, the sum being rounded once.
    WithZero,
    /// `round(x / scale) + zero`.
    BeforeZero,
}

/// The codes of `f32[rows, columns]`, by the parameters of each row, or by one for all.
pub(crate) fn quantize_rows(x: &Tensor, of: &[PerTensor], rounding: Rounding) -> Result<Tensor, TchError> {
    let x = checked::<f32>(&x.f_contiguous()?)?;
    let (rows, columns) = shape(&x, of)?;
    let y = unwritten(x.facts.sizes(), &x.strides, u8::DTYPE, x.count())?;
    // SAFETY: f32 by `checked`; to write to an input meanwhile would be a data race of the caller's.
    let (from, to) = (unsafe { x.elements::<f32>() }, Output::<u8>::of(&y));
    in_parts(rows, columns, &|part| {
        for row in part {
            let range = row * columns..(row + 1) * columns;
            // SAFETY: rows are disjoint, and `y` is new, of this type, and as large as `x`.
            let to = unsafe { to.part(range.clone()) };
            vectorised(QuantizeRow { from: &from[range], to, of: parameters(of, row), rounding });
        }
    });
    Ok(y)
}

/// `(sum - zero · weight_sum) as f32 · (scale · weight_scale) + bias` of `i32[rows, columns]`; the weight's sums, `i32`,
/// scales and bias have an entry for each column.
pub(crate) fn dequantize_sums(
    sums: &Tensor,
    of: &[PerTensor],
    (weight_sums, scales, bias): (&Tensor, &Tensor, Option<&Tensor>),
) -> Result<Tensor, TchError> {
    let sums = checked::<i32>(&sums.f_contiguous()?)?;
    let (rows, columns) = shape(&sums, of)?;
    let (weight_sums, scales) = (checked::<i32>(weight_sums)?, checked::<f32>(scales)?);
    let bias = bias.map(checked::<f32>).transpose()?;
    if [Some(&weight_sums), Some(&scales), bias.as_ref()].into_iter().flatten().any(|each| each.count() != columns) {
        return Err(refused("sums of another number of columns"));
    }
    let y = unwritten(sums.facts.sizes(), &sums.strides, f32::DTYPE, sums.count())?;
    // SAFETY: of these types by `checked`; to write to an input meanwhile would be a data race of the caller's.
    let (from, weight_sums, scales) =
        unsafe { (sums.elements::<i32>(), weight_sums.elements::<i32>(), scales.elements::<f32>()) };
    // SAFETY: as above.
    let (bias, to) = (bias.as_ref().map(|bias| unsafe { bias.elements::<f32>() }), Output::<f32>::of(&y));
    in_parts(rows, columns, &|part| {
        for row in part {
            let range = row * columns..(row + 1) * columns;
            // SAFETY: rows are disjoint, and `y` is new, of this type, and as large as the sums.
            let to = unsafe { to.part(range.clone()) };
            vectorised(DequantizeRow { from: &from[range], to, of: parameters(of, row), weight_sums, scales, bias });
        }
    });
    Ok(y)
}

/// Rows and columns, if there are parameters for them.
fn shape(x: &Dense, of: &[PerTensor]) -> Result<(usize, usize), TchError> {
    let columns = x.facts.sizes().last().and_then(|&columns| usize::try_from(columns).ok()).unwrap_or(0);
    let rows = x.count() / columns.max(1);
    if of.len() == 1 || of.len() == rows { Ok((rows, columns)) } else { Err(refused("parameters of other rows")) }
}

fn parameters(of: &[PerTensor], row: usize) -> PerTensor {
    if of.len() == 1 { of[0] } else { of[row] }
}

struct QuantizeRow<'a> {
    from: &'a [f32],
    to: &'a mut [u8],
    of: PerTensor,
    rounding: Rounding,
}

impl Body for QuantizeRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (inverse, zero) = (1.0 / self.of.scale, zero(self.of));
        for (x, code) in self.from.iter().zip(self.to) {
            *code = match self.rounding {
                Rounding::WithZero => stored(x.mul_add(inverse, zero).round_ties_even()),
                Rounding::BeforeZero => self.of.code(inverse, *x),
            };
        }
    }
}

struct DequantizeRow<'a> {
    from: &'a [i32],
    to: &'a mut [f32],
    of: PerTensor,
    weight_sums: &'a [i32],
    scales: &'a [f32],
    bias: Option<&'a [f32]>,
}

impl Body for DequantizeRow<'_> {
    type Output = ();

    #[expect(clippy::cast_precision_loss, reason = "PyTorch rounds the sums so")]
    #[inline(always)]
    fn run(self) {
        let PerTensor { scale, zero_point } = self.of;
        let columns = self.from.iter().zip(self.weight_sums).zip(self.scales);
        let number = |((sum, weight_sum), of): ((&i32, &i32), &f32)| {
            sum.wrapping_sub(zero_point.wrapping_mul(*weight_sum)) as f32 * (scale * of)
        };
        match self.bias {
            Some(bias) => columns.zip(self.to).zip(bias).for_each(|((column, y), bias)| *y = number(column) + bias),
            None => columns.zip(self.to).for_each(|(column, y)| *y = number(column)),
        }
    }
}
