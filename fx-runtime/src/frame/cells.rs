//! The cells of what calls write to, of one frozen model: found by their fields while it is frozen, and reset.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// Makes another one of a value.
pub(crate) type Copy<T> = fn(&T) -> Result<T, Error>;

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

/// The cells of one frozen model.
#[derive(Default)]
pub(crate) struct Cells(Mutex<Vec<Known>>);

struct Known {
    /// Where the field is, while the model is being frozen.
    address: Option<usize>,
    cell: Arc<dyn Any + Send + Sync>,
    reset: fn(&(dyn Any + Send + Sync)) -> Result<(), Error>,
}

impl Cells {
    /// The cell of a field, by where the field is.
    pub(crate) fn find<T: Send + 'static>(&self, address: usize) -> Option<Arc<Cell<T>>> {
        let known = locked(&self.0);
        let mut here = known.iter().filter(|known| known.address == Some(address));
        here.find_map(|known| Arc::downcast(Arc::clone(&known.cell)).ok())
    }

    pub(crate) fn add<T: Send + 'static>(&self, address: Option<usize>, cell: &Arc<Cell<T>>) {
        let cell: Arc<dyn Any + Send + Sync> = cell.clone();
        locked(&self.0).push(Known { address, cell, reset: reset::<T> });
    }

    /// The model is frozen: what is at an address from now on is something else.
    pub(crate) fn forget_addresses(&self) {
        locked(&self.0).iter_mut().for_each(|known| known.address = None);
    }

    /// Gives every cell the value that it had at the start.
    pub(crate) fn reset(&self) -> Result<(), Error> {
        locked(&self.0).iter().try_for_each(|known| (known.reset)(&*known.cell))
    }
}

fn reset<T: Send + 'static>(cell: &(dyn Any + Send + Sync)) -> Result<(), Error> {
    let Some(cell) = cell.downcast_ref::<Cell<T>>() else { return Ok(()) };
    let value = (cell.copy)(&cell.start())?;
    *cell.now() = value;
    Ok(())
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cells")
    }
}
