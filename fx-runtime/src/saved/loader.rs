//! `Loader`: hands out the state of a model, part by part, and puts tensors in place.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use tch::Tensor;

use super::aspects::{ALIAS, CHOICE, FIRST, ORDER, descend, nested};
use super::file::File;
use super::values::Fields;
use super::{State, axes};
use crate::Result;
use crate::ffi::Param;
use crate::frame::Frame;

/// Hands out the state of a model.
#[derive(Debug)]
pub struct Loader {
    frame: Frame,
    file: File,
    path: String,
    read: BTreeSet<String>,
    /// The tensors that have another name too.
    shared: BTreeSet<String>,
    /// Those of them that are loaded and in place.
    loaded: BTreeMap<String, Tensor>,
    /// The names of what is there twice.
    firsts: BTreeSet<String>,
    /// What is loaded of these.
    made: BTreeMap<String, Box<dyn Any>>,
    /// How many enums or options were asked for at a path, by path and mark.
    asked: BTreeMap<String, usize>,
}

impl Loader {
    /// Hands out what is in the file to the parts of a model of this frame.
    pub(super) fn new(frame: Frame, file: File) -> Self {
        let (shared, firsts) = (file.values_of(ALIAS), file.values_of(FIRST));
        let (path, read, loaded, made) = (String::new(), BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Self { frame, file, path, read, shared, loaded, firsts, made, asked: BTreeMap::new() }
    }

    /// Refuses a file with tensors that were not asked for, or not the ones that were written.
    pub(super) fn finish(&self) -> Result<()> {
        self.file.check_read(&self.read)
    }

    /// Whether the part at this path has a value of this aspect.
    pub(super) fn is_noted(&self, aspect: &str) -> bool {
        self.file.value(&format!("{}{aspect}", self.path)).is_some()
    }

    /// Loads the part of that name.
    pub fn field<T: State>(&mut self, name: &str) -> Result<T> {
        self.within(name, T::load)
    }

    /// Loads the parts of these names, at most eight, as a tuple.
    pub fn fields<T: Fields<N>, const N: usize>(&mut self, names: [&str; N]) -> Result<T> {
        T::load(self, names)
    }

    /// What `load` makes; where it was saved under another name, a second handle on that.
    pub(crate) fn once<T: Clone + 'static>(&mut self, load: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(name) = self.file.value(&format!("{}{FIRST}", self.path)) {
            let known = self.made.get(name).and_then(|made| made.downcast_ref::<T>());
            return known.cloned().ok_or_else(|| self.file.damaged(&format!("the value `{name}` is missing")));
        }
        let made = load(self)?;
        if self.firsts.contains(&self.path) {
            self.made.insert(self.path.clone(), Box::new(made.clone()));
        }
        Ok(made)
    }

    /// Returns whether a variant of an enum was saved here.
    pub(crate) fn has_choice(&self) -> bool {
        self.is_noted(&nested(CHOICE, self.asked(CHOICE)))
    }

    /// The variant of an enum that was saved; where an enum is all that a variant of another holds, that of the outer one
    /// first.
    pub fn choice(&mut self) -> Result<String> {
        self.noted_next(CHOICE)
    }

    /// What was noted of an enum or an option; where it is all that another of the same path holds, of the outer one first.
    pub(super) fn noted_next<T: FromStr>(&mut self, aspect: &str) -> Result<T> {
        let at = self.asked(aspect);
        let noted = self.noted(&nested(aspect, at))?;
        self.asked.insert(format!("{}{aspect}", self.path), at + 1);
        Ok(noted)
    }

    fn asked(&self, aspect: &str) -> usize {
        self.asked.get(&format!("{}{aspect}", self.path)).copied().unwrap_or(0)
    }

    /// What an enum says to a variant that it does not have, the last one that was asked for.
    pub fn unknown_choice<T>(&self) -> Result<T> {
        let variant: String = self.noted(&nested(CHOICE, self.asked(CHOICE).saturating_sub(1)))?;
        Err(self.file.damaged(&format!("`{}` is `{variant}`, which is not known", self.path)))
    }

    /// The tensor of that name, on the CPU and in the dtype of the file, for a kernel that places it itself.
    pub(crate) fn dense(&mut self, name: &str) -> Result<Tensor> {
        self.within(name, Self::tensor)
    }

    /// The frame of the model that is loaded.
    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Goes one step down in the names.
    pub fn within<R>(&mut self, name: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.path.len();
        descend(&mut self.path, name);
        let result = f(self);
        self.path.truncate(outer);
        result
    }

    pub(super) fn noted<T: FromStr>(&self, aspect: &str) -> Result<T> {
        let name = format!("{}{aspect}", self.path);
        let Some(text) = self.file.value(&name) else {
            return Err(self.file.damaged(&format!("the value `{name}` is missing")));
        };
        text.parse().map_err(|_| self.file.damaged(&format!("the value `{name}` is `{text}`")))
    }

    /// The tensor at this path, on the CPU and in the dtype of the file; where it has another name too, and was loaded
    /// by that, a second handle on it.
    fn tensor(&mut self) -> Result<Tensor> {
        if let Some(name) = self.file.value(&format!("{}{ALIAS}", self.path)) {
            let loaded = self.loaded.get(name).map(Tensor::shallow_clone);
            return loaded.map_or_else(|| self.file.tensor(name), Ok);
        }
        self.read.insert(self.path.clone());
        let tensor = self.file.tensor(&self.path)?;
        match self.file.value(&format!("{}{ORDER}", self.path)) {
            None => Ok(tensor),
            Some(order) => match axes::numbers(order) {
                Some(order) if axes::is_permutation(&order, tensor.dim()) => {
                    Ok(tensor.f_permute(&order)?.f_contiguous()?.f_permute(axes::inverse(&order))?)
                }
                _ => Err(self.file.damaged(&format!("the order of axes of `{}` is `{order}`", self.path))),
            },
        }
    }

    /// The tensor at this path where and as the model computes with it.
    pub(super) fn param(&mut self) -> Result<Param> {
        let tensor = self.tensor()?;
        if let Some(copy) = self.frame.copy_of(&tensor) {
            return Ok(copy);
        }
        let placed = self.frame.place(&tensor)?;
        let param = self.frame.adopt(placed);
        if self.shared.contains(&self.path) {
            self.loaded.insert(self.path.clone(), param.shallow_clone());
        }
        Ok(param)
    }
}
