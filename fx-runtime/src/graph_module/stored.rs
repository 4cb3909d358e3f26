//! A graph of a live model in a file, with the layers and tensors that it names: [`GraphModule::save`] and
//! [`GraphModule::load`].
//!
//! The file is a safetensors file. Its head holds the graph as [JSON](crate::graph), versioned, and the configuration of each
//! layer; loading rebuilds the layers from these, without the model.

use std::any::Any;
use std::path::Path;
use std::rc::Rc;

use tch::Tensor;

use super::{GraphModule, SharedLayer, Submodule};
use crate::nn::{GRU, LSTM, shared_layer};
use crate::registry::Registration;
use crate::saved::{self, Loader, Saver};
use crate::{Error, Result, graph};

/// The names of the parts of a file.
const GRAPH: &str = "graph";
const MODULES: &str = "modules";
const TENSORS: &str = "tensors";
const TRAINED: &str = "trained";

impl GraphModule {
    /// Writes the graph, its layers with their configuration and its tensors to a file, which [`GraphModule::load`] reads.
    ///
    /// Functions of the user's are code and not in the file.
    ///
    /// ```
    /// use fx_runtime::graph_module::{GraphModule, value};
    /// use fx_runtime::{Device, Kind, Tensor, instance::Tracer, nn};
    ///
    /// let vs = nn::VarStore::new(Device::Cpu);
    /// let fc = nn::linear(vs.root(), 4, 3, nn::LinearConfig::default());
    /// let mut t = Tracer::new("net");
    /// let xs = t.input("xs", true);
    /// let ys = t.module("fc", &fc, &[&xs], 1);
    /// let net = t.finish(&[&ys])?;
    ///
    /// let path = std::env::temp_dir().join(format!("net-{}.safetensors", std::process::id()));
    /// net.save(&path)?;
    /// let again = GraphModule::load(&path)?;
    /// # std::fs::remove_file(&path).ok();
    /// let xs = value(Tensor::ones([2, 4], (Kind::Float, Device::Cpu)));
    /// assert_eq!(format!("{:?}", again.run(&[xs.clone()])?), format!("{:?}", net.run(&[xs])?));
    /// # Ok::<(), fx_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with every module that is none of [`crate::nn`]'s, whose configuration nobody knows;
    /// [`Error::Graph`] if the graph names what is not there, [`Error::FrozenFile`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.lint()?;
        let strangers: Vec<String> =
            self.submodules.iter().filter_map(|(path, module)| stranger(path, &**module)).collect();
        if !strangers.is_empty() {
            return Err(Error::Unsupported {
                what: format!(
                    "saving `{}` with modules of the program's own ({})",
                    self.graph.name,
                    strangers.join(", ")
                ),
                help: "take the graph of a model without leaves, or put these modules into the loaded graph by \
                       `GraphModule::add_submodule`"
                    .to_owned(),
            });
        }
        saved::save_graph(path.as_ref(), |to| self.hand_over(to))
    }

    fn hand_over(&self, to: &mut Saver) -> Result<()> {
        to.field(GRAPH, &graph::to_json(&self.graph))?;
        to.field(MODULES, &self.submodules.keys().cloned().collect::<Vec<String>>())?;
        to.field(TENSORS, &self.tensors.keys().cloned().collect::<Vec<String>>())?;
        let trained = self.named_parameters().into_iter().filter(|(_, tensor)| tensor.requires_grad());
        to.field(TRAINED, &trained.map(|(name, _)| name).collect::<Vec<String>>())?;
        for (path, tensor) in &self.tensors {
            to.within(TENSORS, |to| to.field(path, tensor))?;
        }
        for (path, module) in &self.submodules {
            let layer = module.rebuilt();
            let save =
                |to: &mut Saver| layer.and_then(|layer| Registration::find(layer)?.save(layer, to)).unwrap_or(Ok(()));
            to.within(MODULES, |to| to.within(path, save))?;
        }
        Ok(())
    }

    /// Reads a graph that [`GraphModule::save`] wrote, on the CPU, its layers in inference mode. Parameters that wanted
    /// gradients want them again.
    ///
    /// # Errors
    ///
    /// [`Error::FrozenFile`] with what is wrong with the file: written by another version, no graph of a live model but a
    /// frozen one, a tensor that is missing or damaged; [`Error::Graph`] if its graph is of another version of the format or
    /// names what the file has not.
    pub fn load(path: impl AsRef<Path>) -> Result<GraphModule> {
        let (module, trained) = saved::load_graph(path.as_ref(), GraphModule::take_over)?;
        module.lint()?;
        for (_, tensor) in module.named_tensors_of(&trained) {
            let _ = tensor.set_requires_grad(true);
        }
        Ok(module)
    }

    fn take_over(from: &mut Loader) -> Result<(GraphModule, Vec<String>)> {
        let mut module = GraphModule::new(graph::from_json(&from.field::<String>(GRAPH)?)?);
        let modules: Vec<String> = from.field(MODULES)?;
        let tensors: Vec<String> = from.field(TENSORS)?;
        let trained = from.field(TRAINED)?;
        for path in tensors {
            let tensor: Tensor = from.within(TENSORS, |from| from.field(&path))?;
            module.add_tensor(path, tensor);
        }
        for path in modules {
            let layer = from.within(MODULES, |from| from.within(&path, Registration::load))?;
            module.put_submodule(path, shared(layer)?);
        }
        Ok((module, trained))
    }

    /// The tensors of these names.
    fn named_tensors_of(&self, names: &[String]) -> Vec<(String, Tensor)> {
        let all = self.named_parameters().into_iter().chain(self.named_buffers());
        all.filter(|(name, _)| names.contains(name)).collect()
    }
}

/// What the module is called, if it is none that can be rebuilt.
fn stranger(path: &str, module: &dyn Submodule) -> Option<String> {
    let is_known = module.rebuilt().is_some_and(|layer| Registration::find(layer).is_some_and(Registration::is_saved));
    let name = module.module().map_or("a function", |module| module.type_name());
    (!is_known).then(|| format!("`{path}`: {name}"))
}

/// A loaded layer as a module of a graph.
fn shared(layer: Box<dyn Any>) -> Result<Rc<dyn Submodule>> {
    let layer = match layer.downcast::<LSTM>() {
        Ok(lstm) => return Ok(Rc::from(lstm as Box<dyn Submodule>)),
        Err(other) => other,
    };
    let layer = match layer.downcast::<GRU>() {
        Ok(gru) => return Ok(Rc::from(gru as Box<dyn Submodule>)),
        Err(other) => other,
    };
    match shared_layer(&*layer) {
        Some(layer) => Ok(Rc::new(SharedLayer(layer?))),
        None => Err(Error::Refused("is of a type that no graph calls".to_owned())),
    }
}

#[cfg(test)]
mod tests;
