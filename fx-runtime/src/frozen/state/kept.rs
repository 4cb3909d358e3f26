//! What calls write to: saved as it was when the model was frozen, and one cell again where it was one.

use super::{CELL, Loader, Saver, State};
use crate::Result;
use crate::frozen::{Foreign, Keep, Kept, Saved};

impl<T: State + Keep + Send + 'static> State for Kept<T, Saved> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        if let Some(name) = to.cells.get(&self.address()).cloned() {
            to.note(CELL, &name);
            return Ok(());
        }
        to.cells.insert(self.address(), to.path.clone());
        self.with_start(|start| start.save(to))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        if let Some(name) = from.file.value(&format!("{}{CELL}", from.path)) {
            let known = from.cells.get(name).and_then(|cell| cell.downcast_ref::<Self>());
            return known.cloned().ok_or_else(|| from.file.damaged(&format!("the value `{name}` is missing")));
        }
        let start = T::load(from)?;
        let cell = Self::loaded(&from.frame, start)?;
        from.cells.insert(from.path.clone(), Box::new(cell.clone()));
        Ok(cell)
    }
}

/// A value of the program's own has no form in a file.
impl<T: 'static> State for Kept<T, Foreign> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.refuse(std::any::type_name::<T>());
        Ok(())
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.unknown_choice()
    }
}
