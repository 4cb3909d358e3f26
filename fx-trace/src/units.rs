//! Nanoseconds as the doubles that people and Python read.

/// Microseconds, rounded once: the double that Python makes of the decimal text.
pub(crate) fn microseconds(nanoseconds: i64) -> f64 {
    const EXACT: i64 = 1 << f64::MANTISSA_DIGITS;
    let (whole, rest) = (nanoseconds / 1000, nanoseconds % 1000);
    #[expect(clippy::cast_precision_loss, reason = "both are small enough to be exact, but for 300 years and more")]
    if nanoseconds.abs() < EXACT { nanoseconds as f64 / 1000.0 } else { whole as f64 + rest as f64 / 1000.0 }
}

/// A count or a number of nanoseconds as a double, for means.
#[expect(clippy::cast_precision_loss, reason = "means are approximate")]
pub(crate) fn double(count: i64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::microseconds;

    #[test]
    fn as_python_reads() {
        for text in
            ["1712195495519689.047", "0.001", "2413669096090.100", "-3.141", "9007199254740.993", "1661938466265032"]
        {
            let nanoseconds = text.parse::<f64>().map(|_| {
                let (whole, fraction) = text.split_once('.').unwrap_or((text, "000"));
                let digits: i64 = format!("{whole}{fraction}").parse().unwrap();
                digits
            });
            assert_eq!(microseconds(nanoseconds.unwrap()).to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
    }
}
