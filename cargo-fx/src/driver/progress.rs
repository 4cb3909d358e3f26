//! What a model's program says on standard error: how far it is, shown as a bar, and everything else as it is.
//!
//! The lines of progress are those that fx-runtime writes (its `command/progress.rs`).

use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The environment variable by which the program is asked for progress.
pub(super) const ASKED: &str = "FX_PROGRESS";

/// A task that is over sooner is not shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// A step of a task.
#[derive(Debug, PartialEq, Eq)]
struct Step<'l> {
    task: &'l str,
    done: u64,
    /// 0 where it is not known.
    total: u64,
    is_over: bool,
}

/// Shows what comes until it ends; other lines go to standard error.
pub(super) fn show(from: impl Read) {
    let mut shown = Shown { task: String::new(), since: Instant::now(), bar: None };
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match step(&line) {
            Some(step) => shown.take(&step),
            None => shown.print(&line),
        }
    }
    shown.clear();
}

fn step(line: &str) -> Option<Step<'_>> {
    let mut fields = line.strip_prefix("fx-progress\t")?.split('\t');
    let task = fields.next()?;
    let (done, total) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Step { task, done, total, is_over: fields.next()? == "1" })
}

/// The task that goes on.
struct Shown {
    task: String,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Shown {
    fn take(&mut self, step: &Step<'_>) {
        if step.is_over || step.task != self.task {
            self.clear();
            (self.task, self.since) = (step.task.to_owned(), Instant::now());
        }
        if !step.is_over && (self.bar.is_some() || self.since.elapsed() >= PATIENCE) {
            self.bar.get_or_insert_with(|| bar(step)).set_position(step.done);
        }
    }

    fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(step: &Step<'_>) -> ProgressBar {
    let (bar, template) = match step.total {
        0 => (ProgressBar::new_spinner(), "{spinner} {msg}: {pos}  {elapsed}"),
        total => (ProgressBar::new(total), "{msg} {wide_bar} {pos}/{len}  {elapsed}"),
    };
    let bar = bar.with_message(step.task.to_owned());
    // The template is ours; were it wrong, the default would do.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::{Step, step};

    #[test]
    fn lines_of_progress_and_others() {
        let profile = Step { task: "profile", done: 3, total: 13, is_over: false };
        assert_eq!(step("fx-progress\tprofile\t3\t13\t0"), Some(profile));
        assert!(step("fx-progress\tfreeze\t3\t0\t1").is_some_and(|step| step.is_over));
        for line in ["warning: fx-progress", "fx-progress\tprofile\tmany\t3\t0", ""] {
            assert_eq!(step(line), None, "{line}");
        }
    }
}
