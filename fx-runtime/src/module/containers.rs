//! Containers as modules: the elements of a `Vec`, array or tuple are named `0`, `1`, ..., those of a map by their keys, as in
//! PyTorch's `ModuleDict`; a `Box` is what it holds.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, PoisonError, RwLock};

use super::{Field, Module, Place, Visitor};
use crate::Error;

impl<F: Field> Module for Vec<F> {
    fn type_name(&self) -> &'static str {
        "Vec"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visit_numbered(self, visitor);
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        place_all(self, place)
    }
}

impl<F: Field, const N: usize> Module for [F; N] {
    fn type_name(&self) -> &'static str {
        "array"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visit_numbered(self, visitor);
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        place_all(self, place)?.try_into().map_err(|_| Error::NotCloneable { what: format!("an array of {N}") })
    }
}

/// A loop, of which the compiler makes less code for each type than of an iterator of results.
fn place_all<F: Field>(fields: &[F], place: &mut Place<'_>) -> Result<Vec<F>, Error> {
    let mut copies = Vec::with_capacity(fields.len());
    for field in fields {
        copies.push(field.place_field(place)?);
    }
    Ok(copies)
}

fn visit_numbered<'a, F: Field>(fields: &'a [F], visitor: &mut dyn Visitor<'a>) {
    for (index, field) in fields.iter().enumerate() {
        field.visit_field(&index.to_string(), visitor);
    }
}

impl<K: Display + Clone + Ord, F: Field> Module for BTreeMap<K, F> {
    fn type_name(&self) -> &'static str {
        "BTreeMap"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (key, field) in self {
            field.visit_field(&key.to_string(), visitor);
        }
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        self.iter().map(|(key, field)| Ok((key.clone(), field.place_field(place)?))).collect()
    }
}

/// Elements are shown in the order of their names.
impl<K: Display + Clone + Eq + Hash, F: Field, S: BuildHasher + Default> Module for HashMap<K, F, S> {
    fn type_name(&self) -> &'static str {
        "HashMap"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        let named: BTreeMap<String, &F> = self.iter().map(|(key, field)| (key.to_string(), field)).collect();
        for (name, field) in named {
            field.visit_field(&name, visitor);
        }
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        self.iter().map(|(key, field)| Ok((key.clone(), field.place_field(place)?))).collect()
    }
}

impl<M: Module> Module for Box<M> {
    fn type_name(&self) -> &'static str {
        self.as_ref().type_name()
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.as_ref().visit(visitor);
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        self.as_ref().placed(place).map(Box::new)
    }

    fn set_training(&self, training: bool) {
        self.as_ref().set_training(training);
    }

    fn training(&self) -> Option<bool> {
        self.as_ref().training()
    }
}

/// What is in the cell or behind the lock stays there, so that it cannot be shown; its copy has a cell or lock of its own.
macro_rules! cell_module {
    ($($cell:ident |$held:ident| $open:expr;)+) => {
        $(impl<F: Field> Module for $cell<F> {
            fn type_name(&self) -> &'static str {
                stringify!($cell)
            }

            fn visit<'a>(&'a self, _visitor: &mut dyn Visitor<'a>) {}

            fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
                let $held = self;
                $open.place_field(place).map($cell::new)
            }
        })+
    };
}

cell_module! {
    RwLock |lock| lock.read().unwrap_or_else(PoisonError::into_inner);
    Mutex |lock| lock.lock().unwrap_or_else(PoisonError::into_inner);
    RefCell |cell| cell.try_borrow().map_err(|_| Error::NotCloneable { what: "a `RefCell` in use".to_owned() })?;
}

/// The model of a free function: nothing.
impl Module for () {
    fn type_name(&self) -> &'static str {
        "tuple"
    }

    fn visit<'a>(&'a self, _visitor: &mut dyn Visitor<'a>) {}

    fn placed(&self, _place: &mut Place<'_>) -> Result<Self, Error> {
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

            fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
                Ok(($(self.$index.place_field(place)?,)+))
            }
        }
    };
}

/// A layer with a name or a number beside it, which is copied and not shown.
macro_rules! pair_module {
    ($($plain:ty)*) => {
        $(
            impl<F: Field> Module for ($plain, F) {
                fn type_name(&self) -> &'static str {
                    "tuple"
                }

                fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
                    self.1.visit_field("1", visitor);
                }

                fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
                    Ok((self.0.clone(), self.1.place_field(place)?))
                }
            }

            impl<F: Field> Module for (F, $plain) {
                fn type_name(&self) -> &'static str {
                    "tuple"
                }

                fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
                    self.0.visit_field("0", visitor);
                }

                fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
                    Ok((self.0.place_field(place)?, self.1.clone()))
                }
            }
        )*
    };
}

pair_module!(String bool i64 usize f64);
tuple_module!(A 0);
tuple_module!(A 0, B 1);
tuple_module!(A 0, B 1, C 2);
tuple_module!(A 0, B 1, C 2, D 3);
tuple_module!(A 0, B 1, C 2, D 3, E 4);
tuple_module!(A 0, B 1, C 2, D 3, E 4, F 5);
