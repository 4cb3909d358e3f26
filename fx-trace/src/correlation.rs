//! Which call of the CPU launched which kernel.

use std::collections::HashMap;

use crate::event::Device;
use crate::trace::Trace;

impl Trace {
    /// For each event the position in [`Trace::events`] of the call that launched it, known of the GPU's events that share
    /// their `correlation` with an event of the CPU; the last one, where several do.
    pub fn launches(&self) -> Vec<Option<usize>> {
        let of_cpu =
            self.events.iter().enumerate().filter(|(_, event)| event.device == Device::Cpu && event.correlation >= 0);
        let calls: HashMap<i64, usize> = of_cpu.map(|(position, event)| (event.correlation, position)).collect();
        let launch =
            |event: &crate::Event| (event.device == Device::Gpu).then(|| calls.get(&event.correlation)).flatten();
        self.events.iter().map(|event| launch(event).copied()).collect()
    }
}
