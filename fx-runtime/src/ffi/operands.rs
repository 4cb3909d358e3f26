//! What a product of rows with a weight reads and writes, row by row, and the pass over its rows that follows it.

use std::ops::Range;

use tch::{TchError, Tensor};

use super::epilogue::Epilogue;
use super::memory_format::contiguous;
use super::omp_threads::{for_each_part, share, threads};
use super::output_pool;
use super::tensor::{Facts, refused};
use super::vector::{Body, vectorised};

/// A weight `[out, in]` of f32 on the CPU, in a layout of its own, that rows are multiplied with.
pub(crate) trait WeightMatrix {
    /// `[out, in]`, neither zero.
    fn shape(&self) -> [usize; 2];

    /// Writes `epilogue(x wᵀ, other)`.
    fn multiply(&self, operands: &Operands, epilogue: &impl Epilogue) -> Result<(), TchError>;

    /// How many results a row has.
    fn out(&self) -> i64 {
        i64::try_from(self.shape()[0]).unwrap_or(0)
    }

    /// `epilogue(x wᵀ, other)`; `x` is f32 of shape `[.., in]` on the CPU with at least one element, `other` f32 of the
    /// result's shape, which is `sizes`.
    fn run(
        &self,
        x: &Tensor,
        sizes: &[i64],
        other: Option<&Tensor>,
        epilogue: &impl Epilogue,
    ) -> Result<Tensor, TchError> {
        let operands = Operands::new(x, sizes, other, self.shape())?;
        self.multiply(&operands, epilogue)?;
        Ok(operands.y)
    }
}

/// Rows of f32 on the CPU, and their unwritten result.
pub(crate) struct Operands {
    x: Tensor,
    other: Option<Tensor>,
    y: Tensor,
    pub(super) rows: usize,
    /// Of a row of the result.
    pub(super) out: usize,
}

impl Operands {
    /// As [`WeightMatrix::run`].
    fn new(x: &Tensor, sizes: &[i64], other: Option<&Tensor>, [out, columns]: [usize; 2]) -> Result<Self, TchError> {
        let x = x.f_contiguous()?;
        let other = other.map(Tensor::f_contiguous).transpose()?;
        let dtype = Facts::of(&x).ok_or_else(|| refused("a product"))?.dtype;
        let rows = x.numel() / columns;
        let y = output_pool::tensor(sizes, &contiguous(sizes), dtype, rows * out * size_of::<f32>())?;
        Ok(Self { x, other, y, rows, out })
    }

    /// `x` and `y` as matrices.
    pub(super) fn matrices(&self) -> Result<[Tensor; 2], TchError> {
        let rows = i64::try_from(self.rows).map_err(|_| refused("a product"))?;
        Ok([self.x.f_view([rows, -1])?, self.y.f_view([rows, -1])?])
    }

    pub(super) fn x(&self) -> *const f32 {
        self.x.data_ptr().cast_const().cast()
    }

    pub(super) fn y(&self) -> *mut f32 {
        self.y.data_ptr().cast()
    }

    pub(super) fn other(&self) -> Option<*const f32> {
        self.other.as_ref().map(|other| other.data_ptr().cast_const().cast())
    }

    /// `epilogue` over all rows of the product, which is there.
    pub(super) fn finish(&self, epilogue: &impl Epilogue) {
        if epilogue.is_nothing() && self.other.is_none() {
            return;
        }
        let (count, out) = (self.rows, self.out);
        let result = Rows { start: self.y(), other: self.other(), length: out };
        let parts = parts(count, out);
        for_each_part(parts, &|part| {
            // SAFETY: each part has rows of its own, and the operands live until all are done.
            let (rows, other) = unsafe { result.part(&share(count, part, parts)) };
            vectorised(ApplyEpilogue { epilogue, columns: out, rows, other });
        });
    }
}

struct ApplyEpilogue<'a, T> {
    epilogue: &'a T,
    columns: usize,
    rows: &'a mut [f32],
    other: Option<&'a [f32]>,
}

impl<T: Epilogue> Body for ApplyEpilogue<'_, T> {
    type Output = ();

    #[allow(clippy::inline_always, reason = "only what is inlined is vectorised")]
    #[inline(always)]
    fn run(self) {
        self.epilogue.apply(0, self.columns, self.rows, self.other);
    }
}

/// Into how many parts a epilogue over so many rows is cut: small ones are not worth a second thread.
fn parts(rows: usize, out: usize) -> usize {
    if rows * out < 1 << 14 { 1 } else { threads().min(rows) }
}

/// The rows of a result and of what is added to it, to be shared out among threads.
struct Rows {
    start: *mut f32,
    other: Option<*const f32>,
    length: usize,
}

// SAFETY: `part` is called for disjoint rows.
unsafe impl Sync for Rows {}

impl Rows {
    /// # Safety
    ///
    /// The rows exist and nobody else has them.
    unsafe fn part<'a>(&self, rows: &Range<usize>) -> (&'a mut [f32], Option<&'a [f32]>) {
        let (offset, length) = (rows.start * self.length, rows.len() * self.length);
        // SAFETY: by this function's contract.
        unsafe {
            let rows = std::slice::from_raw_parts_mut(self.start.add(offset), length);
            (rows, self.other.map(|other| std::slice::from_raw_parts(other.add(offset), length)))
        }
    }
}
