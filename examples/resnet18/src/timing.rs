//! How long contenders take, measured in turns.
//!
//! Each round gives every contender one untimed call, so that caches and thread pool are its own, and then a few timed
//! ones. A machine that drifts slows all contenders alike; the figure to quote is a ratio of medians, never a time alone.

use std::time::Instant;

/// Durations of the calls of one contender, in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// The middle duration; NaN without samples.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let (lower, upper) = (sorted.get(sorted.len().saturating_sub(1) / 2), sorted.get(sorted.len() / 2));
        lower.zip(upper).map_or(f64::NAN, |(lower, upper)| f64::midpoint(*lower, *upper))
    }

    /// The shortest duration; infinite without samples.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Times `contenders` for some rounds of some calls each.
pub fn in_turns<const N: usize>(rounds: usize, calls: usize, contenders: [&dyn Fn(); N]) -> [Samples; N] {
    let mut samples = [const { Samples(Vec::new()) }; N];
    for _ in 0..rounds {
        for (contender, samples) in contenders.iter().zip(&mut samples) {
            contender();
            samples.0.extend((0..calls).map(|_| milliseconds(contender)));
        }
    }
    samples
}

fn milliseconds(call: &dyn Fn()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn median_and_minimum() {
        assert!((Samples(vec![3.0, 1.0, 2.0]).median() - 2.0).abs() < 1e-12);
        assert!((Samples(vec![4.0, 1.0, 2.0, 3.0]).median() - 2.5).abs() < 1e-12);
        assert!((Samples(vec![4.0, 1.0]).min() - 1.0).abs() < 1e-12);
        assert!(Samples::default().median().is_nan());
    }

    #[test]
    fn the_first_call_of_a_turn_is_not_timed() {
        let calls = Cell::new(0);
        let [samples] = in_turns(2, 3, [&|| calls.set(calls.get() + 1)]);
        assert_eq!((calls.get(), samples.0.len()), (8, 6));
    }
}
