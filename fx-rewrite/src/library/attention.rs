//! Attention that is written by hand: two matrix products with a softmax between them.
//!
//! `softmax(q k^T / sqrt(d)) v` (Vaswani et al. 2017) becomes one op, which has kernels of its own on every device. The
//! scale stands before or after the product, as a factor or as a divisor, written down or computed by the model; the
//! transposition has its canonical form already ([`Layout`](super::Layout)). A scale has to be positive, since the op takes
//! its root. Dropout is gone by then. Where the softmax is asked for a wider type, the product with `v` could only be made
//! if `v` had that type too, so nothing is lost.
//!
//! A mask hides keys from a query, and may hide all of them: a row of minus infinity yields NaN then, one of a large
//! negative number the mean of all values. The op would yield zeros, so the runtime prepares query and mask such that the
//! row comes out as written. A number hides if `exp` of its distance to any score is zero, which is taken to hold from
//! -10000 on; a number above that leaves the attention as it is.

use crate::fx_pass;
use crate::rewrite::Value;

/// Returns whether a score of that value gets no weight beside others.
fn hides(fill: Value<'_>) -> bool {
    fill.as_float().is_some_and(|fill| fill <= -1e4)
}

fx_pass! {
    /// Turns attention written by hand into one op.
    pub Attention {
        /// A scale as a factor behind the product.
        scaled: |q, k, v, s|
            (q.matmul(k.transpose(-2, -1)) * s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, s, false) if is_positive(s),
        /// As a divisor.
        divided: |q, k, v, s|
            (q.matmul(k.transpose(-2, -1)) / s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0 / s, false) if is_positive(s),
        /// In front of the product.
        scaled_query: |q, k, v, s|
            (q * s).matmul(k.transpose(-2, -1)).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, s, false) if is_positive(s),
        divided_query: |q, k, v, s|
            (q / s).matmul(k.transpose(-2, -1)).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0 / s, false) if is_positive(s),
        /// No scale at all.
        plain: |q, k, v|
            q.matmul(k.transpose(-2, -1)).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0, false),
        /// With a mask that is added.
        scaled_masked: |q, k, v, m: Tensor, s|
            (q.matmul(k.transpose(-2, -1)) * s + m).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::added(&q, &m)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, s, false)
        } if is_positive(s),
        divided_masked: |q, k, v, m: Tensor, s|
            (q.matmul(k.transpose(-2, -1)) / s + m).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::added(&q, &m)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, 1.0 / s, false)
        } if is_positive(s),
        scaled_query_masked: |q, k, v, m: Tensor, s|
            ((q * s).matmul(k.transpose(-2, -1)) + m).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::added(&q, &m)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, s, false)
        } if is_positive(s),
        divided_query_masked: |q, k, v, m: Tensor, s|
            ((q / s).matmul(k.transpose(-2, -1)) + m).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::added(&q, &m)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, 1.0 / s, false)
        } if is_positive(s),
        plain_masked: |q, k, v, m: Tensor|
            (q.matmul(k.transpose(-2, -1)) + m).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::added(&q, &m)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, 1.0, false)
        },
        /// With a mask of what is not to be looked at.
        scaled_filled: |q, k, v, m: Tensor, c, s|
            (q.matmul(k.transpose(-2, -1)) * s).masked_fill(m, c).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::filled(&q, &m, c)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, s, false)
        } if is_positive(s) && hides(c),
        divided_filled: |q, k, v, m: Tensor, c, s|
            (q.matmul(k.transpose(-2, -1)) / s).masked_fill(m, c).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::filled(&q, &m, c)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, 1.0 / s, false)
        } if is_positive(s) && hides(c),
        scaled_query_filled: |q, k, v, m: Tensor, c, s|
            (q * s).matmul(k.transpose(-2, -1)).masked_fill(m, c).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::filled(&q, &m, c)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, s, false)
        } if is_positive(s) && hides(c),
        divided_query_filled: |q, k, v, m: Tensor, c, s|
            (q / s).matmul(k.transpose(-2, -1)).masked_fill(m, c).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::filled(&q, &m, c)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, 1.0 / s, false)
        } if is_positive(s) && hides(c),
        plain_filled: |q, k, v, m: Tensor, c|
            q.matmul(k.transpose(-2, -1)).masked_fill(m, c).softmax(-1, _).matmul(v) => {
            let (query, mask) = rust!(::fx_runtime::frozen::attention::filled(&q, &m, c)?);
            scaled_dot_product_attention(query, k, v, mask, 0.0, false, 1.0, false)
        } if hides(c),
    }
}
