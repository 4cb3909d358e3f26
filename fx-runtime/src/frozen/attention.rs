//! Attention: a kernel of ours in f32 on the CPU, libtorch's elsewhere, and what stands in for both where neither takes the
//! operands.
//!
//! `scaled_dot_product_attention` yields zeros for a query from which every key is hidden. Written out, a softmax over
//! nothing but minus infinity is NaN, and one over a number that is the same for all keys is their mean. [`attend_added`]
//! and [`attend_filled`] yield that. libtorch's kernels give it for a query of NaN, or of zeros that sees every key, which
//! is what [`added`] and [`filled`] prepare.

use tch::{Device, Kind, TchError, Tensor};

use crate::Result;
use crate::ffi::attention::{self as ours, Factors, attend as attend_on_the_cpu};

/// What becomes of scores.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mask<'a> {
    Nothing,
    /// No key behind the query is seen.
    Causal,
    /// Numbers that are added, or booleans that say who is seen, as libtorch's kernels take them.
    Given(&'a Tensor),
    /// Numbers that are added, as it is written.
    Added(&'a Tensor),
    /// Booleans; where they hold the score is this number, as it is written.
    Filled(&'a Tensor, f64),
    /// The same of booleans that are known to hold above the diagonal of a matrix, and nowhere else.
    Future(&'a Tensor, f64),
}

/// `softmax(query · keyᵀ · scale + mask) · value`; a mask of booleans says which keys are seen, and `is_causal` that none
/// of those behind the query is. A scale of `None` is one by the root of the depth.
///
/// Operands are `[.., queries, depth]`, `[.., keys, depth]` and `[.., keys, width]`.
///
/// # Errors
/// What libtorch reports.
pub fn attend(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: Option<&Tensor>,
    is_causal: bool,
    scale: impl Into<Option<f64>>,
) -> Result<Tensor> {
    attend_with(Factors::F32, [query, key, value], mask, is_causal, scale.into())
}

/// The same with factors that may be rounded.
pub(crate) fn attend_with(
    factors: Factors,
    operands: [&Tensor; 3],
    mask: Option<&Tensor>,
    is_causal: bool,
    scale: Option<f64>,
) -> Result<Tensor> {
    match mask {
        Some(mask) if !is_causal => masked(factors, operands, Mask::Given(mask), scale),
        None if is_causal => masked(factors, operands, Mask::Causal, scale),
        None => masked(factors, operands, Mask::Nothing, scale),
        // Says why not.
        Some(_) => Ok(fused(operands, mask, is_causal, scale)?),
    }
}

/// `softmax(query · keyᵀ · scale + mask) · value`, as it is written.
///
/// # Errors
/// What libtorch reports.
pub fn attend_added(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: &Tensor,
    scale: impl Into<Option<f64>>,
) -> Result<Tensor> {
    masked(Factors::F32, [query, key, value], Mask::Added(mask), scale.into())
}

/// `softmax(masked_fill(query · keyᵀ · scale, mask, fill)) · value`, as it is written; `fill` is at most -10000.
///
/// # Errors
/// What libtorch reports.
pub fn attend_filled(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: &Tensor,
    fill: f64,
    scale: impl Into<Option<f64>>,
) -> Result<Tensor> {
    masked(Factors::F32, [query, key, value], Mask::Filled(mask, fill), scale.into())
}

/// The same with a mask that is known to be everything above the diagonal of a matrix, which kernels for GPUs need not read.
///
/// # Errors
/// What libtorch reports.
pub fn attend_future(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    future: &Tensor,
    fill: f64,
    scale: impl Into<Option<f64>>,
) -> Result<Tensor> {
    masked(Factors::F32, [query, key, value], Mask::Future(future, fill), scale.into())
}

/// Attention whose factors may be rounded.
pub(crate) fn masked(factors: Factors, operands: [&Tensor; 3], mask: Mask<'_>, scale: Option<f64>) -> Result<Tensor> {
    if let Some(result) = on_the_cpu(factors, operands, mask, scale) {
        return Ok(result?);
    }
    let [query, key, value] = operands;
    match mask {
        Mask::Nothing => by_libtorch(operands, None, false, scale),
        Mask::Causal => by_libtorch(operands, None, true, scale),
        Mask::Future(mask, _) if is_causal(operands, mask) => by_libtorch(operands, None, true, scale),
        Mask::Given(mask) => by_libtorch(operands, Some(mask), false, scale),
        Mask::Added(mask) => {
            let (query, mask) = added(query, mask)?;
            by_libtorch([&query, key, value], Some(&mask), false, scale)
        }
        Mask::Filled(mask, fill) | Mask::Future(mask, fill) => {
            let (query, mask) = filled(query, mask, fill)?;
            by_libtorch([&query, key, value], Some(&mask), false, scale)
        }
    }
}

/// Returns whether a mask over a matrix hides of so many keys those that stand behind each of as many queries: a mask of one
/// row or column stands for others, of which it hides nothing.
fn is_causal([query, key, _]: [&Tensor; 3], mask: &Tensor) -> bool {
    let length = |operand: &Tensor| operand.size().iter().rev().nth(1).copied();
    matches!(mask.size()[..], [rows, columns] if rows == columns && [query, key].map(length) == [Some(rows); 2])
}

/// By the kernel of ours; none where it does not take the operands.
fn on_the_cpu(
    factors: Factors,
    operands: [&Tensor; 3],
    mask: Mask<'_>,
    scale: Option<f64>,
) -> Option<Result<Tensor, TchError>> {
    // It knows nothing of gradients.
    if operands.iter().any(|operand| operand.requires_grad()) {
        return None;
    }
    let scale = scale.unwrap_or_else(|| usual_scale(&operands[0].size()));
    let converted;
    let mask = match mask {
        Mask::Nothing => ours::Mask::Nothing,
        Mask::Causal => ours::Mask::Causal,
        Mask::Given(mask) if mask.kind() == Kind::Bool => ours::Mask::Seen(mask),
        Mask::Given(mask) => ours::Mask::Added(mask, 0.0),
        Mask::Added(mask) if mask.kind() == Kind::Float => ours::Mask::Added(mask, f32::NAN),
        Mask::Added(mask) => {
            converted = mask.f_to_kind(Kind::Float).ok()?;
            ours::Mask::Added(&converted, f32::NAN)
        }
        Mask::Filled(mask, fill) | Mask::Future(mask, fill) => ours::Mask::Filled(mask, narrow(fill)),
    };
    attend_on_the_cpu(operands, mask, narrow(scale), factors)
}

#[allow(clippy::cast_possible_truncation, reason = "as libtorch casts a number to a tensor's kind")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// One by the root of the depth.
#[allow(clippy::cast_precision_loss, reason = "a depth is small")]
fn usual_scale(query: &[i64]) -> f64 {
    (query.last().copied().unwrap_or(1) as f64).sqrt().recip()
}

/// Query and mask for attention whose scores get `mask` added.
///
/// # Errors
/// What libtorch reports.
pub fn added(query: &Tensor, mask: &Tensor) -> Result<(Tensor, Tensor)> {
    let of_mask = mask.f_kind()?;
    let mask = mask.f_to_kind(mask_kind(of_mask, query.f_kind()?, query.device()))?;
    if !matches!(of_mask, Kind::Half | Kind::BFloat16 | Kind::Float | Kind::Double) {
        return Ok((query.shallow_clone(), mask.f_atleast_2d()?));
    }
    let hidden = mask.f_eq(f64::NEG_INFINITY)?.f_all_dim(-1, true)?;
    Ok((query.f_masked_fill(&hidden, f64::NAN)?, mask.f_atleast_2d()?))
}

/// The kind in which the kernels of a device take a mask.
///
/// A sum is made in the wider of the two, which the CPU's kernels do for a mask of f32. CUDA's refuse such a mask, or
/// read it as if it were of the query's kind.
fn mask_kind(mask: Kind, query: Kind, device: Device) -> Kind {
    let is_narrow = matches!(query, Kind::Half | Kind::BFloat16);
    if mask == Kind::Float && is_narrow && device == Device::Cpu { mask } else { query }
}

/// Query and mask (of what is seen) for attention whose scores are filled with `fill` where `mask` holds.
///
/// # Errors
/// What libtorch reports.
pub fn filled(query: &Tensor, mask: &Tensor, fill: f64) -> Result<(Tensor, Tensor)> {
    let hidden = mask.f_all_dim(-1, true)?;
    let query = query.f_masked_fill(&hidden, if fill.is_finite() { 0.0 } else { f64::NAN })?;
    let seen = mask.f_logical_not()?.f_logical_or(&hidden)?;
    Ok((query, seen.f_atleast_2d()?))
}

fn fused(
    [query, key, value]: [&Tensor; 3],
    mask: Option<&Tensor>,
    is_causal: bool,
    scale: Option<f64>,
) -> Result<Tensor, TchError> {
    Tensor::f_scaled_dot_product_attention(query, key, value, mask, 0.0, is_causal, scale, false)
}

/// libtorch has kernels for two axes in front of the last two, and no more than two: others are put in, or made one. What
/// the CPU's kernel does not take even so (other depths of the value, axes that broadcast, nothing at all) is computed
/// operator by operator, in half the time of libtorch's own way out.
fn by_libtorch(operands: [&Tensor; 3], mask: Option<&Tensor>, is_causal: bool, scale: Option<f64>) -> Result<Tensor> {
    let sizes = operands.map(Tensor::size);
    if !is_causal && is_better_written(operands, &sizes, mask) {
        return written(operands, mask, scale);
    }
    let Some(form) = Form::of(&sizes, mask) else { return Ok(fused(operands, mask, is_causal, scale)?) };
    let [query, key, value] = operands.map(|operand| form.of_four_axes(operand));
    let mask = mask.map(|mask| form.mask(mask)).transpose()?;
    let result = fused([&query?, &key?, &value?], mask.as_ref(), is_causal, scale)?;
    Ok(form.back(&result)?)
}

/// How operands of other than four axes become such.
enum Form {
    /// So many axes are missing.
    Missing(usize),
    /// All axes but the last three are made one; these are they.
    Joined(Vec<i64>),
}

impl Form {
    /// None where there is nothing to do, or nothing that can be done.
    fn of(sizes: &[Vec<i64>; 3], mask: Option<&Tensor>) -> Option<Self> {
        let [query, key, value] = sizes;
        let rank = query.len();
        let of_mask = mask.map_or(2, Tensor::dim);
        let fits = rank >= 2 && key.len() == rank && value.len() == rank && of_mask >= 2;
        let fits = fits && !is_empty([query, key, value]);
        match rank {
            2 | 3 if fits && of_mask <= rank => Some(Self::Missing(4 - rank)),
            5.. if fits && of_mask == 2 => {
                let front = rank - 3;
                let is_same = key[..front] == query[..front] && value[..front] == query[..front];
                is_same.then(|| Self::Joined(query[..front].to_vec()))
            }
            _ => None,
        }
    }

    fn of_four_axes(&self, operand: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Self::Missing(1) => operand.f_unsqueeze(0),
            Self::Missing(_) => operand.f_unsqueeze(0)?.f_unsqueeze(0),
            Self::Joined(front) => operand.f_flatten(0, i64::try_from(front.len()).unwrap_or(1) - 1),
        }
    }

    /// A mask of two axes is for every batch and head.
    fn mask(&self, mask: &Tensor) -> Result<Tensor, TchError> {
        if mask.dim() == 2 { Ok(mask.shallow_clone()) } else { self.of_four_axes(mask) }
    }

    fn back(&self, result: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Self::Missing(1) => result.f_squeeze_dim(0),
            Self::Missing(_) => result.f_squeeze_dim(0)?.f_squeeze_dim(0),
            Self::Joined(front) => result.f_unflatten(0, front),
        }
    }
}

/// Does the CPU's kernel leave such operands to libtorch's composition? Numbers of f32 and f64 alone: narrower ones that
/// composition computes in f32.
fn is_better_written([query, ..]: [&Tensor; 3], [q, k, v]: &[Vec<i64>; 3], mask: Option<&Tensor>) -> bool {
    let is_plain = |tensor: &Tensor| matches!(tensor.kind(), Kind::Float | Kind::Double);
    let of_mask = mask.is_none_or(|mask| mask.kind() == Kind::Bool || mask.kind() == query.kind());
    if query.device() != Device::Cpu || !is_plain(query) || !of_mask || q.len() < 2 || k.len() < 2 || v.len() < 2 {
        return false;
    }
    let [of_query, of_key, of_value] = [q, k, v].map(|sizes| &sizes[..sizes.len() - 2]);
    let is_broadcast = of_query != of_key || of_key != of_value;
    is_broadcast || q.last() != v.last() || is_empty([q, k, v])
}

/// The CPU's kernel divides by the number of heads.
fn is_empty(sizes: [&Vec<i64>; 3]) -> bool {
    sizes.into_iter().flatten().any(|&size| size == 0)
}

fn written([query, key, value]: [&Tensor; 3], mask: Option<&Tensor>, scale: Option<f64>) -> Result<Tensor> {
    let scale = scale.unwrap_or_else(|| usual_scale(&query.size()));
    let mut scores = query.f_matmul(&key.f_transpose(-2, -1)?)?.f_mul_scalar_(scale)?;
    if let Some(mask) = mask {
        scores = match mask.f_kind()? {
            Kind::Bool => scores.f_masked_fill(&mask.f_logical_not()?, f64::NEG_INFINITY)?,
            _ => scores.f_add(mask)?,
        };
    }
    Ok(scores.f_softmax(-1, None::<Kind>)?.f_matmul(value)?)
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::{attend, attend_added, attend_filled, attend_future, by_libtorch, is_causal, mask_kind};

    /// Attention written out, in f64.
    fn written(q: &Tensor, k: &Tensor, v: &Tensor, mask: impl Fn(Tensor) -> Tensor) -> Tensor {
        let [q, k, v] = [q, k, v].map(|tensor| tensor.to_kind(Kind::Double));
        mask(q.matmul(&k.transpose(-2, -1)) * 0.5).softmax(-1, None).matmul(&v)
    }

    /// Waves: numbers that no seed changes.
    fn numbers(shape: [i64; 4], phase: f64) -> Tensor {
        let count: i64 = shape.iter().product();
        ((Tensor::arange(count, (Kind::Double, Device::Cpu)) * 0.7 + phase).sin() * 3.0).reshape(shape)
    }

    /// Masks of which a row hides everything: over queries and keys, over keys alone, with axes of batch and heads.
    fn masks() -> Vec<Tensor> {
        let square = numbers([1, 1, 6, 6], 0.3).reshape([6, 6]).gt(0.0);
        let _ = square.get(1).fill_(1);
        let _ = square.get(2).fill_(0);
        let keys = Tensor::ones([6], (Kind::Bool, Device::Cpu));
        let batch = Tensor::zeros([2, 1, 1, 6], (Kind::Bool, Device::Cpu));
        let _ = batch.get(1).fill_(1);
        vec![square, keys, batch]
    }

    fn assert_same(found: &Tensor, wanted: &Tensor, tolerance: f64) {
        let found = found.to_kind(Kind::Double);
        assert_eq!(found.isnan(), wanted.isnan());
        let difference = (found.nan_to_num(0.0, None, None) - wanted.nan_to_num(0.0, None, None)).abs().max();
        assert!(difference.double_value(&[]) <= tolerance, "{difference}");
    }

    #[test]
    fn a_mask_is_of_the_kind_that_the_device_takes() {
        for narrow in [Kind::Half, Kind::BFloat16] {
            assert_eq!(mask_kind(Kind::Float, narrow, Device::Cpu), Kind::Float);
            assert_eq!(mask_kind(Kind::Float, narrow, Device::Cuda(0)), narrow);
            assert_eq!(mask_kind(narrow, Kind::Float, Device::Cuda(0)), Kind::Float);
        }
    }

    #[test]
    fn queries_that_see_nothing_come_out_as_written() {
        for (kind, tolerance) in
            [(Kind::Double, 1e-12), (Kind::Float, 5e-6), (Kind::BFloat16, 4e-2), (Kind::Half, 1e-2)]
        {
            let [q, k, v] = [0.1, 1.2, 2.3].map(|phase| numbers([2, 3, 6, 4], phase).to_kind(kind));
            for mask in masks() {
                for fill in [f64::NEG_INFINITY, -1e9, -1e4] {
                    let wanted = written(&q, &k, &v, |scores| scores.masked_fill(&mask, fill));
                    let found = attend_filled(&q, &k, &v, &mask, fill, 0.5).unwrap_or_else(|error| panic!("{error}"));
                    assert_same(&found, &wanted, tolerance);
                }
                let infinite = mask.zeros_like().to_kind(kind).masked_fill(&mask, f64::NEG_INFINITY);
                let large = mask.to_kind(Kind::Float) * -64.0;
                for mask in [infinite, large, mask.to_kind(Kind::Int64), mask] {
                    let wanted = written(&q, &k, &v, |scores| scores + &mask);
                    let found = attend_added(&q, &k, &v, &mask, 0.5).unwrap_or_else(|error| panic!("{error}"));
                    assert_same(&found, &wanted, tolerance);
                }
            }
        }
    }

    /// Every rank, every mask of it, with axes that broadcast and a value of another width.
    #[test]
    fn attends_as_written_whatever_the_axes_are() {
        let fronts: [(&[i64], &[i64]); 7] = [
            (&[], &[]),
            (&[3], &[3]),
            (&[3], &[1]),
            (&[2, 3], &[2, 3]),
            (&[2, 3], &[1, 3]),
            (&[2, 1, 3], &[2, 1, 3]),
            (&[2, 2, 1, 3], &[2, 1, 1, 3]),
        ];
        for ((of_query, of_key), width) in fronts.into_iter().flat_map(|front| [(front, 4), (front, 7)]) {
            let tensor = |front: &[i64], rows: i64, columns: i64, phase: f64| {
                let shape = [front, &[rows, columns]].concat();
                numbers([1, 1, 1, shape.iter().product()], phase).reshape(shape).to_kind(Kind::Float)
            };
            let q = tensor(of_query, 5, 4, 0.1);
            let (k, v) = (tensor(of_key, 6, 4, 1.2), tensor(of_key, 6, width, 2.3));
            let masks = [tensor(&[], 5, 6, 0.4), tensor(of_query, 5, 6, 0.5), tensor(&[], 1, 6, 0.6)];
            assert_same(&attend(&q, &k, &v, None, false, 0.5).unwrap(), &written(&q, &k, &v, |scores| scores), 5e-6);
            for mask in masks {
                let seen = mask.gt(-2.0);
                let found = attend(&q, &k, &v, Some(&mask), false, 0.5).unwrap();
                assert_same(&found, &written(&q, &k, &v, |scores| scores + &mask), 5e-6);
                let found = attend(&q, &k, &v, Some(&seen), false, None).unwrap();
                let hidden = |scores: Tensor| scores.masked_fill(&seen.logical_not(), f64::NEG_INFINITY);
                assert_same(&found, &written(&q, &k, &v, hidden), 5e-6);
            }
            if of_query == of_key && width == 4 {
                let behind = Tensor::ones([5, 6], (Kind::Bool, Device::Cpu)).triu(1);
                let found = attend(&q, &k, &v, None, true, 0.5).unwrap();
                let hidden = |scores: Tensor| scores.masked_fill(&behind, f64::NEG_INFINITY);
                assert_same(&found, &written(&q, &k, &v, hidden), 5e-6);
            }
        }
        for empty in [&[0, 3, 5, 4][..], &[2, 0, 5, 4], &[2, 3, 0, 4], &[0, 5, 4], &[0, 4]] {
            let q = Tensor::zeros(empty, (Kind::Float, Device::Cpu));
            assert_eq!(attend(&q, &q, &q, None, false, 0.5).unwrap().size(), empty);
        }
        let q = numbers([1, 2, 3, 4], 0.0);
        assert!(attend(&q, &q.narrow(3, 0, 2), &q, None, false, None).is_err());
    }

    #[test]
    fn what_stands_behind_is_hidden_as_by_its_mask() {
        let [q, k, v] = [0.1, 0.2, 0.3].map(|phase| numbers([2, 3, 6, 8], phase).to_kind(Kind::Float));
        let future = Tensor::ones([6, 6], (Kind::Bool, Device::Cpu)).triu(1);
        let wanted = attend_filled(&q, &k, &v, &future, f64::NEG_INFINITY, 0.5).unwrap();
        assert_same(&attend_future(&q, &k, &v, &future, f64::NEG_INFINITY, 0.5).unwrap(), &wanted, 1e-6);
        assert!(is_causal([&q, &k, &v], &future));
        assert_same(&by_libtorch([&q, &k, &v], None, true, Some(0.5)).unwrap(), &wanted, 1e-5);
        // One query of many keys, of which nothing is hidden.
        let (one, none) = (q.narrow(2, 0, 1), future.narrow(0, 0, 1).narrow(1, 0, 1));
        assert!(!is_causal([&one, &k, &v], &none));
        let wanted = attend(&one, &k, &v, None, false, 0.5).unwrap();
        assert_same(&attend_future(&one, &k, &v, &none, f64::NEG_INFINITY, 0.5).unwrap(), &wanted, 1e-6);
    }
}
