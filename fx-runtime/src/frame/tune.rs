//! Autotuning: which of the kernels that can serve a layer is the fastest for the inputs that come.
//!
//! A layer begins with the kernel that `select.rs` puts first. If the model was frozen with [`Freeze::autotune`], its
//! first call packs the others beside it and runs all of them in turns on the very arguments of that call; the one with
//! the shortest time stays, and what the others held is freed. Turns, because what slows the machine down for a while
//! then slows all of them down, and the shortest time, because nothing makes a kernel faster than it is. The first
//! kernel has the benefit of the doubt: another must beat it by [`MARGIN`].
//!
//! **Threads.** The thread whose call comes first measures. Others that call the layer meanwhile do not wait: they take
//! the first kernel, which lives until the last of them is done with it. Once a kernel is settled, a call reads one flag
//! more than it does without autotuning; without autotuning it reads none.
//!
//! **CUDA graphs.** To wait for the device while a forward is recorded would spoil the recording, on whichever thread.
//! The two take turns (`cuda/turns.rs`), and a layer that cannot measure now does so at a later call.
//!
//! [`Freeze::autotune`]: crate::Freeze::autotune

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLockReadGuard};
use std::time::{Duration, Instant};

use tch::{Device, Tensor};

use super::Target;
use crate::cuda::measuring;
use crate::progress::Task;
use crate::{Error, Tuned};

/// Calls of each kernel before the clock starts: the first compiles, the second lays the weight out.
const WARM_UPS: usize = 2;
/// Measured calls of each kernel.
const ROUNDS: usize = 10;
/// As many are measured however long they take.
const FEWEST_ROUNDS: usize = 3;
/// Behind those, no new round begins when the measured calls of a layer have taken so long.
const ENOUGH: Duration = Duration::from_millis(250);
/// By this part of its own time a kernel must be faster than the first one.
const MARGIN: f64 = 0.03;
/// Calls between two looks at the clock where the device works on its own.
const CALLS_ON_DEVICE: u32 = 8;

/// What a layer computes with: knows its name.
pub(crate) trait Packed {
    /// One of the kernels that a layer of this type can have.
    type Choice: Copy + PartialEq + fmt::Display;

    fn choice(&self) -> Self::Choice;
}

/// Takes the time.
pub(crate) trait Clock: fmt::Debug + Send + Sync {
    /// The time of one call with this kernel.
    fn time(&self, kernel: &str, call: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error>;
}

/// The clock on the wall, of which a device is asked whether it is done.
#[derive(Debug)]
pub(crate) struct Wall(pub(crate) Device);

impl Clock for Wall {
    fn time(&self, _: &str, call: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        let Device::Cuda(index) = self.0 else {
            let start = Instant::now();
            call()?;
            return Ok(start.elapsed());
        };
        let wait = || tch::Cuda::synchronize(i64::try_from(index).unwrap_or(0));
        wait();
        let start = Instant::now();
        for _ in 0..CALLS_ON_DEVICE {
            call()?;
        }
        wait();
        Ok(start.elapsed() / CALLS_ON_DEVICE)
    }
}

/// That and where kernels are measured.
#[derive(Debug, Clone)]
pub(crate) struct Tuning {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) target: Target,
}

impl Tuning {
    /// Leave to measure; none while it would spoil a recording.
    fn leave(&self) -> Option<Leave> {
        match self.target.device {
            Device::Cuda(_) => measuring().map(|turn| Leave(Some(turn))),
            _ => Some(Leave(None)),
        }
    }
}

