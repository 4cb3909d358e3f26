//! State: what a forward by `&mut self` writes to, in cells of the frozen model's own.
//!
//! `freeze` copies each field that is written into a [`StateCell`] cell, and a call reads and writes the cell where the model
//! itself reads and writes the field. While a model is frozen a field is known by its address, so that two pieces of
//! generated code that mean the same field share one cell. A forward has its model to itself, so that no cell is ever
//! waited for; it has a lock because it is shared.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, MutexGuard};

use tch::Tensor;
use tch::nn::{GRUState, LSTMState};

use super::Frame;
use super::cells::{Cell, Copy};
use crate::Error;

/// A value made of tensors, numbers and text, of which there can be another one.
pub trait CellValue: Sized {
    /// The same value with each tensor as `tensor` has it.
    ///
    /// # Errors
    ///
    /// The first error of `tensor`.
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error>;

    /// The same value with tensors of its own.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    fn copied(&self) -> Result<Self, Error> {
        self.with_tensors(&mut copied_tensor)
    }
}

/// A tensor of its own with the same numbers; of one that was never made a handle.
///
/// # Errors
///
/// When there is no memory for it.
#[doc(hidden)]
pub fn copied_tensor(tensor: &Tensor) -> Result<Tensor, Error> {
    if tensor.defined() { Ok(tensor.f_detach_copy()?) } else { Ok(tensor.shallow_clone()) }
}

/// The value with second handles on its tensors: what a forward reads of what it borrows.
///
/// # Errors
///
/// None that a tensor which is there could cause.
pub fn handles<T: CellValue>(value: &T) -> Result<T, Error> {
    value.with_tensors(&mut |tensor| Ok(tensor.shallow_clone()))
}

/// How the value of a [`StateCell`] goes to a file: as every [`CellValue`] does.
#[derive(Debug)]
pub enum Saved {}

/// How the value of a [`StateCell`] goes to a file: it does not, since its type is the program's own.
#[derive(Debug)]
pub enum Foreign {}

/// One field that calls write to: what it was when the model was frozen, and what it is now.
pub struct StateCell<T, S = Saved> {
    cell: Arc<Cell<T>>,
    saved: PhantomData<fn() -> S>,
}

impl<T: CellValue + Send + 'static> StateCell<T> {
    /// The cell of a field of the model that is being frozen, with a copy of what the field holds: on the frame's device
    /// and, where it is floating-point, in its dtype.
    ///
    /// # Errors
    ///
    /// A tensor that cannot be moved.
    pub fn of(frame: &Frame, field: &T) -> Result<Self, Error> {
        Self::shared(frame, field, T::with_tensors)
    }

    /// A cell of a model that is read from a file.
    pub(crate) fn loaded(frame: &Frame, start: T) -> Result<Self, Error> {
        let cell = Cell::new(start.copied()?, start, T::with_tensors);
        Ok(Self::new(frame, None, cell))
    }

    /// The value, with second handles on its tensors.
    ///
    /// # Errors
    ///
    /// None that a tensor which is there could cause.
    pub fn value(&self) -> Result<T, Error> {
        handles(&*self.lock())
    }
}

impl<T: Clone + Send + 'static> StateCell<T, Foreign> {
    /// A cell of a model that is read from a file.
    pub(crate) fn loaded_own(frame: &Frame, start: T) -> Self {
        let cell = Cell::new(start.clone(), start, |value: &T, _| Ok(value.clone()));
        Self::new(frame, None, cell)
    }
}

impl<T, S> StateCell<T, S> {
    /// Hands over what the field was when the model was frozen.
    pub(crate) fn with_start<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        f(&self.cell.start())
    }

    /// The value as it is now; nobody waits for it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.cell.now()
    }

    /// Gives the field another value.
    pub fn set(&self, value: T) {
        *self.lock() = value;
    }

    /// Which cell it is, for those that share it.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.cell).addr()
    }
}

impl<T: Send + 'static, S> StateCell<T, S> {
    /// The cell of the field, which may be known already, with a copy of its value that `copy` makes.
    pub(crate) fn shared(frame: &Frame, field: &T, copy: Copy<T>) -> Result<Self, Error> {
        let address = Some(ptr::from_ref(field).addr()).filter(|_| size_of::<T>() > 0);
        if let Some(cell) = address.and_then(|address| frame.cells().find(address)) {
            return Ok(Self { cell, saved: PhantomData });
        }
        let (start, now) = frame.cells().both(field, copy, |tensor| frame.own(tensor))?;
        Ok(Self::new(frame, address, Cell::new(now, start, copy)))
    }

    fn new(frame: &Frame, address: Option<usize>, cell: Cell<T>) -> Self {
        let cell = Arc::new(cell);
        frame.cells().add(address, &cell);
        Self { cell, saved: PhantomData }
    }
}

impl<T, S> Clone for StateCell<T, S> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell), saved: PhantomData }
    }
}

impl<T, S> fmt::Debug for StateCell<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateCell({})", std::any::type_name::<T>())
    }
}

impl CellValue for Tensor {
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        tensor(self)
    }
}

macro_rules! as_it_is {
    ($($type:ty),*) => {
        $(impl CellValue for $type {
            fn with_tensors(&self, _: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
                Ok(self.clone())
            }
        })*
    };
}
as_it_is!((), i64, i32, i16, i8, i128, isize, u64, u32, u16, u8, u128, usize, f64, f32, bool, char, String);

macro_rules! element_by_element {
    ($($list:ident),*) => {
        $(impl<T: CellValue> CellValue for $list<T> {
            fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
                self.iter().map(|one| one.with_tensors(tensor)).collect()
            }
        })*
    };
}
element_by_element!(Vec, VecDeque);

impl<T: CellValue> CellValue for Option<T> {
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        self.as_ref().map(|one| one.with_tensors(tensor)).transpose()
    }
}

/// What is borrowed to be written to while a model is frozen is refused.
impl<T: CellValue> CellValue for RefCell<T> {
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        let held =
            self.try_borrow().map_err(|_| Error::Refused("a `RefCell` that is borrowed is not copied".to_owned()))?;
        held.with_tensors(tensor).map(RefCell::new)
    }
}

impl<T: CellValue + std::marker::Copy> CellValue for std::cell::Cell<T> {
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        self.get().with_tensors(tensor).map(Self::new)
    }
}

impl CellValue for LSTMState {
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        self.0.with_tensors(tensor).map(Self)
    }
}

impl CellValue for GRUState {
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        self.0.with_tensors(tensor).map(Self)
    }
}

impl<T: CellValue, const N: usize> CellValue for [T; N] {
    fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        let items: Vec<T> = self.iter().map(|one| one.with_tensors(tensor)).collect::<Result<_, _>>()?;
        items.try_into().map_err(|_| Error::Refused(format!("a list of {N} has lost an element")))
    }
}

macro_rules! part_by_part {
    ($(($($name:ident $at:tt),+))*) => {
        $(impl<$($name: CellValue),+> CellValue for ($($name,)+) {
            fn with_tensors(&self, tensor: &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
                Ok(($(self.$at.with_tensors(tensor)?,)+))
            }
        })*
    };
}
part_by_part!((A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3));

#[cfg(test)]
mod tests;
