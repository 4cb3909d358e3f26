//! How an erased value is seen as a [`Layer`] again, and how a layer of a `Sequential` is loaded.
//!
//! The [registry](crate::registry) knows modules, in which tensors are found and which are saved; the layers of `nn` have
//! an entry here as well.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use tch::{TchError, Tensor};

use super::sealed::{Freezable, Held as _};
use super::{Layer, ModuleT, Stack};
use crate::Error;
use crate::registry::inventory;
use crate::saved::{Loader, Saver, State};

/// Registers a layer, which is run, moved and saved in a `Sequential`.
macro_rules! register_layer {
    ($layer:ty) => {
        $crate::registry::register_saved!($layer);
        $crate::registry::inventory::submit! { $crate::nn::layer_entry::LayerEntry::of::<$layer>(stringify!($layer)) }
    };
}
pub(super) use register_layer;

/// What a layer of one type can do besides what a module can.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerEntry {
    type_id: fn() -> TypeId,
    name: &'static str,
    view: for<'a> fn(&'a dyn Any) -> Option<&'a dyn Layer>,
    share: fn(&dyn Any) -> Option<Shared>,
    load: fn(&mut Loader, &mut Stack) -> Result<(), Error>,
    hold: fn(&dyn Any) -> Option<HeldResult>,
    load_held: fn(&mut Loader) -> HeldResult,
}

/// A layer that threads share.
type HeldResult = Result<Arc<dyn HeldLayer>, Error>;

/// A layer in inference that threads share.
pub(crate) trait HeldLayer: fmt::Debug + Send + Sync {
    /// Applies the layer.
    fn run(&self, xs: &Tensor) -> Result<Tensor, TchError>;

    /// Saves the layer by its name; [`load_held`] reads it.
    fn save(&self, to: &mut Saver) -> Result<(), Error>;
}

/// A layer, and the name of its type.
struct Named<L: Layer> {
    held: <L as Freezable>::Held,
    name: &'static str,
}

impl<L: Layer> fmt::Debug for Named<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<L: Layer + State> HeldLayer for Named<L> {
    fn run(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        self.held.run(xs)
    }

    fn save(&self, to: &mut Saver) -> Result<(), Error> {
        to.choose(self.name);
        self.held.with(|layer| layer.save(to))
    }
}

/// A second handle on a layer.
type Shared = Result<Rc<dyn Layer>, Error>;

inventory::collect!(LayerEntry);

impl LayerEntry {
    pub(super) const fn of<L: Layer + ModuleT + State + 'static>(name: &'static str) -> Self {
        Self {
            type_id: TypeId::of::<L>,
            name,
            view: view::<L>,
            share: share::<L>,
            load: load::<L>,
            hold: hold::<L>,
            load_held: load_held_as::<L>,
        }
    }

    /// The entry of the type of `value`, if it is a layer.
    pub(super) fn find(value: &dyn Any) -> Option<&'static Self> {
        static BY_TYPE: LazyLock<HashMap<TypeId, &'static LayerEntry>> = LazyLock::new(|| {
            inventory::iter::<LayerEntry>.into_iter().map(|entry| ((entry.type_id)(), entry)).collect()
        });
        BY_TYPE.get(&value.type_id()).copied()
    }

    /// The value as a layer; none if it is of another type.
    pub(super) fn view<'a>(&self, value: &'a dyn Any) -> Option<&'a dyn Layer> {
        (self.view)(value)
    }

    /// A second handle on the layer; none if it is of another type.
    pub(super) fn share(&self, value: &dyn Any) -> Option<Shared> {
        (self.share)(value)
    }

    /// Loads the layer that was saved and appends it.
    pub(super) fn load(from: &mut Loader, into: &mut Stack) -> Result<(), Error> {
        let name = from.choice()?;
        match inventory::iter::<LayerEntry>.into_iter().find(|entry| entry.name == name) {
            Some(entry) => (entry.load)(from, into),
            None => from.unknown_choice(),
        }
    }
}

/// The layer that a value is in a form that threads share; none if it is no layer of this module.
pub(crate) fn held_layer(value: &dyn Any) -> Option<HeldResult> {
    (LayerEntry::find(value)?.hold)(value)
}

/// The layer that was saved at this path by that name.
pub(crate) fn load_held(from: &mut Loader, name: &str) -> HeldResult {
    match inventory::iter::<LayerEntry>.into_iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.load_held)(from),
        None => from.unknown_choice(),
    }
}

/// A second handle on the layer that a value is; none if it is no layer of this module.
pub(crate) fn shared_layer(value: &dyn Any) -> Option<Shared> {
    LayerEntry::find(value)?.share(value)
}

fn view<L: Layer + 'static>(value: &dyn Any) -> Option<&dyn Layer> {
    value.downcast_ref::<L>().map(|layer| layer as &dyn Layer)
}

fn share<L: Layer + 'static>(value: &dyn Any) -> Option<Shared> {
    let layer = value.downcast_ref::<L>()?;
    Some(layer.shallow_clone().map(|layer| Rc::new(layer) as Rc<dyn Layer>))
}

fn load<L: ModuleT + State + 'static>(from: &mut Loader, into: &mut Stack) -> Result<(), Error> {
    L::load(from).map(|layer| into.push(layer))
}

fn hold<L: Layer + State + 'static>(value: &dyn Any) -> Option<HeldResult> {
    let layer = value.downcast_ref::<L>()?;
    Some(layer.shallow_clone().map(|layer| held(layer)))
}

fn load_held_as<L: Layer + State + 'static>(from: &mut Loader) -> HeldResult {
    L::load(from).map(|layer| held(layer))
}

fn held<L: Layer + State + 'static>(layer: L) -> Arc<dyn HeldLayer> {
    let found = LayerEntry::find(&layer).map_or("layer", |entry| entry.name);
    Arc::new(Named::<L> { held: <L as Freezable>::Held::hold(layer), name: found })
}
