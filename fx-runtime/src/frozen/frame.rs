//! What all parts of one frozen model share: where it computes, in which dtype, and its borders.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tch::{Device, Kind, Tensor};

use super::Param;
use super::copies::Copies;
use super::kept::Cells;
use super::made::Made;
use super::scope::Scope;
use super::select::{Cpu, Site};
use super::slices::{Slices, Slicing};
use super::taint::Taint;
use super::tune::{Clock, Tuning, Wall};
use crate::cuda::{Example, GraphReport, Graphs};
use crate::ffi::{Tenant, cuda, release_freed};
use crate::{Error, Freeze, Module};

/// Device, dtype and kernel choice of one frozen model.
#[derive(Debug)]
pub struct Frame {
    model: &'static str,
    site: Site,
    /// Weights of one dtype or options say in which it computes; without, its inputs do.
    has_kind: bool,
    /// The dtype that the options ask for.
    chosen: Option<Kind>,
    taint: Taint,
    graphs: Option<Arc<Graphs>>,
    /// Where layers are to measure their kernels.
    clock: Option<Arc<dyn Clock>>,
    copies: Arc<Copies>,
    cells: Arc<Cells>,
    made: Arc<Made>,
    slicing: Arc<Slicing>,
    /// A forward has begun.
    is_in_use: AtomicBool,
    /// Groups have large results, and belong to no kernel.
    _results: Tenant,
}

impl Frame {
    /// The frame of `model`, whose type is called `name`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the device is not there, or the dtype is not a floating-point one.
    pub fn new(name: &'static str, options: &Freeze, model: &impl Module) -> Result<Self, Error> {
        let device = options.device.or_else(|| model.device()).unwrap_or(Device::Cpu);
        let (weights, own) = (model.state_dict(), model.kind());
        let mut floats = weights.iter().filter(|(_, weight)| weight.is_floating_point());
        let is_one = floats.all(|(_, weight)| Some(weight.kind()) == own);
        let bytes = weights.iter().map(|(_, weight)| bytes(weight)).sum();
        let frame = Self::of(name, options, device, options.kind.or(own), bytes)?;
        Ok(Self { has_kind: frame.has_kind && (is_one || options.kind.is_some()), ..frame })
    }

    /// The frame of a model that is read from a file of so many bytes, which was frozen in `kind`.
    pub(super) fn loaded(
        name: &'static str,
        options: &Freeze,
        kind: Option<Kind>,
        bytes: usize,
    ) -> Result<Self, Error> {
        Self::of(name, options, options.device.unwrap_or(Device::Cpu), options.kind.or(kind), bytes)
    }

    fn of(
        name: &'static str,
        options: &Freeze,
        device: Device,
        known: Option<Kind>,
        weights: usize,
    ) -> Result<Self, Error> {
        check_device(device)?;
        let kind = known.unwrap_or(Kind::Float);
        if !matches!(kind, Kind::Float | Kind::Double | Kind::Half | Kind::BFloat16) {
            let what = format!("freezing `{name}` in {kind:?}");
            return Err(Error::Unsupported { what, help: "choose a floating-point dtype".to_owned() });
        }
        let memory_format = options.memory_format.resolve(device, kind);
        let cpu = Cpu::of_this_machine();
        let site = Site { device, kind, memory_format, backend: options.backend, cpu };
        let graphs = Graphs::of(options, device).map(Arc::new);
        Ok(Self {
            model: name,
            site,
            has_kind: known.is_some(),
            chosen: options.kind,
            taint: Taint::default(),
            graphs,
            clock: options.autotune.then(|| Arc::new(Wall(device)) as Arc<dyn Clock>),
            copies: Arc::default(),
            cells: Arc::default(),
            made: Arc::default(),
            slicing: Arc::new(Slicing::new(options.slice_batches, weights)),
            is_in_use: AtomicBool::new(false),
            _results: Tenant::new(),
        })
    }

