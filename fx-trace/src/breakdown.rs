//! What a GPU's time goes to: computation, communication, copies, and where these overlap.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::event::Device;
use crate::trace::Trace;

/// A kind of kernel, told by its name as HTA does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum KernelType {
    /// Everything else.
    Computation,
    /// Collectives of NCCL and its like.
    Communication,
    /// Copies and fills.
    Memory,
}

impl KernelType {
    /// The type of a kernel; `None` for what waits, which is no work.
    pub fn of(name: &str) -> Option<Self> {
        let starts = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
        let contains = |all: &[&str]| all.iter().any(|part| name.contains(part));
        if starts(&["nccl", "hip", "hccl"]) || contains(&["ncclKernel"]) {
            Some(KernelType::Communication)
        } else if starts(&["Memcpy", "Memset", "dma"]) {
            Some(KernelType::Memory)
        } else if contains(&["Memcpy", "Memset", "dma", "Sync"]) || starts(&["Stream Wait Event"]) {
            None
        } else {
            Some(KernelType::Computation)
        }
    }

    /// As HTA writes it.
    pub fn name(self) -> &'static str {
        match self {
            KernelType::Computation => "COMPUTATION",
            KernelType::Communication => "COMMUNICATION",
            KernelType::Memory => "MEMORY",
        }
    }
}

/// How long kernels of exactly these types ran at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// One, or several that overlap.
    pub types: Vec<KernelType>,
    /// For how many nanoseconds.
    pub nanoseconds: i64,
}

impl Share {
    /// `COMPUTATION`, or `COMPUTATION overlapping MEMORY`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.types.iter().map(|kind| kind.name()).collect();
        names.join(" overlapping ")
    }
}

impl Trace {
    /// The time of the GPU by types of kernels, the longest share first. With `before`, in nanoseconds, only kernels count
    /// that were launched before it.
    pub fn kernel_breakdown(&self, before: Option<i64>) -> Vec<Share> {
        let launches = self.launches();
        let is_counted = |launch: Option<usize>| match (before, launch.and_then(|launch| self.events.get(launch))) {
            (None, _) => true,
            (Some(before), launch) => launch.is_some_and(|launch| launch.begin < before),
        };
        // At each moment, how many kernels of a type begin or end.
        let mut changes = BTreeMap::<i64, BTreeMap<KernelType, i64>>::new();
        for (event, launch) in self.events.iter().zip(launches) {
            if event.device != Device::Gpu || self.category(event) == "gpu_user_annotation" || !is_counted(launch) {
                continue;
            }
            let Some(kind) = KernelType::of(self.name(event)) else { continue };
            *changes.entry(event.begin).or_default().entry(kind).or_default() += 1;
            *changes.entry(event.end()).or_default().entry(kind).or_default() -= 1;
        }
        let mut running = BTreeMap::<KernelType, i64>::new();
        let mut shares = BTreeMap::<BTreeSet<KernelType>, i64>::new();
        let mut since = None;
        for (moment, changed) in changes {
            let types: BTreeSet<KernelType> =
                running.iter().filter(|(_, count)| **count > 0).map(|(kind, _)| *kind).collect();
            if let Some(since) = since.filter(|_| !types.is_empty()) {
                *shares.entry(types).or_default() += moment - since;
            }
            for (kind, change) in changed {
                *running.entry(kind).or_default() += change;
            }
            since = Some(moment);
        }
        let mut shares: Vec<Share> = shares
            .into_iter()
            .map(|(types, nanoseconds)| Share { types: types.into_iter().collect(), nanoseconds })
            .collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.nanoseconds));
        shares
    }
}
