//! Arithmetic in one canonical form, so that other rules see one spelling; what does nothing goes.

use crate::fx_pass;

fx_pass! {
    /// Takes out arithmetic that does nothing, and gives powers and reciprocals their canonical form.
    pub Arithmetic {
        /// A factor of one, a divisor of one and a sum with nothing change floating-point numbers not at all.
        times_one: |x| x * 1.0 => x if is_float(x),
        over_one: |x| x / 1.0 => x if is_float(x),
        minus_zero: |x| x - 0.0 => x if is_float(x),
        /// -(-x) is x.
        double_negation: |x| -(-x) => x,
        /// a + (-b) is a - b.
        plus_negative: |x, y: Tensor| x.g_add(-y) => x - y if is_float(x) && is_float(y),
        minus_negative: |x, y: Tensor| x - (-y) => x + y if is_float(x) && is_float(y),
        /// x * x and the power of two are the square, the latter of any numbers.
        square: |x: Tensor| x * x => x.square() if is_float(x),
        power_of_two: |x| x.pow_tensor_scalar(2.0) => x.square(),
        power_of_one: |x| x.pow_tensor_scalar(1.0) => x if is_float(x),
        power_of_half: |x| x.pow_tensor_scalar(0.5) => x.sqrt() if is_float(x),
        power_of_minus_half: |x| x.pow_tensor_scalar(-0.5) => x.rsqrt() if is_float(x),
        power_of_minus_one: |x| x.pow_tensor_scalar(-1.0) => x.reciprocal() if is_float(x),
        /// 1 / sqrt(x) is the reciprocal square root.
        reciprocal_root: |x| x.sqrt().reciprocal() => x.rsqrt(),
        over_root: |x, y| x / y.sqrt() => x * y.rsqrt() if is_float(x),
    }
}
