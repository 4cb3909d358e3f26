//! A part of a model that has a frozen type of its own, in the module that sees its fields.

use std::ops::Deref;
use std::sync::Arc;

use super::{Frame, Loader, Saver, State};
use crate::{Freeze, Result};

impl Frame {
    /// What a part of the model is frozen for that has a frozen type of its own. It is recorded with the whole.
    pub fn part(&self) -> Freeze {
        let target = self.target();
        Freeze {
            device: Some(target.device),
            kind: self.chosen(),
            memory_format: target.memory_format,
            backend: target.backend,
            autotune: self.tuning().is_some(),
            exact_nan: self.non_finite().is_set(),
            weights: self.weight_format(),
            dynamic: self.dynamic_format(),
            ..Freeze::new()
        }
    }
}

/// The frozen type of a submodule, as a field of the one that holds it.
#[derive(Debug)]
pub struct Part<T>(Arc<T>);

impl<T: Send + Sync + 'static> Part<T> {
    /// What `freeze` makes of a part of the model; the part is frozen once, whoever holds it.
    ///
    /// # Errors
    ///
    /// Those of `freeze`.
    pub fn of<M>(frame: &Frame, part: &M, freeze: impl FnOnce(&M, &Freeze) -> Result<T>) -> Result<Self> {
        frame.frozen_once(part, || freeze(part, &frame.part()).map(|frozen| Self(Arc::new(frozen))))
    }
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: State + Send + Sync + 'static> State for Part<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        if to.has(Arc::as_ptr(&self.0).addr()) {
            return Ok(());
        }
        self.0.save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.once(|from| T::load(from).map(|frozen| Self(Arc::new(frozen))))
    }
}
