//! A frozen graph in the form that threads share and files keep.
//!
//! Values of graphs stay on their thread, and so does a [`FrozenModule`]. What is large in it does not: packed kernels and
//! weights are shared, and each thread that runs the graph makes itself a [`GraphModule`] that calls them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use fx_ir::{Effect, Graph, HostOp, Op};

use super::{FromValue, FrozenModule, GraphModule, Submodule, Value};
use crate::cuda::Outputs;
use crate::ffi::Param;
use crate::frame::Scope;
use crate::graph::{from_json, to_json};
use crate::nn::HeldLayer;
use crate::registry::inventory;
use crate::saved::{Loader, Saver, State};
use crate::{Error, Module, Result};

/// A module of a frozen graph that threads share; see [`Submodule::shared`].
pub trait SharedModule: fmt::Debug + Send + Sync {
    /// Its forward, as [`Submodule::call`].
    ///
    /// # Errors
    ///
    /// As [`Submodule::call`].
    fn call(&self, args: &[Value]) -> Result<Value>;

    /// The same, as [`Submodule::call_owned`].
    ///
    /// # Errors
    ///
    /// As [`Submodule::call`].
    fn call_owned(&self, args: Vec<Value>) -> Result<Value> {
        self.call(&args)
    }

    /// Hands over what it consists of, by a name that says how it is read again.
    ///
    /// # Errors
    ///
    /// What cannot be written.
    fn save(&self, to: &mut Saver) -> Result<()>;
}

/// A module of this crate that is shared as it is and saved part by part.
pub(crate) trait SavedModule: Submodule + State + fmt::Debug + Send + Sync + 'static {
    /// What a file calls it.
    const NAME: &'static str;
}

impl<M: SavedModule> SharedModule for M {
    fn call(&self, args: &[Value]) -> Result<Value> {
        Submodule::call(self, args)
    }

    fn call_owned(&self, args: Vec<Value>) -> Result<Value> {
        Submodule::call_owned(self, args)
    }

    fn save(&self, to: &mut Saver) -> Result<()> {
        to.choose(M::NAME);
        State::save(self, to)
    }
}

/// How a module of one type is read.
#[derive(Debug)]
pub(crate) struct SavedEntry {
    name: &'static str,
    load: fn(&mut Loader) -> Result<Arc<dyn SharedModule>>,
}

inventory::collect!(SavedEntry);

impl SavedEntry {
    pub(crate) const fn of<M: SavedModule>() -> Self {
        Self { name: M::NAME, load: |from| M::load(from).map(|module| Arc::new(module) as Arc<dyn SharedModule>) }
    }
}

/// Names modules in files: `saved_modules! { Conv = "Conv" }`.
macro_rules! saved_modules {
    ($($module:ty = $name:literal),+ $(,)?) => {
        $(
            impl $crate::graph_module::shared::SavedModule for $module {
                const NAME: &'static str = $name;
            }

            $crate::registry::inventory::submit! { $crate::graph_module::shared::SavedEntry::of::<$module>() }
        )+
    };
}
pub(crate) use saved_modules;

/// A layer that no kernel is packed for.
#[derive(Debug)]
pub(super) struct LayerModule(pub(super) Arc<dyn HeldLayer>);

impl SharedModule for LayerModule {
    fn call(&self, args: &[Value]) -> Result<Value> {
        match args {
            [Value::Tensor(xs)] | [Value::Tensor(xs), Value::Bool(false)] => {
                Ok(Value::Tensor(Rc::new(self.0.run(xs)?)))
            }
            _ => Err(Error::Refused("a frozen layer takes one tensor, and no mode but inference".to_owned())),
        }
    }

    fn save(&self, to: &mut Saver) -> Result<()> {
        self.0.save(to)
    }
}

/// A frozen graph that threads share; made by [`FrozenModule::shared`].
#[derive(Clone)]
pub struct SharedGraph(Arc<Program>);

struct Program {
    graph: Graph,
    modules: BTreeMap<String, Arc<dyn SharedModule>>,
    tensors: BTreeMap<String, Param>,
}

thread_local! {
    /// The graphs that this thread has run and that are still there.
    static INSTANCES: RefCell<Vec<(Weak<Program>, Rc<GraphModule>)>> = const { RefCell::new(Vec::new()) };
}

impl FrozenModule {
    /// The same in a form that threads share and files keep.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] with the node that runs code of the program's own, or whose module has no such form, as a
    /// recurrent layer or a module of the user's.
    pub fn shared(&self) -> Result<SharedGraph> {
        let module = self.module();
        let graph = module.graph().clone();
        for id in graph.nodes() {
            let node = graph.node(id);
            let is_own = |op: &HostOp| matches!(op, HostOp::Call(_) | HostOp::Function(_));
            let writes = matches!(node.op.effect(), Effect::InPlace(_))
                && node.input(0).is_some_and(|written| matches!(graph.node(written).op, Op::GetAttr(_)));
            if writes {
                return Err(unshared(&node.name, "a write to what all calls read"));
            }
            if matches!(node.op, Op::Rust(_)) || node.does_on_host(&is_own) {
                return Err(unshared(&node.name, "code of the program's own"));
            }
        }
        let mut modules = BTreeMap::new();
        for (path, module) in module.named_submodules() {
            let shared = module.shared().ok_or_else(|| unshared(path, "a module that has no form for threads"))??;
            modules.insert(path.to_owned(), shared);
        }
        let tensors = module.tensors.iter().map(|(path, tensor)| (path.clone(), Param::new(tensor.shallow_clone())));
        let tensors = tensors.collect();
        Ok(SharedGraph(Arc::new(Program { graph, modules, tensors })))
    }
}

