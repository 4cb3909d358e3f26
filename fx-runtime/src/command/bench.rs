//! Live against frozen, in turns: a machine that drifts slows both alike.

use std::fmt;
use std::time::Instant;

use serde::Serialize;
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
        let [live, frozen] = [&self.live, &self.frozen].map(|times| Figures::of(times));
        json!({ "unit": "ms", "live": live, "frozen": frozen, "speedup": live.median / frozen.median })
    }
}

/// What the times of one of the two come to, in milliseconds, as an answer in JSON has it.
#[derive(Serialize)]
struct Figures<'t> {
    median: f64,
    minimum: f64,
    lower_quartile: f64,
    upper_quartile: f64,
    /// The times themselves, sorted.
    all: &'t [f64],
}

impl Figures<'_> {
    fn of(sorted: &[f64]) -> Figures<'_> {
        let last = sorted.len().saturating_sub(1);
        let at = |quarter: usize| sorted.get(last * quarter / 4).copied().unwrap_or(f64::NAN);
        Figures { median: at(2), minimum: at(0), lower_quartile: at(1), upper_quartile: at(3), all: sorted }
    }
}

impl fmt::Display for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:8}{:>12}{:>12}{:>24}", "", "median", "minimum", "half of all within")?;
        for (name, times) in [("live", &self.live), ("frozen", &self.frozen)] {
            let Figures { median, minimum, lower_quartile, upper_quartile, .. } = Figures::of(times);
            let within = format!("{lower_quartile:.3} to {upper_quartile:.3} ms");
            writeln!(f, "{name:8}{median:>9.3} ms{minimum:>9.3} ms{within:>24}")?;
        }
        let ratio = Figures::of(&self.live).median / Figures::of(&self.frozen).median;
        writeln!(f, "frozen is {ratio:.2} times as fast, by the medians of {} calls each", self.live.len())
    }
}
