//! One side of a comparison: what each iteration of each rank did, by name and device.

use std::collections::BTreeMap;

use super::provenance::NodeSamples;
use crate::compare::{DeviceType, LabeledTrace, Options, Selection};
use crate::error::Result;
use crate::event::{Device, Event};
use crate::iteration::STEP;
use crate::short_name::shorten_name;
use crate::symbols::Symbol;
use crate::trace::Trace;
use crate::units::double;

/// What is compared by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) device: Device,
}

/// A rank and the number of an iteration; without one the whole trace.
type Iteration = (i64, Option<i64>);

/// What one iteration has of a name, or how long it takes itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) counts: f64,
    pub(super) exclusive: f64,
    pub(super) inclusive: f64,
}

/// All iterations of one side.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) rows: BTreeMap<Key, BTreeMap<Iteration, Sample>>,
    /// How long each iteration takes; none where the traces mark none.
    pub(super) steps: Vec<Sample>,
    /// The nodes of a graph, by their names.
    pub(super) nodes: BTreeMap<String, NodeSamples>,
    ranks: usize,
}

impl Samples {
    pub(super) fn of(labeled: &LabeledTrace, selection: &Selection, options: &Options) -> Result<Self> {
        let mut samples = Self::default();
        let chosen = labeled.chosen(&selection.ranks)?;
        let all: Vec<i64> = chosen.iter().flat_map(|trace| trace.iterations()).map(|step| step.number).collect();
        if let Some(absent) = selection.iterations.iter().find(|number| !all.contains(number)) {
            return Err(labeled.absent("iteration", *absent, all));
        }
        for trace in chosen {
            samples.ranks += 1;
            samples.add(trace, selection, options);
        }
        Ok(samples)
    }

    /// How many samples there are: iterations, or whole traces.
    pub(super) fn count(&self) -> usize {
        if self.steps.is_empty() { self.ranks } else { self.steps.len() }
    }

    fn add(&mut self, trace: &Trace, selection: &Selection, options: &Options) {
        let is_chosen = |number: i64| selection.iterations.is_empty() || selection.iterations.contains(&number);
        let steps = trace.iterations();
        for step in steps.iter().filter(|step| is_chosen(step.number)) {
            let duration = double(step.end - step.begin);
            self.steps.push(Sample { counts: 1.0, exclusive: duration, inclusive: duration });
        }
        let mut by_symbol = BTreeMap::<(Symbol, Device, Option<i64>), Sample>::new();
        let iterations = trace.iteration_of_events();
        for ((event, exclusive), iteration) in trace.events.iter().zip(trace.exclusive_times()).zip(iterations) {
            // Where there are iterations, what lies between them is none's.
            let is_in = if steps.is_empty() { true } else { iteration.is_some_and(is_chosen) };
            if is_in && is_compared(trace, event, options.device) {
                let sample = by_symbol.entry((event.name, event.device, iteration)).or_default();
                sample.counts += 1.0;
                sample.exclusive += double(exclusive);
                sample.inclusive += double(event.duration);
                self.add_node(trace, event, double(exclusive), options);
            }
        }
        for ((symbol, device, iteration), sample) in by_symbol {
            let name = name(trace, symbol, options);
            let sum = self.rows.entry(Key { name, device }).or_default().entry((trace.rank(), iteration)).or_default();
            sum.counts += sample.counts;
            sum.exclusive += sample.exclusive;
            sum.inclusive += sample.inclusive;
        }
    }

    fn add_node(&mut self, trace: &Trace, event: &Event, exclusive: f64, options: &Options) {
        let Some(info) = trace.node(event) else { return };
        if let Some(known) = self.nodes.get_mut(&info.node) {
            known.exclusive += exclusive;
        } else {
            let name = name(trace, event.name, options);
            self.nodes.insert(info.node.clone(), NodeSamples { info: info.clone(), name, exclusive });
        }
    }
}

/// A name as rows have it.
fn name(trace: &Trace, symbol: Symbol, options: &Options) -> String {
    let name = trace.symbols.text(symbol);
    if options.short_names { shorten_name(name) } else { name.to_owned() }
}

/// Marks of iterations are no operators, and annotations on the GPU only repeat those of the CPU.
fn is_compared(trace: &Trace, event: &Event, device: DeviceType) -> bool {
    let is_on_device = match device {
        DeviceType::Cpu => event.device == Device::Cpu,
        DeviceType::Gpu => event.device == Device::Gpu,
        DeviceType::All => true,
    };
    is_on_device && !trace.name(event).starts_with(STEP) && trace.category(event) != "gpu_user_annotation"
}
