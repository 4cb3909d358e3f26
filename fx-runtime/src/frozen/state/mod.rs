//! Saving a frozen model and loading it again, without the model that it was frozen from.
//!
//! The file is a safetensors file. Its tensors are the folded weights, dense and under the names of the frozen type's
//! fields (`blocks.0.conv1.weight`); loading packs them for the machine that loads, and folds nothing. What is not a
//! tensor (strides, an epsilon, which arm of a `match` the model took) stands beside them as text. The head of the file
//! names the version of fx and the graph that the type was generated from, and a file of another one is refused.
//!
//! Every part of a frozen type implements [`State`]; generated types derive it.

mod file;
mod kept;
mod kernels;
mod layers;
mod options;
mod values;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use tch::{Kind, Tensor};

pub use fx_macros::State;

use self::file::{File, Head, Stored};
use super::{Frame, Param};
use crate::{Error, Freeze, Result, Tuned};

/// A part of a frozen model that can be saved and loaded.
pub trait State: Sized {
    /// Hands over what the part consists of.
    fn save(&self, to: &mut Saver) -> Result<()>;

    /// Puts the part together again.
    fn load(from: &mut Loader) -> Result<Self>;
}

/// The version that a file has to be of.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes a frozen model to `path`; `graph` names the graph that its type was generated from.
///
/// The file appears when it is complete: until then it has another name in the same folder.
pub fn save(model: &impl State, frame: &Frame, graph: &str, path: &Path) -> Result<()> {
    let mut saver = Saver::default();
    model.save(&mut saver)?;
    if !saver.refused.is_empty() {
        let parts = saver.refused.iter().map(|part| format!("`{part}`")).collect::<Vec<_>>().join(", ");
        return Err(Error::Unsupported {
            what: format!("saving a frozen `{}` that holds values of the program's own ({parts})", frame.model()),
            help: "freeze the model anew where it is used, or write the code that reads them with tensors and numbers"
                .to_owned(),
        });
    }
    let head = Head {
        version: VERSION.to_owned(),
        graph: graph.to_owned(),
        kind: frame.known_kind().map_or_else(|| ANY.to_owned(), |kind| format!("{kind:?}")),
        values: saver.values,
        checksums: BTreeMap::new(),
    };
    file::write(path, head, &saver.tensors)
}

/// Reads a frozen model from `path`; `name` is the model's type, `graph` the graph that the frozen type was generated
/// from.
pub fn load<M: State>(name: &'static str, graph: &str, path: &Path, options: &Freeze) -> Result<M> {
    let file = File::open(path)?;
    file.check_origin(VERSION, graph)?;
    file.check_tensors()?;
    let frame = Frame::loaded(name, options, file.kind()?, file.bytes())?;
    let _no_grad = tch::no_grad_guard();
    let shared = file.values_of(ALIAS);
    let firsts = file.values_of(FIRST);
    let (path, read, loaded, made) = (String::new(), BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    let mut from = Loader { frame: frame.handle(), file, path, read, shared, loaded, firsts, made };
    let model = M::load(&mut from)?;
    from.file.check_read(&from.read)?;
    Ok(model)
}

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

    /// Is what lies at this address saved under another name already? That name is noted then, and it need not be saved.
    pub(super) fn has(&mut self, address: usize) -> bool {
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

    /// Notes which variant of an enum is saved.
    pub fn choose(&mut self, variant: &str) {
        self.note(CHOICE, variant);
    }

    /// Goes one step down in the names.
    pub(crate) fn within<R>(&mut self, name: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.path.len();
        descend(&mut self.path, name);
        let result = f(self);
        self.path.truncate(outer);
        result
    }

    fn note(&mut self, aspect: &str, value: &(impl ToString + ?Sized)) {
        self.values.insert(format!("{}{aspect}", self.path), value.to_string());
    }

    fn tensor(&mut self, tensor: &Tensor) -> Result<()> {
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
            self.note(ORDER, &values::list(order));
        }
        self.tensors.insert(self.path.clone(), stored);
        Ok(())
    }

    /// The part at this path cannot be saved; all such parts are reported together.
    pub(crate) fn refuse(&mut self, type_name: &str) {
        self.refused.push(format!("{}: {type_name}", self.path));
    }
}

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
}

