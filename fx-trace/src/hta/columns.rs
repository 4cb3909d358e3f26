//! The columns that HTA computes for each event: its rounded duration, and its iteration.

use std::collections::HashMap;

use crate::event::Event;
use crate::trace::Trace;
use crate::units::microseconds;

/// The computed columns of a trace.
pub(super) struct Columns {
    /// One for each event.
    pub(super) rows: Vec<Row>,
    /// Whether pandas holds durations as floats, which shows in what it prints.
    pub(super) durations_are_float: bool,
}

/// The computed columns of an event.
pub(super) struct Row {
    /// In nanoseconds; of whole microseconds where HTA rounds.
    pub(super) duration: i64,
    /// The `N` of the `ProfilerStep#N` that it belongs to.
    pub(super) iteration: Option<i64>,
}

pub(super) fn columns(trace: &Trace) -> Columns {
    let numbers = trace.metadata.numbers;
    let rounds = numbers.fractional_begins || numbers.absent_begins;
    let times: Vec<Times> = trace.events.iter().map(|event| Times::of(event, rounds)).collect();
    let iterations = iterations(trace, &times);
    let rows = times.iter().zip(iterations).map(|(times, iteration)| Row { duration: times.duration, iteration });
    let absent = numbers.absent_durations || (rounds && numbers.absent_begins);
    Columns { rows: rows.collect(), durations_are_float: absent || (!rounds && numbers.fractional_durations) }
}

/// Begin and end in microseconds, as doubles; the duration in nanoseconds.
struct Times {
    begin: f64,
    end: f64,
    duration: i64,
}

impl Times {
    /// Where one time of the trace has decimals, each begin is rounded up and each end down. What lies between two whole
    /// microseconds then ends before it begins.
    fn of(event: &Event, rounds: bool) -> Self {
        let begin = microseconds(event.begin);
        let end = begin + microseconds(event.duration);
        if !rounds {
            return Self { begin, end, duration: event.duration };
        }
        let (begin, end) = (begin.ceil(), end.floor());
        #[expect(clippy::cast_possible_truncation, reason = "a difference of two times of a trace")]
        Self { begin, end, duration: (end - begin) as i64 * 1000 }
    }
}

/// CPU events belong to the step during which they begin, events on streams above 0 to that of the event that they are
/// linked to, CPU operators on stream 0 again to the step of their time, and all others to none.
fn iterations(trace: &Trace, times: &[Times]) -> Vec<Option<i64>> {
    let steps: Vec<(f64, f64, i64)> = trace
        .events
        .iter()
        .zip(times)
        .filter_map(|(event, times)| Some((times.begin, times.end, step_number(trace.name(event))?)))
        .collect();
    let by_time = |begin: f64| {
        // Of steps that overlap the last in the file counts.
        steps.iter().rev().find(|(from, to, _)| *from <= begin && begin < *to).map(|(_, _, number)| *number)
    };
    let cpu_op = trace.symbols.find("cpu_op");
    let own: Vec<Option<i64>> = trace
        .events
        .iter()
        .zip(times)
        .map(|(event, times)| {
            let is_timed = event.stream < 0 || (event.stream == 0 && Some(event.category) == cpu_op);
            is_timed.then(|| by_time(times.begin)).flatten()
        })
        .collect();
    let launches = launches(trace);
    let of = |(position, event): (usize, &Event)| match event.stream {
        1.. => *own.get(*launches.get(&event.correlation)?)?,
        _ => own.get(position).copied().flatten(),
    };
    trace.events.iter().enumerate().map(of).collect()
}

/// The position of the last CPU event for each correlation, as kernels see it.
fn launches(trace: &Trace) -> HashMap<i64, usize> {
    let sync: Vec<_> = ["Event Sync", "Context Sync"].iter().filter_map(|name| trace.symbols.find(name)).collect();
    let is_gpu = |event: &Event| (event.stream >= 0 && event.correlation >= 0) || sync.contains(&event.name);
    let cpu = trace.events.iter().enumerate().filter(|(_, event)| event.correlation != -1 && !is_gpu(event));
    let launches: HashMap<i64, usize> = cpu.map(|(position, event)| (event.correlation, position)).collect();
    // A link to the event of number 0 cannot be told from none.
    let is_seen = |position: usize| trace.events.get(position).is_some_and(|event| event.index > 0);
    launches.into_iter().filter(|(_, position)| is_seen(*position)).collect()
}

/// The number of a `ProfilerStep#N`, with or without spaces.
fn step_number(name: &str) -> Option<i64> {
    let rest = name.strip_prefix("ProfilerStep")?.trim_start().strip_prefix('#')?.trim_start();
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
    digits.parse().ok()
}
