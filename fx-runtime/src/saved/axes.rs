//! The order of a tensor's axes in memory, where that is not the default: found, written as text, read and undone.

use tch::Tensor;

use crate::Result;

/// The order of axes of a tensor without holes that does not lie in the default order.
pub(super) fn order(tensor: &Tensor) -> Result<Option<Vec<i64>>> {
    if tensor.is_contiguous() {
        return Ok(None);
    }
    let strides = tensor.stride();
    let mut axes: Vec<usize> = (0..strides.len()).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(strides[axis]));
    let axes: Vec<i64> = axes.into_iter().filter_map(|axis| i64::try_from(axis).ok()).collect();
    Ok(tensor.f_permute(&axes)?.is_contiguous().then_some(axes))
}

/// `1 0 2`.
pub(super) fn list(numbers: &[i64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Reads what [`list`] writes.
pub(super) fn numbers(text: &str) -> Option<Vec<i64>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// Whether it names each of so many axes once.
pub(super) fn is_permutation(order: &[i64], rank: usize) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.iter().copied().eq((0..).take(rank))
}

/// The order that undoes `order`, a permutation.
pub(super) fn inverse(order: &[i64]) -> Vec<i64> {
    let position =
        |axis: i64| (0..).zip(order).find(|&(_, &other)| other == axis).map_or(axis, |(position, _)| position);
    (0..).take(order.len()).map(position).collect()
}
