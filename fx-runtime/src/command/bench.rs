//! Live against frozen, in turns: a machine that drifts slows both alike.

use std::fmt;
use std::time::Instant;

use serde_json::{Value as Json, json};

use crate::Result;
use crate::progress::Task;

/// Times of the two, in milliseconds, each sorted.
pub(super) struct Bench {
    pub(super) live: Vec<f64>,
    pub(super) frozen: Vec<f64>,
}

impl Bench {
    /// In each round both make a call that is not timed, and then some that are.
    pub(super) fn measured(
        (rounds, calls): (usize, usize),
        live: &dyn Fn() -> Result<()>,
        frozen: &dyn Fn() -> Result<()>,
    ) -> Result<Bench> {
        let mut bench = Bench { live: Vec::new(), frozen: Vec::new() };
        let mut task = Task::begin("bench", rounds.max(1));
        for _ in 0..rounds.max(1) {
            for (call, times) in [(live, &mut bench.live), (frozen, &mut bench.frozen)] {
                call()?;
                for _ in 0..calls.max(1) {
                    let begin = Instant::now();
                    call()?;
                    times.push(begin.elapsed().as_secs_f64() * 1e3);
                }
            }
            task.step();
        }
        bench.live.sort_by(f64::total_cmp);
        bench.frozen.sort_by(f64::total_cmp);
        Ok(bench)
    }

    pub(super) fn json(&self) -> Json {
        let side = |times: &[f64]| {
            let [median, minimum, lower, upper] = figures(times);
            json!({ "median": median, "minimum": minimum, "lower_quartile": lower, "upper_quartile": upper, "all": times })
        };
        json!({
            "unit": "ms",
            "live": side(&self.live),
            "frozen": side(&self.frozen),
            "speedup": figures(&self.live)[0] / figures(&self.frozen)[0],
        })
    }
}

/// The median, the minimum and the quartiles of sorted times.
fn figures(sorted: &[f64]) -> [f64; 4] {
    let at = |quarter: usize| sorted.get((sorted.len().saturating_sub(1)) * quarter / 4).copied().unwrap_or(f64::NAN);
    [at(2), at(0), at(1), at(3)]
}

impl fmt::Display for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:8}{:>12}{:>12}{:>24}", "", "median", "minimum", "half of all within")?;
        for (name, times) in [("live", &self.live), ("frozen", &self.frozen)] {
            let [median, minimum, lower, upper] = figures(times);
            let within = format!("{lower:.3} to {upper:.3} ms");
            writeln!(f, "{name:8}{median:>9.3} ms{minimum:>9.3} ms{within:>24}")?;
        }
        let ratio = figures(&self.live)[0] / figures(&self.frozen)[0];
        writeln!(f, "frozen is {ratio:.2} times as fast, by the medians of {} calls each", self.live.len())
    }
}
