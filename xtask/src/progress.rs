//! How far a command is, for whoever watches: bars and spinners on a terminal, nothing where standard error is none.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Something that takes long; its line goes when it is dropped.
pub(crate) struct Progress(ProgressBar);

/// How often a spinner turns.
const TICK: Duration = Duration::from_millis(120);

const BAR: &str = "{msg} {wide_bar} {pos}/{len}  {elapsed}";
const SPINNER: &str = "{spinner} {msg}  {elapsed}";

impl Progress {
    /// Work of so many steps. Nothing is drawn in between, which could disturb what is measured.
    pub(crate) fn bar(what: impl Into<String>, steps: usize) -> Self {
        Self::styled(ProgressBar::new(steps as u64), what.into(), BAR)
    }

    /// Work whose steps nobody knows.
    pub(crate) fn spinner(what: impl Into<String>) -> Self {
        let spinner = Self::styled(ProgressBar::new_spinner(), what.into(), SPINNER);
        spinner.0.enable_steady_tick(TICK);
        spinner
    }

    fn styled(bar: ProgressBar, what: String, template: &str) -> Self {
        let bar = bar.with_message(what);
        // The templates are ours; were one wrong, the default would do.
        Self(match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        })
    }

    /// A step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// Prints a line above it.
    pub(crate) fn line(&self, line: &str) {
        self.0.suspend(|| eprintln!("{line}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressStyle;

    use super::{BAR, Progress, SPINNER};

    #[test]
    fn steps_are_counted() {
        let progress = Progress::bar("results", 3);
        progress.step();
        progress.step();
        let Progress(bar) = &progress;
        assert_eq!((bar.position(), bar.length(), bar.message().as_str()), (2, Some(3), "results"));
    }

    #[test]
    fn templates_are_templates() {
        for template in [BAR, SPINNER] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
