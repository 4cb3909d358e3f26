//! A part of a model that has a frozen type of its own, in the module that sees its fields.

use std::ops::Deref;

use super::{Frame, Loader, Saver, State};
use crate::{Freeze, Result};

impl Frame {
    /// What a part of the model is frozen for that has a frozen type of its own. It is recorded with the whole.
    pub fn part(&self) -> Freeze {
        let site = self.site();
        Freeze {
            device: Some(site.device),
            kind: self.known_kind(),
            memory_format: site.memory_format,
            backend: site.backend,
            autotune: self.tuning().is_some(),
            ..Freeze::new()
        }
    }
}

/// The frozen type of a submodule, as a field of the one that holds it.
#[derive(Debug)]
pub struct Part<T>(T);

impl<T> Part<T> {
    /// Takes it over.
    pub fn new(frozen: T) -> Self {
        Self(frozen)
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: State> State for Part<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.0.save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self)
    }
}
