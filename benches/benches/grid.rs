//! Blocks over a grid of sizes, frozen against eager in turns: `cargo bench -p fx-benches --bench grid -- attention`.
//!
//! An argument names the cases that run, a part of the name is enough; `--threads 1` is the number of threads of libtorch.

use fx_benches::grid::{Case, cases};

/// Rounds of some calls each, in turns.
const ROUNDS: usize = 25;
/// A ratio below this is a case in which freezing costs time.
const LEAST: f64 = 0.97;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let threads = arguments.iter().position(|argument| argument == "--threads").map(|at| &arguments[at + 1]);
    if let Some(threads) = threads {
        tch::set_num_threads(threads.parse().expect("a number of threads"));
    }
    let wanted: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--") && Some(*argument) != threads).collect();
    println!("{:32} {:>10} {:>10} {:>8} {:>8}", "case (us, minima)", "eager", "frozen", "minima", "medians");
    let mut slower = 0;
    for case in cases() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| case.name.contains(wanted.as_str())) {
            continue;
        }
        let [eager, frozen] = case.time(ROUNDS).expect("a block that freezes");
        let (by_minimum, by_median) = (eager.min() / frozen.min(), eager.median() / frozen.median());
        let is_slower = by_minimum < LEAST && by_median < LEAST;
        slower += usize::from(is_slower);
        println!(
            "{:32} {:10.1} {:10.1} {by_minimum:8.2} {by_median:8.2}{}",
            case.name,
            microseconds(eager.min()),
            microseconds(frozen.min()),
            if is_slower { "  slower" } else { "" }
        );
    }
    println!("slower than eager: {slower}");
}

/// The time of one call, of milliseconds for some.
#[allow(clippy::cast_precision_loss, reason = "a small number")]
fn microseconds(together: f64) -> f64 {
    together * 1e3 / Case::TOGETHER as f64
}
