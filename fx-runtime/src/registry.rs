//! Finding the [`Module`] in a value whose type has been erased.
//!
//! A `Sequential` holds boxed layers and knows only that they compute. Every type that implements [`Module`] registers
//! itself at link time (`#[derive(Module)]` does so for types without generics), and a boxed layer finds its way back
//! by its `TypeId`. A type that is not registered still computes; it is shown as a leaf without tensors.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::frozen::{Loader, Saver, State};
use crate::module::Place;
use crate::nn::{Layer, ModuleT, Stack};
use crate::{Error, Module};

#[doc(hidden)]
pub use inventory;

/// Registers a type that implements [`Module`], so that it can be seen inside a `Sequential`.
///
/// `fx_runtime::register_module!(Block);` at module level, once per type; `#[derive(Module)]` emits it.
#[macro_export]
macro_rules! register_module {
    ($($module:ty),+ $(,)?) => {
        $($crate::registry::inventory::submit! { $crate::registry::Registration::of::<$module>() })+
    };
}

/// Registers a layer, which is also run and moved in a `Sequential`.
macro_rules! register_layer {
    ($layer:ty) => {
        $crate::registry::inventory::submit! { $crate::registry::Registration::of_layer::<$layer>(stringify!($layer)) }
    };
}
pub(crate) use register_layer;

/// Registers a layer that no `Sequential` holds; it is saved as the others are.
macro_rules! register_kept {
    ($layer:ty) => {
        $crate::registry::inventory::submit! { $crate::registry::Registration::of_kept::<$layer>(stringify!($layer)) }
    };
}
pub(crate) use register_kept;

/// How to see and copy an erased value of one type.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    type_id: fn() -> TypeId,
    view: for<'a> fn(&'a dyn Any) -> Option<&'a dyn Module>,
    placed: fn(&dyn Any, &mut Place<'_>) -> Option<Cloned>,
    layer: Option<AsLayer>,
    saved: Option<Saved>,
}

/// What a layer of [`crate::nn`] can do besides.
#[derive(Debug, Clone, Copy)]
struct AsLayer {
    view: for<'a> fn(&'a dyn Any) -> Option<&'a dyn Layer>,
    load: fn(&mut Loader, &mut Stack) -> Result<(), Error>,
}

/// How a layer of [`crate::nn`] is saved.
#[derive(Debug, Clone, Copy)]
struct Saved {
    name: &'static str,
    save: fn(&dyn Any, &mut Saver) -> Result<(), Error>,
    load: fn(&mut Loader) -> Cloned,
}

type Cloned = Result<Box<dyn Any>, Error>;

inventory::collect!(Registration);

impl Registration {
    /// The registration of `M`; what [`register_module!`] submits.
    pub const fn of<M: Module + 'static>() -> Self {
        Self { type_id: TypeId::of::<M>, view: view::<M>, placed: placed::<M>, layer: None, saved: None }
    }

    /// The registration of a layer of [`crate::nn`].
    pub(crate) const fn of_layer<L: Layer + ModuleT + State + 'static>(name: &'static str) -> Self {
        let layer = AsLayer { view: view_layer::<L>, load: load::<L> };
        Self { layer: Some(layer), ..Self::of_kept::<L>(name) }
    }

    /// The registration of a layer of [`crate::nn`] that has no forward of its own.
    pub(crate) const fn of_kept<L: Module + State + 'static>(name: &'static str) -> Self {
        Self { saved: Some(Saved { name, save: save::<L>, load: load_alone::<L> }), ..Self::of::<L>() }
    }

    /// The registration of the type of `value`, if there is one.
    pub fn find(value: &dyn Any) -> Option<&'static Registration> {
        static BY_TYPE: LazyLock<HashMap<TypeId, &'static Registration>> = LazyLock::new(|| {
            inventory::iter::<Registration>.into_iter().map(|entry| ((entry.type_id)(), entry)).collect()
        });
        BY_TYPE.get(&value.type_id()).copied()
    }

    /// The value as a module; none if it is of another type.
    pub fn view<'a>(&self, value: &'a dyn Any) -> Option<&'a dyn Module> {
        (self.view)(value)
    }

    /// The value as a layer of [`crate::nn`]; none if it is something else.
    pub(crate) fn layer<'a>(&self, value: &'a dyn Any) -> Option<&'a dyn Layer> {
        self.layer.and_then(|layer| (layer.view)(value))
    }

    /// A copy of the value with its tensors as `place` says, boxed and of the same type; none if it is of another type.
    pub(crate) fn placed(&self, value: &dyn Any, place: &mut Place<'_>) -> Option<Cloned> {
        (self.placed)(value, place)
    }

    /// Saves a layer of [`crate::nn`]; none if it is something else.
    pub(crate) fn save(&self, value: &dyn Any, to: &mut Saver) -> Option<Result<(), Error>> {
        self.saved.map(|saved| {
            to.choose(saved.name);
            (saved.save)(value, to)
        })
    }

    /// Loads the layer of [`crate::nn`] that was saved and appends it.
    pub(crate) fn load(from: &mut Loader, into: &mut Stack) -> Result<(), Error> {
        match Self::chosen(from)?.and_then(|(entry, _)| entry.layer) {
            Some(layer) => (layer.load)(from, into),
            None => from.unknown_choice(),
        }
    }

    /// Loads the layer of [`crate::nn`] that was saved, boxed.
    pub(crate) fn load_alone(from: &mut Loader) -> Cloned {
        match Self::chosen(from)? {
            Some((_, saved)) => (saved.load)(from),
            None => from.unknown_choice(),
        }
    }

    /// The registration of the layer that was saved.
    fn chosen(from: &Loader) -> Result<Option<(&'static Registration, Saved)>, Error> {
        let name = from.choice()?;
        let mut entries = inventory::iter::<Registration>.into_iter().filter_map(|entry| Some((entry, entry.saved?)));
        Ok(entries.find(|(_, saved)| saved.name == name))
    }
}

fn save<L: State + 'static>(value: &dyn Any, to: &mut Saver) -> Result<(), Error> {
    value.downcast_ref::<L>().map_or(Ok(()), |layer| layer.save(to))
}

fn load<L: ModuleT + State + 'static>(from: &mut Loader, into: &mut Stack) -> Result<(), Error> {
    L::load(from).map(|layer| into.push(layer))
}

fn load_alone<L: State + 'static>(from: &mut Loader) -> Cloned {
    L::load(from).map(|layer| Box::new(layer) as Box<dyn Any>)
}

fn view<M: Module + 'static>(value: &dyn Any) -> Option<&dyn Module> {
    value.downcast_ref::<M>().map(|module| module as &dyn Module)
}

fn view_layer<L: Layer + 'static>(value: &dyn Any) -> Option<&dyn Layer> {
    value.downcast_ref::<L>().map(|layer| layer as &dyn Layer)
}

fn placed<M: Module + 'static>(value: &dyn Any, place: &mut Place<'_>) -> Option<Cloned> {
    let module = value.downcast_ref::<M>()?;
    Some(module.placed(place).map(|placed| Box::new(placed) as Box<dyn Any>))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn;

    #[test]
    fn finds_leaves_and_refuses_strangers() {
        let relu: &dyn Any = &nn::ReLU;
        let found = Registration::find(relu).and_then(|entry| entry.view(relu)).map(Module::type_name);
        assert_eq!(found, Some("ReLU"));
        assert!(Registration::find(&"a str").is_none());
    }
}
