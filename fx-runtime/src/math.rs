//! Elementary functions on f32 that the compiler vectorises: no branches, no tables, fused multiply-adds.
//!
//! Every polynomial is a minimax fit (Remez's exchange) to the function that its doc names, on the range given there; the
//! stated errors are largest differences in units in the last place against f64, measured by the tests below. NaN in
//! gives NaN out. Meant for [`vectorised`](crate::ffi::vectorised) code: without fused multiply-add they are slow.

#![allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
#![allow(clippy::many_single_char_names, reason = "formulas are written as in their sources")]

/// `p[0] + p[1] x + p[2] x² + ..`
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut at = N - 1;
    let mut sum = coefficients[at];
    while at > 0 {
        at -= 1;
        sum = x.mul_add(sum, coefficients[at]);
    }
    sum
}

/// `x`, but at most `high`; NaN stays.
#[inline(always)]
pub(crate) fn at_most(x: f32, high: f32) -> f32 {
    if x > high { high } else { x }
}

/// `x`, but at least `low`; NaN stays.
#[inline(always)]
pub(crate) fn at_least(x: f32, low: f32) -> f32 {
    if x < low { low } else { x }
}

/// `eˣ` within 2 ulp; 0 below -103.97 (subnormal results are rounded twice) and infinity above 88.72.
///
/// `x = n ln 2 + r` with `|r| ≤ ln 2 / 2`, and `eʳ = 1 + r + r² p(r)` with `p` of degree 4.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let (e, n) = exp_parts(at_least(at_most(x, 89.0), -104.0));
    // 2ⁿ in two factors, since 2¹²⁸ and 2⁻¹⁵⁰ are no f32.
    let half = n >> 1;
    e * power_of_two(half) * power_of_two(n - half)
}

/// `eˣ` of an `x` that is not above 0, within 2 ulp; 0 below -86.6, where it is less than 2⁻¹²⁴. Half as long as [`exp`].
#[inline(always)]
pub(crate) fn exp_of_nonpositive(x: f32) -> f32 {
    const LEAST: f32 = -86.6;
    let (e, n) = exp_parts(at_least(x, LEAST));
    if x < LEAST { 0.0 } else { e * power_of_two(n) }
}

/// `eʳ` and `n`, with `x = n ln 2 + r`.
#[inline(always)]
fn exp_parts(x: f32) -> (f32, i32) {
    const LN_2_HIGH: f32 = 0.693_145_75;
    const LN_2_LOW: f32 = 1.428_606_8e-6;
    // Adding 1.5 · 2²³ rounds to an integer, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let p = polynomial(r, [0.499_999_93, 0.166_665_2, 0.041_668_393, 0.008_368_781, 0.001_381_446_4]);
    let e = p.mul_add(r * r, r) + 1.0;
    (e, shifted.to_bits().wrapping_sub(ROUND.to_bits()).cast_signed())
}

/// `2ⁿ` for `-126 ≤ n ≤ 127`.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23).cast_unsigned())
}

/// `1 / (1 + e⁻ˣ)` within 3 ulp.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `tanh x` within 3 ulp.
///
/// Below 0.625 `x + x³ p(x²)` with `p` of degree 4; above, `1 - 2 / (e²ˣ + 1)`.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let square = x * x;
    let p = polynomial(square, [-0.333_332_78, 0.133_313_29, -0.053_729_23, 0.020_602_008, -0.005_660_789]);
    // Minus zero stays.
    let near = (p * square).mul_add(x, x).copysign(x);
    let far = (1.0 - 2.0 / (exp(2.0 * x.abs()) + 1.0)).copysign(x);
    if x.abs() < 0.625 { near } else { far }
}

