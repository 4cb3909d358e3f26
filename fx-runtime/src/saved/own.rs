//! Values of the program's own types, which are saved where every part of them has a [`State`](super::State).
//!
//! `#[derive(Module)]` implements it for types without generics, `#[derive(State)]` for any other. Whether a type has it
//! shows where the type is written out, in generated code, which registers it for the value of that type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Loader, Saver};
use crate::Result;
use crate::frame::state_cell::{Foreign, StateCell};

type Save = fn(&dyn Any, &mut Saver) -> Result<()>;
type Load = fn(&mut Loader) -> Result<Box<dyn Any>>;
type Copy = fn(&dyn Any) -> Result<Box<dyn Any>>;

/// How values of one type are saved and loaded.
#[derive(Debug, Clone, Copy)]
pub struct OwnState {
    type_id: fn() -> TypeId,
    save: Save,
    load: Load,
    load_cell: Load,
    copy: Copy,
}

inventory::collect!(OwnState);

impl OwnState {
    /// The registration of `T`; what [`own_state!`](crate::own_state) submits.
    pub const fn of<T: 'static>(save: Save, load: Load, load_cell: Load, copy: Copy) -> Self {
        Self { type_id: TypeId::of::<T>, save, load, load_cell, copy }
    }

    fn find(of: TypeId) -> Option<&'static OwnState> {
        static BY_TYPE: LazyLock<HashMap<TypeId, &'static OwnState>> =
            LazyLock::new(|| inventory::iter::<OwnState>.into_iter().map(|entry| ((entry.type_id)(), entry)).collect());
        BY_TYPE.get(&of).copied()
    }

    /// Saves the value; `None` where its type is not registered.
    pub(crate) fn save<T: 'static>(value: &T, to: &mut Saver) -> Option<Result<()>> {
        Self::find(TypeId::of::<T>()).map(|own| (own.save)(value, to))
    }

    /// Loads a value; `None` where its type is not registered.
    pub(crate) fn load<T: 'static>(from: &mut Loader) -> Option<Result<T>> {
        let own = Self::find(TypeId::of::<T>())?;
        Some(loaded(own.load, from))
    }

    /// Another value like it, with tensors of its own.
    ///
    /// # Errors
    /// A type of which there are no copies.
    pub(crate) fn copied<T: 'static>(value: &T) -> Result<T> {
        let none = || crate::Error::NotCloneable { what: std::any::type_name::<T>().to_owned() };
        let copy = Self::find(TypeId::of::<T>()).ok_or_else(none)?;
        (copy.copy)(value)?.downcast::<T>().map_or_else(|_| Err(none()), |copy| Ok(*copy))
    }

    /// Loads the cell of a field that calls write to, which holds a `T`.
    pub(crate) fn load_cell<T: 'static>(from: &mut Loader) -> Result<StateCell<T, Foreign>> {
        match Self::find(TypeId::of::<T>()) {
            Some(own) => loaded(own.load_cell, from),
            None => from.unknown_choice(),
        }
    }
}

fn loaded<V: 'static>(load: Load, from: &mut Loader) -> Result<V> {
    let value = load(from)?.downcast::<V>();
    value.map_or_else(|_| from.unknown_choice(), |value| Ok(*value))
}

pub use probe::{NoCell, OfType, Otherwise, ViaCell, ViaState};

/// The choice between a type that has a state and one that has none: the first trait that a reference fits.
mod probe {
    use std::marker::PhantomData;

    use crate::Result;
    use crate::frame::state_cell::{Foreign, StateCell};
    use crate::saved::{Loader, Saver, State};

    /// Stands for a type.
    #[derive(Debug)]
    pub struct OfType<T>(PhantomData<T>);

    impl<T> OfType<T> {
        /// The stand-in of `T`.
        #[allow(clippy::new_without_default, reason = "the type is always written out")]
        pub fn new() -> Self {
            Self(PhantomData)
        }
    }

    /// First choice: the type has a state.
    pub trait ViaState<T> {
        /// Saves the value.
        ///
        /// # Errors
        /// Those of its state.
        fn save(&self, value: &T, to: &mut Saver) -> Result<()>;

        /// Loads a value.
        ///
        /// # Errors
        /// Those of its state.
        fn load(&self, from: &mut Loader) -> Result<T>;

        /// Saves a part of a value under its name.
        ///
        /// # Errors
        /// Those of its state.
        fn save_field(&self, name: &str, value: &T, to: &mut Saver) -> Result<()> {
            to.within(name, |to| self.save(value, to))
        }

        /// Loads the part of this name.
        ///
        /// # Errors
        /// Those of its state.
        fn load_field(&self, name: &str, from: &mut Loader) -> Result<T> {
            from.within(name, |from| self.load(from))
        }
    }

    impl<T: State> ViaState<T> for &OfType<T> {
        fn save(&self, value: &T, to: &mut Saver) -> Result<()> {
            value.save(to)
        }

        fn load(&self, from: &mut Loader) -> Result<T> {
            T::load(from)
        }
    }

    /// Otherwise it is refused.
    pub trait Otherwise<T> {
        /// Tells the saver.
        ///
        /// # Errors
        /// None; the saver names all that it cannot save.
        fn save(&self, value: &T, to: &mut Saver) -> Result<()>;

        /// Nothing was saved.
        ///
        /// # Errors
        /// Always.
        fn load(&self, from: &mut Loader) -> Result<T>;

        /// Tells the saver of a part by its name.
        ///
        /// # Errors
        /// None; the saver names all that it cannot save.
        fn save_field(&self, name: &str, value: &T, to: &mut Saver) -> Result<()> {
            to.within(name, |to| self.save(value, to))
        }

        /// Nothing was saved.
        ///
        /// # Errors
        /// Always.
        fn load_field(&self, name: &str, from: &mut Loader) -> Result<T> {
            from.within(name, |from| self.load(from))
        }
    }

    impl<T> Otherwise<T> for OfType<T> {
        fn save(&self, _: &T, to: &mut Saver) -> Result<()> {
            to.refuse(std::any::type_name::<T>());
            Ok(())
        }

        fn load(&self, from: &mut Loader) -> Result<T> {
            from.unknown_choice()
        }
    }

    /// First choice: calls may write to a value of the type.
    pub trait ViaCell<T> {
        /// Loads the cell.
        ///
        /// # Errors
        /// Those of the type's state.
        fn load_cell(&self, from: &mut Loader) -> Result<StateCell<T, Foreign>>;
    }

    impl<T: State + Clone + Send + 'static> ViaCell<T> for &OfType<T> {
        fn load_cell(&self, from: &mut Loader) -> Result<StateCell<T, Foreign>> {
            let start = T::load(from)?;
            Ok(StateCell::loaded_own(from.frame(), start))
        }
    }

    /// Otherwise no cell was saved.
    pub trait NoCell<T> {
        /// Nothing was saved.
        ///
        /// # Errors
        /// Always.
        fn load_cell(&self, from: &mut Loader) -> Result<StateCell<T, Foreign>>;
    }

    impl<T> NoCell<T> for OfType<T> {
        fn load_cell(&self, from: &mut Loader) -> Result<StateCell<T, Foreign>> {
            from.unknown_choice()
        }
    }
}
