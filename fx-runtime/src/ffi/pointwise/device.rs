//! The same pass on a GPU: CUDA C that goes over memory, around a function that computes one element.
//!
//! A thread takes the elements of one load of 16 bytes, a pack, and goes on by the size of the grid. What lies otherwise
//! than the results is read where the way through it says: in one load where a pack lies in a row there too, else element
//! by element. The source depends on the function, the dtype, and how the inputs are read; lengths and steps are arguments.

mod compiled;
mod pool;
pub(crate) mod rows;
mod source;

use fx_ir::ops::group::MOST_INPUTS;
use tch::{Device, Tensor};

use super::{Operand, Walk, refused};
use crate::ffi::{CudaKernel, KernelArg};
use crate::{Error, Result};

#[cfg(test)]
pub(crate) mod host;

pub(crate) use compiled::Compiled;
pub(crate) use pool::max_pool;
pub(crate) use source::{packs, source};

/// The name of every kernel.
pub(crate) const NAME: &str = "fx_group";
/// Bytes of a load.
pub(crate) const LOAD: usize = 16;
/// Threads of a block.
pub(crate) const THREADS: u32 = 256;
/// Threads that exchange registers.
pub(crate) const WARP: u32 = 32;
/// The most blocks: a few for each processor of a large GPU.
const MOST_BLOCKS: u32 = 2048;
/// The same of kernels whose threads have one short piece of work each.
pub(crate) const MOST_SHORT_BLOCKS: u32 = MOST_BLOCKS * 8;

/// What elements are stored as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stored {
    F16,
    F32,
    F64,
    BF16,
}

/// What a kernel is compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Case {
    pub(crate) stored: Stored,
    /// How each input is read.
    pub(crate) reads: Vec<Read>,
    /// How many axes the way through the other inputs has.
    pub(crate) rank: usize,
    /// How many elements a thread loads at once.
    pub(crate) width: usize,
    /// Whether elements count in 32 bits, in which a GPU divides faster.
    pub(crate) is_small: bool,
}

/// How a thread reads the pack of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    /// In one load; the input lies as the results do.
    Linear,
    /// In one load; the input lies otherwise, but for the elements of a pack.
    Row,
    /// As one element, which is that of the whole pack.
    Once,
    /// Element by element.
    Each,
}

impl Stored {
    /// By what `c10::ScalarType` counts.
    pub(crate) fn of(dtype: i32) -> Option<Self> {
        Some(match dtype {
            5 => Self::F16,
            6 => Self::F32,
            7 => Self::F64,
            15 => Self::BF16,
            _ => return None,
        })
    }

    /// A number, as the kernel computes with it.
    #[allow(clippy::cast_possible_truncation, reason = "as libtorch casts a number to a tensor's dtype")]
    fn number(self, number: f64) -> KernelArg<'static> {
        match self {
            Self::F64 => KernelArg::Double(number),
            Self::F16 | Self::F32 | Self::BF16 => KernelArg::Float(number as f32),
        }
    }

    /// Bytes of an element.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

impl Case {
    /// The case of these inputs and results of such sizes and strides; none where there is no kernel for it.
    pub(crate) fn of(inputs: &[Operand<'_>], sizes: &[i64], strides: &[i64]) -> Option<Self> {
        let stored = Stored::of(inputs.first()?.facts.dtype)?;
        let walk = Walk::new(inputs, sizes, strides)?;
        let is_aligned = |input: &Operand<'_>| (input.address as usize).is_multiple_of(LOAD);
        let mut linear = inputs.iter().zip(walk.is_linear()).filter(|(_, is_linear)| **is_linear);
        let width = if linear.all(|(input, _)| is_aligned(input)) { LOAD / stored.bytes() } else { 1 };
        let reads = inputs.iter().enumerate().map(|(input, operand)| {
            let (inner, outer) = (walk.axes[0], &walk.axes[1..walk.rank]);
            let is_whole = width > 1 && inner.0.is_multiple_of(width);
            let keeps_to_loads = |(_, steps): &(usize, [isize; MOST_INPUTS])| steps[input] % width.cast_signed() == 0;
            match inner.1[input] {
                _ if walk.is_linear[input] => Read::Linear,
                0 if is_whole => Read::Once,
                1 if is_whole && is_aligned(operand) && outer.iter().all(keeps_to_loads) => Read::Row,
                _ => Read::Each,
            }
        });
        Some(Self {
            stored,
            reads: reads.collect(),
            rank: walk.rank,
            width,
            is_small: i32::try_from(walk.count).is_ok(),
        })
    }
}

/// A compiled pass.
#[derive(Debug)]
pub(crate) struct Pass {
    kernel: CudaKernel,
    case: Case,
    counts: (usize, usize, usize),
}

impl Pass {
    /// Compiles the pass around `element`, a function of so many inputs, numbers and results.
    pub(crate) fn compile(element: &str, case: &Case, counts: (usize, usize, usize), device: Device) -> Result<Self> {
        let kernel = CudaKernel::compile(NAME, &source(element, case, counts), device)?;
        Ok(Self { kernel, case: case.clone(), counts })
    }