/// `ln x` within 2 ulp; minus infinity of zero, NaN of what is below.
///
/// `x = 2ⁿ m` with `m` from `√2 / 2` to `√2`, and `ln m = 2 artanh s = 2 s + s³ p(s²)` with `s = (m - 1) / (m + 1)`, `p`
/// being the power series, whose rest is below 2⁻³¹ of it.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    const LN_2_HIGH: f32 = 0.693_145_75;
    const LN_2_LOW: f32 = 1.428_606_8e-6;
    // Bits of √2 / 2, from which on a number counts to the next power of two.
    const ROOT: i32 = 0x3f35_04f3;
    let is_tiny = x < f32::MIN_POSITIVE;
    let bits = (if is_tiny { x * 8_388_608.0 } else { x }).to_bits().cast_signed();
    let n = bits.wrapping_sub(ROOT) >> 23;
    let m = f32::from_bits(bits.wrapping_sub(n << 23).cast_unsigned());
    #[allow(clippy::cast_precision_loss, reason = "an exponent")]
    let n = n as f32 - if is_tiny { 23.0 } else { 0.0 };
    let r = m - 1.0;
    let s = r / (m + 1.0);
    let square = s * s;
    let p = polynomial(square, [2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0]);
    // 2 s = r - s r, of which r is exact.
    let rest = s.mul_add(p * square, -(s * r));
    let sum = n.mul_add(LN_2_HIGH, r + n.mul_add(LN_2_LOW, rest));
    let ends = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    // Infinity and NaN are their own logarithms.
    let finite = if x < f32::INFINITY { sum } else { x };
    if x <= 0.0 { ends } else { finite }
}

/// `ln (1 + x)` within 4 ulp: the logarithm of the rounded sum, and what was lost over the sum.
#[inline(always)]
pub(crate) fn ln_1p(x: f32) -> f32 {
    let sum = 1.0 + x;
    let added = sum - 1.0;
    let lost = (x - added) / sum;
    let corrected = ln(sum) + lost;
    let is_plain = sum > 0.0 && sum < f32::INFINITY;
    let ends = if is_plain { corrected } else { ln(sum) };
    // Minus zero stays.
    if added == 0.0 { x } else { ends }
}

/// `erf z` for `0 ≤ z < 1`, and half of `erfc z` from there on.
///
/// Below 1 `erf z = z p(z²)` with `p` of degree 6; from 1 to 4.1 `erfc z = e^-q(z)` with `q` of degree 8; above, 0.
#[inline(always)]
fn erf_near_and_far(z: f32) -> (f32, f32) {
    let p = polynomial(
        z * z,
        [
            std::f32::consts::FRAC_2_SQRT_PI,
            -0.376_126_26,
            0.112_835_854,
            -0.026_853_812,
            0.005_188_327_7,
            -0.000_801_019_4,
            7.853_862e-5,
        ],
    );
    let q = polynomial(
        z,
        [
            -0.000_267_150_38,
            1.130_022_6,
            0.632_180_1,
            0.109_751_68,
            -0.026_236_895,
            0.004_695_461,
            -0.000_583_250_8,
            4.446_459e-5,
            -1.557_222_4e-6,
        ],
    );
    (p, if z > 4.1 { 0.0 } else { 0.5 * exp(-q) })
}

/// `erf x` within 2e-7.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let z = x.abs();
    let (p, tail) = erf_near_and_far(z);
    if z < 1.0 { x * p } else { (1.0 - (tail + tail)).copysign(x) }
}

/// The normal distribution's `Φ(x) = erfc(-x / √2) / 2` within 1.2e-7, and within 4e-6 of itself where it is small.
#[inline(always)]
fn normal_cdf(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let (p, tail) = erf_near_and_far(z);
    let near = (0.5 * p).mul_add(z.copysign(x), 0.5);
    let far = if x < 0.0 { tail } else { 1.0 - tail };
    if z < 1.0 { near } else { far }
}

/// `x Φ(x)`.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    // Minus infinity times zero is NaN in PyTorch too.
    x * normal_cdf(x)
}

/// `x Φ(x)` by PyTorch's tanh formula: `x / 2 (1 + tanh(√(2/π) (x + 0.044715 x³)))`.
#[inline(always)]
pub(crate) fn gelu_tanh(x: f32) -> f32 {
    // (1 + tanh y) / 2 is the logistic function of 2 y.
    const SCALE: f32 = 2.0 * 0.797_884_6;
    let inner = SCALE * (0.044_715 * x * x).mul_add(x, x);
    x * sigmoid(inner)
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "f32 is what is tested")]
mod tests {
    use super::*;

    /// Largest difference in units in the last place of the exact value, over an even grid.
    fn ulps(low: f64, high: f64, f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) -> f64 {
        const STEPS: u32 = 400_000;
        (0..=STEPS)
            .map(|i| {
                let x = (low + (high - low) * f64::from(i) / f64::from(STEPS)) as f32;
                let want = exact(f64::from(x));
                let unit = f64::from((want as f32).abs().max(f32::MIN_POSITIVE)).log2().floor() - 23.0;
                (f64::from(f(x)) - want).abs() / unit.exp2()
            })
            .fold(0.0, f64::max)
    }

