//! Saving a frozen model and loading it again, without the model that it was frozen from.
//!
//! The file is a safetensors file. Its tensors are the folded weights, dense and under the names of the frozen type's
//! fields (`blocks.0.conv1.weight`); loading packs them for the machine that loads, and folds nothing. What is not a
//! tensor (strides, an epsilon, which arm of a `match` the model took) stands beside them as text. The head of the file
//! names the version of fx and the graph that the type was generated from, and a file of another one is refused.
//!
//! Every part of a frozen type implements [`State`]; generated types derive it.

mod aspects;
mod axes;
mod file;
mod kernels;
mod loader;
mod options;
#[doc(hidden)]
pub mod own;
mod saver;
mod state_cell;
mod values;

use std::path::Path;

use tch::Tensor;

pub use fx_macros::State;

pub use self::loader::Loader;
pub use self::saver::Saver;

pub(crate) use self::options::KINDS;

use self::file::{File, Head};
use crate::ffi::Param;
use crate::frame::Frame;
use crate::progress::Task;
use crate::{Error, Freeze, Result};

/// A part of a frozen model that can be saved and loaded.
pub trait State {
    /// Hands over what the part consists of.
    fn save(&self, to: &mut Saver) -> Result<()>;

    /// Puts the part together again.
    fn load(from: &mut Loader) -> Result<Self>
    where
        Self: Sized;
}

/// A frozen type that [`save`] writes and [`load`] reads, for code that is generic over such types.
pub trait SavedAs: State + Sized {
    /// The name of the model's type.
    const TITLE: &'static str;
    /// The graph that the frozen type was generated from.
    const GRAPH: &'static str;
}

/// The version that a file has to be of.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes a frozen model to `path`; `graph` names the graph that its type was generated from.
///
/// The file appears when it is complete: until then it has another name in the same folder.
pub fn save(model: &dyn State, frame: &Frame, graph: &str, path: &Path) -> Result<()> {
    let mut saver = Saver::default();
    model.save(&mut saver)?;
    if !saver.refused().is_empty() {
        let parts = saver.refused().iter().map(|part| format!("`{part}`")).collect::<Vec<_>>().join(", ");
        return Err(Error::Unsupported {
            what: format!("saving a frozen `{}` that holds values of the program's own ({parts})", frame.model()),
            help: "derive `fx_runtime::frozen::State` for their types (`#[derive(Module)]` gives it too), or freeze the model \
                   anew where it is used"
                .to_owned(),
        });
    }
    let kind = frame.known_kind();
    let (values, tensors) = saver.finish();
    file::write(path, Head::new(VERSION, graph, kind, values), &tensors)
}

/// Reads a frozen model from `path`; `name` is the model's type, `graph` the graph that the frozen type was generated
/// from.
pub fn load<M: State>(name: &'static str, graph: &str, path: &Path, options: &Freeze) -> Result<M> {
    let mut model = None;
    load_file(name, graph, path, options, &mut |from| {
        model = Some(M::load(from)?);
        Ok(())
    })?;
    model.ok_or_else(|| Error::Refused(format!("`{name}` was not loaded")))
}

/// Hands a file of a frozen model to `load`.
fn load_file(
    name: &'static str,
    graph: &str,
    path: &Path,
    options: &Freeze,
    load: &mut dyn FnMut(&mut Loader) -> Result<()>,
) -> Result<()> {
    let file = File::open(path)?;
    file.check_origin(VERSION, graph)?;
    file.check_tensors()?;
    let frame = Frame::loaded(name, options, file.kind()?, file.bytes())?;
    let _no_grad = tch::no_grad_guard();
    let _task = Task::begin("load", 0);
    let mut from = Loader::new(frame.handle(), file);
    load(&mut from)?;
    from.finish()
}

/// What the file of a graph of a live model says that it was saved from.
const LIVE: &str = "of a live model, which `GraphModule::save` writes";

/// Writes what `save` hands over to `path` as the parts of a graph of a live model.
///
/// # Errors
///
/// Those of `save`; [`Error::FrozenFile`] if the file cannot be written.
pub(crate) fn save_graph(path: &Path, save: impl FnOnce(&mut Saver) -> Result<()>) -> Result<()> {
    let mut saver = Saver::default();
    save(&mut saver)?;
    let (values, tensors) = saver.finish();
    file::write(path, Head::new(VERSION, LIVE, None, values), &tensors)
}

/// Reads the parts of a graph of a live model, as [`save_graph`] wrote them.
///
/// # Errors
///
/// Those of `load`; [`Error::FrozenFile`] with what is wrong with the file: another version's, another thing's, damaged.
pub(crate) fn load_graph<T>(path: &Path, load: impl FnOnce(&mut Loader) -> Result<T>) -> Result<T> {
    let file = File::open(path)?;
    file.check_origin(VERSION, LIVE)?;
    file.check_tensors()?;
    let frame = Frame::loaded("GraphModule", &Freeze::default(), None, file.bytes())?;
    let _no_grad = tch::no_grad_guard();
    let mut from = Loader::new(frame, file);
    let loaded = load(&mut from)?;
    from.finish()?;
    Ok(loaded)
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

#[cfg(test)]
mod tests;
