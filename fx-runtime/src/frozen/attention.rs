//! What masked attention is prepared with, so that a query from which every key is hidden comes out as it was written.
//!
//! `scaled_dot_product_attention` yields zeros for such a query. Written out, a softmax over nothing but minus infinity is
//! NaN, and one over a number that is the same for all keys is their mean. A query of NaN, or of zeros that sees every
//! key, gives just that.

use tch::{Device, Kind, Tensor};

use crate::Result;

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

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::{added, filled, mask_kind};

    /// Attention written out, in f64.
    fn written(q: &Tensor, k: &Tensor, v: &Tensor, mask: impl Fn(Tensor) -> Tensor) -> Tensor {
        let [q, k, v] = [q, k, v].map(|tensor| tensor.to_kind(Kind::Double));
        mask(q.matmul(&k.transpose(-2, -1)) * 0.5).softmax(-1, None).matmul(&v)
    }

    fn fused((q, mask): (Tensor, Tensor), k: &Tensor, v: &Tensor) -> Tensor {
        Tensor::scaled_dot_product_attention(&q, k, v, Some(mask), 0.0, false, 0.5, false)
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
                    let prepared = filled(&q, &mask, fill).unwrap_or_else(|error| panic!("{error}"));
                    assert_same(&fused(prepared, &k, &v), &wanted, tolerance);
                }
                let infinite = mask.zeros_like().to_kind(kind).masked_fill(&mask, f64::NEG_INFINITY);
                let large = mask.to_kind(Kind::Float) * -64.0;
                for mask in [infinite, large, mask.to_kind(Kind::Int64), mask] {
                    let wanted = written(&q, &k, &v, |scores| scores + &mask);
                    let prepared = added(&q, &mask).unwrap_or_else(|error| panic!("{error}"));
                    assert_same(&fused(prepared, &k, &v), &wanted, tolerance);
                }
            }
        }
    }
}
