//! How long each node of a graph takes: a profile by node, by module and by source line.

use std::fmt;
use std::time::{Duration, Instant};

use fx_ir::{Graph, NodeId, NodeMap};
use tch::{Cuda, Device, Tensor};

use super::{GraphModule, Hook, Interpreter, Value, convert};
use crate::Result;
use crate::progress::Task;

/// The times of one node, module or source line.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The node's name, the module's path, or the line: `src/net.rs:12`.
    pub name: String,
    /// Of a node its opcode as torch.fx has it; empty otherwise.
    pub opcode: &'static str,
    /// The user's source lines; of a module none.
    pub lines: String,
    /// How often it ran, over all runs.
    pub calls: usize,
    /// Its time in each run.
    pub times: Vec<Duration>,
}

/// A profile of some runs of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The graph's name.
    pub graph: String,
    /// The whole time of each run.
    pub runs: Vec<Duration>,
    /// The nodes that ran, the longest first.
    pub nodes: Vec<Timing>,
    /// The modules with all that runs in them, the longest first; the model itself has the empty path.
    pub modules: Vec<Timing>,
    /// The source lines, the longest first. A node of several lines counts for its last one.
    pub lines: Vec<Timing>,
}

impl Timing {
    /// The mean time of a run, in seconds.
    pub fn mean(&self) -> f64 {
        mean(&self.times)
    }

    /// The standard deviation between runs, in seconds.
    pub fn spread(&self) -> f64 {
        spread(&self.times)
    }
}

impl GraphModule {
    /// Runs the graph `warm_up` times and then `runs` times, at least once, and says how long each node took.
    ///
    /// On a CUDA device it waits for each node, so that the times are those of the nodes and not of their launches; the
    /// whole is longer than a run that does not wait.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`].
    pub fn profile(&self, inputs: &[Value], warm_up: usize, runs: usize) -> Result<Profile> {
        let mut task = Task::begin("profile", warm_up + runs.max(1));
        for _ in 0..warm_up {
            self.run(inputs)?;
            task.step();
        }
        let mut clock =
            Clock { started: Instant::now(), on_cuda: self.cuda_device(inputs), run: 0, times: NodeMap::default() };
        let mut whole = Vec::new();
        for run in 0..runs.max(1) {
            clock.run = run;
            let started = Instant::now();
            Interpreter::new(self).with_hook(&mut clock).run(inputs)?;
            whole.push(started.elapsed());
            task.step();
        }
        Ok(self.profiled(whole, &clock.times))
    }

    /// The CUDA device that inputs or parameters are on.
    pub(super) fn cuda_device(&self, inputs: &[Value]) -> Option<i64> {
        let on_cuda = |tensor: &Tensor| match tensor.device() {
            Device::Cuda(index) => i64::try_from(index).ok(),
            _ => None,
        };
        let of_input = inputs.iter().find_map(|input| on_cuda(convert::tensor(input)?));
        of_input.or_else(|| self.named_parameters().iter().find_map(|(_, tensor)| on_cuda(tensor)))
    }

    fn profiled(&self, runs: Vec<Duration>, times: &NodeMap<Times>) -> Profile {
        let graph = self.graph();
        let mut profile = Profile::new(&graph.name, runs);
        for (id, times) in times.iter() {
            let node = graph.node(id);
            let lines = node.origin.lines().unwrap_or_default();
            let timing = |name: &str, opcode, lines: &str| {
                let (name, lines) = (name.to_owned(), lines.to_owned());
                Timing { name, opcode, lines, calls: times.calls, times: times.filled(profile.runs.len()) }
            };
            let own = timing(&node.name, node.op.opcode(), &lines);
            let within: Vec<Timing> =
                node.nn_module_stack().iter().map(|module| timing(&module.path, "", "")).collect();
            let line = node.origin.places.last().map(|place| timing(&place.to_string(), "", ""));
            profile.nodes.push(own);
            for module in within {
                add(&mut profile.modules, module);
            }
            if let Some(line) = line {
                add(&mut profile.lines, line);
            }
        }
        profile.sort();
        profile
    }
}

