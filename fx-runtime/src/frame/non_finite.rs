//! Whether fused kernels would hide a NaN that the model itself holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether some weight of the model is not finite. Shared by all kernels of a model, since a NaN that one lets out is
/// the next one's input.
#[derive(Debug, Clone, Default)]
pub(crate) struct NonFinite(Arc<AtomicBool>);

impl NonFinite {
    pub(crate) fn new(is_set: bool) -> Self {
        Self(Arc::new(AtomicBool::new(is_set)))
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
