//! Recording on a device, into libtorch's memory.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tch::{Device, TchError};

use super::graphs::{Graphs, Phase, Recorded, Recorder, Recording};
use super::{shim, turns};
use crate::ffi::cuda_graph::{DeviceGraph, Pool};
use crate::{Error, Freeze, Result};

impl Graphs {
    /// The recorded forwards of a model that is frozen with `options` for `device`; none where they were not asked for.
    pub(crate) fn of(options: &Freeze, device: Device) -> Option<Self> {
        options.cuda_graphs.then(|| {
            let recorder = OnDevice::new(device).map(|recorder| Box::new(recorder) as Box<dyn Recorder>);
            Self::new(device, options.graph_outputs, options.graph_limit, recorder)
        })
    }
}

/// One CUDA device: the stream that one model is recorded on, and the memory that its graphs share. They never run at the
/// same time, nor are two recorded, as [`Graphs`] sees to.
#[derive(Debug)]
struct OnDevice {
    pool: Pool,
}

impl OnDevice {
    fn new(device: Device) -> std::result::Result<Self, String> {
        let Device::Cuda(index) = device else {
            return Err(format!("the model was frozen for {device:?}"));
        };
        Ok(Self { pool: shim::shim()?.pool(index)? })
    }
}

/// Calls of the forward before it is recorded: the first sets up libraries, the second lays weights out for the shape.
const WARM_UPS: usize = 2;

/// Streams are handed out in turns, so that two models may have the same; what one of them runs would be recorded by the
/// other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Recorder for OnDevice {
    fn record(&self, forward: &mut dyn FnMut(Phase) -> Result<()>) -> Result<Recorded> {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut graph = DeviceGraph::enter(&self.pool).map_err(failed)?;
        let outcome = record_on(&mut graph, forward);
        // Whatever happened, the thread goes back to the stream that it came from.
        graph.leave().map_err(failed)?;
        outcome.map(|refused| match refused {
            Some(reason) => Recorded::Refused(reason),
            None => Recorded::Done(Box::new(graph)),
        })
    }
}

/// An error is one of the forward itself; a reason says why it cannot be recorded.
fn record_on(graph: &mut DeviceGraph, forward: &mut dyn FnMut(Phase) -> Result<()>) -> Result<Option<String>> {
    for _ in 0..WARM_UPS {
        forward(Phase::WarmUp)?;
    }
    let _turn = turns::recording();
    if let Err(reason) = graph.begin() {
        return Ok(Some(reason));
    }
    // It ran before, so what stops it now is the recording: an error, or a panic of code that was not understood.
    let ran = catch_unwind(AssertUnwindSafe(|| forward(Phase::Recording)));
    let ended = graph.end();
    Ok(match (ran, ended) {
        (Err(panic), _) => Some(words(panic.as_ref())),
        // It names node and line.
        (Ok(Err(error)), _) => Some(error.to_string()),
        (Ok(Ok(())), Err(reason)) => Some(reason),
        (Ok(Ok(())), Ok(())) => None,
    })
}

/// The first line of what a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let line = text.unwrap_or("a panic").lines().next().unwrap_or_default();
    line.split("\\n").next().unwrap_or(line).to_owned()
}

impl Recording for DeviceGraph {
    fn wait(&mut self) -> Result<()> {
        DeviceGraph::wait(self).map_err(failed)
    }

    fn replay(&mut self) -> Result<()> {
        DeviceGraph::replay(self).map_err(failed)
    }

    fn used(&mut self) -> Result<()> {
        DeviceGraph::used(self).map_err(failed)
    }
}

fn failed(reason: String) -> Error {
    Error::Torch(TchError::Torch(reason))
}
