//! What came of a model, and the table of all.

use serde::Serialize;

/// The largest difference that is no wrong number: what summing f32 in another order may leave in a deep model, as a share of
/// the largest number of a tensor.
const TOLERANCE: f64 = 1e-4;

/// One model.
#[derive(Debug, Default, Serialize)]
pub(super) struct Row {
    pub(super) krate: String,
    pub(super) model: String,
    /// The first line of what went wrong first.
    pub(super) error: Option<String>,
    /// Operations that are understood, of all.
    pub(super) understood: Option<(usize, usize)>,
    /// Why the others are not, each with its place.
    pub(super) opaque: Vec<String>,
    /// The largest difference from eager, as a share.
    pub(super) difference: Option<f64>,
    /// The same of the saved and loaded model from the frozen one.
    pub(super) loaded: Option<f64>,
    /// By the number of threads.
    pub(super) times: Vec<Times>,
}

/// Times of a call in milliseconds, as minimum and median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Times {
    pub(super) threads: usize,
    pub(super) eager: (f64, f64),
    pub(super) frozen: (f64, f64),
}

impl Row {
    /// Keeps what went wrong first.
    pub(super) fn fail(&mut self, said: &str) {
        let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it fails");
        self.error.get_or_insert_with(|| line.to_owned());
    }

    /// What a program tells of it, when it runs on that many threads.
    pub(super) fn told(&mut self, threads: usize, output: &str) {
        let (mut running, mut eager) = (None, None);
        for line in output.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let pair = || {
                let (least, median) = rest.split_once(' ')?;
                Some((least.parse().ok()?, median.parse().ok()?))
            };
            match word {
                "begins" => running = Some(rest.to_owned()),
                "ends" => running = None,
                "fails" => {
                    running = None;
                    self.fail(rest);
                }
                "difference" => self.difference = worse(self.difference, rest),
                "loaded" => self.loaded = worse(self.loaded, rest),
                "eager" => eager = pair(),
                "frozen" => {
                    let times = eager.zip(pair()).map(|(eager, frozen)| Times { threads, eager, frozen });
                    self.times.extend(times);
                }
                _ => {}
            }
        }
        if let Some(step) = running {
            self.fail(&format!("the program ends while it should {step}"));
        }
        if let Some(found) = self.difference.filter(|found| *found > TOLERANCE) {
            self.fail(&format!("other numbers: {found:.1e} of the largest apart"));
        }
        if let Some(found) = self.loaded.filter(|found| *found > TOLERANCE) {
            self.fail(&format!("other numbers once saved and loaded: {found:.1e} of the largest apart"));
        }
    }

    fn cells(&self) -> [String; 8] {
        let share = |(known, all): (usize, usize)| {
            if all == 0 { "-".to_owned() } else { format!("{} of {}, {} %", known, all, 1000 * known / all / 10) }
        };
        let number = |found: Option<f64>| found.map_or_else(|| "-".to_owned(), |found| format!("{found:.0e}"));
        [
            self.krate.clone(),
            self.model.clone(),
            self.understood.map_or_else(|| "-".to_owned(), share),
            number(self.difference),
            number(self.loaded),
            self.time(1),
            self.time(2),
            self.error.clone().unwrap_or_default(),
        ]
    }

    /// Minima, and their ratio: how many times as fast frozen is.
    fn time(&self, threads: usize) -> String {
        let times = self.times.iter().find(|times| times.threads == threads);
        times.map_or_else(
            || "-".to_owned(),
            |times| {
                let (eager, frozen) = (times.eager.0, times.frozen.0);
                format!("{eager:.2} → {frozen:.2} ({:.2})", eager / frozen)
            },
        )
    }
}

/// The larger of two differences, since one of two runs may be wrong.
fn worse(known: Option<f64>, told: &str) -> Option<f64> {
    let told = told.parse::<f64>().ok()?;
    Some(known.map_or(told, |known| known.max(told)))
}

const HEAD: [&str; 8] =
    ["crate", "model", "understood", "difference", "loaded", "1 thread, ms", "2 threads, ms", "what went wrong"];

/// All rows in columns, as Markdown has them.
pub(super) fn table(rows: &[Row]) -> String {
    let cells: Vec<[String; 8]> = rows.iter().map(|row| row.cells().map(|cell| cell.replace('|', "\\|"))).collect();
    let head = HEAD.map(str::to_owned);
    let widths: [usize; 8] = std::array::from_fn(|at| {
        cells.iter().chain([&head]).map(|row| row[at].chars().count()).max().unwrap_or_default()
    });
    let line = |row: &[String; 8]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", padded.collect::<String>())
    };
    let rule: String = widths.map(|width| format!("{}|", "-".repeat(width + 2))).concat();
    let body: String = cells.iter().map(line).collect();
    format!("{}|{rule}\n{body}", line(&head))
}

#[cfg(test)]
mod tests {
    use super::{Row, Times, table};

    #[test]
    fn what_a_program_tells() {
        let mut row = Row { krate: "nets".to_owned(), model: "Net".to_owned(), ..Row::default() };
        row.told(1, "begins freeze\nends freeze\ndifference 2e-7\nloaded 0e0\neager 2 2.5\nfrozen 1 1.5\n");
        assert_eq!(row.times, [Times { threads: 1, eager: (2.0, 2.5), frozen: (1.0, 1.5) }]);
        assert_eq!((row.difference, row.loaded, &row.error), (Some(2e-7), Some(0.0), &None));
        row.understood = Some((199, 200));
        let text = table(std::slice::from_ref(&row));
        assert!(text.contains("| nets  | Net   | 199 of 200, 99 % | 2e-7 "), "{text}");
        assert!(text.contains("| 2.00 → 1.00 (2.00) |"), "{text}");
        row.told(2, "begins run frozen\n");
        assert_eq!(row.error.as_deref(), Some("the program ends while it should run frozen"));
    }

    #[test]
    fn wrong_numbers_are_errors() {
        for told in ["difference 2e-3", "loaded inf"] {
            let mut row = Row::default();
            row.told(1, told);
            assert!(row.error.is_some_and(|error| error.contains("other numbers")), "{told}");
        }
        let mut row = Row::default();
        row.told(1, "fails freeze: `a` cannot be copied\nfails time: later");
        assert_eq!(row.error.as_deref(), Some("freeze: `a` cannot be copied"));
    }
}