    /// A second handle on the frame, for the model that its kernels are packed for.
    pub(super) fn handle(&self) -> Self {
        Self {
            model: self.model,
            site: self.site,
            has_kind: self.has_kind,
            chosen: self.chosen,
            taint: self.taint.clone(),
            graphs: self.graphs.clone(),
            clock: self.clock.clone(),
            copies: Arc::default(),
            cells: Arc::clone(&self.cells),
            made: Arc::default(),
            slicing: Arc::clone(&self.slicing),
            is_in_use: AtomicBool::new(false),
            _results: Tenant::new(),
        }
    }

    /// Name of the model's type.
    pub fn model(&self) -> &'static str {
        self.model
    }

    /// Device that the model computes on.
    pub fn device(&self) -> Device {
        self.site.device
    }

    /// Dtype of floating-point weights and inputs.
    pub fn kind(&self) -> Kind {
        self.site.kind
    }

    /// The dtype that floating-point inputs have to have; none where the model has no weights, and nobody chose one.
    pub(super) fn known_kind(&self) -> Option<Kind> {
        self.has_kind.then_some(self.site.kind)
    }

    /// Where forwards are recorded, if they are and this one is not being recorded already.
    #[inline]
    pub fn graphs(&self) -> Option<&Graphs> {
        self.graphs.as_deref().filter(|_| Graphs::is_open())
    }

    /// How this batch goes through a forward in which samples do not meet; none where it does as a whole.
    pub fn slices<'a>(&'a self, batch: &'a Tensor) -> Option<Slices<'a>> {
        self.slicing.slices(batch)
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
        example.into().tensor(self.site.kind, self.site.device)
    }

    /// Begins a forward: gradients are off on this thread until the scope is dropped.
    ///
    /// The first one gives the memory back that the model took which was frozen, and which is gone as a rule by then: its
    /// weights lie among those of the frozen one, where the C library keeps what was freed.
    pub fn enter(&self) -> Scope<'_> {
        if !self.is_in_use.load(Ordering::Relaxed) && !self.is_in_use.swap(true, Ordering::Relaxed) {
            release_freed();
        }
        Scope::begin(self)
    }

    /// Begins the freezing: gradients are off on this thread until it is over.
    pub fn freezing(&self) -> Freezing {
        Freezing {
            copies: Arc::clone(&self.copies),
            made: Arc::clone(&self.made),
            cells: Arc::clone(&self.cells),
            _no_grad: tch::no_grad_guard(),
            _on_this_thread: PhantomData,
        }
    }

    /// A copy of a weight for operators that are not packed: on the frame's device and, if floating-point, in its dtype.
    ///
    /// While the model is frozen a tensor is copied once, whatever number of names it has.
    pub fn param(&self, tensor: &Tensor) -> Result<Param, Error> {
        if let Some(copy) = self.copies.of(tensor) {
            return Ok(copy);
        }
        let placed = self.place(tensor)?;
        let copy = if placed.data_ptr() == tensor.data_ptr() { Param::copied(&placed)? } else { Param::new(placed) };
        self.copies.add(tensor, &copy);
        Ok(copy)
    }

    /// A copy of a tensor for code that is carried along; of one that was never made a handle.
    pub fn copied(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        if tensor.defined() { Ok(self.param(tensor)?.shallow_clone()) } else { Ok(tensor.shallow_clone()) }
    }

    /// The copy of a tensor that another part of the model holds already.
    pub(super) fn copy_of(&self, tensor: &Tensor) -> Option<Param> {
        self.copies.of(tensor)
    }

    /// Takes over a tensor that is in place and belongs to nobody else.
    pub(super) fn adopt(&self, tensor: Tensor) -> Param {
        let copy = Param::new(tensor);
        self.copies.add(&copy, &copy);
        copy
    }

    /// A tensor that is no weight: on the frame's device, of the dtype that it has.
    pub fn constant(&self, tensor: &Tensor) -> Result<Param, Error> {
        let _no_grad = tch::no_grad_guard();
        Ok(Param::copied(&tensor.f_to_device(self.site.device)?)?)
    }

    /// A copy of a tensor that calls replace or write to: on the frame's device and, if floating-point, in its dtype.
    pub(super) fn own(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        if !tensor.defined() {
            return Ok(tensor.shallow_clone());
        }
        let copy = tensor.f_detach_copy()?.f_to_device(self.site.device)?;
        Ok(if copy.is_floating_point() { copy.f_to_kind(self.kind_of(tensor)?)? } else { copy })
    }

    /// What calls write to.
    pub(super) fn cells(&self) -> &Cells {
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
    pub(super) fn made(&self) -> &Made {
        &self.made
    }

    pub(super) fn site(&self) -> &Site {
        &self.site
    }

    /// How layers measure their kernels; none where they take the first.
    pub(super) fn tuning(&self) -> Option<Tuning> {
        self.clock.clone().map(|clock| Tuning { clock, site: self.site })
    }

    /// The same frame where this clock says how long kernels take.
    #[cfg(test)]
    pub(super) fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    pub(super) fn taint(&self) -> Taint {
        self.taint.clone()
    }

    /// The dtype that was asked for.
    pub(super) fn chosen(&self) -> Option<Kind> {
        self.chosen
    }

    /// The dtype that a tensor has in the frozen model: its own, unless another was chosen for the model.
    fn kind_of(&self, tensor: &Tensor) -> Result<Kind, Error> {
        Ok(match self.chosen {
            Some(chosen) => chosen,
            None => tensor.f_kind()?,
        })
    }

    /// What is known about a layer with this weight, which has its place already.
    pub(super) fn site_of(&self, weight: &Tensor) -> Result<Site, Error> {
        Ok(Site { kind: weight.f_kind()?, ..self.site })
    }

    /// Moves and casts a weight, and notes whether it is finite.
    pub(super) fn place(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        let _no_grad = tch::no_grad_guard();
        if !tensor.defined() {
            let what = format!("an undefined weight in `{}`", self.model);
            return Err(Error::Unsupported { what, help: "initialise every weight before freezing".to_owned() });
        }
        if !tensor.is_floating_point() {
            return Ok(tensor.f_to_device(self.site.device)?);
        }
        let placed = tensor.f_to_device(self.site.device)?.f_to_kind(self.kind_of(tensor)?)?;
        // The sum is not finite if an element is not. A sum that overflows without one only costs a fused relu.
        if !placed.f_sum(Kind::Float)?.f_double_value(&[])?.is_finite() {
            self.taint.set();
        }
        Ok(placed)
    }
}

