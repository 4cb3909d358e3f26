//! What all parts of one frozen model share: where it computes, in which dtype, and its borders.
//!
//! The layer below the saved file, the layers of `nn` and the packed kernels: it knows none of them.
//!
//! * `target.rs`: device, dtype and CPU that kernels are chosen for; `tune.rs` measures them.
//! * `weights.rs`, `copies.rs`, `pack_cache.rs`: the model's weights, each in place once.
//! * `state_cell.rs`, `cells.rs`: what calls write to.
//! * `scope.rs`, `microbatch.rs`: one call, and a large batch in pieces.

pub(crate) mod cells;
mod copies;
pub(crate) mod layout;
mod microbatch;
pub(crate) mod non_finite;
mod pack_cache;
mod scope;
pub(crate) mod state_cell;
mod target;
pub(crate) mod tune;
mod weights;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tch::{Device, Kind, Tensor};

pub(crate) use self::microbatch::Microbatches;
pub use self::scope::Scope;
pub(crate) use self::target::{Cpu, OneDnnCall, Target};

use self::cells::Cells;
use self::copies::Copies;
use self::microbatch::Microbatching;
use self::non_finite::NonFinite;
use self::pack_cache::PackCache;
use self::tune::{Clock, Tuning, Wall};
use crate::cuda::{Example, Graphs};
use crate::ffi::{Autograd, PoolUser, cuda, release_freed};
use crate::qparams::{DynamicFormat, WeightFormat};
use crate::{Error, Freeze, GraphReport, Module};

/// Device, dtype and kernel choice of one frozen model.
#[derive(Debug)]
pub struct Frame {
    model: Arc<str>,
    target: Target,
    /// Weights of one dtype or options say in which it computes; without, its inputs do.
    has_kind: bool,
    /// The dtype that the options ask for.
    chosen: Option<Kind>,
    non_finite: NonFinite,
    /// How weights of linear layers are kept, if as integers.
    weights: Option<WeightFormat>,
    dynamic: Option<DynamicFormat>,
    graphs: Option<Arc<Graphs>>,
    /// Where layers are to measure their kernels.
    clock: Option<Arc<dyn Clock>>,
    copies: Arc<Copies>,
    cells: Arc<Cells>,
    pack_cache: Arc<PackCache>,
    microbatching: Arc<Microbatching>,
    /// A forward has begun.
    is_in_use: AtomicBool,
    /// Groups have large results, and belong to no kernel.
    _results: PoolUser,
}

impl Frame {
    /// The frame of `model`, whose type is called `name`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the device is not there, or the dtype is not a floating-point one.
    pub fn new(name: &str, options: &Freeze, model: &dyn Module) -> Result<Self, Error> {
        let device = options.device.or_else(|| model.device()).unwrap_or(Device::Cpu);
        let (weights, own) = (model.state_dict(), model.kind());
        let mut floats = weights.iter().filter(|(_, weight)| weight.is_floating_point());
        let is_one = floats.all(|(_, weight)| Some(weight.kind()) == own);
        let bytes = weights.iter().map(|(_, weight)| bytes(weight)).sum();
        let frame = Self::of(name, options, device, options.kind.or(own), bytes)?;
        Ok(Self { has_kind: frame.has_kind && (is_one || options.kind.is_some()), ..frame })
    }

    /// The frame of a model that is read from a file of so many bytes, which was frozen in `kind`.
    pub(crate) fn loaded(name: &str, options: &Freeze, kind: Option<Kind>, bytes: usize) -> Result<Self, Error> {
        Self::of(name, options, options.device.unwrap_or(Device::Cpu), options.kind.or(kind), bytes)
    }

    fn of(name: &str, options: &Freeze, device: Device, known: Option<Kind>, weights: usize) -> Result<Self, Error> {
        check_device(device)?;
        let kind = known.unwrap_or(Kind::Float);
        if !matches!(kind, Kind::Float | Kind::Double | Kind::Half | Kind::BFloat16) {
            let what = format!("freezing `{name}` in {kind:?}");
            return Err(Error::Unsupported { what, help: "choose a floating-point dtype".to_owned() });
        }
        let memory_format = options.memory_format.resolve(device, kind);
        let cpu = Cpu::of_this_machine();
        let target = Target { device, kind, memory_format, backend: options.backend, cpu };
        let graphs = Graphs::of(options, device).map(Arc::new);
        Ok(Self {
            model: name.into(),
            target,
            has_kind: known.is_some(),
            chosen: options.kind,
            non_finite: NonFinite::new(options.exact_nan),
            weights: options.weights,
            dynamic: options.dynamic,
            graphs,
            clock: options.autotune.then(|| Arc::new(Wall(device)) as Arc<dyn Clock>),
            copies: Arc::default(),
            cells: Arc::default(),
            pack_cache: Arc::default(),
            microbatching: Arc::new(Microbatching::new(options.slice_batches, weights)),
            is_in_use: AtomicBool::new(false),
            _results: PoolUser::new(),
        })
    }

    /// A second handle on the frame, for the model that its kernels are packed for.
    pub(crate) fn handle(&self) -> Self {
        Self {
            model: Arc::clone(&self.model),
            target: self.target,
            has_kind: self.has_kind,
            chosen: self.chosen,
            non_finite: self.non_finite.clone(),
            weights: self.weights,
            dynamic: self.dynamic,
            graphs: self.graphs.clone(),
            clock: self.clock.clone(),
            copies: Arc::default(),
            cells: Arc::clone(&self.cells),
            pack_cache: Arc::default(),
            microbatching: Arc::clone(&self.microbatching),
            is_in_use: AtomicBool::new(false),
            _results: PoolUser::new(),
        }
    }

