//! The mode that a layer keeps for its plain `forward`.

use std::sync::atomic::{AtomicBool, Ordering};

/// Inference unless set otherwise. A switch, not a lock: threads that run a model while another sets its mode see
/// either.
#[derive(Debug, Default)]
pub(super) struct Mode(AtomicBool);

impl Mode {
    pub(super) fn training(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, training: bool) {
        self.0.store(training, Ordering::Relaxed);
    }
}

/// A copy with a mode of its own.
impl Clone for Mode {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.training()))
    }
}
