//! cuBLASLt: a product of matrices whose kernel also adds a bias and another matrix, and applies an activation.
//!
//! libtorch reaches it for a bias or an activation, and not for both and an addition. It is looked up in the process, where
//! `libtorch_cuda` has brought it.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use tch::{Device, Kind, TchError, Tensor};

use super::driver::{Driver, driver};
use super::{Param, cuda};

type Status = c_int;
type Raw = *mut c_void;

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($arg:ty),*);)*) => {
        /// The library's functions; their declarations have been the same since CUDA 11.
        struct Functions {
            $($field: unsafe extern "C" fn($($arg),*) -> Status,)*
        }

        impl Functions {
            fn look_up() -> Option<Self> {
                Some(Self {
                    $($field: {
                        let address = symbol($symbol)?;
                        // SAFETY: the function of this name has this declaration (`cublasLt.h`).
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> Status>(address) }
                    },)*
                })
            }
        }
    };
}

functions! {
    create = c"cublasLtCreate": fn(*mut Raw);
    new_product = c"cublasLtMatmulDescCreate": fn(*mut Raw, c_int, c_int);
    set_product = c"cublasLtMatmulDescSetAttribute": fn(Raw, c_int, *const c_void, usize);
    free_product = c"cublasLtMatmulDescDestroy": fn(Raw);
    new_layout = c"cublasLtMatrixLayoutCreate": fn(*mut Raw, c_int, u64, u64, i64);
    free_layout = c"cublasLtMatrixLayoutDestroy": fn(Raw);
    new_preference = c"cublasLtMatmulPreferenceCreate": fn(*mut Raw);
    set_preference = c"cublasLtMatmulPreferenceSetAttribute": fn(Raw, c_int, *const c_void, usize);
    free_preference = c"cublasLtMatmulPreferenceDestroy": fn(Raw);
    heuristics = c"cublasLtMatmulAlgoGetHeuristic": fn(Raw, Raw, Raw, Raw, Raw, Raw, Raw, c_int, *mut Found, *mut c_int);
    multiply = c"cublasLtMatmul": fn(
        Raw, Raw, *const c_void, *const c_void, Raw, *const c_void, Raw, *const c_void, *const c_void, Raw, Raw, Raw,
        *const Algorithm, Raw, usize, Raw);
}

#[cfg(unix)]
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends in NUL.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

