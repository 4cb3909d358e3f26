//! Welch's test of whether the means of two samples differ, whose variances may differ too.

/// The two-sided p-value; `None` for samples of fewer than two values.
pub(super) fn p_value(control: &[f64], test: &[f64]) -> Option<f64> {
    let (t, freedom) = statistic(control, test)?;
    Some(two_sided(t, freedom))
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "no trace has 2^53 iterations")]
pub(super) fn double(count: usize) -> f64 {
    count as f64
}

/// The mean, and the unbiased variance of two values or more.
pub(super) fn mean_and_variance(values: &[f64]) -> (f64, Option<f64>) {
    let count = double(values.len());
    let mean = if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / count };
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| squares / (count - 1.0)))
}

/// Welch's t and the degrees of freedom by Welch and Satterthwaite.
fn statistic(control: &[f64], test: &[f64]) -> Option<(f64, f64)> {
    let error = |values: &[f64]| {
        let (mean, variance) = mean_and_variance(values);
        Some((mean, variance? / double(values.len()), double(values.len()) - 1.0))
    };
    let (control_mean, control_error, control_freedom) = error(control)?;
    let (test_mean, test_error, test_freedom) = error(test)?;
    let (difference, both) = (test_mean - control_mean, control_error + test_error);
    if both <= 0.0 {
        // Two constants: the same, or different beyond doubt.
        return Some((if difference == 0.0 { 0.0 } else { f64::INFINITY }, 1.0));
    }
    let freedom = both.powi(2) / (control_error.powi(2) / control_freedom + test_error.powi(2) / test_freedom);
    Some((difference / both.sqrt(), freedom))
}

/// The probability of a |t| as large: the regularised incomplete beta function of n/2 and 1/2 at n / (n + t²).
fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5).clamp(0.0, 1.0)
}

/// The regularised incomplete beta function, by its continued fraction where that converges fast (DLMF 8.17.22), and by the symmetry elsewhere.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    front * continued_fraction(x, a, b)
}

/// 1 / (1 + d1 / (1 + d2 / (1 + ..))): the denominator from the front, by the method of Lentz.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TERMS: u32 = 500;
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut upper, mut lower) = (1.0, 1.0, 0.0);
    for term in 1..=TERMS {
        let half = f64::from(term / 2);
        let part = if term % 2 == 0 {
            half * (b - half) * x / ((a + 2.0 * half - 1.0) * (a + 2.0 * half))
        } else {
            -(a + half) * (a + b + half) * x / ((a + 2.0 * half) * (a + 2.0 * half + 1.0))
        };
        lower = 1.0 / nonzero(1.0 + part * lower);
        upper = nonzero(1.0 + part / upper);
        value *= upper * lower;
        if (upper * lower - 1.0).abs() < 1e-15 {
            break;
        }
    }
    1.0 / value
}

/// The logarithm of the gamma function of a positive number: Stirling's series (DLMF 5.11.1) above 10, and the recurrence
/// below.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let inverse = 1.0 / (x * x);
    let series =
        1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0 - inverse / 1188.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series / x
}

#[cfg(test)]
mod tests {
    use super::{p_value, statistic};

    /// `tests/hta/goldens/welch.csv`, made by scipy.
    #[test]
    fn as_scipy() {
        let goldens = include_str!("../../tests/hta/goldens/welch.csv");
        let mut cases = 0;
        for line in goldens.lines().skip(1) {
            let columns: Vec<Vec<f64>> =
                line.split(',').map(|column| column.split(' ').map(|value| value.parse().unwrap()).collect()).collect();
            let [control, test, t, p] = columns.as_slice() else { panic!("{line}") };
            let close = |ours: f64, theirs: f64| (ours - theirs).abs() <= 1e-10 * theirs.abs();
            let (ours, _) = statistic(control, test).unwrap();
            assert!(close(ours, t[0]), "t is {ours}: {line}");
            let ours = p_value(control, test).unwrap();
            assert!(close(ours, p[0]), "p is {ours}: {line}");
            cases += 1;
        }
        assert_eq!(cases, 6);
    }

    #[test]
    fn constants_and_single_values() {
        assert_eq!(p_value(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(p_value(&[], &[]), None);
        assert_eq!(p_value(&[2.0, 2.0], &[2.0, 2.0]), Some(1.0));
        assert_eq!(p_value(&[2.0, 2.0], &[3.0, 3.0]), Some(0.0));
    }
}