struct Leave(#[expect(dead_code, reason = "nothing is recorded while it lives")] Option<RwLockReadGuard<'static, ()>>);

/// The kernel of a layer, or the place where it will be.
pub(crate) enum Slot<K> {
    /// The first that can serve the layer.
    First(K),
    /// The one that a file names.
    Saved(K),
    /// The fastest, as soon as it is known.
    Measured(Box<Trial<K>>),
}

/// A layer's kernels before, while and after they are measured.
pub(crate) struct Trial<K> {
    tuning: Tuning,
    settled: OnceLock<Settled<K>>,
    stage: Mutex<Stage<K>>,
}

struct Stage<K> {
    /// The kernel to begin with, and from when it is settled on that.
    kernel: Arc<K>,
    /// Somebody measures, or has done so.
    is_taken: bool,
}

struct Settled<K> {
    kernel: Arc<K>,
    /// None where there was one kernel alone.
    times: Option<Times>,
}

struct Times {
    took: Duration,
    default: String,
    default_took: Duration,
}

impl<K: Packed> Slot<K> {
    /// The kernel that a file names if it is among `choices`, else the first of these that `pack` can make; with `tuning`
    /// the others are tried later.
    pub(crate) fn choose(
        tuning: Option<Tuning>,
        saved: Option<K::Choice>,
        choices: &[K::Choice],
        pack: impl Fn(K::Choice) -> Result<Option<K>, Error>,
    ) -> Result<Self, Error> {
        if let Some(saved) = saved.filter(|saved| choices.contains(saved))
            && let Some(kernel) = pack(saved)?
        {
            return Ok(Self::Saved(kernel));
        }
        let first = choices.iter().find_map(|&choice| pack(choice).transpose()).transpose()?;
        let Some(first) = first else {
            let what = "a layer that no kernel computes".to_owned();
            return Err(Error::Unsupported { what, help: "this is a fault of fx; please report it".to_owned() });
        };
        Ok(match tuning {
            None => Self::First(first),
            Some(tuning) => {
                let stage = Mutex::new(Stage { kernel: Arc::new(first), is_taken: false });
                Self::Measured(Box::new(Trial { tuning, settled: OnceLock::new(), stage }))
            }
        })
    }

    /// `call` with the layer's kernel. `others` packs the kernels that are to be tried beside the one it is given;
    /// `is_work` is false for a call that says nothing about them.
    #[inline]
    pub(crate) fn run(
        &self,
        is_work: bool,
        others: impl Fn(&K, &Target) -> Vec<K>,
        call: impl Fn(&K) -> Result<Tensor, Error>,
    ) -> Result<Tensor, Error> {
        match self {
            Self::First(kernel) | Self::Saved(kernel) => call(kernel),
            Self::Measured(trial) => match trial.settled.get() {
                Some(settled) => call(&settled.kernel),
                None => trial.run(is_work, &others, &call),
            },
        }
    }

    /// A look at the kernel that the layer has now.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&K) -> R) -> R {
        match self {
            Self::First(kernel) | Self::Saved(kernel) => look(kernel),
            Self::Measured(trial) => look(&trial.kernel()),
        }
    }

    /// The kernel, where a file should name it: not if any machine would come to the same without.
    pub(crate) fn to_save(&self) -> Option<K::Choice> {
        match self {
            Self::First(_) => None,
            Self::Saved(kernel) => Some(kernel.choice()),
            Self::Measured(trial) => {
                trial.settled.get().filter(|settled| settled.times.is_some()).map(|settled| settled.kernel.choice())
            }
        }
    }

    /// What measuring has changed for the layer of this name.
    pub(crate) fn tuned(&self, layer: &str) -> Option<Tuned> {
        let Self::Measured(trial) = self else { return None };
        let Settled { kernel, times } = trial.settled.get()?;
        let Times { took, default, default_took } = times.as_ref()?;
        let (layer, kernel, default) = (layer.to_owned(), kernel.choice().to_string(), default.clone());
        (kernel != default).then_some(Tuned { layer, kernel, took: *took, default, default_took: *default_took })
    }
}

impl<K: Packed> fmt::Display for Slot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.look(|kernel| write!(f, "{}", kernel.choice()))?;
        match self {
            Self::Measured(trial) if trial.settled.get().is_none() => f.write_str(" (not measured yet)"),
            _ => Ok(()),
        }
    }
}

