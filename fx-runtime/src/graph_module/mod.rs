//! A graph with the live modules, parameters and functions that it names: torch.fx's `GraphModule`.
//!
//! `net.graph_module()` is generated for every traceable type. Modules and tensors are shared with the model, not copied:
//! what trains the one trains the other. The graph can be edited and run at once; nothing is compiled in between.
//!
//! ```
//! use fx_runtime::graph_module::{GraphModule, Value, value};
//! use fx_runtime::{Device, Kind, Tensor, instance::Tracer, nn};
//!
//! let vs = nn::VarStore::new(Device::Cpu);
//! let fc = nn::linear(vs.root(), 4, 3, nn::LinearConfig::default());
//! let mut t = Tracer::new("net");
//! let xs = t.input("xs", true);
//! let ys = t.module("fc", &fc, &[&xs], 1);
//! let ys = t.call("relu", &[&ys], 2);
//! let net: GraphModule = t.finish(&[&ys])?;
//!
//! let xs = Tensor::ones([2, 4], (Kind::Float, Device::Cpu));
//! let Value::Tensor(ys) = net.run(&[value(&xs)])? else { panic!("one tensor") };
//! assert_eq!(ys.size(), [2, 3]);
//! # Ok::<(), fx_runtime::Error>(())
//! ```

mod as_module;
mod bisect;
mod convert;
mod dispatch;
mod flops;
mod folder;
mod from_value;
mod index;
mod interpreter;
mod machine;
mod plan;
mod profile;
mod profile_generated;
mod rewriting;
mod runtime_functions;
mod shape_prop;
pub(crate) mod shared;
mod stored;
mod submodule;
mod tensor_method;
mod trace;
mod transform;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use fx_ir::{Arg, Graph, Op};
use tch::Tensor;

pub use self::bisect::{Divergence, Statistics, Tolerance, bisect};
pub use self::convert::{IntoInputs, IntoValue, value};
pub use self::flops::{Costs, NodeCost};
pub use self::from_value::FromValue;
pub use self::interpreter::{Hook, Interpreter};
use self::plan::Plan;
pub use self::profile::{Profile, Timing};
pub use self::profile_generated::profile_generated;
pub(crate) use self::shape_prop::short_name;
pub use self::shared::{SharedGraph, SharedModule};
pub use self::submodule::Submodule;
pub(crate) use self::submodule::{Erased, Leaf, SharedLayer, Uncallable, gru_state, lstm_state};
pub use self::transform::FrozenModule;
use crate::module::Tree;
use crate::{Error, Module, Result};

/// A value of a graph while it runs: a tensor, a number, a list, a tuple, ...
///
/// Tensors are shared: cloning a value makes no second handle on a tensor.
pub type Value = fx_ir::host::eval::Value<Rc<Tensor>>;

/// A function of the user's crate that a graph calls by its path.
pub type Function = Rc<dyn Fn(&[Value]) -> Result<Value>>;

/// A graph, and what its targets name.
pub struct GraphModule {
    graph: Graph,
    submodules: BTreeMap<String, Rc<dyn Submodule>>,
    tensors: BTreeMap<String, Tensor>,
    functions: BTreeMap<String, Function>,
    /// How the graph is run, as of a revision of it.
    plan: RefCell<Option<(u64, Rc<Plan>)>>,
}

impl GraphModule {
    /// A graph that names nothing yet; see [`GraphModule::add_submodule`] and [`GraphModule::add_tensor`].
    pub fn new(graph: Graph) -> GraphModule {
        GraphModule {
            graph,
            submodules: BTreeMap::new(),
            tensors: BTreeMap::new(),
            functions: BTreeMap::new(),
            plan: RefCell::new(None),
        }
    }

    /// A second module with the same graph, which can be edited by itself; modules and tensors are shared.
    #[must_use]
    pub fn shallow_clone(&self) -> GraphModule {
        let tensors = self.tensors.iter().map(|(path, tensor)| (path.clone(), tensor.shallow_clone()));
        GraphModule {
            graph: self.graph.clone(),
            submodules: self.submodules.clone(),
            tensors: tensors.collect(),
            functions: self.functions.clone(),
            plan: RefCell::new(None),
        }
    }