impl Loader {
    /// Loads the part of that name.
    pub fn field<T: State>(&mut self, name: &str) -> Result<T> {
        self.within(name, T::load)
    }

    /// What `load` makes; where it was saved under another name, a second handle on that.
    pub(super) fn once<T: Clone + 'static>(&mut self, load: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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

    /// The variant of an enum that was saved.
    pub fn choice(&self) -> Result<String> {
        self.noted(CHOICE)
    }

    /// What an enum says to a variant that it does not have.
    pub fn unknown_choice<T>(&self) -> Result<T> {
        Err(self.file.damaged(&format!("`{}` is `{}`, which is not known", self.path, self.choice()?)))
    }

    /// The tensor of that name, on the CPU and in the dtype of the file, for a kernel that places it itself.
    pub(super) fn dense(&mut self, name: &str) -> Result<Tensor> {
        self.within(name, Self::tensor)
    }

    /// The frame of the model that is loaded.
    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Goes one step down in the names.
    pub(crate) fn within<R>(&mut self, name: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.path.len();
        descend(&mut self.path, name);
        let result = f(self);
        self.path.truncate(outer);
        result
    }

    fn noted<T: FromStr>(&self, aspect: &str) -> Result<T> {
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
            Some(order) => match values::numbers(order) {
                Some(order) if is_permutation(&order, tensor.dim()) => {
                    Ok(tensor.f_permute(&order)?.f_contiguous()?.f_permute(inverse(&order))?)
                }
                _ => Err(self.file.damaged(&format!("the order of axes of `{}` is `{order}`", self.path))),
            },
        }
    }

    /// The tensor at this path where and as the model computes with it.
    fn param(&mut self) -> Result<Param> {
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

/// Which kernel measuring has chosen for a layer.
const KERNEL: &str = "!";
/// Which variant of an enum.
const CHOICE: &str = ":";
/// Whether there is one.
const PRESENT: &str = "?";
/// How many there are.
const LENGTH: &str = "#";
/// Under which other name a tensor is in the file.
const ALIAS: &str = "=";
/// Under which other name a cell or a packed layer is in the file.
const FIRST: &str = "~";
/// In which order a tensor's axes lie in memory, where that is not the default.
const ORDER: &str = "@";

fn descend(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn is_permutation(order: &[i64], rank: usize) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.iter().copied().eq((0..).take(rank))
}

/// The order that undoes `order`, a permutation.
fn inverse(order: &[i64]) -> Vec<i64> {
    let position =
        |axis: i64| (0..).zip(order).find(|&(_, &other)| other == axis).map_or(axis, |(position, _)| position);
    (0..).take(order.len()).map(position).collect()
}

/// Made anew from the options and the head of the file.
impl State for Frame {
    fn save(&self, _: &mut Saver) -> Result<()> {
        Ok(())
    }

    fn load(from: &mut Loader) -> Result<Self> {
        Ok(from.frame().handle())
    }
}

impl State for Param {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.tensor(self)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.param()
    }
}

/// A tensor of a layer that is kept as it was written.
impl State for Tensor {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.tensor(self)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        Ok(from.param()?.shallow_clone())
    }
}

/// What a file says of a model without weights, which takes inputs of any dtype.
const ANY: &str = "any";

/// The dtypes a model can be frozen in, by the names that a file has for them.
fn kind_named(name: &str) -> Option<Kind> {
    [Kind::Float, Kind::Double, Kind::Half, Kind::BFloat16].into_iter().find(|kind| format!("{kind:?}") == name)
}

#[cfg(test)]
mod tests;
