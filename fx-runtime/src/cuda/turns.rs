//! Recording a forward and measuring kernels take turns in this process.
//!
//! To measure is to wait for the device, and nobody may wait for a device one of whose streams is recorded.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURNS: RwLock<()> = RwLock::new(());

/// Nothing is measured while it lives. Waits for what is being measured.
pub(crate) fn recording() -> RwLockWriteGuard<'static, ()> {
    TURNS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing is recorded while it lives; none if something is being recorded, on this thread or another.
pub(crate) fn measuring() -> Option<RwLockReadGuard<'static, ()>> {
    TURNS.try_read().ok()
}