    /// Name of the model's type.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Device that the model computes on.
    pub fn device(&self) -> Device {
        self.target.device
    }

    /// Dtype of floating-point weights and inputs.
    pub fn kind(&self) -> Kind {
        self.target.kind
    }

    /// The dtype that floating-point inputs have to have; none where the model has no weights, and nobody chose one.
    pub(crate) fn known_kind(&self) -> Option<Kind> {
        self.has_kind.then_some(self.target.kind)
    }

    /// Where forwards are recorded, if they are and this one is not being recorded already.
    #[inline]
    pub fn graphs(&self) -> Option<&Graphs> {
        self.graphs.as_deref().filter(|_| Graphs::is_open())
    }

    /// How this batch goes through a forward in which samples do not meet; none where it does as a whole.
    pub fn microbatches<'a>(&'a self, batch: &'a Tensor) -> Option<Microbatches<'a>> {
        self.microbatching.of(batch)
    }

    /// What is recorded so far.
    pub fn graph_report(&self) -> GraphReport {
        match &self.graphs {
            Some(graphs) => graphs.report(),
            None => GraphReport::never("`Freeze::cuda_graphs` was not set"),
        }
    }

    /// An input of zeros.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn example(&self, example: impl Into<Example>) -> Result<Tensor, Error> {
        example.into().tensor(self.target.kind, self.target.device)
    }

    /// Begins a forward of operators that fx knows: gradients are off on this thread until the scope is dropped, and the
    /// kernels of autograd are left out.
    ///
    /// The first one gives the memory back that the model took which was frozen, and which is gone as a rule by then: its
    /// weights lie among those of the frozen one, where the C library keeps what was freed.
    pub fn enter(&self) -> Scope<'_> {
        self.begin(Autograd::LeftOut)
    }

    /// The same of a forward in which code of the user's runs as it is written: it may turn gradients on for itself.
    pub fn enter_with_autograd(&self) -> Scope<'_> {
        self.begin(Autograd::Asked)
    }

    fn begin(&self, autograd: Autograd) -> Scope<'_> {
        if !self.is_in_use.load(Ordering::Relaxed) && !self.is_in_use.swap(true, Ordering::Relaxed) {
            release_freed();
        }
        Scope::begin(self, autograd)
    }

    /// Begins the freezing: gradients are off on this thread until it is over.
    pub fn freezing(&self) -> Freezing {
        self.pack_cache.begin();
        Freezing {
            copies: Arc::clone(&self.copies),
            pack_cache: Arc::clone(&self.pack_cache),
            cells: Arc::clone(&self.cells),
            _no_grad: tch::no_grad_guard(),
            _on_this_thread: PhantomData,
        }
    }

    /// What calls write to.
    pub(crate) fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Gives all that calls write to the values that it had when the model was frozen.
    ///
    /// # Errors
    ///
    /// When there is no memory for them.
    pub fn reset_state(&self) -> Result<(), Error> {
        self.cells.reset()
    }

    /// What the freezing has made so far.
    fn pack_cache(&self) -> &PackCache {
        &self.pack_cache
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// How layers measure their kernels; none where they take the first.
    pub(crate) fn tuning(&self) -> Option<Tuning> {
        self.clock.clone().map(|clock| Tuning { clock, target: self.target })
    }

    /// The same frame where this clock says how long kernels take.
    #[cfg(test)]
    pub(crate) fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    pub(crate) fn non_finite(&self) -> NonFinite {
        self.non_finite.clone()
    }

    /// How weights are kept, if in fewer bits.
    pub(crate) fn weight_format(&self) -> Option<WeightFormat> {
        self.weights
    }

    /// How linear layers multiply in eight bits, if they do.
    pub(crate) fn dynamic_format(&self) -> Option<DynamicFormat> {
        self.dynamic
    }

    /// The dtype that was asked for.
    pub(crate) fn chosen(&self) -> Option<Kind> {
        self.chosen
    }

    /// What is known about a layer with this weight, which has its place already.
    pub(crate) fn target_of(&self, weight: &Tensor) -> Result<Target, Error> {
        Ok(Target { kind: weight.f_kind()?, ..self.target })
    }
}

/// The freezing of a model; dropping it restores gradient tracking and lets go of the model's own weights.
#[must_use = "gradients are tracked again as soon as it is dropped"]
pub struct Freezing {
    copies: Arc<Copies>,
    pack_cache: Arc<PackCache>,
    cells: Arc<Cells>,
    _no_grad: tch::NoGradGuard,
    _on_this_thread: PhantomData<*mut ()>,
}

impl Drop for Freezing {
    fn drop(&mut self) {
        self.copies.clear();
        self.pack_cache.clear();
        self.cells.forget_addresses();
    }
}

fn check_device(device: Device) -> Result<(), Error> {
    let Device::Cuda(index) = device else { return Ok(()) };
    let devices = if cuda::is_available() { tch::Cuda::device_count() } else { 0 };
    if i64::try_from(index).is_ok_and(|index| index < devices) {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("freezing for {device:?} where {devices} CUDA devices are found"),
        help: "see `fx_runtime::capabilities()` for what there is".to_owned(),
    })
}

fn bytes(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.kind().elt_size_in_bytes()
}

#[cfg(test)]
mod tests;
