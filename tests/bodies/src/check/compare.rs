//! Frozen against eager: the same results from the same inputs, and the same left of the inputs.
//!
//! `cargo xtask fuzz` includes this file by itself.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fx_runtime::Freeze;
use tch::{Device, Kind, Tensor};

#[path = "../../../device.rs"]
mod device;

pub(crate) use device::device;

/// One test at a time draws random numbers: libtorch has one generator for all threads.
static GENERATOR: Mutex<()> = Mutex::new(());

/// Keeps every other test from drawing random numbers.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    // Before anything is drawn: libtorch looks for CUDA once.
    device();
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A model on its own variables.
pub(crate) fn root<M>(make: impl FnOnce(&fx_runtime::nn::Path) -> M) -> (fx_runtime::nn::VarStore, M) {
    let _alone = alone();
    tch::manual_seed(1);
    let vs = fx_runtime::nn::VarStore::new(device());
    let model = make(&vs.root());
    (vs, model)
}

thread_local! {
    /// The seed of the next random numbers of this thread.
    static SEED: Cell<i64> = const { Cell::new(101) };
}

/// Has [`randn`] begin anew on this thread, with the numbers of that seed.
pub(crate) fn seed_inputs(seed: i64) {
    SEED.set(seed);
}

/// Options of a frozen model that is on [`device`], as one without weights or one that is loaded has to be told.
pub(crate) fn here() -> Freeze {
    Freeze::new().device(device())
}

/// A number on [`device`], as a tensor without axes.
pub(crate) fn number(number: f32) -> Tensor {
    Tensor::from(number).to_device(device())
}

/// Random numbers on [`device`], others at each call, the same in each run of a test.
pub(crate) fn randn(size: &[i64]) -> Tensor {
    let _alone = alone();
    tch::manual_seed(SEED.replace(SEED.get() + 1));
    // Drawn on the CPU: the same numbers on every device.
    Tensor::randn(size, (Kind::Float, Device::Cpu)).to_device(device())
}

/// The inputs where the model is.
pub(crate) fn moved<I: Inputs>(cases: &[I]) -> Vec<I> {
    cases.iter().map(|case| case.mapped(&|tensor| tensor.to_device(device()))).collect()
}

/// Inputs of which there can be another set with memory of its own.
pub(crate) trait Inputs {
    /// Each tensor by `copy`.
    fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> Self;
}

impl Inputs for Tensor {
    fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> Tensor {
        copy(self)
    }
}

impl<T: Inputs> Inputs for Vec<T> {
    fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> Vec<T> {
        self.iter().map(|one| one.mapped(copy)).collect()
    }
}

impl<T: Inputs> Inputs for Option<T> {
    fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> Option<T> {
        self.as_ref().map(|one| one.mapped(copy))
    }
}

impl<T: Inputs, const N: usize> Inputs for [T; N] {
    fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> [T; N] {
        std::array::from_fn(|at| self[at].mapped(copy))
    }
}

impl<A: Inputs, B: Inputs> Inputs for (A, B) {
    fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> (A, B) {
        (self.0.mapped(copy), self.1.mapped(copy))
    }
}

impl<A: Inputs, B: Inputs, C: Inputs> Inputs for (A, B, C) {
    fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> (A, B, C) {
        (self.0.mapped(copy), self.1.mapped(copy), self.2.mapped(copy))
    }
}

macro_rules! plain_inputs {
    ($($ty:ty),+) => {
        $(impl Inputs for $ty {
            fn mapped(&self, _: &dyn Fn(&Tensor) -> Tensor) -> $ty {
                self.clone()
            }
        })+
    };
}
plain_inputs!(i64, usize, f64, bool, String, ());

/// Results that can be compared.
pub(crate) trait Close {
    /// Panics where they differ.
    fn close(&self, eager: &Self);
}

