//! Exclusive time: how long an event ran without those inside it.

use std::collections::BTreeMap;

use crate::event::{Event, Track};
use crate::trace::Trace;

impl Trace {
    /// For each event its duration in nanoseconds less that of the events directly inside it on the same thread or stream.
    ///
    /// The exclusive times of a thread add up to the time during which anything ran on it; inclusive ones count a child again
    /// in each of its parents.
    pub fn exclusive_times(&self) -> Vec<i64> {
        let mut tracks = BTreeMap::<Track, Vec<usize>>::new();
        for (position, event) in self.events.iter().enumerate() {
            tracks.entry(event.track).or_default().push(position);
        }
        let mut times: Vec<i64> = self.events.iter().map(|event| event.duration).collect();
        for mut positions in tracks.into_values() {
            // A parent begins no later than its child and ends no earlier; of two alike the first in the file is outside.
            positions.sort_by_key(|position| {
                let event = self.events.get(*position);
                event.map(|event| (event.begin, std::cmp::Reverse(event.duration), event.index))
            });
            self.subtract_children(&positions, &mut times);
        }
        times
    }

    /// Takes the time of each event from its parent's, on one track, sorted.
    fn subtract_children(&self, positions: &[usize], times: &mut [i64]) {
        let mut open: Vec<(usize, &Event)> = Vec::new();
        for position in positions {
            let Some(event) = self.events.get(*position) else { continue };
            while open.last().is_some_and(|(_, outer)| outer.end() <= event.begin) {
                open.pop();
            }
            if let Some((parent, outer)) = open.last() {
                // Of one that ends behind its parent, as events of several streams on one track do, only the overlap.
                let overlap = event.end().min(outer.end()) - event.begin;
                if let Some(time) = times.get_mut(*parent) {
                    *time -= overlap;
                }
            }
            open.push((*position, event));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::Trace;

    /// Events of one thread as (begin, duration) in microseconds, and the exclusive times in nanoseconds.
    #[track_caller]
    fn check(events: &[(i64, i64)], expected: &[i64]) {
        let events = events.iter().map(|(begin, duration)| {
            format!(r#"{{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":{begin},"dur":{duration}}}"#)
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        fs::write(&path, format!(r#"{{"traceEvents": [{}]}}"#, events.collect::<Vec<_>>().join(","))).unwrap();
        assert_eq!(Trace::read(&path).unwrap().exclusive_times(), expected);
    }

    #[test]
    fn children_are_taken_out() {
        check(&[(0, 100), (10, 20), (15, 5), (50, 10)], &[70_000, 15_000, 5_000, 10_000]);
    }

    #[test]
    fn the_order_of_the_file_is_free() {
        check(&[(15, 5), (0, 100), (50, 10), (10, 20)], &[5_000, 70_000, 10_000, 15_000]);
    }

    #[test]
    fn neighbours_and_twins() {
        check(&[(0, 10), (10, 10)], &[10_000, 10_000]);
        check(&[(0, 10), (0, 10), (0, 4)], &[0, 6_000, 4_000]);
    }

    #[test]
    fn overlaps() {
        check(&[(0, 10), (5, 10)], &[5_000, 10_000]);
    }
}
