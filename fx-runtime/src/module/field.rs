//! Fields of a module, and how a derive treats them without knowing their types.
//!
//! A derive sees tokens, not types, so it writes the same call for every field and lets the compiler choose. Method
//! lookup takes off one `&` at a time, so that `(&&&Probe(x)).visit(..)` finds [`probe::ViaField`], which is written
//! for `&&Probe`, when `x` is a [`Field`], and otherwise a fallback that is written for fewer `&`s.

use std::sync::{Arc, PoisonError};

use tch::Tensor;
use tch::nn::VarStore;

use super::{Module, Place, Role, Visitor};
use crate::Error;

/// A field that a module shows: a tensor, a module, or an `Option` of one, which leaves no trace in names.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of a model",
    note = "derive `Module` for it; where it is a hyper-parameter, put `#[module(skip)]` on the field that it stands in"
)]
pub trait Field: Sized {
    /// Shows the field under `name`.
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>);

    /// A copy of the field, with other tensors in place of its own.
    ///
    /// # Errors
    ///
    /// Those of [`Module::placed`].
    fn place_field(&self, place: &mut Place<'_>) -> Result<Self, Error>;
}

impl<M: Module> Field for M {
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.child(name, self);
    }

    fn place_field(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        self.placed(place)
    }
}

/// A tensor that requires a gradient is a parameter, any other a buffer.
impl Field for Tensor {
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        let role = if self.requires_grad() { Role::Parameter } else { Role::Buffer };
        visitor.tensor(name, self, role);
    }

    fn place_field(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        place(self)
    }
}

/// A variable store beside the layers that were made from it shows nothing: its tensors are theirs.
impl Field for VarStore {
    fn visit_field<'a>(&'a self, _: &str, _: &mut dyn Visitor<'a>) {}

    fn place_field(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        let one = place(&Tensor::f_zeros([1], (self.kind(), self.device()))?)?;
        let mut copy = VarStore::new(one.device());
        copy.set_kind(one.kind());
        let held = |store: &VarStore| Arc::clone(&store.variables_);
        let (from, to) = (held(self), held(&copy));
        let known = from.lock().unwrap_or_else(PoisonError::into_inner);
        let mut variables = to.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, tensor) in &known.named_variables {
            variables.named_variables.insert(name.clone(), place(tensor)?);
        }
        drop(variables);
        Ok(copy)
    }
}

impl<F: Field> Field for Option<F> {
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        if let Some(field) = self {
            field.visit_field(name, visitor);
        }
    }

    fn place_field(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        self.as_ref().map(|field| field.place_field(place)).transpose()
    }
}

/// The traits among which method lookup chooses; nothing to call by hand.
pub mod probe {
    use std::sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
    use std::sync::{Mutex, PoisonError, RwLock};

    use super::{Error, Field, Place, Visitor};

    /// Wraps a field, so that the choice below depends on its type only.
    #[derive(Debug)]
    pub struct Probe<'a, T: ?Sized>(pub &'a T);

    /// First choice: the field is a [`Field`].
    pub trait ViaField<'a, T> {
        /// Shows the field.
        fn visit(&self, name: &str, visitor: &mut dyn Visitor<'a>);
        /// Copies the field.
        fn place_as(&self, name: &str, place: &mut Place<'_>) -> Result<T, Error>;
    }

    impl<'a, T: Field> ViaField<'a, T> for &&Probe<'a, T> {
        fn visit(&self, name: &str, visitor: &mut dyn Visitor<'a>) {
            self.0.visit_field(name, visitor);
        }

        fn place_as(&self, _name: &str, place: &mut Place<'_>) -> Result<T, Error> {
            self.0.place_field(place)
        }
    }

    /// Second choice for clones: a hyper-parameter that is `Clone`.
    pub trait ViaClone<T> {
        /// Clones the value.
        fn place_as(&self, name: &str, place: &mut Place<'_>) -> Result<T, Error>;
    }

    impl<T: Clone> ViaClone<T> for &Probe<'_, T> {
        fn place_as(&self, _name: &str, _place: &mut Place<'_>) -> Result<T, Error> {
            Ok(self.0.clone())
        }
    }

    /// The same of what is not `Clone` itself: a lock of what is, whose copy has a lock of its own, and an atomic number.
    pub trait ViaLock<T> {
        /// Copies what it holds.
        fn place_as(&self, name: &str, place: &mut Place<'_>) -> Result<T, Error>;
    }

    impl<T: Clone> ViaLock<Mutex<T>> for &Probe<'_, Mutex<T>> {
        fn place_as(&self, _name: &str, _place: &mut Place<'_>) -> Result<Mutex<T>, Error> {
            Ok(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
        }
    }

    impl<T: Clone> ViaLock<RwLock<T>> for &Probe<'_, RwLock<T>> {
        fn place_as(&self, _name: &str, _place: &mut Place<'_>) -> Result<RwLock<T>, Error> {
            Ok(RwLock::new(self.0.read().unwrap_or_else(PoisonError::into_inner).clone()))
        }
    }

    macro_rules! atomic {
        ($($number:ident),+) => {
            $(impl ViaLock<$number> for &Probe<'_, $number> {
                fn place_as(&self, _name: &str, _place: &mut Place<'_>) -> Result<$number, Error> {
                    Ok($number::new(self.0.load(Ordering::SeqCst)))
                }
            })+
        };
    }

    atomic!(AtomicBool, AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize);

    /// Last choice for visits: a hyper-parameter, which is not shown.
    pub trait VisitNothing<'a> {
        /// Does nothing.
        fn visit(&self, _name: &str, _visitor: &mut dyn Visitor<'a>) {}
    }

    impl<T: ?Sized> VisitNothing<'_> for Probe<'_, T> {}

    /// Last choice for clones: an error that names the field.
    pub trait CloneNothing<T> {
        /// Refuses.
        fn place_as(&self, name: &str, place: &mut Place<'_>) -> Result<T, Error>;
    }

    impl<T> CloneNothing<T> for Probe<'_, T> {
        fn place_as(&self, name: &str, _place: &mut Place<'_>) -> Result<T, Error> {
            Err(Error::NotCloneable { what: name.to_owned() })
        }
    }
}
