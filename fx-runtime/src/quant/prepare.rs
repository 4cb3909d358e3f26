//! A graph with observers at its sites: run on data it learns the parameters, converted it gives them.

use std::collections::BTreeMap;
use std::fmt;

use fx_ir::{Graph, NodeId, NodeMap};
use tch::Kind;

use super::patterns;
use super::sites::{self, Placed, Site};
use super::{Equalization, Observer, QConfigMapping, QEngine, QParams, QParamsFile, Statistic, weighted};
use crate::graph_module::{GraphModule, Hook, Interpreter, IntoInputs, Value};
use crate::progress::Task;
use crate::{Error, Result};

/// A graph that observes what it computes: PyTorch's `prepare_fx`.
pub struct Prepared {
    /// The graph with batch norms folded.
    pub(super) module: GraphModule,
    pub(super) placed: Placed,
    observers: Vec<Box<dyn Observer>>,
    fingerprint: String,
    mapping: QConfigMapping,
    engine: QEngine,
    equalization: Vec<Equalization>,
    /// A step for each call.
    task: Task,
}

/// Puts observers into the graph of a live model in inference mode; the module itself stays as it is.
///
/// Batch norms are folded into the layers before them, and what the engine computes as one has one site, at its end. Nodes
/// inside control flow stay in floats. `engine` says what is computed as one and which types there are.
///
/// ```
/// use fx_runtime::graph_module::{GraphModule, value};
/// use fx_runtime::quant::{QConfigMapping, QEngine, prepare};
/// use fx_runtime::{Device, Kind, Tensor, instance::Tracer, nn};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let fc = nn::linear(vs.root(), 4, 3, nn::LinearConfig::default());
/// let mut t = Tracer::new("net");
/// let xs = t.input("xs", true);
/// let ys = t.module("fc", &fc, &[&xs], 1);
/// let net: GraphModule = t.finish(&[&ys])?;
///
/// let mut observed = prepare(&net, &QConfigMapping::for_engine(QEngine::Onednn), QEngine::Onednn)?;
/// observed.forward(&[value(Tensor::ones([2, 4], (Kind::Float, Device::Cpu)))])?;
/// let qparams = observed.convert()?;
/// assert_eq!(qparams.sites.keys().collect::<Vec<_>>(), ["fc", "xs"]);
/// assert_eq!(qparams.weights["fc.weight"].scale.len(), 3);
/// let quantized = observed.reference(&qparams)?;
/// # let _ = quantized;
/// # Ok::<(), fx_runtime::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Quantization`] if a module is in training mode, the mapping names what is not there, or the engine has no
/// kernels for a type.
pub fn prepare(module: &GraphModule, mapping: &QConfigMapping, engine: QEngine) -> Result<Prepared> {
    let fingerprint = QParamsFile::fingerprint(module.graph());
    let module = patterns::folded(module)?;
    Prepared::new(module, fingerprint, (mapping.clone(), engine), Vec::new())
}

impl Prepared {
    /// Observers in a graph with batch norms folded and factors brought in.
    fn new(
        module: GraphModule,
        fingerprint: String,
        (mapping, engine): (QConfigMapping, QEngine),
        equalization: Vec<Equalization>,
    ) -> Result<Prepared> {
        let placed = sites::place(&module, &mapping, engine)?;
        let observers = placed.observers.iter().map(super::ObserverConfig::build).collect::<Result<_>>()?;
        let task = Task::begin("calibrate", 0);
        Ok(Prepared { module, placed, observers, fingerprint, mapping, engine, equalization, task })
    }

    /// The same in that graph, with observers that have seen nothing.
    pub(super) fn again(&self, module: GraphModule, equalization: Vec<Equalization>) -> Result<Prepared> {
        Prepared::new(module, self.fingerprint.clone(), (self.mapping.clone(), self.engine), equalization)
    }

    /// The factors that are in the graph.
    pub(super) fn equalization(&self) -> &[Equalization] {
        &self.equalization
    }

    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The observed values, in the order in which they are computed.
    pub fn sites(&self) -> &[Site] {
        &self.placed.sites
    }

    /// The graph that is run, with batch norms folded.
    pub fn module(&self) -> &GraphModule {
        &self.module
    }

    /// Runs the graph on inputs, a tensor or a value for each, and observes; no gradients are recorded.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`]; [`Error::At`] with the site if a value cannot be observed.
    pub fn forward(&mut self, inputs: impl IntoInputs) -> Result<Value> {
        let _no_grad = tch::no_grad_guard();
        let sites =
            self.placed.sites.iter().map(|site| (site.node, site)).fold(NodeMap::default(), |mut map, (id, site)| {
                map.insert(id, site);
                map
            });
        let watch = Watch { sites, observers: &mut self.observers };
        let outputs = Interpreter::new(&self.module).with_hook(watch).run(&inputs.inputs());
        self.task.step();
        outputs
    }

    /// The parameters of all sites and weights: PyTorch's `convert_fx`, as data.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] with the site if it has seen no value; PyTorch goes on with scale 1.
    pub fn convert(&self) -> Result<QParamsFile> {
        let mut sites = BTreeMap::new();
        for site in &self.placed.sites {
            let qparams = self.observers[site.observer].calculate_qparams().map_err(|error| at(&site.name, &error))?;
            sites.insert(site.name.clone(), qparams);
        }
        let graph = self.module.graph().name.clone();
        Ok(QParamsFile {
            version: QParamsFile::VERSION,
            graph,
            engine: self.engine,
            fingerprint: self.fingerprint.clone(),
            sites,
            weights: self.weights()?,
            equalization: self.equalization.clone(),
            biases: BTreeMap::new(),
        })
    }

    fn weights(&self) -> Result<BTreeMap<String, QParams>> {
        let mut weights = BTreeMap::new();
        for site in &self.placed.weights {
            if matches!(site.config.statistic, Statistic::Placeholder { .. } | Statistic::Noop) {
                continue;
            }
            let weight = match patterns::module_path(self.module.graph(), site.node) {
                Some(path) => self.module.submodule(path).and_then(weighted::weight),
                None => self.module.tensor(&site.path),
            };
            let Some(weight) = weight else { continue };
            let mut observer = site.config.build()?;
            let seen = weighted::observed(weight).and_then(|weight| observer.observe(&weight));
            let qparams = seen.and_then(|()| observer.calculate_qparams()).map_err(|error| at(&site.path, &error))?;
            weights.insert(site.path.clone(), qparams);
        }
        Ok(weights)
    }
}

/// The fault of an observer, at its site.
pub(super) fn at(site: &str, error: &Error) -> Error {
    Error::Quantization { site: site.to_owned(), reason: error.to_string() }
}

/// Shows the values of sites to their observers.
struct Watch<'p> {
    sites: NodeMap<&'p Site>,
    observers: &'p mut [Box<dyn Observer>],
}

impl Hook for Watch<'_> {
    fn after(&mut self, _: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        let (Some(site), Value::Tensor(tensor)) = (self.sites.get(id), &*value) else { return Ok(()) };
        if !matches!(tensor.kind(), Kind::Float | Kind::Half | Kind::BFloat16 | Kind::Double) {
            let reason = format!("it is a tensor of {:?}; leave the node in floats by its name", tensor.kind());
            return Err(Error::Quantization { site: site.name.clone(), reason });
        }
        self.observers[site.observer].observe(tensor).map_err(|error| at(&site.name, &error))
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("sites", &self.placed.sites).finish_non_exhaustive()
    }
}
