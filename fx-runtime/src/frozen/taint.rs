//! Whether fused kernels would hide a NaN that the model itself holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Act;

/// Whether some weight of the model is not finite. Shared by all kernels of a model, since a NaN that one lets out is
/// the next one's input.
#[derive(Debug, Clone, Default)]
pub(super) struct Taint(Arc<AtomicBool>);

impl Taint {
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True when `act` must not be fused, because fused kernels would hide NaN.
    #[inline]
    pub(super) fn forbids(&self, act: Act) -> bool {
        self.is_set() && act.hides_nan()
    }
}
