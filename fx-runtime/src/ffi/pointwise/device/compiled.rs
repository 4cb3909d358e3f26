//! Kernels of one source each for what they are compiled for.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tch::Device;

use super::NAME;
use crate::ffi::CudaKernel;

/// Compiled kernels by what they are compiled for and the device; one that cannot be compiled is not tried again.
pub(crate) struct Compiled<K>(Mutex<Option<Kernels<K>>>);

type Kernels<K> = HashMap<(K, usize), Option<Arc<CudaKernel>>>;

impl<K: Hash + Eq> Compiled<K> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The kernel of this case on a device, whose source is asked for once; none where it cannot be compiled.
    pub(crate) fn get(&self, case: K, device: usize, source: impl FnOnce() -> String) -> Option<Arc<CudaKernel>> {
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || CudaKernel::compile(NAME, &source(), Device::Cuda(device)).ok().map(Arc::new);
        kernels.get_or_insert_default().entry((case, device)).or_insert_with(made).clone()
    }
}
