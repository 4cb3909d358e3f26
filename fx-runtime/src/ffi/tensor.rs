//! Tensors across the border: lending a handle, taking one over, and what a kernel asks of its input.

use std::ptr;

use tch::{Device, Kind, TchError, Tensor};

use super::entry::{Handle, Status, table};

// SAFETY: the declaration of `cpp/tensor.cpp`.
unsafe extern "C" {
    fn fx_tensor_is_channels_last(tensor: Handle) -> bool;
    fn fx_tensor_input(tensor: Handle, asked: *mut Asked) -> Handle;
}

/// What a forward asks of an input.
#[derive(Debug, Default)]
#[repr(C)]
struct Asked {
    dtype: i32,
    device_type: i32,
    device_index: i32,
    is_channels_last: bool,
}

/// An input of a forward: all that is asked of it in one call.
#[derive(Debug)]
pub(crate) struct Input {
    /// A second handle.
    pub(crate) tensor: Tensor,
    /// Whether its channels lie together, other than in the default order.
    pub(crate) is_channels_last: bool,
    asked: Asked,
}

impl Input {
    /// None for an undefined tensor.
    pub(crate) fn of(tensor: &Tensor) -> Option<Self> {
        let mut asked = Asked::default();
        // SAFETY: the tensor is alive, and is only read; the callee writes what it is asked.
        let handle = unsafe { fx_tensor_input(lend(tensor), &raw mut asked) };
        // SAFETY: the callee gives the handle away, made by the `new` that tch's `delete` belongs to.
        let tensor = (!handle.is_null()).then(|| unsafe { Tensor::from_ptr(handle) })?;
        Some(Self { tensor, is_channels_last: asked.is_channels_last, asked })
    }

    /// Whether it is on the device, as far as this file knows devices, and of the dtype if there is one.
    pub(crate) fn is_of(&self, device: Device, kind: Option<Kind>) -> bool {
        let is_there = match device {
            Device::Cpu => self.asked.device_type == 0,
            Device::Cuda(index) => self.asked.device_type == 1 && usize::try_from(self.asked.device_index) == Ok(index),
            _ => false,
        };
        is_there && kind.is_none_or(|kind| kind as i32 == self.asked.dtype)
    }
}

/// True for a tensor of rank 4 or 5 whose channels lie together, and which would look different with the default order.
pub(crate) fn is_channels_last(tensor: &Tensor) -> bool {
    // SAFETY: the tensor is alive, and is only read.
    unsafe { fx_tensor_is_channels_last(lend(tensor)) }
}

/// Tensors of more axes than this are left to ATen.
pub(crate) const MAX_RANK: usize = 8;

/// The handle of a tensor, borrowed for one call.
pub(super) fn lend(tensor: &Tensor) -> Handle {
    tensor.as_ptr().cast_mut()
}

/// Takes over the tensor that a C function has returned.
///
/// # Safety
///
/// `handle` is null or an `at::Tensor*` that the callee gave away and nobody else frees.
pub(super) unsafe fn take(handle: Handle, status: Status, operator: &str) -> Result<Tensor, TchError> {
    if status != 0 || handle.is_null() {
        return Err(refused(operator));
    }
    // SAFETY: by this function's contract we own the tensor, and tch frees it with the same `delete`.
    Ok(unsafe { Tensor::from_ptr(handle) })
}

/// A C entry point reports that it failed, but not why.
pub(crate) fn refused(operator: &str) -> TchError {
    TchError::Torch(format!("`{operator}` refused its arguments; libtorch wrote the reason to the error stream"))
}

/// What a kernel has to know about a tensor before it is called, read without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    rank: usize,
    sizes: [i64; MAX_RANK],
    /// As `c10::ScalarType` counts.
    pub(crate) dtype: i32,
    /// Kind and index.
    pub(crate) device: (i32, i32),
}

