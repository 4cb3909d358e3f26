//! The clock behind each operation of generated code, which runs for who profiles; for all others it is one load of a flag.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tch::Cuda;

/// How many threads profile.
static PROFILING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// The time of an operation in one run, over all of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lap {
    /// Its name in the graph.
    pub(crate) node: &'static str,
    /// The user's lines.
    pub(crate) place: &'static str,
    /// How often it ran.
    pub(crate) calls: usize,
    /// How long it took, and what ran before it since the operation in front.
    pub(crate) time: Duration,
}

struct Clock {
    /// Since when the operation at hand runs.
    since: Instant,
    on_cuda: Option<i64>,
    laps: Vec<Lap>,
    positions: HashMap<(&'static str, &'static str), usize>,
}

/// Notes that an operation has run.
#[inline]
pub(super) fn ran(node: &'static str, place: &'static str) {
    if PROFILING.load(Ordering::Relaxed) != 0 {
        note(node, place);
    }
}

#[cold]
fn note(node: &'static str, place: &'static str) {
    CLOCK.with_borrow_mut(|clock| {
        let Some(clock) = clock else { return };
        if let Some(device) = clock.on_cuda {
            Cuda::synchronize(device);
        }
        let now = Instant::now();
        let position = *clock.positions.entry((node, place)).or_insert(clock.laps.len());
        if position == clock.laps.len() {
            clock.laps.push(Lap { node, place, calls: 0, time: Duration::ZERO });
        }
        let lap = &mut clock.laps[position];
        (lap.calls, lap.time) = (lap.calls + 1, lap.time + (now - clock.since));
        clock.since = Instant::now();
    });
}

/// Counts the threads that profile, also where a run panics.
struct Running(Option<Clock>);

impl Running {
    fn start(on_cuda: Option<i64>) -> Running {
        let clock = Clock { since: Instant::now(), on_cuda, laps: Vec::new(), positions: HashMap::new() };
        PROFILING.fetch_add(1, Ordering::Relaxed);
        Running(CLOCK.replace(Some(clock)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        PROFILING.fetch_sub(1, Ordering::Relaxed);
        CLOCK.set(self.0.take());
    }
}

/// What a run of generated code yields, how long it took, and its operations in the order in which they ran first. On a
/// CUDA device each of them is waited for.
pub(crate) fn timed<R>(on_cuda: Option<i64>, run: impl FnOnce() -> R) -> (R, Duration, Vec<Lap>) {
    let running = Running::start(on_cuda);
    let started = Instant::now();
    let result = run();
    let whole = started.elapsed();
    let laps = CLOCK.with_borrow_mut(|clock| clock.as_mut().map(|clock| std::mem::take(&mut clock.laps)));
    drop(running);
    (result, whole, laps.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_calls_and_its_time() {
        let wait = || std::thread::sleep(Duration::from_millis(2));
        let run = || {
            for _ in 0..2 {
                wait();
                ran("conv", "src/net.rs:1");
                ran("relu", "src/net.rs:2");
            }
        };
        let ((), whole, laps) = timed(None, run);
        let named: Vec<_> = laps.iter().map(|lap| (lap.node, lap.place, lap.calls)).collect();
        assert_eq!(named, [("conv", "src/net.rs:1", 2), ("relu", "src/net.rs:2", 2)]);
        assert!(laps[0].time >= Duration::from_millis(4) && laps[1].time < laps[0].time);
        assert!(laps.iter().map(|lap| lap.time).sum::<Duration>() <= whole);
        // Nobody listens any more.
        ran("conv", "src/net.rs:1");
        assert!(CLOCK.with_borrow(Option::is_none));
    }
}
