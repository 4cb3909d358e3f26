//! Which kernels layers have: a file names those that measuring has chosen, and a survey lists them.

use std::str::FromStr;

use super::aspects::KERNEL;
use super::{Loader, Saver, State};
use crate::frame::tune::{Packed, Slot};
use crate::{GraphReport, Result};

impl Saver {
    /// Notes the kernel of the layer at this path.
    pub(crate) fn kernel<K: Packed>(&mut self, kernel: &Slot<K>) {
        if let Some((found, layer)) = self.surveyed() {
            found.extend(kernel.tuned(layer));
        } else if let Some(choice) = kernel.to_save() {
            self.note(KERNEL, &choice);
        }
    }
}

impl Loader {
    /// The kernel of the layer at this path; none where the file leaves it to the machine that loads.
    pub(crate) fn kernel<C: FromStr>(&self) -> Result<Option<C>> {
        self.is_noted(KERNEL).then(|| self.noted(KERNEL)).transpose()
    }
}

impl GraphReport {
    /// The same with the layers of `model` that measuring has given another kernel.
    pub fn with_kernels_of(mut self, model: &impl State) -> Result<Self> {
        let mut survey = Saver::survey();
        model.save(&mut survey)?;
        self.tuned = survey.tuned();
        Ok(self)
    }
}