impl Close for Tensor {
    fn close(&self, eager: &Tensor) {
        assert_eq!((self.size(), self.kind()), (eager.size(), eager.kind()));
        assert!(self.allclose(eager, 1e-5, 1e-5, true), "{}frozen:\n{self}eager:\n{eager}", rounding(self, eager));
    }
}

/// [`ROUNDING`] where the largest difference is within 1e-5 of the largest number, as where large numbers cancel out.
fn rounding(frozen: &Tensor, eager: &Tensor) -> &'static str {
    let largest = |tensor: &Tensor| tensor.abs().max().double_value(&[]);
    let is_float = [frozen, eager].iter().all(|tensor| tensor.is_floating_point());
    if is_float && largest(&(frozen - eager)) <= 1e-5 * largest(eager) { ROUNDING } else { "" }
}

/// What is said of tensors whose numbers differ by as much as rounding may do; the fuzzer looks for it.
pub(crate) const ROUNDING: &str = "by rounding alone, ";

impl<T: Close> Close for Option<T> {
    fn close(&self, eager: &Option<T>) {
        assert_eq!(self.is_some(), eager.is_some());
        self.iter().zip(eager).for_each(|(a, b)| a.close(b));
    }
}

impl<T: Close, E: std::fmt::Display, F: std::fmt::Display> CloseTo<Result<T, F>> for Result<T, E> {
    fn close_to(&self, eager: &Result<T, F>) {
        match (self, eager) {
            (Ok(frozen), Ok(eager)) => frozen.close(eager),
            (Err(_), Err(_)) => {}
            (Err(error), _) => panic!("only the frozen model fails: {error}"),
            (_, Err(error)) => panic!("only the model itself fails: {error}"),
        }
    }
}

impl<T: Close> Close for Vec<T> {
    fn close(&self, eager: &Vec<T>) {
        assert_eq!(self.len(), eager.len());
        self.iter().zip(eager).for_each(|(a, b)| a.close(b));
    }
}

impl<T: Close, const N: usize> Close for [T; N] {
    fn close(&self, eager: &[T; N]) {
        self.iter().zip(eager).for_each(|(a, b)| a.close(b));
    }
}

macro_rules! close_tuple {
    ($($name:ident $at:tt),+) => {
        impl<$($name: Close),+> Close for ($($name,)+) {
            fn close(&self, eager: &Self) {
                $(self.$at.close(&eager.$at);)+
            }
        }
    };
}
close_tuple!(A 0, B 1);
close_tuple!(A 0, B 1, C 2);
close_tuple!(A 0, B 1, C 2, D 3);

macro_rules! close_plain {
    ($($ty:ty),+) => {
        $(impl Close for $ty {
            fn close(&self, eager: &$ty) {
                assert_eq!(self, eager);
            }
        })+
    };
}
close_plain!(i64, usize, bool, String, ());

impl Close for f64 {
    fn close(&self, eager: &f64) {
        let is_close = (self - eager).abs() <= 1e-5 * eager.abs().max(1.0) || (self.is_nan() && eager.is_nan());
        assert!(is_close, "frozen: {self}, eager: {eager}");
    }
}

/// Results of two types that can be compared: a frozen model may have an error type of its own.
pub(crate) trait CloseTo<E> {
    /// Panics where they differ.
    fn close_to(&self, eager: &E);
}

impl<T: Close> CloseTo<T> for T {
    fn close_to(&self, eager: &T) {
        self.close(eager);
    }
}

/// What two calls in a row hand over that are lent one state, and how the first has left it.
#[allow(dead_code, reason = "not every crate that includes this file lends a state")]
pub(crate) struct Twice<T, S> {
    first: T,
    between: S,
    second: T,
}

impl<T, S: Inputs> Twice<T, S> {
    /// Calls with the state, and again.
    #[allow(dead_code, reason = "not every crate that includes this file lends a state")]
    pub(crate) fn of(state: &mut S, mut call: impl FnMut(&mut S) -> T) -> Twice<T, S> {
        let first = call(state);
        let between = state.mapped(&Tensor::copy);
        Twice { first, between, second: call(state) }
    }
}

