//! In which order the axes of an image lie in memory.

use tch::{TchError, Tensor};

use super::ops;
use super::tensor::{refused, strides};

/// An order that kernels take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    ChannelsLast,
    /// Taken for an input alone.
    Default,
}

/// The tensor's order, and a copy in `channels_last` if its own is none that is taken.
pub(super) fn in_a_format(tensor: &Tensor, sizes: &[i64], is_input: bool) -> Result<(Order, Option<Tensor>), TchError> {
    let steps = strides(tensor, sizes.len()).ok_or_else(|| refused("a tensor without strides"))?;
    let steps = &steps[..sizes.len()];
    if is_channels_last(sizes, steps) {
        return Ok((Order::ChannelsLast, None));
    }
    if is_input && is_dense_in(sizes, steps, (0..sizes.len()).rev()) {
        return Ok((Order::Default, None));
    }
    Ok((Order::ChannelsLast, Some(ops::clone_in(tensor, format_of(sizes))?)))
}

/// A copy in `channels_last`, unless the tensor of these sizes lies so already.
pub(super) fn channels_last(tensor: &Tensor, sizes: &[i64]) -> Result<Option<Tensor>, TchError> {
    match strides(tensor, sizes.len()) {
        Some(steps) if is_channels_last(sizes, &steps[..sizes.len()]) => Ok(None),
        _ => ops::clone_in(tensor, format_of(sizes)).map(Some),
    }
}

fn is_channels_last(sizes: &[i64], strides: &[i64]) -> bool {
    is_dense_in(sizes, strides, std::iter::once(1).chain((2..sizes.len()).rev()).chain([0]))
}

fn format_of(sizes: &[i64]) -> ops::MemoryFormat {
    if sizes.len() == 5 { ops::MemoryFormat::ChannelsLast3d } else { ops::MemoryFormat::ChannelsLast }
}

/// Whether the axes lie in memory in this order, from the innermost on, without gaps.
pub(crate) fn is_dense_in(sizes: &[i64], strides: &[i64], order: impl Iterator<Item = usize>) -> bool {
    let mut expected = 1;
    for axis in order {
        if sizes[axis] != 1 && strides[axis] != expected {
            return false;
        }
        expected *= sizes[axis];
    }
    true
}

/// Strides of the default order.
pub(super) fn contiguous(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis].max(1);
    }
    strides
}
