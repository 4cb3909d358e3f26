//! Which kernels layers have: a file names those that measuring has chosen, and a survey lists them.

use std::str::FromStr;

use super::{KERNEL, Loader, Saver, State};
use crate::frozen::tune::{Packed, Slot};
use crate::{GraphReport, Result};

impl Saver {
    /// Notes the kernel of the layer at this path.
    pub(in crate::frozen) fn kernel<K: Packed>(&mut self, kernel: &Slot<K>) {
        match &mut self.survey {
            Some(found) => found.extend(kernel.tuned(&self.path)),
            None => {
                if let Some(choice) = kernel.to_save() {
                    self.note(KERNEL, &choice);
                }
            }
        }
    }

    /// Layers need not hand over their weights.
    pub(in crate::frozen) fn is_survey(&self) -> bool {
        self.survey.is_some()
    }
}

impl Loader {
    /// The kernel of the layer at this path; none where the file leaves it to the machine that loads.
    pub(in crate::frozen) fn kernel<C: FromStr>(&self) -> Result<Option<C>> {
        let is_noted = self.file.value(&format!("{}{KERNEL}", self.path)).is_some();
        is_noted.then(|| self.noted(KERNEL)).transpose()
    }
}

impl GraphReport {
    /// The same with the layers of `model` that measuring has given another kernel.
    pub fn with_kernels_of(mut self, model: &impl State) -> Result<Self> {
        let mut survey = Saver { survey: Some(Vec::new()), ..Saver::default() };
        model.save(&mut survey)?;
        self.tuned = survey.survey.unwrap_or_default();
        Ok(self)
    }
}
