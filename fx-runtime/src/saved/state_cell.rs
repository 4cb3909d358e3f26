//! What calls write to: saved as it was when the model was frozen, and one cell again where it was one.

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

/// A value of the program's own has no form in a file.
impl<T: 'static> State for StateCell<T, Foreign> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.refuse(std::any::type_name::<T>());
        Ok(())
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.unknown_choice()
    }
}