impl Profile {
    /// A profile of these runs, of no node yet.
    pub(super) fn new(graph: &str, runs: Vec<Duration>) -> Profile {
        Profile { graph: graph.to_owned(), runs, nodes: vec![], modules: vec![], lines: vec![] }
    }

    /// Puts the longest first.
    pub(super) fn sort(&mut self) {
        for timings in [&mut self.nodes, &mut self.modules, &mut self.lines] {
            timings.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        }
    }
}

/// Adds times to those of the same name.
pub(super) fn add(timings: &mut Vec<Timing>, timing: Timing) {
    match timings.iter_mut().find(|known| known.name == timing.name) {
        Some(known) => {
            known.calls += timing.calls;
            known.times.iter_mut().zip(timing.times).for_each(|(sum, time)| *sum += time);
        }
        None => timings.push(timing),
    }
}

/// The times of a node so far.
#[derive(Default)]
struct Times {
    calls: usize,
    by_run: Vec<Duration>,
}

impl Times {
    /// One time for each run; nothing where it did not run.
    fn filled(&self, runs: usize) -> Vec<Duration> {
        let missing = runs.saturating_sub(self.by_run.len());
        self.by_run.iter().copied().chain(std::iter::repeat_n(Duration::ZERO, missing)).collect()
    }
}

/// Takes the time of each node. Of control flow it is the time of what runs inside, and what it adds.
struct Clock {
    started: Instant,
    on_cuda: Option<i64>,
    run: usize,
    times: NodeMap<Times>,
}

impl Hook for &mut Clock {
    fn before(&mut self, _: &Graph, _: NodeId) -> Result<()> {
        self.started = Instant::now();
        Ok(())
    }

    fn after(&mut self, graph: &Graph, id: NodeId, _: &mut Value) -> Result<()> {
        // Inputs are not run, and of control flow its parts are counted.
        if graph.node(id).op == fx_ir::Op::Placeholder || graph.node(id).op.is_control_flow() {
            return Ok(());
        }
        if let Some(device) = self.on_cuda {
            Cuda::synchronize(device);
        }
        let (elapsed, run) = (self.started.elapsed(), self.run);
        let times = self.times.get_or_default(id);
        times.calls += 1;
        times.by_run.resize(run + 1, Duration::ZERO);
        times.by_run[run] += elapsed;
        Ok(())
    }
}

#[allow(clippy::cast_precision_loss, reason = "there are not that many runs")]
fn mean(times: &[Duration]) -> f64 {
    times.iter().map(Duration::as_secs_f64).sum::<f64>() / times.len().max(1) as f64
}

#[allow(clippy::cast_precision_loss, reason = "there are not that many runs")]
fn spread(times: &[Duration]) -> f64 {
    let mean = mean(times);
    let squares: f64 = times.iter().map(|time| (time.as_secs_f64() - mean).powi(2)).sum();
    (squares / times.len().max(1) as f64).sqrt()
}

/// A table of the nodes, the longest first.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = mean(&self.runs);
        writeln!(
            f,
            "`{}`: {} runs, {:.3} ms each (spread {:.3} ms)",
            self.graph,
            self.runs.len(),
            total * 1e3,
            spread(&self.runs) * 1e3
        )?;
        let width = self.nodes.iter().map(|node| node.name.len()).max().unwrap_or(0).max("node".len());
        let head = ("opcode", "node", "mean (ms)", "share", "calls", "spread", "source");
        writeln!(
            f,
            "{:13}  {:width$}  {:>9}  {:>7}  {:>5}  {:>7}  {}",
            head.0, head.1, head.2, head.3, head.4, head.5, head.6
        )?;
        for node in &self.nodes {
            let (mean, spread) = (node.mean(), node.spread());
            let share = 100.0 * mean / total.max(f64::MIN_POSITIVE);
            writeln!(
                f,
                "{:13}  {:width$}  {:>9.4}  {share:>5.1} %  {:>5}  {:>7.4}  {}",
                node.opcode,
                node.name,
                mean * 1e3,
                node.calls,
                spread * 1e3,
                node.lines
            )?;
        }
        Ok(())
    }
}