    /// Another graph that calls the same modules, reads the same tensors and knows the same functions.
    pub(crate) fn with_graph(&self, graph: Graph) -> GraphModule {
        GraphModule { graph, plan: RefCell::new(None), ..self.shallow_clone() }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph, to be edited; the next run follows it.
    pub fn graph_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// The graph alone.
    pub fn into_graph(self) -> Graph {
        self.graph
    }

    /// Runs the graph on one value for each of its placeholders, in their order; yields its output, several as a tuple.
    ///
    /// # Errors
    ///
    /// [`Error::At`] with the node and the user's source line if an operation fails or cannot be interpreted,
    /// [`Error::Graph`] if the number of values is another or a node names what is not there.
    pub fn run(&self, inputs: &[Value]) -> Result<Value> {
        Interpreter::new(self).run(inputs)
    }

    /// Puts a module under a path, in place of one that is there.
    pub fn add_submodule(&mut self, path: impl Into<String>, module: impl Submodule + 'static) {
        self.put_submodule(path.into(), Rc::new(module));
    }

    pub(crate) fn put_submodule(&mut self, path: String, module: Rc<dyn Submodule>) {
        self.submodules.insert(path, module);
        self.plan.take();
    }

    /// Takes the modules at and below a path away; returns whether there were any.
    pub fn delete_submodule(&mut self, path: &str) -> bool {
        let before = self.submodules.len();
        self.submodules.retain(|name, _| !is_at_or_below(name, path));
        self.plan.take();
        self.submodules.len() < before
    }

    /// Takes away the modules and tensors that no node names.
    pub fn delete_all_unused_submodules(&mut self) {
        let named = self.targets();
        self.submodules.retain(|path, _| named.contains(path));
        self.plan.take();
        self.tensors.retain(|path, _| named.contains(path));
    }

    /// The paths that nodes name.
    fn targets(&self) -> BTreeSet<String> {
        let target = |id| match (&self.graph.node(id).op, self.graph.node(id).args.first()) {
            (Op::CallModule(_), Some(Arg::Str(path))) | (Op::GetAttr(path), None) => Some(path.clone()),
            _ => None,
        };
        self.graph.nodes().into_iter().filter_map(target).collect()
    }

    /// Puts a tensor under a path, where `get_attr` nodes find it; returns the one that was there.
    pub fn add_tensor(&mut self, path: impl Into<String>, tensor: Tensor) -> Option<Tensor> {
        self.tensors.insert(path.into(), tensor)
    }

    /// Makes a function known under the path by which the graph calls it.
    pub fn add_function(&mut self, path: impl Into<String>, function: impl Fn(&[Value]) -> Result<Value> + 'static) {
        self.functions.insert(path.into(), Rc::new(function));
    }

    /// The module at a path.
    pub fn submodule(&self, path: &str) -> Option<&dyn Submodule> {
        self.submodules.get(path).map(|module| &**module)
    }

    /// A second handle on the module at a path.
    pub(crate) fn shared_submodule(&self, path: &str) -> Option<Rc<dyn Submodule>> {
        self.submodules.get(path).cloned()
    }

    /// The tensor at a path that a `get_attr` node reads.
    pub fn tensor(&self, path: &str) -> Option<&Tensor> {
        self.tensors.get(path)
    }

    /// A second handle on the tensor at a path.
    ///
    /// # Errors
    ///
    /// [`Error::Graph`] if there is none.
    pub fn shared_tensor(&self, path: &str) -> Result<Tensor> {
        self.tensor(path).map(Tensor::shallow_clone).ok_or_else(|| self.fault(format!("has no tensor `{path}`")))
    }

    /// A second handle on the layer at a path, which is of the type `L`.
    ///
    /// # Errors
    ///
    /// [`Error::Graph`] if there is none, or one of another type, which is named.
    pub fn shared_layer<L: Module + 'static>(&self, path: &str) -> Result<L> {
        let module = self.submodules.get(path).ok_or_else(|| self.fault(format!("has no module `{path}`")))?;
        let Some(layer) = module.rebuilt().and_then(|layer| layer.downcast_ref::<L>()) else {
            let found = module.module().map_or("a function", |module| module.type_name());
            return Err(self.fault(format!("has a `{found}` at `{path}`, not a `{}`", std::any::type_name::<L>())));
        };
        layer.shallow_clone()
    }

