//! Layers that are kept as they are, and what cannot be saved.

use super::{Loader, Saver, State};
use crate::frozen::{Captured, Leaf};
use crate::nn::Layer;
use crate::nn::sealed::Held as _;
use crate::{Error, Result};

impl<L: Layer + State> State for Leaf<L> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.held().with(|layer| layer.save(to))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        L::load(from).map(Self::of)
    }
}

/// A value of the program's own has no form in a file.
impl<T> State for Captured<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.refuse(std::any::type_name::<T>());
        Ok(())
    }

    fn load(_: &mut Loader) -> Result<Self> {
        Err(Error::Unsupported {
            what: format!("loading a `{}`", std::any::type_name::<T>()),
            help: "freeze the model anew".to_owned(),
        })
    }
}
