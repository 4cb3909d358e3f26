//! Layers that are kept as they are, and what cannot be saved.

use super::{Loader, Saver, State};
use crate::Result;
use crate::frozen::{Captured, Leaf};
use crate::nn::Layer;
use crate::nn::sealed::Held as _;
use crate::registry::Registration;

impl<L: Layer + State> State for Leaf<L> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.held().with(|layer| layer.save(to))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        L::load(from).map(Self::of)
    }
}

/// A layer of the runtime's is saved; a value of the program's own has no form in a file.
impl<T: 'static> State for Captured<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        let value = self.lock();
        let saved = Registration::find(&*value).and_then(|registration| registration.save(&*value, to));
        saved.unwrap_or_else(|| {
            to.refuse(std::any::type_name::<T>());
            Ok(())
        })
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let layer = Registration::load_alone(from)?.downcast::<T>();
        layer.map_or_else(|_| from.unknown_choice(), |layer| Ok(Self::new(*layer)))
    }
}
