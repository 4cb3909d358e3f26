//! `Saver`: gathers the state of a model, part by part.

use std::collections::BTreeMap;

use tch::Tensor;

use super::aspects::{ALIAS, CHOICE, FIRST, ORDER, descend, nested};
use super::file::Stored;
use super::{State, axes};
use crate::{Result, Tuned};

/// Gathers the state of a model.
#[derive(Debug, Default)]
pub struct Saver {
    path: String,
    values: BTreeMap<String, String>,
    tensors: BTreeMap<String, Stored>,
    /// What may be there twice, by address, with the name of the first: cells of what calls write to, packed layers.
    saved: BTreeMap<usize, String>,
    refused: Vec<String>,
    /// Nothing is saved: layers say which kernels they have.
    survey: Option<Vec<Tuned>>,
}

impl Saver {
    /// Saves a part under a name.
    pub fn field(&mut self, name: &str, part: &impl State) -> Result<()> {
        self.within(name, |to| part.save(to))
    }

    /// Saves parts under their names.
    pub fn fields(&mut self, parts: &[(&str, &dyn State)]) -> Result<()> {
        parts.iter().try_for_each(|(name, part)| self.within(name, |to| part.save(to)))
    }

    /// Is what lies at this address saved under another name already? That name is noted then, and it need not be saved.
    pub(crate) fn has(&mut self, address: usize) -> bool {
        if self.is_survey() {
            return false;
        }
        if let Some(name) = self.saved.get(&address).cloned() {
            self.note(FIRST, &name);
            return true;
        }
        self.saved.insert(address, self.path.clone());
        false
    }

    /// Notes which variant of an enum is saved. An enum that is all that a variant of another holds has its path.
    pub fn choose(&mut self, variant: &str) {
        self.note_nested(CHOICE, variant);
    }

    /// Notes something of an enum or an option, which may be all that another of the same path holds.
    pub(super) fn note_nested(&mut self, aspect: &str, value: &(impl ToString + ?Sized)) {
        let mut outer = 0;
        while self.values.contains_key(&format!("{}{}", self.path, nested(aspect, outer))) {
            outer += 1;
        }
        self.note(&nested(aspect, outer), value);
    }

    /// Goes one step down in the names.
    pub fn within<R>(&mut self, name: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.path.len();
        descend(&mut self.path, name);
        let result = f(self);
        self.path.truncate(outer);
        result
    }

    pub(super) fn note(&mut self, aspect: &str, value: &(impl ToString + ?Sized)) {
        self.values.insert(format!("{}{aspect}", self.path), value.to_string());
    }

    pub(super) fn tensor(&mut self, tensor: &Tensor) -> Result<()> {
        if self.is_survey() {
            return Ok(());
        }
        let same = |stored: &Stored| stored.is_of(tensor);
        if let Some(name) = self.tensors.iter().find(|(_, stored)| same(stored)).map(|(name, _)| name.clone()) {
            self.note(ALIAS, &name);
            return Ok(());
        }
        let stored = Stored::new(tensor)?;
        if let Some(order) = &stored.order {
            self.note(ORDER, &axes::list(order));
        }
        self.tensors.insert(self.path.clone(), stored);
        Ok(())
    }

    /// The part at this path cannot be saved; all such parts are reported together.
    pub(crate) fn refuse(&mut self, type_name: &str) {
        self.refused.push(format!("{}: {type_name}", self.path));
    }

    /// A saver that only hears which kernels the layers have.
    pub(super) fn survey() -> Self {
        Self { survey: Some(Vec::new()), ..Self::default() }
    }

    /// Layers need not hand over their weights.
    pub(crate) fn is_survey(&self) -> bool {
        self.survey.is_some()
    }

    /// Where a survey notes the kernels that measuring has changed, with the name of the layer at hand.
    pub(super) fn surveyed(&mut self) -> Option<(&mut Vec<Tuned>, &str)> {
        self.survey.as_mut().map(|found| (found, self.path.as_str()))
    }

    /// What a survey has found.
    pub(super) fn tuned(self) -> Vec<Tuned> {
        self.survey.unwrap_or_default()
    }

    /// The parts that cannot be saved.
    pub(super) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// All values and tensors, by their names.
    pub(super) fn finish(self) -> (BTreeMap<String, String>, BTreeMap<String, Stored>) {
        (self.values, self.tensors)
    }
}
