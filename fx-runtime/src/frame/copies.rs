//! What freezing has copied so far, so that a weight of two names is copied once.
//!
//! A language model's table of words is often its last layer as well. The handles on the originals keep them alive, so
//! that an address stands for one tensor until the copying is over.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tch::Tensor;

use crate::Error;
use crate::ffi::Param;

/// The copies by their originals.
#[derive(Default)]
pub(super) struct Copies(Mutex<Vec<(Tensor, Tensor)>>);

impl Copies {
    /// A second handle on the copy of this very tensor.
    pub(super) fn of(&self, tensor: &Tensor) -> Option<Param> {
        let copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = copies.iter().find(|(original, _)| is_same(original, tensor));
        found.map(|(_, copy)| Param::new(copy.shallow_clone()))
    }

    /// Remembers a copy; the original may be the copy, where it belongs to nobody else.
    pub(super) fn add(&self, original: &Tensor, copy: &Param) {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        copies.push((original.shallow_clone(), copy.shallow_clone()));
    }

    /// A second handle on the copy of this very tensor, which `copy` makes where there is none yet.
    pub(super) fn once(
        &self,
        tensor: &Tensor,
        copy: impl FnOnce(&Tensor) -> Result<Param, Error>,
    ) -> Result<Param, Error> {
        if let Some(known) = self.of(tensor) {
            return Ok(known);
        }
        let copy = copy(tensor)?;
        self.add(tensor, &copy);
        Ok(copy)
    }

    /// Lets go of everything.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The same elements in the same order; an address of nothing stands for nothing.
pub(super) fn is_same(one: &Tensor, other: &Tensor) -> bool {
    one.data_ptr() == other.data_ptr()
        && !one.data_ptr().is_null()
        && one.size() == other.size()
        && one.stride() == other.stride()
        && one.kind() == other.kind()
}

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Copies")
    }
}
