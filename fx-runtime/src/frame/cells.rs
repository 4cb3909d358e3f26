//! The cells of what calls write to, of one frozen model: found by their fields while it is frozen, and reset.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tch::Tensor;

use super::copies::Copies;
use super::state_cell::copied_tensor;
use crate::Error;
use crate::ffi::Param;

/// Makes another one of a value, with each of its tensors as the function has it.
pub(crate) type Copy<T> = fn(&T, &mut dyn FnMut(&Tensor) -> Result<Tensor, Error>) -> Result<T, Error>;

/// What a field was at the start, and what it is now.
pub(crate) struct Cell<T> {
    start: Mutex<T>,
    now: Mutex<T>,
    copy: Copy<T>,
}

impl<T> Cell<T> {
    pub(crate) fn new(now: T, start: T, copy: Copy<T>) -> Self {
        Self { start: Mutex::new(start), now: Mutex::new(now), copy }
    }

    pub(crate) fn start(&self) -> MutexGuard<'_, T> {
        locked(&self.start)
    }

    pub(crate) fn now(&self) -> MutexGuard<'_, T> {
        locked(&self.now)
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cells of one frozen model. Tensors that share memory in the model do so in its cells.
#[derive(Default)]
pub(crate) struct Cells {
    known: Mutex<Vec<Known>>,
    starts: Copies,
    now: Copies,
}

struct Known {
    /// Where the field is, while the model is being frozen.
    address: Option<usize>,
    cell: Arc<dyn Any + Send + Sync>,
    reset: fn(&(dyn Any + Send + Sync), &Copies) -> Result<(), Error>,
}

impl Cells {
    /// The cell of a field, by where the field is.
    pub(crate) fn find<T: Send + 'static>(&self, address: usize) -> Option<Arc<Cell<T>>> {
        let known = locked(&self.known);
        let mut here = known.iter().filter(|known| known.address == Some(address));
        here.find_map(|known| Arc::downcast(Arc::clone(&known.cell)).ok())
    }

    pub(crate) fn add<T: Send + 'static>(&self, address: Option<usize>, cell: &Arc<Cell<T>>) {
        let cell: Arc<dyn Any + Send + Sync> = cell.clone();
        locked(&self.known).push(Known { address, cell, reset: reset::<T> });
    }

    /// What a field holds, as it was at the start and as it is now, each tensor as `place` has it.
    pub(crate) fn both<T>(
        &self,
        field: &T,
        copy: Copy<T>,
        place: impl Fn(&Tensor) -> Result<Tensor, Error>,
    ) -> Result<(T, T), Error> {
        let by = |copies: &Copies| copy(field, &mut |tensor| once(copies, tensor, &place));
        Ok((by(&self.starts)?, by(&self.now)?))
    }

    /// The model is frozen: what is at an address from now on is something else.
    pub(crate) fn forget_addresses(&self) {
        locked(&self.known).iter_mut().for_each(|known| known.address = None);
        self.starts.clear();
        self.now.clear();
    }

    /// Gives every cell the value that it had at the start.
    pub(crate) fn reset(&self) -> Result<(), Error> {
        let copies = Copies::default();
        locked(&self.known).iter().try_for_each(|known| (known.reset)(&*known.cell, &copies))
    }
}

fn reset<T: Send + 'static>(cell: &(dyn Any + Send + Sync), copies: &Copies) -> Result<(), Error> {
    let Some(cell) = cell.downcast_ref::<Cell<T>>() else { return Ok(()) };
    let value = (cell.copy)(&cell.start(), &mut |tensor| once(copies, tensor, &copied_tensor))?;
    *cell.now() = value;
    Ok(())
}

/// The copy of a tensor, which `place` makes once; of one that was never made a handle.
fn once(copies: &Copies, tensor: &Tensor, place: &impl Fn(&Tensor) -> Result<Tensor, Error>) -> Result<Tensor, Error> {
    if !tensor.defined() {
        return Ok(tensor.shallow_clone());
    }
    Ok(copies.once(tensor, |tensor| place(tensor).map(Param::new))?.shallow_clone())
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cells")
    }
}
