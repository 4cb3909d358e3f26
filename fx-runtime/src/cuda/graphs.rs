//! Recorded forwards, one for each shape of inputs.
//!
//! A recorded forward works in memory of its own: its inputs are copied into place, it is run, and its outputs are copied
//! out, unless the model was frozen with [`GraphOutputs::Shared`]. At most [`Freeze::cuda_graph_limit`] are kept, and the
//! one that was not used for longest goes first. A forward that cannot be recorded runs as it is, and the report names
//! what was in the way.
//!
//! **Threads.** Any number may call; they take turns from the copying in to the copying out. That covers what they give
//! to the device, not what the device does, so that no thread waits for the device; where threads are on streams of their
//! own, the device is told to keep the order.
//!
//! [`Freeze::cuda_graph_limit`]: crate::Freeze::cuda_graph_limit

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tch::{Device, Tensor};

use super::key::Key;
use super::values::{Arguments, Outputs};
use crate::{Error, GraphOutputs, GraphReport, Result};

/// Records what a thread gives to the device.
pub(super) trait Recorder: Send + Sync + fmt::Debug {
    /// Runs `forward` as it is, to let libtorch set up what it sets up at a first call, and then records it.
    fn record(&self, forward: &mut dyn FnMut(Phase) -> Result<()>) -> Result<Recorded>;
}

/// What the forward is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// To see whether it runs at all.
    WarmUp,
    /// To be recorded.
    Recording,
}

/// What became of an attempt.
#[derive(Debug)]
pub(super) enum Recorded {
    Done(Box<dyn Recording>),
    /// It cannot be recorded; why.
    Refused(String),
}

/// A recorded forward.
pub(super) trait Recording: Send + fmt::Debug {
    /// Lets what comes now on this thread's stream wait for the latest use of the recording's memory.
    fn wait(&mut self) -> Result<()>;
    /// Runs it.
    fn replay(&mut self) -> Result<()>;
    /// Its memory is in use up to here.
    fn used(&mut self) -> Result<()>;
}

/// The recorded forwards of one model.
#[derive(Debug)]
pub struct Graphs {
    device: Device,
    outputs: GraphOutputs,
    limit: usize,
    /// `Err` says why there is none.
    recorder: std::result::Result<Box<dyn Recorder>, String>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The latest used one last.
    entries: Vec<Entry>,
    refused: Vec<(Key, String)>,
}

struct Entry {
    key: Key,
    inputs: Vec<Option<Tensor>>,
    outputs: Box<dyn Any + Send>,
    recording: Box<dyn Recording>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.key)
    }
}

