//! What is not a tensor, as text that reads back to the same value: numbers to the last bit, lists, options.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tch::nn::{GRUState, LSTMState};

use super::aspects::{LENGTH, PRESENT};
use super::{Loader, Saver, State};
use crate::{Error, Result};

macro_rules! as_text {
    ($($type:ty),*) => {
        $(impl State for $type {
            fn save(&self, to: &mut Saver) -> Result<()> {
                to.note("", self);
                Ok(())
            }

            fn load(from: &mut Loader) -> Result<Self> {
                from.noted("")
            }
        })*
    };
}

// Rust writes a float with as many digits as it takes to read the same float back.
as_text!(i64, i32, i16, i8, i128, isize, u64, u32, u16, u8, u128, usize, f64, f32, bool, char, String);

impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.note_nested(PRESENT, &self.is_some());
        self.iter().try_for_each(|value| value.save(to))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let present: bool = from.noted_next(PRESENT)?;
        present.then(|| T::load(from)).transpose()
    }
}

/// Parts that are loaded in one go, each under a name of its own.
pub trait Fields<const N: usize>: Sized {
    /// Loads the parts of these names.
    fn load(from: &mut Loader, names: [&str; N]) -> Result<Self>;
}

macro_rules! fields {
    ($($count:literal: $($part:ident)+;)+) => {
        $(impl<$($part: State),+> Fields<$count> for ($($part,)+) {
            fn load(from: &mut Loader, names: [&str; $count]) -> Result<Self> {
                let mut names = names.into_iter();
                let mut next = || names.next().unwrap_or_default();
                Ok(($(from.field::<$part>(next())?,)+))
            }
        })+
    };
}

fields! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
}

/// What is in it.
impl<T: State> State for RefCell<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.borrow().save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

impl<T: State + Copy> State for Cell<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.get().save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

/// What is behind the lock, also where a panic has poisoned it.
impl<T: State> State for Mutex<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

impl<T: State> State for RwLock<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.read().unwrap_or_else(PoisonError::into_inner).save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

/// The state of a recurrent layer: its tensors.
macro_rules! recurrent {
    ($($state:ident)+) => {
        $(impl State for $state {
            fn save(&self, to: &mut Saver) -> Result<()> {
                State::save(&self.0, to)
            }

            fn load(from: &mut Loader) -> Result<Self> {
                State::load(from).map(Self)
            }
        })+
    };
}
recurrent!(LSTMState GRUState);

impl<T: State> State for Box<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        (**self).save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

impl<T: State> State for Arc<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        (**self).save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

impl<T: State> State for Vec<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.note(LENGTH, &self.len());
        self.iter().enumerate().try_for_each(|(index, item)| to.field(&index.to_string(), item))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let length: usize = from.noted(LENGTH)?;
        (0..length).map(|index| from.field(&index.to_string())).collect()
    }
}

impl<T: State> State for VecDeque<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.note(LENGTH, &self.len());
        self.iter().enumerate().try_for_each(|(index, item)| to.field(&index.to_string(), item))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        Ok(Vec::load(from)?.into())
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.iter().enumerate().try_for_each(|(index, item)| to.field(&index.to_string(), item))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let items: Vec<T> = (0..N).map(|index| from.field(&index.to_string())).collect::<Result<_>>()?;
        items.try_into().map_err(|_| Error::Refused(format!("a list of {N} has lost an element")))
    }
}

/// In the order of the keys.
impl<K: State + Ord, V: State> State for BTreeMap<K, V> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        save_entries(self.iter(), to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        Ok(Vec::<(K, V)>::load(from)?.into_iter().collect())
    }
}

/// In the order of the keys, so that the same map gives the same file.
impl<K: State + Ord + Hash, V: State, S: BuildHasher + Default> State for HashMap<K, V, S> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        save_entries(self.iter().collect::<BTreeMap<&K, &V>>(), to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        Ok(Vec::<(K, V)>::load(from)?.into_iter().collect())
    }
}

/// As a list of pairs is saved.
fn save_entries<'m, K: State + 'm, V: State + 'm>(
    entries: impl IntoIterator<Item = (&'m K, &'m V)>,
    to: &mut Saver,
) -> Result<()> {
    let entries: Vec<(&K, &V)> = entries.into_iter().collect();
    to.note(LENGTH, &entries.len());
    entries.into_iter().enumerate().try_for_each(|(index, (key, value))| {
        to.within(&index.to_string(), |to| {
            to.field("0", key)?;
            to.field("1", value)
        })
    })
}

macro_rules! part_by_part {
    ($(($($name:ident $at:tt),+))*) => {
        $(impl<$($name: State),+> State for ($($name,)+) {
            fn save(&self, to: &mut Saver) -> Result<()> {
                $(to.field(stringify!($at), &self.$at)?;)+
                Ok(())
            }

            fn load(from: &mut Loader) -> Result<Self> {
                Ok(($(from.field::<$name>(stringify!($at))?,)+))
            }
        })*
    };
}
part_by_part!((A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3));
