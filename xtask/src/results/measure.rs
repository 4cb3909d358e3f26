//! One workload: all contenders are started, and then take turns.

use super::Options;
use super::contender::{Command, Contender};
use super::record::{Outcome, Row};
use super::workload::Workload;

/// Measures all contenders; one that fails is named, and the others go on.
pub(super) fn workload(workload: &Workload, commands: &[Command], options: &Options) -> Row {
    let mut running: Vec<(Outcome, Option<Running>)> = Vec::new();
    for command in commands {
        let mut outcome = Outcome { name: command.name.clone(), ..Outcome::default() };
        let started = Running::start(command, workload, options, &mut outcome);
        let started = note(&mut outcome, started);
        running.push((outcome, started));
    }
    for round in 0..options.rounds {
        let count = running.len().max(1);
        // Each round begins with another one, so that nobody always follows the same.
        for turn in 0..running.len() {
            let (outcome, contender) = &mut running[(round + turn) % count];
            let Some(started) = contender else { continue };
            match started.contender.run(started.calls) {
                Ok(times) => outcome.times_ms.extend(times),
                Err(reason) => {
                    outcome.failed = Some(reason);
                    *contender = None;
                }
            }
        }
    }
    let contenders = running.into_iter().map(|(mut outcome, contender)| {
        outcome.peak_mib = contender.and_then(|started| started.contender.peak_mib());
        outcome
    });
    Row { workload: workload.to_string(), contenders: contenders.collect() }
}

struct Running {
    contender: Contender,
    /// Calls in a turn.
    calls: usize,
}

impl Running {
    fn start(command: &Command, workload: &Workload, options: &Options, outcome: &mut Outcome) -> Result<Self, String> {
        let mut contender = command.start(workload, &options.device)?;
        outcome.versions = contender.versions();
        let (values, first) = contender.check()?;
        outcome.values = values;
        outcome.ready_s = contender.prepared_ms() / 1e3 + first.as_secs_f64();
        contender.forget_peak();
        let trial = contender.run(1)?;
        let one = trial.first().copied().unwrap_or(1.0).max(1e-3) / 1e3;
        let calls = calls_in_a_turn(options.calls, options.seconds, options.rounds, one);
        Ok(Self { contender, calls })
    }
}

/// As many calls as were asked for, fewer where the time does not suffice, but one. Every turn has an untimed call.
pub(super) fn calls_in_a_turn(asked: usize, seconds: f64, rounds: usize, one_call: f64) -> usize {
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    let turn = seconds / rounds.max(1) as f64;
    let affordable = (1..=asked.max(1)).rev().find(|&calls| {
        #[expect(clippy::cast_precision_loss, reason = "a few calls")]
        let needed = (calls + 1) as f64 * one_call;
        needed <= turn
    });
    affordable.unwrap_or(1)
}

fn note(outcome: &mut Outcome, started: Result<Running, String>) -> Option<Running> {
    match started {
        Ok(started) => Some(started),
        Err(reason) => {
            eprintln!("results:   {} failed: {reason}", outcome.name);
            outcome.failed = Some(reason);
            None
        }
    }
}