#[cfg(not(unix))]
fn symbol(_: &CStr) -> Option<*mut c_void> {
    None
}

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Algorithm([u64; 8]);

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Found {
    algorithm: Algorithm,
    workspace: usize,
    status: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// `CUBLAS_COMPUTE_32F`.
const COMPUTE_F32: c_int = 68;
/// `CUDA_R_32F`.
const F32: c_int = 0;
/// `CUBLASLT_MATMUL_DESC_TRANSA`, `.._EPILOGUE` and `.._BIAS_POINTER`.
const TRANSPOSED: c_int = 3;
const EPILOGUE: c_int = 7;
const BIAS: c_int = 8;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`, and of the four matrices `.._MIN_ALIGNMENT_A_BYTES` and so on.
const MOST_WORKSPACE: c_int = 1;
const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];
/// What libtorch's own memory is aligned to at least, and the library takes for granted.
const ALIGNED: u32 = 256;
/// What Hopper's kernels want for sums in parts.
const WORKSPACE: usize = 32 << 20;

/// What a product's kernel applies to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LtActivation {
    None,
    Relu,
    /// In its tanh approximation.
    Gelu,
}

impl LtActivation {
    /// `cublasLtEpilogue_t`.
    fn epilogue(self, has_bias: bool) -> c_int {
        let act = match self {
            Self::None => 0,
            Self::Relu => 2,
            Self::Gelu => 32,
        };
        match act | if has_bias { 4 } else { 0 } {
            0 => 1,
            epilogue => epilogue,
        }
    }
}

/// The library on one device.
struct Lt {
    functions: Functions,
    driver: &'static Driver,
    /// The device's primary context.
    context: Raw,
    handle: Raw,
}

// SAFETY: handle and context may be used by any thread at any time: cuBLASLt keeps no state between calls.
unsafe impl Send for Lt {}
// SAFETY: as above.
unsafe impl Sync for Lt {}

/// Made once for each device; none where the library is not in the process.
fn lt(device: usize) -> Option<Arc<Lt>> {
    static ALL: Mutex<Vec<(usize, Option<Arc<Lt>>)>> = Mutex::new(Vec::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = all.iter().find(|(known, _)| *known == device) {
        return known.clone();
    }
    let made = Lt::new(device).map(Arc::new);
    all.push((device, made.clone()));
    made
}

impl Lt {
    fn new(device: usize) -> Option<Self> {
        if !cuda::is_available() {
            return None;
        }
        let (functions, driver) = (Functions::look_up()?, driver().ok()?);
        let context = driver.primary_context(device).ok()?;
        let mut handle = ptr::null_mut();
        // SAFETY: the callee writes one handle, which is kept for good.
        let made = driver.within(context, || told(unsafe { (functions.create)(&raw mut handle) }));
        made.ok().map(|()| Self { functions, driver, context, handle })
    }
}

fn told(status: Status) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("cuBLASLt refused it (status {status})")) }
}

/// A weight `[out, in]` and a bias `[out]`, on a GPU, in f16 or bf16.
pub(crate) struct LtWeight {
    weight: Param,
    bias: Option<Param>,
    /// Rows of the weight that are multiplied: some of zeros stand behind its own where these are no whole loads.
    out: i64,
    /// Which of the kernels that the library proposes is taken, best first.
    rank: usize,
    lt: Arc<Lt>,
    device: usize,
    plans: Mutex<Vec<(Case, Option<Arc<Plan>>)>>,
}

/// What a kernel is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    rows: i64,
    act: LtActivation,
    adds: bool,
    /// Bytes to which `x` is aligned, and what is added.
    aligned: [u32; 2],
}

/// The largest power of two, up to [`ALIGNED`], that the tensor's address is a multiple of.
fn alignment(tensor: &Tensor) -> u32 {
    let zeros = (tensor.data_ptr() as usize).trailing_zeros();
    1 << zeros.min(ALIGNED.trailing_zeros())
}

/// Rows of 16 bytes each, which the library's kernels store at once.
///
/// Measured in f16 (H200): 128 rows by a weight of 50257 × 768 take 128 µs, by one of 50264 rows 27 µs, and the copy without
/// the rest of each row 12 µs.
const WHOLE: i64 = 8;
/// Smaller results are not worth the copy.
const PADDED_FROM: i64 = 1 << 10;

/// Plans that are kept for one weight; the oldest goes first.
const MOST_PLANS: usize = 32;

impl LtWeight {
    /// None where the library is not there, or does not take the dtype.
    pub(crate) fn pack(weight: Param, bias: Option<&Tensor>, rank: usize) -> Result<Option<Self>, TchError> {
        let Device::Cuda(device) = weight.device() else { return Ok(None) };
        if !matches!(weight.f_kind()?, Kind::Half | Kind::BFloat16) {
            return Ok(None);
        }
        let Some(lt) = lt(device) else { return Ok(None) };
        let rows = weight.size()[0];
        let out = if rows < PADDED_FROM { rows } else { (rows + WHOLE - 1) / WHOLE * WHOLE };
        let padded = |tensor: &Tensor| -> Result<Param, TchError> {
            let mut sizes = tensor.size();
            sizes[0] = out;
            let all = Tensor::f_zeros(sizes, (tensor.f_kind()?, tensor.device()))?;
            let mut own = all.f_narrow(0, 0, rows)?;
            own.f_copy_(tensor)?;
            Ok(Param::new(own))
        };
        let _no_grad = tch::no_grad_guard();
        let weight = if weight.is_contiguous() && rows == out { weight } else { padded(&weight)? };
        let bias = bias.map(|bias| padded(bias)).transpose()?;
        Ok(Some(Self { weight, bias, out, rank, lt, device, plans: Mutex::default() }))
    }

    pub(crate) fn weight(&self) -> &Param {
        &self.weight
    }

    pub(crate) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()
    }

    /// Which of the kernels that the library proposes is taken.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// `act(x · weightᵀ + bias + other)` for contiguous matrices `x`, `[rows, in]`, and `other`, `[rows, out]`, of the
    /// weight's dtype and device; none where the library has no kernel for it.
    pub(crate) fn run(
        &self,
        x: &Tensor,
        other: Option<&Tensor>,
        act: LtActivation,
    ) -> Result<Option<Tensor>, TchError> {
        let (shape, kind) = (self.weight.size(), self.weight.f_kind()?);
        let [rows, _] = x.size()[..] else { return Ok(None) };
        if other.is_some() && self.out != shape[0] {
            return Ok(None);
        }
        let is_ours = |tensor: &Tensor, columns: i64| {
            tensor.size() == [rows, columns]
                && tensor.is_contiguous()
                && tensor.kind() == kind
                && tensor.device() == Device::Cuda(self.device)
        };
        if rows == 0 || !is_ours(x, shape[1]) || !other.is_none_or(|other| is_ours(other, shape[0])) {
            return Ok(None);
        }
        let aligned = [alignment(x), other.map_or(ALIGNED, alignment)];
        let case = Case { rows, act, adds: other.is_some(), aligned };
        let Some(plan) = self.plan(case, [self.out, shape[1]], kind) else { return Ok(None) };
        let result = Tensor::f_empty([rows, self.out], (kind, Device::Cuda(self.device)))?;
        let room = i64::try_from(plan.found.workspace).unwrap_or(0);
        let workspace = Tensor::f_empty([room], (Kind::Uint8, Device::Cuda(self.device)))?;
        match plan.run(&self.lt, self.device, &self.weight, x, other, &result, &workspace) {
            Ok(()) => Ok(Some(result.f_narrow(1, 0, shape[0])?.f_contiguous()?)),
            Err(_) => Ok(None),
        }
    }

    fn plan(&self, case: Case, shape: [i64; 2], kind: Kind) -> Option<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = plans.iter().find(|(known, _)| *known == case) {
            return known.clone();
        }
        let made = Plan::new(self, case, shape, kind).ok().map(Arc::new);
        if plans.len() >= MOST_PLANS {
            plans.remove(0);
        }
        plans.push((case, made.clone()));
        made
    }
}

/// What the library keeps of a product, and the kernel that was chosen.
struct Plan {
    lt: Arc<Lt>,
    product: Raw,
    /// Of the weight, of `x`, and of what is added and comes out.
    layouts: [Raw; 3],
    found: Found,
}

// SAFETY: descriptors are written when the plan is made, and read by whoever calls.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

impl Plan {
    /// The library's matrices are stored by columns: the result `[rows, out]` is `[out, rows]` to it, the product of the
    /// weight, transposed, and `x`.
    fn new(of: &LtWeight, case: Case, [out, columns]: [i64; 2], kind: Kind) -> Result<Self, String> {
        let (lt, functions) = (of.lt.clone(), &of.lt.functions);
        let dtype = if kind == Kind::Half { 2 } else { 14 };
        // What is made so far is freed with it.
        let mut plan = Self { lt, product: ptr::null_mut(), layouts: [ptr::null_mut(); 3], found: Found::default() };
        // SAFETY: the callee writes a new descriptor, which is freed with the plan.
        told(unsafe { (functions.new_product)(&raw mut plan.product, COMPUTE_F32, F32) })?;
        let (transposed, epilogue): (c_int, c_int) = (1, case.act.epilogue(of.bias.is_some()));
        let bias = of.bias.as_ref().map_or(ptr::null_mut(), |bias| bias.data_ptr());
        // SAFETY: each value is alive during its call, which copies so many bytes of it.
        unsafe {
            let set = functions.set_product;
            told(set(plan.product, TRANSPOSED, (&raw const transposed).cast(), size_of::<c_int>()))?;
            told(set(plan.product, EPILOGUE, (&raw const epilogue).cast(), size_of::<c_int>()))?;
            if of.bias.is_some() {
                told(set(plan.product, BIAS, (&raw const bias).cast(), size_of::<Raw>()))?;
            }
        }
        for (layout, (height, width)) in
            plan.layouts.iter_mut().zip([(columns, out), (columns, case.rows), (out, case.rows)])
        {
            // SAFETY: as for the product.
            told(unsafe {
                (functions.new_layout)(&raw mut *layout, dtype, height.unsigned_abs(), width.unsigned_abs(), height)
            })?;
        }
        plan.found = plan.choose(of.rank, [ALIGNED, case.aligned[0], case.aligned[1], ALIGNED])?;
        Ok(plan)
    }

    /// The kernel of this rank among those that the library proposes, the first being its best.
    fn choose(&self, rank: usize, aligned: [u32; 4]) -> Result<Found, String> {
        let functions = &self.lt.functions;
        let (mut preference, room) = (ptr::null_mut(), WORKSPACE);
        let (mut found, mut count) = ([Found::default(); 8], 0);
        let wanted = c_int::try_from(rank + 1).unwrap_or(1).min(8);
        let [weight, x, result] = self.layouts;
        // SAFETY: the descriptors are alive; the callees write a preference, which is freed below, and `wanted` results.
        let outcome = self.lt.driver.within(self.lt.context, || unsafe {
            told((functions.new_preference)(&raw mut preference))?;
            told((functions.set_preference)(preference, MOST_WORKSPACE, (&raw const room).cast(), size_of::<usize>()))?;
            for (alignment, bytes) in ALIGNMENTS.into_iter().zip(&aligned) {
                told((functions.set_preference)(preference, alignment, ptr::from_ref(bytes).cast(), size_of::<u32>()))?;
            }
            told((functions.heuristics)(
                self.lt.handle, self.product, weight, x, result, result, preference, wanted, found.as_mut_ptr(),
                &raw mut count,
            ))
        });
        if !preference.is_null() {
            // SAFETY: it was made above and nobody else has it.
            unsafe { (functions.free_preference)(preference) };
        }
        outcome?;
        let known = found.get(..usize::try_from(count).unwrap_or(0)).unwrap_or(&[]);
        let chosen = known.get(rank).copied().filter(|found| found.status == 0);
        chosen.ok_or_else(|| "cuBLASLt has no such kernel".to_owned())
    }

    /// Queues the product.
    #[expect(clippy::too_many_arguments, reason = "the operands of a product")]
    fn run(
        &self,
        lt: &Lt,
        device: usize,
        weight: &Tensor,
        x: &Tensor,
        other: Option<&Tensor>,
        result: &Tensor,
        workspace: &Tensor,
    ) -> Result<(), String> {
        let stream = cuda::current_stream(device).ok_or("libtorch does not tell its stream")?;
        let (one, factor) = (1.0_f32, if other.is_some() { 1.0_f32 } else { 0.0 });
        let (result, [of_weight, of_x, of_result]) = (result.data_ptr(), self.layouts);
        let other = other.map_or(result, |other| other.data_ptr());
        // SAFETY: handle, descriptors and stream are alive, the factors during the call; the tensors have the shapes that
        // the descriptors say, which the caller has looked at, and are not freed before the stream is done with them, since
        // libtorch gives their memory to later work of the same stream alone.
        lt.driver.within(lt.context, || unsafe {
            told((lt.functions.multiply)(
                lt.handle,
                self.product,
                (&raw const one).cast(),
                weight.data_ptr(),
                of_weight,
                x.data_ptr(),
                of_x,
                (&raw const factor).cast(),
                other,
                of_result,
                result,
                of_result,
                &raw const self.found.algorithm,
                workspace.data_ptr(),
                self.found.workspace,
                stream,
            ))
        })
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let functions = &self.lt.functions;
        // SAFETY: what is not null was made with the plan, and nobody else has it.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                (functions.free_layout)(layout);
            }
            if !self.product.is_null() {
                (functions.free_product)(self.product);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_none_on_the_cpu() {
        let weight = Tensor::zeros([4, 4], (Kind::Half, Device::Cpu));
        assert!(LtWeight::pack(Param::new(weight), None, 0).unwrap().is_none());
    }

    #[test]
    fn epilogues_are_those_of_the_header() {
        let of = |act: LtActivation| [act.epilogue(false), act.epilogue(true)];
        assert_eq!([of(LtActivation::None), of(LtActivation::Relu), of(LtActivation::Gelu)], [[1, 4], [2, 6], [32, 36]]);
        assert_eq!((size_of::<Algorithm>(), size_of::<Found>()), (64, 96));
    }

    /// Every activation, with and without a bias and something added, against f64; where there is no GPU it says so.
    #[test]
    fn products_are_those_of_f64() {
        if !cuda::is_available() {
            eprintln!("skipped: there is no GPU");
            return;
        }
        for (kind, unit) in [(Kind::Half, 1.0 / 1024.0), (Kind::BFloat16, 1.0 / 128.0)] {
            for [rows, columns, out] in [[1, 64, 8], [5, 7, 3], [128, 768, 3072], [33, 100, 50_257], [3, 8, 1]] {
                let random = |shape: &[i64], scale: f64| {
                    (Tensor::randn(shape, (Kind::Float, Device::Cuda(0))) * scale).to_kind(kind)
                };
                let (x, other) = (random(&[rows, columns], 1.0), random(&[rows, out], 1.0));
                let columns = u32::try_from(columns).unwrap();
                let weight = random(&[out, i64::from(columns)], f64::from(columns).sqrt().recip());
                let bias = random(&[out], 1.0);
                let wide = |tensor: &Tensor| tensor.to_kind(Kind::Double);
                for (has_bias, adds) in [(false, false), (true, false), (false, true), (true, true)] {
                    for act in [LtActivation::None, LtActivation::Relu, LtActivation::Gelu] {
                        for rank in 0..2 {
                            let packed = LtWeight::pack(Param::new(weight.shallow_clone()), has_bias.then_some(&bias), rank).unwrap().unwrap();
                            let found = packed.run(&x, adds.then_some(&other), act).unwrap();
                            let what = format!("{kind:?} {rows} {columns} {out} {has_bias} {adds} {act:?} {rank}");
                            // There is always a first one.
                            let Some(found) = found else {
                                assert!(rank > 0, "{what}");
                                continue;
                            };
                            let mut wanted = wide(&x).matmul(&wide(&weight).tr());
                            if has_bias {
                                wanted += wide(&bias);
                            }
                            if adds {
                                wanted += wide(&other);
                            }
                            let wanted = match act {
                                LtActivation::None => wanted,
                                LtActivation::Relu => wanted.relu(),
                                LtActivation::Gelu => wanted.gelu("tanh"),
                            };
                            let error = ((wide(&found) - &wanted).abs() / (wanted.abs() + 1.0)).max().double_value(&[]);
                            assert!(error <= 2.0 * unit, "{what}: {error:e}");
                        }
                    }
                }
            }
        }
    }
}
