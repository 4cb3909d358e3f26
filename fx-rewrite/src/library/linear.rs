//! Matrix products with weights as linear layers, which have packed kernels.
//!
//! A sum behind the product stays a sum: whether it is a bias is a matter of its shape, which only the live model knows.

use crate::fx_pass;

fx_pass! {
    /// Turns products with weights that are known at freeze time into linear layers.
    pub Linears {
        /// x W^T, for a weight of two axes at most, which `tr` asks for.
        product: |x, w| x.matmul(w.tr()) => x.linear(w, None) if is_freeze_time(w),
        /// The same where the source tells that there are two.
        product_by_axes: |x, w| x.matmul(w.transpose(-2, -1) | w.transpose(-1, -2) | w.transpose(0, 1) | w.transpose(1, 0))
            => x.linear(w, None) if is_freeze_time(w) && rank(w) == Some(2),
        /// b + x W^T.
        addmm: |b, x, w| b.addmm(x, w.tr()) => x.linear(w, b)
            if is_freeze_time(w) && is_freeze_time(b) && rank(b) == Some(1),
        /// A weight that is stored the other way round is turned once.
        addmm_turned: |b, x, w| b.addmm(x, w) => x.linear(w.tr(), b)
            if is_freeze_time(w) && is_freeze_time(b) && rank(b) == Some(1),
        product_turned: |x, w| x.mm(w) => x.linear(w.tr(), None) if is_freeze_time(w),
    }
}