type Others<'a, K> = &'a dyn Fn(&K, &Target) -> Vec<K>;
type Call<'a, K> = &'a dyn Fn(&K) -> Result<Tensor, Error>;

impl<K: Packed> Trial<K> {
    /// A call before the kernel is settled.
    #[cold]
    fn run(&self, is_work: bool, others: Others<'_, K>, call: Call<'_, K>) -> Result<Tensor, Error> {
        let Some((first, _leave)) = self.begin(is_work) else { return call(&self.kernel()) };
        // A panic in here leaves the layer with its first kernel for good.
        match race(self.tuning.clock.as_ref(), &first, others(&first, &self.tuning.target), call) {
            Ok(settled) => {
                drop(first);
                self.stage().kernel = settled.kernel.clone();
                call(&self.settled.get_or_init(|| settled).kernel)
            }
            Err(error) => {
                self.stage().is_taken = false;
                Err(error)
            }
        }
    }

    /// The first kernel, for the one thread that measures.
    fn begin(&self, is_work: bool) -> Option<(Arc<K>, Leave)> {
        let mut stage = self.stage();
        let leave = (is_work && !stage.is_taken).then(|| self.tuning.leave()).flatten()?;
        stage.is_taken = true;
        Some((stage.kernel.clone(), leave))
    }

    /// What a call takes that does not measure.
    fn kernel(&self) -> Arc<K> {
        self.stage().kernel.clone()
    }

    fn stage(&self) -> MutexGuard<'_, Stage<K>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A kernel and its shortest time.
struct Runner<K> {
    kernel: Arc<K>,
    name: String,
    took: Duration,
}

impl<K: Packed> Runner<K> {
    /// Warmed up.
    fn new(kernel: Arc<K>, call: Call<'_, K>) -> Result<Self, Error> {
        for _ in 0..WARM_UPS {
            drop(call(&kernel)?);
        }
        Ok(Self { name: kernel.choice().to_string(), kernel, took: Duration::MAX })
    }

    /// Another measured call; answers how long it took.
    fn step(&mut self, clock: &dyn Clock, call: Call<'_, K>) -> Result<Duration, Error> {
        let took = clock.time(&self.name, &mut || call(&self.kernel).map(drop))?;
        self.took = self.took.min(took);
        Ok(took)
    }
}

/// The fastest of these kernels. What goes wrong with `first` goes wrong with the call; another is out of the race.
fn race<K: Packed>(clock: &dyn Clock, first: &Arc<K>, others: Vec<K>, call: Call<'_, K>) -> Result<Settled<K>, Error> {
    if others.is_empty() {
        return Ok(Settled { kernel: first.clone(), times: None });
    }
    let mut first = Runner::new(first.clone(), call)?;
    let mut others: Vec<Runner<K>> =
        others.into_iter().filter_map(|kernel| Runner::new(Arc::new(kernel), call).ok()).collect();
    let mut task = Task::begin("autotune", ROUNDS);
    let mut spent = Duration::ZERO;
    for round in 0..ROUNDS {
        if round >= FEWEST_ROUNDS && spent >= ENOUGH {
            break;
        }
        spent += first.step(clock, call)?;
        others.retain_mut(|other| other.step(clock, call).map(|took| spent += took).is_ok());
        task.step();
    }
    let (default, default_took) = (first.name.clone(), first.took);
    let wins = |other: &Runner<K>| other.took.as_secs_f64() * (1.0 + MARGIN) < default_took.as_secs_f64();
    let winner = others.into_iter().min_by_key(|other| other.took).filter(wins).unwrap_or(first);
    let times = Times { took: winner.took, default, default_took };
    Ok(Settled { kernel: winner.kernel, times: Some(times) })
}

#[cfg(test)]
pub(crate) mod tests;
