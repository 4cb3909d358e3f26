//! Times: decimal microseconds of JSON as whole nanoseconds.
//!
//! A double has 53 bits, which for microseconds since 1970 leaves steps of a quarter of a microsecond; so the digits are
//! read as they are written.

/// A number of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    /// A thousandth of the number's unit, rounded to the nearest.
    pub(super) nanoseconds: i64,
    /// Whether it is written with a point or an exponent, so that Python reads a float.
    pub(super) is_fractional: bool,
}

/// Reads the text of a JSON number; `None` where it is none, or too large for nanoseconds in 64 bits.
pub(super) fn parse(text: &str) -> Option<Time> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if digits.contains(['e', 'E']) {
        return exponent(text);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() {
        return None;
    }
    let mut value = number(whole)?.checked_mul(1000)?;
    let mut unit = 100;
    for digit in fraction.bytes().take(3) {
        value = value.checked_add(i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?) * unit)?;
        unit /= 10;
    }
    if fraction.as_bytes().get(3).is_some_and(|digit| *digit >= b'5') {
        value = value.checked_add(1)?;
    }
    let is_fractional = digits.len() != whole.len();
    Some(Time { nanoseconds: if negative { -value } else { value }, is_fractional })
}

fn number(digits: &str) -> Option<i64> {
    digits.bytes().try_fold(0_i64, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(i64::from(digit))
    })
}

/// Numbers like `1.5e6`, which no profiler is known to write for times.
fn exponent(text: &str) -> Option<Time> {
    let nanoseconds = (text.parse::<f64>().ok()? * 1000.0).round();
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (nanoseconds.abs() < 9.0e18).then_some(Time { nanoseconds: nanoseconds as i64, is_fractional: true })
}

#[cfg(test)]
mod tests {
    use super::{Time, parse};

    #[track_caller]
    fn is(text: &str, nanoseconds: i64, is_fractional: bool) {
        assert_eq!(parse(text), Some(Time { nanoseconds, is_fractional }), "{text}");
    }

    #[test]
    fn digits_are_kept() {
        is("0", 0, false);
        is("25", 25_000, false);
        is("1712195495519689.047", 1_712_195_495_519_689_047, true);
        is("-3.5", -3500, true);
        is("1.0", 1000, true);
        is("0.0005", 1, true);
        is("0.00049", 0, true);
        is("1.5e3", 1_500_000, true);
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", "-", ".5", "abc", "1.x", "\"5\"", "9999999999999999999", "null", "[1]"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
