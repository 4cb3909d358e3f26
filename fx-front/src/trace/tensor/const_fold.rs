//! Arithmetic on floats that are written out: what IEEE 754 says to the last bit, on every machine, is known when it is
//! traced. `(2.0_f64).sqrt()` is a number then, by which a rule can know a formula.

use fx_ir::Arg;

use crate::trace::{Ty, Val};

/// The operator on two numbers of which at least one says that it is an `f64`.
pub(in crate::trace) fn folded(sign: &str, left: &Val, right: &Val) -> Option<Val> {
    let (a, b) = (float(left)?, float(right)?);
    (is_double(left) || is_double(right)).then_some(())?;
    double(match sign {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        _ => return None,
    })
}

/// The square root.
pub(in crate::trace) fn sqrt(value: &Val) -> Option<Val> {
    double(float(value)?.sqrt()).filter(|_| is_double(value))
}

/// A constant of the standard library's.
pub(in crate::trace) fn constant(path: &str) -> Option<Val> {
    use std::f64::consts;
    let (module, name) = path.trim_start_matches("::").rsplit_once("::")?;
    if !matches!(module, "std::f64::consts" | "core::f64::consts" | "f64::consts") {
        return None;
    }
    double(match name {
        "PI" => consts::PI,
        "TAU" => consts::TAU,
        "E" => consts::E,
        "LN_2" => consts::LN_2,
        "LN_10" => consts::LN_10,
        "SQRT_2" => consts::SQRT_2,
        "FRAC_1_SQRT_2" => consts::FRAC_1_SQRT_2,
        "FRAC_1_PI" => consts::FRAC_1_PI,
        "FRAC_2_PI" => consts::FRAC_2_PI,
        "FRAC_2_SQRT_PI" => consts::FRAC_2_SQRT_PI,
        "FRAC_PI_2" => consts::FRAC_PI_2,
        _ => return None,
    })
}

/// A number of sixteen bits of the crate `half`, as the method of that name makes it: `half::f16::MAX.to_f64()`.
pub(in crate::trace) fn half(path: &str, method: &str) -> Option<Val> {
    let ty = method.strip_prefix("to_").filter(|ty| matches!(*ty, "f64" | "f32"))?;
    let (of, name) = path.trim_start_matches("::").strip_prefix("half::")?.split_once("::")?;
    // The largest number, the smallest normal one, and the distance of the next one from 1.
    let [max, min_positive, epsilon] = match of {
        "f16" => [65504.0, f64::powi(2.0, -14), f64::powi(2.0, -10)],
        "bf16" => [f64::powi(2.0, 128) - f64::powi(2.0, 120), f64::powi(2.0, -126), f64::powi(2.0, -7)],
        _ => return None,
    };
    let number = match name {
        "MAX" => max,
        "MIN" => -max,
        "MIN_POSITIVE" => min_positive,
        "EPSILON" => epsilon,
        _ => return None,
    };
    Some(Val::Lit(Arg::Float(number), Ty::Rust(ty.to_owned())))
}

fn float(value: &Val) -> Option<f64> {
    match value {
        Val::Lit(Arg::Float(number), Ty::Rust(name)) if name == "f64" || name == "float" => Some(*number),
        _ => None,
    }
}

fn is_double(value: &Val) -> bool {
    matches!(value, Val::Lit(_, Ty::Rust(name)) if name == "f64")
}

fn double(number: f64) -> Option<Val> {
    number.is_finite().then(|| Val::Lit(Arg::Float(number), Ty::Rust("f64".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::half;
    use crate::trace::Val;
    use fx_ir::Arg;

    #[test]
    fn numbers_of_sixteen_bits() {
        let number = |path: &str| match half(path, "to_f64") {
            Some(Val::Lit(Arg::Float(number), _)) => number,
            other => panic!("{other:?}"),
        };
        assert!((number("half::f16::MAX") - 65504.0).abs() < f64::EPSILON);
        // The upper half of a float of 32 bits.
        let wide = |bits: u32| f64::from(f32::from_bits(bits << 16));
        for (name, bits) in [("MAX", 0x7f7f), ("MIN", 0xff7f), ("MIN_POSITIVE", 0x0080), ("EPSILON", 0x3c00)] {
            assert!((number(&format!("::half::bf16::{name}")) / wide(bits) - 1.0).abs() < f64::EPSILON, "{name}");
        }
        assert!(half("half::f16::MAX", "to_string").is_none() && half("other::f16::MAX", "to_f64").is_none());
    }
}