/// The freezing of a model; dropping it restores gradient tracking and lets go of the model's own weights.
#[must_use = "gradients are tracked again as soon as it is dropped"]
pub struct Freezing {
    copies: Arc<Copies>,
    made: Arc<Made>,
    cells: Arc<Cells>,
    _no_grad: tch::NoGradGuard,
    _on_this_thread: PhantomData<*mut ()>,
}

impl Drop for Freezing {
    fn drop(&mut self) {
        self.copies.clear();
        self.made.clear();
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
mod tests {
    use super::super::{Act, oracle};
    use super::*;
    use crate::ffi::ops;

    fn floats(sizes: &[i64]) -> Tensor {
        Tensor::ones(sizes, (Kind::Float, Device::Cpu))
    }

    #[test]
    fn keeps_the_models_device_and_dtype_or_takes_the_options() {
        let frame = oracle::frame(Freeze::new());
        assert_eq!((frame.device(), frame.kind(), frame.model()), (Device::Cpu, Kind::Float, "Probe"));
        assert_eq!(oracle::frame(Freeze::new().kind(Kind::Double)).kind(), Kind::Double);
    }

    #[test]
    fn refuses_what_it_cannot_be_frozen_for() {
        let integers = Frame::new("Probe", &Freeze::new().kind(Kind::Int64), &oracle::model()).unwrap_err();
        assert!(integers.to_string().contains("freezing `Probe` in Int64"), "{integers}");
        let far = Frame::new("Probe", &Freeze::new().device(Device::Cuda(99)), &oracle::model()).unwrap_err();
        assert!(far.to_string().contains("Cuda(99)"), "{far}");
    }

    #[test]
    fn inputs_are_checked() {
        let frame = oracle::frame(Freeze::new());
        let scope = frame.enter();
        let error = scope.input("xs", &floats(&[2]).to_kind(Kind::Half)).unwrap_err();
        assert!(error.to_string().starts_with("`xs` has dtype Half but the model has Float"), "{error}");
        assert!(scope.input("ids", &Tensor::from_slice(&[1i64, 2])).is_ok());
        assert!(scope.input("xs", &Tensor::new()).is_err());
    }

    #[test]
    fn without_weights_inputs_say_the_dtype() {
        let (any, halves) = (Freeze::new(), Freeze::new().kind(Kind::Half));
        let frame = |options: &Freeze| Frame::new("Pool", options, &()).unwrap();
        for kind in [Kind::Float, Kind::Double, Kind::Half] {
            let xs = floats(&[2]).to_kind(kind);
            assert_eq!(frame(&any).enter().input("xs", &xs).unwrap().kind(), kind);
            assert_eq!(frame(&halves).enter().input("xs", &xs).is_ok(), kind == Kind::Half);
        }
    }

    #[test]
    fn a_weight_of_two_names_is_copied_once_while_freezing() {
        let frame = oracle::frame(Freeze::new());
        let (table, other) = (floats(&[4, 3]), floats(&[4, 3]));
        let first = {
            let _freezing = frame.freezing();
            let first = frame.param(&table).unwrap();
            assert_eq!(frame.param(&table.shallow_clone()).unwrap().data_ptr(), first.data_ptr());
            assert_ne!(first.data_ptr(), table.data_ptr());
            for apart in [&other, &table.narrow(0, 0, 2), &table.view([3, 4])] {
                assert_ne!(frame.param(apart).unwrap().data_ptr(), first.data_ptr());
            }
            first
        };
        assert_ne!(frame.param(&table).unwrap().data_ptr(), first.data_ptr(), "the model may have changed since");
    }

    #[test]
    fn training_is_refused() {
        let frame = oracle::frame(Freeze::new());
        let scope = frame.enter();
        assert!(scope.inference_only("train", false).is_ok());
        let error = scope.inference_only("train", true).unwrap_err();
        assert!(error.to_string().starts_with("training (`train` is true) of the frozen `Probe`"), "{error}");
    }

    #[test]
    fn results_have_the_callers_layout() {
        let frame = oracle::frame(Freeze::new());
        let plain = floats(&[2, 3, 4, 5]);
        let last = ops::clone_in(&plain, ops::MemoryFormat::ChannelsLast).unwrap();
        let scope = frame.enter();
        let _ = scope.input("xs", &plain).unwrap();
        assert!(scope.output(last.shallow_clone()).unwrap().is_contiguous());
        let _ = scope.input("xs", &last).unwrap();
        assert_eq!(scope.output(last.shallow_clone()).unwrap().stride(), last.stride());
    }

    #[test]
    fn gradients_are_off_inside_alone() {
        let frame = oracle::frame(Freeze::new());
        let weight = floats(&[2]).set_requires_grad(true);
        {
            let _scope = frame.enter();
            assert!(!(&weight * 2.0).requires_grad());
        }
        assert!((&weight * 2.0).requires_grad());
    }

    #[test]
    fn weights_are_placed_and_their_nan_is_noticed() {
        let frame = oracle::frame(Freeze::new().kind(Kind::Double));
        assert_eq!(frame.param(&floats(&[2])).unwrap().kind(), Kind::Double);
        assert_eq!(frame.param(&Tensor::from_slice(&[1i64])).unwrap().kind(), Kind::Int64);
        assert!(!frame.taint().forbids(Act::Relu));
        frame.param(&Tensor::from_slice(&[1.0, f32::NAN])).unwrap();
        assert!(frame.taint().forbids(Act::Relu) && !frame.taint().forbids(Act::Silu));
    }

    #[test]
    fn crosses_threads() {
        fn assert_send_sync<T: Send + Sync>() {}
        assert_send_sync::<Frame>();
        assert_send_sync::<Param>();
    }
}