    fn difference(low: f64, high: f64, f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) -> f64 {
        (0..=400_000)
            .map(|i| (low + (high - low) * f64::from(i) / 400_000.0) as f32)
            .map(|x| (f64::from(f(x)) - exact(f64::from(x))).abs() / f64::from(x).abs().max(1.0))
            .fold(0.0, f64::max)
    }

    /// Φ by libtorch in f64.
    fn cdf(x: f64) -> f64 {
        0.5 * tch::Tensor::from(-x * std::f64::consts::FRAC_1_SQRT_2).erfc().double_value(&[])
    }

    #[test]
    fn errors_are_as_stated() {
        for (name, limit, found) in [
            ("exp", 2.0, ulps(-87.0, 88.7, exp, f64::exp)),
            ("exp of nonpositive", 2.0, ulps(-86.5, 0.0, exp_of_nonpositive, f64::exp)),
            ("sigmoid", 3.0, ulps(-80.0, 80.0, sigmoid, |x| 1.0 / (1.0 + (-x).exp()))),
            ("tanh", 3.0, ulps(-10.0, 10.0, tanh, f64::tanh)),
            ("tanh near 0", 3.0, ulps(-0.7, 0.7, tanh, f64::tanh)),
            ("ln", 2.0, ulps(1e-3, 1e3, ln, f64::ln)),
            ("ln near 1", 2.0, ulps(0.5, 1.5, ln, f64::ln)),
            ("ln_1p", 4.0, ulps(-0.9, 10.0, ln_1p, f64::ln_1p)),
            ("ln_1p near 0", 4.0, ulps(-1e-3, 1e-3, ln_1p, f64::ln_1p)),
        ] {
            assert!(found <= limit, "{name}: {found} ulp");
        }
        let tanh_formula = |x: f64| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh());
        let found = difference(-12.0, 12.0, gelu_tanh, tanh_formula);
        assert!(found < 1.5e-7, "{found}");
    }

    #[test]
    fn gelu_is_as_exact_as_stated() {
        let mut largest: f64 = 0.0;
        for i in 0..=20_000 {
            let x = (f64::from(i) / 1000.0 - 10.0) as f32;
            let exact = f64::from(x) * cdf(f64::from(x));
            largest = largest.max((f64::from(gelu(x)) - exact).abs() / f64::from(x).abs().max(1.0));
        }
        assert!(largest < 1.2e-7, "{largest}");
    }

    #[test]
    fn borders() {
        assert_eq!((exp(0.0), exp(-200.0), exp(f32::NEG_INFINITY)), (1.0, 0.0, 0.0));
        assert_eq!((exp(89.0), exp(f32::INFINITY)), (f32::INFINITY, f32::INFINITY));
        assert_eq!((tanh(0.0), tanh(50.0), tanh(f32::NEG_INFINITY)), (0.0, 1.0, -1.0));
        assert!(tanh(-0.0).is_sign_negative());
        assert_eq!((sigmoid(0.0), sigmoid(f32::INFINITY), sigmoid(f32::NEG_INFINITY)), (0.5, 1.0, 0.0));
        assert_eq!((gelu(0.0), gelu(20.0), gelu(-20.0)), (0.0, 20.0, 0.0));
        assert_eq!((ln(1.0), ln(0.0), ln(f32::INFINITY)), (0.0, f32::NEG_INFINITY, f32::INFINITY));
        assert!(ln(-1.0).is_nan() && ln_1p(-1.5).is_nan());
        assert!((ln(1e-40) - 1e-40_f32.ln()).abs() < 1e-5);
        assert_eq!((ln_1p(-1.0), ln_1p(f32::INFINITY)), (f32::NEG_INFINITY, f32::INFINITY));
        assert!(ln_1p(-0.0).is_sign_negative() && erf(-0.0).is_sign_negative());
        assert_eq!((erf(0.0), erf(9.0), erf(f32::NEG_INFINITY)), (0.0, 1.0, -1.0));
        assert_eq!((exp_of_nonpositive(0.0), exp_of_nonpositive(-86.7)), (1.0, 0.0));
        assert_eq!((exp_of_nonpositive(-1e38), exp_of_nonpositive(f32::NEG_INFINITY)), (0.0, 0.0));
        for f in [exp, exp_of_nonpositive, ln, ln_1p, tanh, erf, sigmoid, gelu, gelu_tanh] {
            assert!(f(f32::NAN).is_nan());
        }
    }
}