impl<E, T: CloseTo<E>, S: Close> CloseTo<Twice<E, S>> for Twice<T, S> {
    fn close_to(&self, eager: &Twice<E, S>) {
        self.between.close(&eager.between);
        self.first.close_to(&eager.first);
        self.second.close_to(&eager.second);
    }
}

/// The same elements in another order in memory.
fn strided(tensor: &Tensor) -> Tensor {
    if tensor.dim() < 2 {
        return tensor.copy();
    }
    tensor.transpose(0, -1).contiguous().copy().transpose(0, -1)
}

/// None of its rows.
fn emptied(tensor: &Tensor) -> Tensor {
    if tensor.dim() < 2 { tensor.copy() } else { tensor.narrow(0, 0, 0).copy() }
}

/// Floating-point numbers of twice the width.
fn doubled(tensor: &Tensor) -> Tensor {
    if tensor.kind() == Kind::Float { tensor.to_kind(Kind::Double) } else { tensor.copy() }
}

/// Runs both on every case, twice each: the second run shows whether the first left anything behind.
///
/// What the model itself takes, the frozen one takes: the same numbers in another order in memory, and an empty batch.
pub(crate) fn same<I: Inputs + Close, E, F: CloseTo<E>>(
    cases: &[I],
    eager: impl Fn(&mut I) -> E,
    frozen: impl Fn(&mut I) -> F,
) {
    let _alone = alone();
    for case in cases {
        for _ in 0..2 {
            let inputs = || case.mapped(&Tensor::copy);
            // A body may make tensors on the CPU, and there alone the model itself takes them.
            if device() == Device::Cpu || draws(&inputs, &eager).is_some() {
                compare(&inputs, &eager, &frozen);
            }
        }
        for changed in [strided, emptied] {
            compare_if_taken(&|| case.mapped(&changed), &eager, &frozen);
        }
    }
}

/// The same of a model whose weights are `f64`.
pub(crate) fn same_in_f64<I: Inputs + Close, E, F: CloseTo<E>>(
    cases: &[I],
    eager: impl Fn(&mut I) -> E,
    frozen: impl Fn(&mut I) -> F,
) {
    let _alone = alone();
    cases.iter().for_each(|case| compare_if_taken(&|| case.mapped(&doubled), &eager, &frozen));
}

/// Nothing where the model itself panics, or draws random numbers, which fill a result in the order of its memory.
fn compare_if_taken<I: Inputs + Close, E, F: CloseTo<E>>(
    inputs: &dyn Fn() -> I,
    eager: &dyn Fn(&mut I) -> E,
    frozen: &dyn Fn(&mut I) -> F,
) {
    if draws(inputs, eager) == Some(false) {
        compare(inputs, eager, frozen);
    }
}

/// Whether the model itself draws random numbers, on the CPU or on [`device`]; none where it panics.
fn draws<I, E>(inputs: &dyn Fn() -> I, eager: &dyn Fn(&mut I) -> E) -> Option<bool> {
    let next = || [Device::Cpu, device()].map(|on| Tensor::rand([1], (Kind::Float, on)).double_value(&[0]));
    let run = AssertUnwindSafe(|| drop(tch::no_grad(|| eager(&mut inputs()))));
    tch::manual_seed(7);
    let first = next();
    tch::manual_seed(7);
    catch_unwind(run).is_ok().then(|| next() != first)
}

fn compare<I: Inputs + Close, E, F: CloseTo<E>>(
    inputs: &dyn Fn() -> I,
    eager: &dyn Fn(&mut I) -> E,
    frozen: &dyn Fn(&mut I) -> F,
) {
    let (mut for_eager, mut for_frozen) = (inputs(), inputs());
    tch::manual_seed(7);
    let expected = tch::no_grad(|| eager(&mut for_eager));
    tch::manual_seed(7);
    let found = frozen(&mut for_frozen);
    found.close_to(&expected);
    for_frozen.close(&for_eager);
}

