//! Containers as modules: the elements of a `Vec`, array or tuple are named `0`, `1`, ...; a `Box` is what it holds.

use std::sync::{Mutex, PoisonError, RwLock};

use super::{Field, Module, Visitor};
use crate::Error;

impl<F: Field> Module for Vec<F> {
    fn type_name(&self) -> &'static str {
        "Vec"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visit_numbered(self, visitor);
    }

    fn shallow_clone(&self) -> Result<Self, Error> {
        self.iter().map(Field::clone_field).collect()
    }
}

impl<F: Field, const N: usize> Module for [F; N] {
    fn type_name(&self) -> &'static str {
        "array"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visit_numbered(self, visitor);
    }

    fn shallow_clone(&self) -> Result<Self, Error> {
        let clones = self.iter().map(Field::clone_field).collect::<Result<Vec<F>, _>>()?;
        clones.try_into().map_err(|_| Error::NotCloneable { what: format!("an array of {N}") })
    }
}

fn visit_numbered<'a, F: Field>(fields: &'a [F], visitor: &mut dyn Visitor<'a>) {
    for (index, field) in fields.iter().enumerate() {
        field.visit_field(&index.to_string(), visitor);
    }
}

impl<M: Module> Module for Box<M> {
    fn type_name(&self) -> &'static str {
        self.as_ref().type_name()
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.as_ref().visit(visitor);
    }

    fn shallow_clone(&self) -> Result<Self, Error> {
        self.as_ref().shallow_clone().map(Box::new)
    }

    fn set_training(&self, training: bool) {
        self.as_ref().set_training(training);
    }

    fn training(&self) -> Option<bool> {
        self.as_ref().training()
    }
}

/// What is behind the lock stays there, so that it cannot be shown; its copy has a lock of its own.
macro_rules! locked_module {
    ($($lock:ident $open:ident),+) => {
        $(impl<F: Field> Module for $lock<F> {
            fn type_name(&self) -> &'static str {
                stringify!($lock)
            }

            fn visit<'a>(&'a self, _visitor: &mut dyn Visitor<'a>) {}

            fn shallow_clone(&self) -> Result<Self, Error> {
                self.$open().unwrap_or_else(PoisonError::into_inner).clone_field().map($lock::new)
            }
        })+
    };
}

locked_module!(RwLock read, Mutex lock);

/// The model of a free function: nothing.
impl Module for () {
    fn type_name(&self) -> &'static str {
        "tuple"
    }

    fn visit<'a>(&'a self, _visitor: &mut dyn Visitor<'a>) {}

    fn shallow_clone(&self) -> Result<Self, Error> {
        Ok(())
    }
}

macro_rules! tuple_module {
    ($($field:ident $index:tt),+) => {
        impl<$($field: Field),+> Module for ($($field,)+) {
            fn type_name(&self) -> &'static str {
                "tuple"
            }

            fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
                $(self.$index.visit_field(stringify!($index), visitor);)+
            }

            fn shallow_clone(&self) -> Result<Self, Error> {
                Ok(($(self.$index.clone_field()?,)+))
            }
        }
    };
}

tuple_module!(A 0);
tuple_module!(A 0, B 1);
tuple_module!(A 0, B 1, C 2);
tuple_module!(A 0, B 1, C 2, D 3);
tuple_module!(A 0, B 1, C 2, D 3, E 4);
tuple_module!(A 0, B 1, C 2, D 3, E 4, F 5);