    /// Computes the results, all of these sizes and strides, which leave no gaps.
    ///
    /// # Errors
    ///
    /// Inputs that are not those of the pass's case; no memory; what the driver refuses.
    pub(crate) fn run(
        &self,
        tensors: &[&Tensor],
        numbers: &[f64],
        sizes: &[i64],
        strides: &[i64],
    ) -> Result<Vec<Tensor>> {
        let wrong = || Error::from(refused("a pointwise kernel"));
        let operands: Option<Vec<_>> = tensors.iter().map(|tensor| Operand::of(tensor)).collect();
        let operands = operands.ok_or_else(wrong)?;
        let is_this = Case::of(&operands, sizes, strides).as_ref() == Some(&self.case);
        let walk = Walk::new(&operands, sizes, strides).filter(|_| is_this).ok_or_else(wrong)?;
        let (inputs, count, results) = self.counts;
        if (inputs, count) != (tensors.len(), numbers.len()) {
            return Err(wrong());
        }
        let &[first, ..] = tensors else { return Err(wrong()) };
        let mut outputs = Vec::with_capacity(results);
        for _ in 0..results {
            outputs.push(Tensor::f_empty_strided(sizes, strides, (first.f_kind()?, first.device()))?);
        }
        let arguments = arguments(&self.case, &walk, tensors.iter().copied().chain(&outputs), numbers);
        let threads = walk.count.div_ceil(self.case.width).div_ceil(THREADS as usize);
        let blocks = u32::try_from(threads).unwrap_or(MOST_BLOCKS).min(MOST_BLOCKS);
        // SAFETY: the arguments are those that the source declares for this case, in its order. The walk is that of the
        // inputs, and the results are new and have `count` elements without gaps, so that it stays inside all of them.
        unsafe { self.kernel.launch([blocks, 1, 1], [THREADS, 1, 1], 0, &arguments)? };
        Ok(outputs)
    }
}

/// Blocks for so many pieces of work, of which a thread takes one and goes on by the size of the grid.
pub(crate) fn blocks_for(pieces: usize) -> u32 {
    let blocks = pieces.div_ceil(THREADS as usize);
    u32::try_from(blocks).unwrap_or(MOST_SHORT_BLOCKS).clamp(1, MOST_SHORT_BLOCKS)
}

/// What a kernel is given, in the order in which the source declares it: inputs and results are `tensors`.
fn arguments<'t>(
    case: &Case,
    walk: &Walk,
    tensors: impl Iterator<Item = &'t Tensor>,
    numbers: &[f64],
) -> Vec<KernelArg<'t>> {
    let mut arguments = vec![KernelArg::count(walk.count)];
    arguments.extend(tensors.map(KernelArg::Tensor));
    arguments.extend(numbers.iter().map(|&number| case.stored.number(number)));
    if walk.is_linear().contains(&false) {
        for (length, steps) in walk.axes() {
            arguments.push(KernelArg::count(length));
            let others = steps.iter().zip(walk.is_linear()).filter(|(_, is_linear)| !**is_linear);
            arguments.extend(others.map(|(step, _)| KernelArg::Long(i64::try_from(*step).unwrap_or(0))));
        }
    }
    arguments
}