/// `numbers_agree!(Net::new, [inputs], |net, input| net.forward(input))`; yields the name of the model's type.
macro_rules! numbers_agree {
    ($make:expr, $cases:expr, |$net:ident, $input:pat_param| $call:expr) => {{
        let cases = &$crate::check::moved(&$cases);
        let (mut vs, model) = $crate::check::root($make);
        let graph = model.graph().expect("a graph");
        assert!(graph.lint().is_ok(), "{graph}");
        macro_rules! agrees {
            ($same:ident, $kept:ident) => {
                $crate::check::$same(
                    cases,
                    |$input| {
                        let $net = &model;
                        $call
                    },
                    |$input| {
                        let $net = &$kept;
                        $call
                    },
                )
            };
        }
        let frozen = model.freeze(&$crate::check::here()).expect("a frozen model");
        agrees!(same, frozen);
        if let Some(loaded) = $crate::check::reloaded(&frozen, |frozen, path| frozen.save(path)) {
            agrees!(same, loaded);
        }
        vs.double();
        let frozen = model.freeze(&$crate::check::here()).expect("a frozen model");
        agrees!(same_in_f64, frozen);
        graph.name
    }};
}
pub(crate) use numbers_agree;

/// The frozen model as it comes back from a file; none where it holds what cannot be saved.
pub(crate) fn reloaded<F: fx_runtime::frozen::SavedAs>(
    frozen: &F,
    save: impl FnOnce(&F, &std::path::Path) -> fx_runtime::Result<()>,
) -> Option<F> {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("fx-body-{}-{number}.safetensors", std::process::id()));
    save(frozen, &path).ok()?;
    let loaded = fx_runtime::frozen::load(F::TITLE, F::GRAPH, &path, &here());
    std::fs::remove_file(&path).expect("the file was there");
    Some(loaded.expect("what was saved is loaded"))
}

/// Calls in a row, of the model and of two frozen ones, of which the second is frozen when the first has been called;
/// yields the name of the model's type and the first frozen one.
macro_rules! numbers_agree_in_a_row {
    ($make:expr, $inputs:expr) => {{
        use $crate::check::Close as _;
        let (_vs, mut model) = $crate::check::root($make);
        let graph = model.graph().expect("a graph");
        assert!(graph.lint().is_ok(), "{graph}");
        let mut frozen = model.freeze(&$crate::check::here()).expect("a frozen model");
        let inputs: Vec<tch::Tensor> = $inputs;
        let inputs = $crate::check::moved(&inputs);
        // What is left of an input is a result as well.
        macro_rules! called {
            ($net:expr, $list:expr) => {
                $list.iter().map(|xs| xs.copy()).map(|xs| ($net.forward(&xs), xs)).collect::<Vec<_>>()
            };
        }
        let expected = tch::no_grad(|| called!(model, inputs));
        called!(frozen, inputs).close(&expected);
        if let Some(mut loaded) = $crate::check::reloaded(&frozen, |frozen, path| frozen.save(path)) {
            called!(loaded, inputs).close(&expected);
        }
        // What the live model has become is where the next one begins.
        let mut later = model.freeze(&$crate::check::here()).expect("a frozen model");
        let other = std::thread::scope(|scope| {
            let inputs: Vec<tch::Tensor> = inputs.iter().map(tch::Tensor::shallow_clone).collect();
            let later = &mut later;
            scope.spawn(move || called!(later, inputs)).join().unwrap()
        });
        frozen.reset_state().unwrap();
        called!(frozen, inputs).close(&expected);
        // Last: what the model has kept may be the inputs of its first calls, to which these calls write.
        let expected_later = tch::no_grad(|| called!(model, inputs));
        other.close(&expected_later);
        (graph.name, frozen)
    }};
}
pub(crate) use numbers_agree_in_a_row;
