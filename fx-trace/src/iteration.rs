//! Iterations of a program: what the profiler marks by `ProfilerStep#N`.

use crate::event::{Device, Event};
use crate::trace::Trace;

/// How the profiler's marks begin.
pub(crate) const STEP: &str = "ProfilerStep#";

/// One iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// The `N` of `ProfilerStep#N`.
    pub number: i64,
    /// Begin, in nanoseconds.
    pub begin: i64,
    /// End, in nanoseconds.
    pub end: i64,
}

impl Trace {
    /// The iterations in the order of their time, by the marks on the CPU: those on the GPU only follow.
    pub fn iterations(&self) -> Vec<Iteration> {
        let mut iterations: Vec<Iteration> = self
            .events
            .iter()
            .filter(|event| event.device == Device::Cpu)
            .filter_map(|event| {
                let number = self.name(event).strip_prefix(STEP)?.trim().parse().ok()?;
                Some(Iteration { number, begin: event.begin, end: event.end() })
            })
            .collect();
        iterations.sort_by_key(|iteration| (iteration.begin, iteration.number));
        iterations
    }

    /// For each event the number of its iteration: on the GPU that of its launch, and else the one during which it begins.
    ///
    /// What was launched before the trace began belongs to none of its iterations, though it runs during one.
    pub fn iteration_of_events(&self) -> Vec<Option<i64>> {
        let iterations = self.iterations();
        let by_time = |begin: i64| {
            let after = iterations.partition_point(|iteration| iteration.begin <= begin);
            let last = iterations.get(after.checked_sub(1)?)?;
            (begin < last.end).then_some(last.number)
        };
        let of = |(event, launch): (&Event, Option<usize>)| match launch.and_then(|launch| self.events.get(launch)) {
            Some(launch) => by_time(launch.begin),
            None if event.device == Device::Gpu && event.correlation >= 0 => None,
            None => by_time(event.begin),
        };
        self.events.iter().zip(self.launches()).map(of).collect()
    }
}