impl Facts {
    /// None for a tensor of more than [`MAX_RANK`] axes, for a sparse and for an undefined one.
    pub(crate) fn of(tensor: &Tensor) -> Option<Self> {
        if !tensor.defined() || tensor.is_sparse() {
            return None;
        }
        let entry = table();
        let (Some(dim), Some(sizes), Some(dtype)) = (entry.dim, entry.sizes, entry.dtype) else {
            return Self::through_tch(tensor);
        };
        let (Some(device_type), Some(device_index)) = (entry.device_type, entry.device_index) else {
            return Self::through_tch(tensor);
        };
        let handle = lend(tensor);
        let (mut rank, mut kind, mut device, mut lengths) = (0, 0, (0, 0), ptr::null());
        // SAFETY: `handle` is alive during the calls, which only read the tensor and write one value each to the
        // places given.
        let status = unsafe {
            dim(handle, &raw mut rank)
                | sizes(handle, &raw mut lengths)
                | dtype(handle, &raw mut kind)
                | device_type(handle, &raw mut device.0)
                | device_index(handle, &raw mut device.1)
        };
        let rank = usize::try_from(rank).ok().filter(|&rank| rank <= MAX_RANK && status == 0)?;
        let mut copy = [0; MAX_RANK];
        if rank > 0 {
            // SAFETY: `lengths` points at `rank` integers that the tensor owns; they are copied before anything can
            // resize it, since `tensor` does not cross threads (it is not `Sync`, or is a `Param`, which nobody
            // resizes).
            unsafe { ptr::copy_nonoverlapping(lengths, copy.as_mut_ptr(), rank) };
        }
        Some(Self { rank, sizes: copy, dtype: kind, device })
    }

    /// The same from a libtorch whose entry points are not known. Numbers of dtypes and devices only have to agree with
    /// each other.
    fn through_tch(tensor: &Tensor) -> Option<Self> {
        let lengths = tensor.size();
        let mut sizes = [0; MAX_RANK];
        sizes.get_mut(..lengths.len())?.copy_from_slice(&lengths);
        let device = match tensor.device() {
            Device::Cpu => (0, -1),
            Device::Cuda(index) => (1, i32::try_from(index).ok()?),
            _ => (2, 0),
        };
        Some(Self { rank: lengths.len(), sizes, dtype: tensor.f_kind().ok()? as i32, device })
    }

    /// Lengths of the axes.
    pub(crate) fn sizes(&self) -> &[i64] {
        &self.sizes[..self.rank]
    }
}

/// Strides of a tensor of `rank` axes, at most [`MAX_RANK`]; none for one that has none.
pub(super) fn strides(tensor: &Tensor, rank: usize) -> Option<[i64; MAX_RANK]> {
    let (mut lent, mut copy) = (ptr::null(), [0; MAX_RANK]);
    // SAFETY: the tensor is alive; the callee writes one pointer.
    let status = unsafe { (table().strides?)(lend(tensor), &raw mut lent) };
    if status != 0 || rank > MAX_RANK {
        return None;
    }
    // SAFETY: as for the sizes in `Facts::of`.
    unsafe { ptr::copy_nonoverlapping(lent, copy.as_mut_ptr(), rank) };
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::ops;

    #[test]
    fn facts_of_tensors() {
        let facts = Facts::of(&Tensor::zeros([2, 0, 5], (Kind::Float, Device::Cpu))).unwrap();
        assert_eq!((facts.sizes(), facts.dtype, facts.device.0), (&[2, 0, 5][..], 6, 0));
        assert_eq!(Facts::of(&Tensor::from(1i64)).unwrap().sizes(), &[] as &[i64]);
        assert!(Facts::of(&Tensor::zeros([1; 9], (Kind::Float, Device::Cpu))).is_none());
    }

    #[test]
    fn an_undefined_tensor_has_no_facts() {
        assert!(Facts::of(&Tensor::new()).is_none());
    }

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
        assert!(!is_channels_last(&Tensor::new()) && !is_channels_last(&plain.to_sparse_sparse_dim(4)));
    }

    #[test]
    fn inputs_are_told_by_device_and_dtype() {
        assert!(Input::of(&Tensor::new()).is_none());
        let input = Input::of(&Tensor::zeros([2], (Kind::BFloat16, Device::Cpu))).unwrap();
        assert!(input.is_of(Device::Cpu, None) && input.is_of(Device::Cpu, Some(Kind::BFloat16)));
        assert!(!input.is_of(Device::Cpu, Some(Kind::Float)) && !input.is_of(Device::Cuda(0), None));
        assert_eq!((input.is_channels_last, input.tensor.size()), (false, vec![2]));
    }

    #[test]
    fn the_slow_way_agrees() {
        let x = Tensor::zeros([2, 3], (Kind::Float, Device::Cpu));
        let (fast, slow) = (Facts::of(&x).unwrap(), Facts::through_tch(&x).unwrap());
        assert_eq!((fast.sizes(), fast.dtype), (slow.sizes(), slow.dtype));
    }
}
