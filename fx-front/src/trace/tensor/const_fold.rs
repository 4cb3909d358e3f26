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
