//! Finding the [`Module`] in a value whose type has been erased.
//!
//! A `Sequential` holds boxed layers and knows only that they compute. Every type that implements [`Module`] and can be a
//! layer registers itself at link time (`#[derive(Module)]` does so for types without generics), and a boxed layer finds
//! its way back by its `TypeId`. A type that is not registered still computes; it is shown as a leaf without tensors.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::LazyLock;

use tch::nn::ModuleT;

use crate::module::Place;
use crate::saved::{Loader, Saver, State};
use crate::{Error, Module};

#[doc(hidden)]
pub use inventory;

/// Registers a type that implements [`Module`], so that it can be seen inside a `Sequential`.
///
/// `fx_runtime::register_module!(Block);` at module level, once per type; `#[derive(Module)]` emits it.
#[macro_export]
macro_rules! register_module {
    ($($module:ty),+ $(,)?) => {
        $($crate::registry::inventory::submit! {{
            #[allow(unused_imports)]
            use $crate::registry::NoLayer as _;
            $crate::registry::Registered($crate::registry::OfType::<$module>::REGISTRATION)
        }})+
    };
}

/// Registers a module that is saved under its name.
macro_rules! register_saved {
    ($module:ty) => {
        $crate::registry::inventory::submit! {
            $crate::registry::Registered(Some($crate::registry::Registration::of_saved::<$module>(stringify!($module))))
        }
    };
}
pub(crate) use register_saved;

/// How to see and copy an erased value of one type.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    type_id: fn() -> TypeId,
    view: for<'a> fn(&'a dyn Any) -> Option<&'a dyn Module>,
    placed: fn(&dyn Any, &mut Place<'_>) -> Option<Cloned>,
    saved: Option<Saved>,
}

/// How a module of this crate is saved.
#[derive(Debug, Clone, Copy)]
struct Saved {
    name: &'static str,
    save: fn(&dyn Any, &mut Saver) -> Result<(), Error>,
    load: fn(&mut Loader) -> Cloned,
}

type Cloned = Result<Box<dyn Any>, Error>;

/// What a type submits: nothing where it is no layer, so that the code to see and copy it is compiled where it is used.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registered(pub Option<Registration>);

inventory::collect!(Registered);

/// Asks at compile time whether a type is a layer: an associated constant of its own comes before [`NoLayer`]'s.
#[doc(hidden)]
#[derive(Debug)]
pub struct OfType<M>(PhantomData<M>);

impl<M: Module + ModuleT + 'static> OfType<M> {
    /// The registration of a layer.
    pub const REGISTRATION: Option<Registration> = Some(Registration::of::<M>());
}

/// A type that is no layer.
#[doc(hidden)]
pub trait NoLayer {
    /// None: no `Sequential` can hold it.
    const REGISTRATION: Option<Registration> = None;
}

impl<M> NoLayer for OfType<M> {}

/// The registered types.
fn registrations() -> impl Iterator<Item = &'static Registration> {
    inventory::iter::<Registered>.into_iter().filter_map(|registered| registered.0.as_ref())
}

impl Registration {
    /// The registration of `M`; what [`register_module!`] submits.
    pub const fn of<M: Module + 'static>() -> Self {
        Self { type_id: TypeId::of::<M>, view: view::<M>, placed: placed::<M>, saved: None }
    }

    /// The registration of a module that is saved under this name.
    pub(crate) const fn of_saved<M: Module + State + 'static>(name: &'static str) -> Self {
        Self { saved: Some(Saved { name, save: save::<M>, load: load::<M> }), ..Self::of::<M>() }
    }

    /// The registration of the type of `value`, if there is one.
    pub fn find(value: &dyn Any) -> Option<&'static Registration> {
        static BY_TYPE: LazyLock<HashMap<TypeId, &'static Registration>> =
            LazyLock::new(|| registrations().map(|entry| ((entry.type_id)(), entry)).collect());
        BY_TYPE.get(&value.type_id()).copied()
    }

    /// The value as a module; none if it is of another type.
    pub fn view<'a>(&self, value: &'a dyn Any) -> Option<&'a dyn Module> {
        (self.view)(value)
    }

    /// A copy of the value with its tensors as `place` says, boxed and of the same type; none if it is of another type.
    pub(crate) fn placed(&self, value: &dyn Any, place: &mut Place<'_>) -> Option<Cloned> {
        (self.placed)(value, place)
    }

    /// Returns whether values of the type have a form in a file.
    pub(crate) fn is_saved(&self) -> bool {
        self.saved.is_some()
    }

    /// Saves the value; none if its type has no form in a file.
    pub(crate) fn save(&self, value: &dyn Any, to: &mut Saver) -> Option<Result<(), Error>> {
        self.saved.map(|saved| {
            to.choose(saved.name);
            (saved.save)(value, to)
        })
    }

    /// Loads what was saved, boxed.
    pub(crate) fn load(from: &mut Loader) -> Cloned {
        let name = from.choice()?;
        let mut saved = registrations().filter_map(|entry| entry.saved);
        match saved.find(|saved| saved.name == name) {
            Some(saved) => (saved.load)(from),
            None => from.unknown_choice(),
        }
    }
}

fn save<M: State + 'static>(value: &dyn Any, to: &mut Saver) -> Result<(), Error> {
    value.downcast_ref::<M>().map_or(Ok(()), |module| module.save(to))
}

fn load<M: State + 'static>(from: &mut Loader) -> Cloned {
    M::load(from).map(|module| Box::new(module) as Box<dyn Any>)
}

fn view<M: Module + 'static>(value: &dyn Any) -> Option<&dyn Module> {
    value.downcast_ref::<M>().map(|module| module as &dyn Module)
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