    /// The modules with their paths, in the order of their paths.
    pub fn named_submodules(&self) -> impl Iterator<Item = (&str, &dyn Submodule)> {
        self.submodules.iter().map(|(path, module)| (path.as_str(), &**module))
    }

    /// The modules as a tree by their paths, in the order of their first calls, as Python prints one; of what only holds
    /// others the type is not known.
    pub fn print_module_tree(&self) -> String {
        let mut root = Tree::named(&self.graph.name);
        let called = self.graph.find_nodes("call_module", None).into_iter().map(|id| self.graph.target(id));
        for path in called.chain(self.submodules.keys().cloned()) {
            if let Some(submodule) = self.submodules.get(&path) {
                *root.at(&path) = submodule.module().map(Tree::of).unwrap_or_default();
            }
        }
        root.print()
    }

    /// The parameters with their paths: those of modules, and tensors of the graph that want gradients.
    pub fn named_parameters(&self) -> Vec<(String, Tensor)> {
        self.named_tensors(|module| module.named_parameters(), true)
    }

    /// The buffers with their paths.
    pub fn named_buffers(&self) -> Vec<(String, Tensor)> {
        self.named_tensors(|module| module.named_buffers(), false)
    }

    fn named_tensors(
        &self,
        of: fn(&dyn Module) -> Vec<(String, &Tensor)>,
        want_gradients: bool,
    ) -> Vec<(String, Tensor)> {
        let below = self.submodules.iter().filter_map(|(path, module)| Some((path, module.module()?)));
        let below = below.flat_map(|(path, module)| {
            let named = |(name, tensor): (String, &Tensor)| (format!("{path}.{name}"), tensor.shallow_clone());
            of(module).into_iter().map(named).collect::<Vec<_>>()
        });
        let own = self.tensors.iter().filter(|(_, tensor)| tensor.requires_grad() == want_gradients);
        own.map(|(path, tensor)| (path.clone(), tensor.shallow_clone())).chain(below).collect()
    }

    /// Puts all modules into training mode.
    ///
    /// A layer follows its mode but where its call says one: the `train` of the node of `forward_t(xs, false)`. What else a
    /// forward does in training is in `net.train_graph_module()`, which is generated for forwards that take a mode.
    pub fn train(&self) {
        self.set_training(true);
    }

    /// Puts all modules into inference mode.
    pub fn eval(&self) {
        self.set_training(false);
    }

    fn set_training(&self, training: bool) {
        self.submodules.values().filter_map(|module| module.module()).for_each(|module| module.set_training(training));
    }

    /// Checks the graph, and that there is what its nodes name.
    ///
    /// # Errors
    ///
    /// [`Error::Graph`] with all faults.
    pub fn lint(&self) -> Result<()> {
        let faults = self.graph.lint().err().unwrap_or_default();
        let mut faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        for id in self.graph.nodes() {
            let node = self.graph.node(id);
            match (&node.op, node.args.first()) {
                (Op::CallModule(_), Some(Arg::Str(path))) if !self.submodules.contains_key(path) => {
                    faults.push(format!("`{}` calls the module `{path}`, which is not there", node.name));
                }
                (Op::GetAttr(path), None) if !self.tensors.contains_key(path) => {
                    faults.push(format!("`{}` reads the tensor `{path}`, which is not there", node.name));
                }
                _ => {}
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(self.fault(faults.join("; "))) }
    }

    fn fault(&self, reason: String) -> Error {
        Error::Graph { graph: self.graph.name.clone(), reason }
    }

    fn plan(&self) -> Rc<Plan> {
        let revision = self.graph.revision();
        if let Some((known, plan)) = &*self.plan.borrow()
            && *known == revision
        {
            return Rc::clone(plan);
        }
        let plan = Rc::new(Plan::of(self));
        *self.plan.borrow_mut() = Some((revision, Rc::clone(&plan)));
        plan
    }
}

/// Whether a path is this one or leads below it.
fn is_at_or_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl fmt::Debug for GraphModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphModule").field("graph", &self.graph).finish_non_exhaustive()
    }
}

/// The graph as torch.fx writes it.
impl fmt::Display for GraphModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.graph.listing().fmt(f)
    }
}

#[cfg(test)]
mod tests;