fn unshared(name: &str, what: &str) -> Error {
    Error::Unsupported {
        what: format!("sharing `{name}`, which is {what}, between threads"),
        help: "run the frozen graph on one thread, as `GraphModule::freeze` yields it".to_owned(),
    }
}

impl SharedGraph {
    /// The frozen graph.
    pub fn graph(&self) -> &Graph {
        &self.0.graph
    }

    /// Runs the graph on one value for each of its inputs, which the scope has seen.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`]; [`Error::Refused`] if the result is of another type.
    pub fn run<O: Outputs + for<'v> FromValue<'v>>(&self, scope: &Scope<'_>, inputs: &[Value]) -> Result<O> {
        let value = self.on_this_thread().run(inputs)?;
        let outputs = O::from_value(&value);
        let outputs = outputs.ok_or_else(|| Error::Refused(format!("the graph yields {value}, of another type")))?;
        outputs.map(&mut |tensor| scope.output(tensor.shallow_clone()))
    }

    /// The graph as this thread runs it. Graphs that are gone are forgotten on the way.
    fn on_this_thread(&self) -> Rc<GraphModule> {
        INSTANCES.with_borrow_mut(|instances| {
            instances.retain(|(program, _)| program.strong_count() > 0);
            let own = instances.iter().find(|(program, _)| std::ptr::eq(program.as_ptr(), Arc::as_ptr(&self.0)));
            if let Some((_, module)) = own {
                return Rc::clone(module);
            }
            let mut module = GraphModule::new(self.0.graph.clone());
            for path in self.0.modules.keys() {
                module.add_submodule(path, Handle { program: Arc::downgrade(&self.0), path: path.clone() });
            }
            for (path, tensor) in &self.0.tensors {
                module.add_tensor(path, tensor.shallow_clone());
            }
            let module = Rc::new(module);
            instances.push((Arc::downgrade(&self.0), Rc::clone(&module)));
            module
        })
    }
}

/// A module of a shared graph, which lives as long as that.
struct Handle {
    program: Weak<Program>,
    path: String,
}

impl Handle {
    fn on_module<T>(&self, work: impl FnOnce(&dyn SharedModule) -> Result<T>) -> Result<T> {
        let program = self.program.upgrade();
        let gone = || Error::Refused(format!("`{}` is of a graph that is gone", self.path));
        work(&**program.as_ref().and_then(|program| program.modules.get(&self.path)).ok_or_else(gone)?)
    }
}

impl Submodule for Handle {
    fn call(&self, args: &[Value]) -> Result<Value> {
        self.on_module(|module| module.call(args))
    }

    fn call_owned(&self, args: Vec<Value>) -> Result<Value> {
        self.on_module(|module| module.call_owned(args))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}

impl State for SharedGraph {
    fn save(&self, to: &mut Saver) -> Result<()> {
        let Program { graph, modules, tensors } = &*self.0;
        to.field("graph", &to_json(graph))?;
        to.field("modules", &modules.keys().cloned().collect::<Vec<_>>())?;
        to.field("tensors", &tensors.keys().cloned().collect::<Vec<_>>())?;
        to.within("modules", |to| modules.iter().try_for_each(|(path, module)| to.within(path, |to| module.save(to))))?;
        to.within("tensors", |to| tensors.iter().try_for_each(|(path, tensor)| to.field(path, tensor)))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let graph = from_json(&from.field::<String>("graph")?)?;
        let (paths, names): (Vec<String>, Vec<String>) = (from.field("modules")?, from.field("tensors")?);
        let module = |from: &mut Loader, path: String| {
            let module = from.within(&path, load_module)?;
            Ok((path, module))
        };
        let modules =
            from.within("modules", |from| paths.into_iter().map(|path| module(from, path)).collect::<Result<_>>())?;
        let tensor = |from: &mut Loader, path: String| {
            let tensor = from.field(&path)?;
            Ok((path, tensor))
        };
        let tensors =
            from.within("tensors", |from| names.into_iter().map(|path| tensor(from, path)).collect::<Result<_>>())?;
        Ok(Self(Arc::new(Program { graph, modules, tensors })))
    }
}

/// The module that was saved at this path.
fn load_module(from: &mut Loader) -> Result<Arc<dyn SharedModule>> {
    let name = from.choice()?;
    if let Some(entry) = inventory::iter::<SavedEntry>.into_iter().find(|entry| entry.name == name) {
        return (entry.load)(from);
    }
    Ok(Arc::new(LayerModule(crate::nn::load_held(from, &name)?)))
}

impl fmt::Debug for SharedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0.modules).finish()
    }
}
