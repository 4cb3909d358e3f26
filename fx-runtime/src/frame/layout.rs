//! Which order a tensor's axes have in memory.

use tch::Tensor;

use crate::ffi::ops;

/// True for a tensor of rank 4 or 5 whose channels lie together, and which would look different with the default order.
pub(crate) fn is_channels_last(tensor: &Tensor) -> bool {
    // Each input and each result is asked: what says no comes before what allocates.
    if !matches!(tensor.dim(), 4 | 5) || tensor.is_sparse() || tensor.is_contiguous() {
        return false;
    }
    let (sizes, strides) = (tensor.size(), tensor.stride());
    let spatial_backwards = (2..sizes.len()).rev();
    let mut expected = 1;
    for axis in std::iter::once(1).chain(spatial_backwards).chain(std::iter::once(0)) {
        if sizes[axis] != 1 && strides[axis] != expected {
            return false;
        }
        expected *= sizes[axis];
    }
    true
}

/// The `channels_last` format for a rank; none where there is none.
pub(crate) fn channels_last_of(rank: usize) -> Option<ops::MemoryFormat> {
    match rank {
        4 => Some(ops::MemoryFormat::ChannelsLast),
        5 => Some(ops::MemoryFormat::ChannelsLast3d),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn tells_layouts_apart() {
        let plain = Tensor::zeros([2, 3, 4, 5], (Kind::Float, Device::Cpu));
        let last = ops::clone_in(&plain, ops::MemoryFormat::ChannelsLast).unwrap();
        assert!(!is_channels_last(&plain));
        assert!(is_channels_last(&last));
        assert!(!is_channels_last(&last.transpose(2, 3)));
        assert!(!is_channels_last(&plain.view([2, 3, 20])));
        let both = Tensor::zeros([2, 1, 4, 5], (Kind::Float, Device::Cpu));
        assert!(!is_channels_last(&ops::clone_in(&both, ops::MemoryFormat::ChannelsLast).unwrap()));
    }
}
