//! What calls write to: saved as it was when the model was frozen, and one cell again where it was one.

use super::own::OwnState;
use super::{Loader, Saver, State};
use crate::Result;
use crate::frame::state_cell::{CellValue, Foreign, Saved, StateCell};

impl<T: State + CellValue + Send + 'static> State for StateCell<T, Saved> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        if to.has(self.address()) {
            return Ok(());
        }
        self.with_start(|start| start.save(to))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.once(|from| {
            let start = T::load(from)?;
            Self::loaded(from.frame(), start)
        })
    }
}

/// A value of the program's own has the form in a file that its type gives it.
impl<T: 'static> State for StateCell<T, Foreign> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        if to.has(self.address()) {
            return Ok(());
        }
        self.with_start(|start| OwnState::save(start, to)).unwrap_or_else(|| {
            to.refuse(std::any::type_name::<T>());
            Ok(())
        })
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.once(OwnState::load_cell)
    }
}