thread_local! {
    /// Whether this thread is inside a forward that is recorded, or about to be.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, forwards on this thread run as they are.
struct Inside;

impl Inside {
    fn new() -> Self {
        INSIDE.set(true);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

impl Graphs {
    pub(super) fn new(
        device: Device,
        outputs: GraphOutputs,
        limit: usize,
        recorder: std::result::Result<Box<dyn Recorder>, String>,
    ) -> Self {
        Self { device, outputs, limit: limit.max(1), recorder, kept: Mutex::default() }
    }

    /// False inside a forward that is recorded: what it calls is a part of it.
    pub(crate) fn is_open() -> bool {
        !INSIDE.get()
    }

    /// Runs `forward` on these inputs: recorded where it can be.
    ///
    /// # Errors
    ///
    /// What `forward` returns.
    pub fn run<O: Outputs>(
        &self,
        inputs: &[Option<&Tensor>],
        forward: impl Fn(Arguments<'_>) -> Result<O>,
    ) -> Result<O> {
        self.run_entry("", inputs, forward)
    }

    /// The same for one entry of a model that has several.
    ///
    /// # Errors
    ///
    /// What `forward` returns.
    pub fn run_entry<O: Outputs>(
        &self,
        entry: &'static str,
        inputs: &[Option<&Tensor>],
        forward: impl Fn(Arguments<'_>) -> Result<O>,
    ) -> Result<O> {
        let _no_grad = tch::no_grad_guard();
        let _inside = Inside::new();
        let recorder = match &self.recorder {
            // What is wrong with an input elsewhere, or undefined, the forward itself says best.
            Ok(recorder) if inputs.iter().flatten().all(|input| input.defined() && input.device() == self.device) => {
                recorder
            }
            _ => return forward(Arguments(inputs)),
        };
        let key = Key::of(entry, inputs)?;
        let mut kept = self.lock();
        if kept.refused.iter().any(|(refused, _)| *refused == key) {
            drop(kept);
            return forward(Arguments(inputs));
        }
        // All recordings of a model share their memory, so that each waits for the one before, on whichever stream.
        if let Some(latest) = kept.entries.last_mut() {
            latest.recording.wait()?;
        }
        match kept.entries.iter().position(|entry| entry.key == key) {
            Some(position) => {
                // To the end, where the latest used one is.
                let entry = kept.entries.remove(position);
                kept.entries.push(entry);
            }
            None => {
                if let Some(reason) = self.record(&mut kept, recorder.as_ref(), &key, inputs, &forward)? {
                    kept.refuse(key, reason, self.limit);
                    drop(kept);
                    return forward(Arguments(inputs));
                }
            }
        }
        match kept.entries.last_mut() {
            Some(entry) => self.replay(entry, inputs),
            None => forward(Arguments(inputs)),
        }
    }

    /// What is recorded so far.
    pub fn report(&self) -> GraphReport {
        let kept = self.lock();
        GraphReport {
            recorded: kept.entries.iter().map(|entry| entry.key.to_string()).collect(),
            refused: kept.refused.iter().map(|(key, reason)| (key.to_string(), reason.clone())).collect(),
            off: self.recorder.as_ref().err().cloned(),
            tuned: Vec::new(),
        }
    }

    /// Appends an entry, or says why there is none.
    fn record<O: Outputs>(
        &self,
        kept: &mut Kept,
        recorder: &dyn Recorder,
        key: &Key,
        inputs: &[Option<&Tensor>],
        forward: &impl Fn(Arguments<'_>) -> Result<O>,
    ) -> Result<Option<String>> {
        // Room is made first, so that no more than the limit ever lie in memory.
        while kept.entries.len() >= self.limit {
            kept.entries.remove(0);
        }
        let buffers: Vec<Option<Tensor>> =
            inputs.iter().map(|input| input.map(copied).transpose()).collect::<Result<_>>()?;
        let lent: Vec<Option<&Tensor>> = buffers.iter().map(Option::as_ref).collect();
        let mut outputs = None;
        let outcome = recorder.record(&mut |phase| {
            let result = forward(Arguments(&lent))?;
            if phase == Phase::Recording {
                outputs = Some(result);
            }
            Ok(())
        })?;
        match (outcome, outputs) {
            (Recorded::Done(recording), Some(outputs)) => {
                let key = key.clone();
                kept.entries.push(Entry { key, inputs: buffers, outputs: Box::new(outputs), recording });
                Ok(None)
            }
            (Recorded::Refused(reason), _) => Ok(Some(reason)),
            (Recorded::Done(_), None) => Ok(Some("nothing was recorded".to_owned())),
        }
    }

    fn replay<O: Outputs>(&self, entry: &mut Entry, inputs: &[Option<&Tensor>]) -> Result<O> {
        for (buffer, input) in entry.inputs.iter_mut().zip(inputs) {
            if let (Some(buffer), Some(input)) = (buffer, input) {
                buffer.f_copy_(input)?;
            }
        }
        entry.recording.replay()?;
        let Some(outputs) = entry.outputs.downcast_ref::<O>() else {
            let what = "a recorded forward of another type".to_owned();
            return Err(Error::Unsupported { what, help: "this is a fault of fx; please report it".to_owned() });
        };
        let handed = match self.outputs {
            GraphOutputs::Copied => outputs.map(&mut copied),
            GraphOutputs::Shared => outputs.map(&mut |tensor| Ok(tensor.shallow_clone())),
        };
        // Also where the outputs could not be copied, since the device works on them.
        entry.recording.used()?;
        handed
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A panic leaves whole entries behind: each is pushed and removed in one step.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn refuse(&mut self, key: Key, reason: String, limit: usize) {
        if self.refused.len() >= limit {
            self.refused.remove(0);
        }
        self.refused.push((key, reason));
    }
}

/// A copy that lies in memory as the original does.
fn copied(tensor: &Tensor) -> Result<Tensor> {
    let mut copy = tensor.f_empty_like()?;
    copy.f_copy_(tensor)?;
    Ok(copy)
}

#[cfg(test)]
mod tests;
