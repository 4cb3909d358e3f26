//! Products of f32 matrices on the CPU's tile registers, which multiply bf16 alone, sixteen times as fast.
//!
//! A number of f32 is the sum of three of bf16, each with eight of its bits. So a product of two numbers is the sum of
//! nine products, of which three are below what f32 can tell apart: less than 2⁻²⁶ of it. The other six are summed in
//! f32 by the tiles, [`RUN`] numbers of the depth at a time. The rounding errors of a result are those of a sum in f32; the
//! method is known from accelerators, where libraries offer it as emulated f32.
//!
//! What the tiles take for zero is a part below 2⁻¹²⁶, so that numbers below 2⁻¹⁰² have fewer digits here. Infinities,
//! NaN and what is too large for bf16 are found in the result, and the block is computed number by number.
//!
//! The weight is kept as it is, in panels of columns, and split piece by piece in every call, in the cache: split once
//! for all it would take half as much memory again.
//!
//! On two cores of a Sapphire Rapids, against MKL's packed product: 128 × 768 by 768 1.4 times as fast, 197 × 768 by 768
//! 1.4, 2048 × 768 by 768 1.65; with fewer than [`call::FEW_ROWS`](call) rows the panels are multiplied number by number,
//! 0.85 to 1 times as fast. Where the other hardware thread of a core is busy the tiles have a third of their speed (the
//! plain product three quarters), and with both cores so it is 0.75.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod call;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod chunk;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod split;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod sums;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod tile;

use tch::{Device, Kind, TchError, Tensor};

use super::buffer::Buffer;
use super::epilogue::Epilogue;
use super::omp_threads::for_each_part;
use super::operands::{Operands, WeightMatrix};
use super::output_pool::PoolUser;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::panel::Place;
use super::product::PANEL;

/// Numbers of the depth that a tile holds.
const DEPTH: usize = 32;
/// Numbers of the depth that are summed up one after the other; such sums are added then, so that rounding errors stay
/// small however deep a product is.
const RUN: usize = 768;

/// What this machine has of tile registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amx {
    /// None, or this build does not use them well.
    Absent,
    /// It does not tell which hardware threads share a core, so that strangers may slow the tiles down.
    Shared,
    /// They are the faster way.
    Own,
}

impl Amx {
    pub(crate) fn of_this_machine() -> Self {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if cfg!(fx_optimized) && super::vector::widest() == super::vector::VectorWidth::Avx512 && tile::is_permitted() {
            return if tile::knows_its_cores() { Self::Own } else { Self::Shared };
        }
        Self::Absent
    }
}

/// A weight `[out, in]` of f32 in panels.
#[derive(Debug)]
pub(crate) struct SplitMatrix {
    /// `[out / PANEL][steps · DEPTH][PANEL]`
    panels: Buffer,
    depth: usize,
    /// Of [`DEPTH`] numbers.
    steps: usize,
    out: usize,
    _pool_user: PoolUser,
}

impl SplitMatrix {
    /// Packs a weight `[out, in]` of f32 on the CPU, of any strides; none where there are no tiles, or the weight is
    /// empty.
    pub(crate) fn pack(weight: &Tensor) -> Option<Result<Self, TchError>> {
        let &[out, depth] = &weight.size()[..] else { return None };
        let (out, depth) = (usize::try_from(out).ok()?, usize::try_from(depth).ok()?);
        (Amx::of_this_machine() != Amx::Absent && out > 0 && depth > 0)
            .then(|| Self::lay_out(&weight.f_contiguous()?, out, depth))
    }

    fn lay_out(weight: &Tensor, out: usize, depth: usize) -> Result<Self, TchError> {
        let steps = depth.div_ceil(DEPTH);
        let panels = Buffer::lasting(out.div_ceil(PANEL) * steps * DEPTH * PANEL * size_of::<f32>())?;
        let packed = Self { panels, depth, steps, out, _pool_user: PoolUser::new() };
        // SAFETY: `out` rows of `depth` floats.
        let numbers = unsafe { std::slice::from_raw_parts(weight.data_ptr().cast_const().cast::<f32>(), out * depth) };
        for_each_part(out.div_ceil(PANEL), &|panel| {
            let first = packed.panel(panel).cast_mut();
            for row in 0..steps * DEPTH {
                for (column, out) in (panel * PANEL..(panel + 1) * PANEL).enumerate() {
                    let value = if row < depth && out < packed.out { numbers[out * depth + row] } else { 0.0 };
                    // SAFETY: inside of the panel, which is written by one part.
                    unsafe { first.add(row * PANEL + column).write(value) };
                }
            }
        });
        Ok(packed)
    }

    fn panel(&self, panel: usize) -> *const f32 {
        self.panels.address().cast_const().cast::<f32>().wrapping_add(panel * self.steps * DEPTH * PANEL)
    }

    /// The weight `[out, in]` as it was packed.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        let sizes = [self.out, self.depth].map(|size| i64::try_from(size).unwrap_or(0));
        let weight = Tensor::f_empty(sizes, (Kind::Float, Device::Cpu))?;
        let numbers = weight.data_ptr().cast::<f32>();
        for out in 0..self.out {
            let first = self.panel(out / PANEL).wrapping_add(out % PANEL);
            for row in 0..self.depth {
                // SAFETY: inside of the panel; `out × depth` numbers.
                unsafe { numbers.add(out * self.depth + row).write(*first.add(row * PANEL)) };
            }
        }
        Ok(weight)
    }
}

impl WeightMatrix for SplitMatrix {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.depth]
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    fn multiply(&self, operands: &Operands, epilogue: &impl Epilogue) -> Result<(), TchError> {
        call::Call { matrix: self, x: operands.x(), place: Place::new(operands, epilogue) }.run()
    }

    /// Nothing is packed here.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    fn multiply(&self, _: &Operands, _: &impl Epilogue) -> Result<(), TchError> {
        Err(super::tensor::refused("a product on tiles"))
    }
}

#[cfg(test)]
mod tests;
