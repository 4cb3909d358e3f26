//! How far the program is, for `cargo fx` to show: a line a step on standard error, where that was asked for.
//!
//! ```text
//! fx-progress  TASK  DONE  TOTAL  0 or 1        between tabs; 1 where the task is over
//! ```

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::progress::{self, Progress};

/// The environment variable by which `cargo fx` asks.
const ASKED: &str = "FX_PROGRESS";

/// Steps in between are not told.
const INTERVAL: Duration = Duration::from_millis(50);

/// Begins to report, if somebody reads it.
pub(super) fn report() {
    if std::env::var_os(ASKED).is_none() {
        return;
    }
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    progress::observe(Some(Arc::new(move |step: Progress| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_border = step.done == 0 || step.is_over;
        if is_border || last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            *last = Some(Instant::now());
            let _ = writeln!(io::stderr(), "{}", line(step));
        }
    })));
}

fn line(step: Progress) -> String {
    format!("fx-progress\t{}\t{}\t{}\t{}", step.task, step.done, step.total, u8::from(step.is_over))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_step() {
        let step = Progress { task: "freeze", done: 3, total: 0, is_over: true };
        assert_eq!(line(step), "fx-progress\tfreeze\t3\t0\t1");
    }
}
