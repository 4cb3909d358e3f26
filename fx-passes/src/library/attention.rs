//! Attention that is written by hand: two matrix products with a softmax between them.
//!
//! `softmax(q k^T / sqrt(d)) v` (Vaswani et al. 2017) becomes one op, which has kernels of its own on every device. The
//! scale stands before or after the product, as a factor or as a divisor; the transposition in any of its spellings.
//! A scale has to be positive, since the op takes its root. Dropout is gone by then. Where the softmax is asked for a wider type, the product with `v` could only be made if `v`
//! had that type too, so nothing is lost.

use crate::fx_pass;

/// Do the axes exchange the last two of four?
fn exchanges_last(axes: &[i64]) -> bool {
    axes == [0, 1, 3, 2]
}

fx_pass! {
    /// Turns attention written by hand into one op.
    pub Attention {
        /// A scale as a factor behind the product.
        scaled: |q, k, v, s: f64|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) * s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, s, false) if s > 0.0,
        /// As a divisor.
        divided: |q, k, v, s: f64|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) / s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0 / s, false) if s > 0.0,
        /// In front of the product.
        scaled_query: |q, k, v, s: f64|
            (q * s).matmul(k.transpose(-2, -1) | k.transpose(-1, -2)).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, s, false) if s > 0.0,
        divided_query: |q, k, v, s: f64|
            (q / s).matmul(k.transpose(-2, -1) | k.transpose(-1, -2)).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0 / s, false) if s > 0.0,
        /// With a mask that is added.
        scaled_masked: |q, k, v, s: f64, m: Tensor|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) * s + m).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, m, 0.0, false, s, false) if s > 0.0 && is_float(m),
        divided_masked: |q, k, v, s: f64, m: Tensor|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) / s + m).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, m, 0.0, false, 1.0 / s, false) if s > 0.0 && is_float(m),
        /// With a mask of what is not to be looked at.
        scaled_filled: |q, k, v, s, m: Tensor|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) * s).masked_fill(m, f64::NEG_INFINITY).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, m.logical_not(), 0.0, false, s, false) if is_positive(s),
        divided_filled: |q, k, v, s, m: Tensor|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) / s).masked_fill(m, f64::NEG_INFINITY).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, m.logical_not(), 0.0, false, rust!(1.0 / s; f64), false) if is_positive(s),
        /// The transposition by its axes, where there are four.
        scaled_axes: |q, k, v, s: f64|
            (q.matmul(k.transpose(2, 3) | k.transpose(3, 2)) * s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, s, false) if s > 0.0 && rank(k) == Some(4),
        divided_axes: |q, k, v, s: f64|
            (q.matmul(k.transpose(2, 3) | k.transpose(3, 2)) / s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0 / s, false) if s > 0.0 && rank(k) == Some(4),
        scaled_permuted: |q, k, v, s: f64, p: [i64]|
            (q.matmul(k.permute(p)) * s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, s, false) if s > 0.0 && exchanges_last(&p),
        divided_permuted: |q, k, v, s: f64, p: [i64]|
            (q.matmul(k.permute(p)) / s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0 / s, false) if s > 0.0 && exchanges_last(&p),
        /// The scale as a number that the model computes: the square root of a head's size.
        scaled_by: |q, k, v, s|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) * s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, s, false) if is_positive(s),
        divided_by: |q, k, v, s|
            (q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)) / s).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, rust!(1.0 / s; f64), false) if is_positive(s),
        /// No scale at all.
        plain: |q, k, v|
            q.matmul(k.transpose(-2, -1) | k.transpose(-1, -2)).softmax(-1, _).matmul(v)
            => scaled_dot_product_attention(q, k, v, None, 0.0, false, 1.0, false),
    }
}
