//! A product as the library keeps it, and the kernel that was chosen.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use tch::{Kind, Tensor};

use super::library::{Found, Lt, Raw, told};
use super::{ALIGNED, Case, LtWeight};
use crate::ffi::cuda;

/// `CUBLAS_COMPUTE_32F`.
const COMPUTE_F32: c_int = 68;
/// `CUDA_R_32F`.
const F32: c_int = 0;
/// `CUBLASLT_MATMUL_DESC_TRANSA`, `.._EPILOGUE` and `.._BIAS_POINTER`.
const TRANSPOSED: c_int = 3;
const EPILOGUE: c_int = 7;
const BIAS: c_int = 8;
/// `CUBLASLT_MATMUL_DESC_A_SCALE_POINTER`, `.._B_SCALE_POINTER`, `.._FAST_ACCUM`, `.._A_SCALE_MODE` and `.._B_SCALE_MODE`.
const WEIGHT_SCALE: c_int = 17;
const X_SCALE: c_int = 18;
const FAST_SUMS: c_int = 25;
const SCALE_MODES: [c_int; 2] = [31, 32];
/// `CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F`: a scale for each row of the weight, and of `x`.
const BY_ROWS: c_int = 3;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`, and of the four matrices `.._MIN_ALIGNMENT_A_BYTES` and so on.
const MOST_WORKSPACE: c_int = 1;
const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];
/// What Hopper's kernels want for sums in parts.
const WORKSPACE: usize = 32 << 20;

/// `cudaDataType`.
fn dtype(kind: Kind) -> c_int {
    match kind {
        Kind::Half => 2,
        Kind::BFloat16 => 14,
        Kind::Float8e4m3fn => 28,
        _ => F32,
    }
}

/// What the library keeps of a product, and the kernel that was chosen.
pub(super) struct Plan {
    lt: Arc<Lt>,
    product: Raw,
    /// Of who writes into the product where the scales of `x` lie.
    turn: Mutex<()>,
    /// Of the weight, of `x`, and of what is added and comes out.
    layouts: [Raw; 3],
    pub(super) found: Found,
}

// SAFETY: descriptors are written when the plan is made, and read by whoever calls.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

impl Plan {
    /// The library's matrices are stored by columns: the result `[rows, out]` is `[out, rows]` to it, the product of the
    /// weight, transposed, and `x`.
    pub(super) fn new(of: &LtWeight, case: Case, [out, columns]: [i64; 2]) -> Result<Self, String> {
        let (lt, functions) = (of.lt.clone(), &of.lt.functions);
        let dtypes = [of.weight.kind(), of.weight.kind(), of.kind].map(dtype);
        // What is made so far is freed with it.
        let mut plan = Self {
            lt,
            product: ptr::null_mut(),
            turn: Mutex::default(),
            layouts: [ptr::null_mut(); 3],
            found: Found::default(),
        };
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
        if let Some(scale) = &of.scale {
            // The scales of `x` come with the call; kernels are chosen by the mode.
            plan.scale_by(WEIGHT_SCALE, scale.data_ptr())?;
            plan.scale_by(X_SCALE, scale.data_ptr())?;
            let (fast, by_rows): (i8, c_int) = (1, BY_ROWS);
            // SAFETY: each value is alive during its call, which copies so many bytes of it.
            unsafe {
                let set = functions.set_product;
                told(set(plan.product, FAST_SUMS, (&raw const fast).cast(), size_of::<i8>()))?;
                for mode in SCALE_MODES {
                    told(set(plan.product, mode, (&raw const by_rows).cast(), size_of::<c_int>()))?;
                }
            }
        }
        let sizes = [(columns, out), (columns, case.rows), (out, case.rows)];
        for ((layout, dtype), (height, width)) in plan.layouts.iter_mut().zip(dtypes).zip(sizes) {
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
                self.lt.handle,
                self.product,
                weight,
                x,
                result,
                result,
                preference,
                wanted,
                found.as_mut_ptr(),
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

    /// Says where the scales of a matrix lie.
    fn scale_by(&self, which: c_int, scales: *mut c_void) -> Result<(), String> {
        // SAFETY: the value is alive during the call, which copies so many bytes of it.
        told(unsafe {
            (self.lt.functions.set_product)(self.product, which, (&raw const scales).cast(), size_of::<Raw>())
        })
    }

    /// Queues the product.
    pub(super) fn run(
        &self,
        of: &LtWeight,
        (x, scales): (&Tensor, Option<&Tensor>),
        other: Option<&Tensor>,
        result: &Tensor,
        workspace: &Tensor,
    ) -> Result<(), String> {
        let lt = &self.lt;
        let stream = cuda::current_stream(lt.device).ok_or("libtorch does not tell its stream")?;
        let (one, factor) = (1.0_f32, if other.is_some() { 1.0_f32 } else { 0.0 });
        let (result, [of_weight, of_x, of_result]) = (result.data_ptr(), self.layouts);
        let other = other.map_or(result, Tensor::data_ptr);
        // The product is read while it is queued.
        let _turn = scales.map(|_| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(scales) = scales {
            self.scale_by(X_SCALE, scales.data_ptr())?;
        }
        // SAFETY: handle, descriptors and stream are alive, the factors during the call; the tensors have the shapes that
        // the descriptors say, which the caller has looked at, and are not freed before the stream is done with them, since
        // libtorch gives their memory to later work of the same stream alone.
        lt.driver.within(lt.context, || unsafe {
            told((lt.functions.multiply)(
                lt.handle,
                self.product,
                (&raw const one).cast(),
                of.weight.data_ptr(),
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
