//! Quantization-aware training: a graph that trains with the rounding that it will have.

mod layer;

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use fx_ir::{Arg, Graph, ModuleKind, NodeId, Op, Type};

use self::layer::QatLayer;
use super::sites::{Placed, Site};
use super::{FakeQuantizer, ObserverConfig, QConfigMapping, QEngine, QParams, QParamsFile, Statistic};
use super::{patterns, prepare, reference, sites};
use crate::graph_module::{GraphModule, Submodule, Value};
use crate::{Error, Result};

/// A graph whose values and weights are fake-quantized while it trains: PyTorch's `prepare_qat_fx`.
pub struct PreparedQat {
    /// The graph that trains.
    module: GraphModule,
    /// The graph in floats, whose tensors are the same.
    float: GraphModule,
    placed: Placed,
    /// By the numbers of observers.
    activations: Vec<Rc<dyn FakeQuantizer>>,
    /// By the paths of weights.
    weights: BTreeMap<String, Rc<dyn FakeQuantizer>>,
    layers: Vec<Rc<QatLayer>>,
    fingerprint: String,
    engine: QEngine,
}

/// Puts fake quantization into the graph of a live model, at the sites of [`prepare`](super::prepare()).
///
/// The graph has the parameters of the live model, and trains these. A layer with a batch norm behind it becomes one module
/// that quantizes the weight with the norm folded in ([arXiv 1806.08342](https://arxiv.org/abs/1806.08342), section 3.2.2).
/// All switches are on at the start: values are observed, also in inference mode, and quantized. Call
/// [`train`](PreparedQat::train) first. [`QConfigMapping::for_qat`] has PyTorch's configuration; observers that are no moving
/// averages will do, but remember what the model yielded long ago.
///
/// Where this differs from `prepare_qat_fx` of torch 2.11: what the engine computes as one is one site, as in `prepare`, so
/// that kernels compute what was trained. PyTorch also observes between a linear layer with a batch norm and the activation
/// behind it, and refuses to train a convolution that takes in an addition. [`PreparedQat::convert`] gives the parameters that
/// were trained with, [`PreparedQat::calculate_qparams`] those of PyTorch's `convert_fx`.
///
/// ```
/// use fx_runtime::graph_module::{GraphModule, Value, value};
/// use fx_runtime::nn::{self, OptimizerConfig as _};
/// use fx_runtime::quant::{QConfigMapping, QEngine, prepare_qat};
/// use fx_runtime::{Device, Kind, Tensor, instance::Tracer};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let conv = nn::conv2d(vs.root() / "conv", 1, 4, 3, nn::no_bias());
/// let norm = nn::batch_norm2d(vs.root() / "norm", 4, nn::BatchNormConfig::default());
/// let mut t = Tracer::new("net");
/// let xs = t.input("xs", true);
/// let ys = t.module("conv", &conv, &[&xs], 1);
/// let ys = t.module("norm", &norm, &[&ys], 2);
/// let net: GraphModule = t.finish(&[&ys])?;
///
/// let engine = QEngine::Fbgemm;
/// let qat = prepare_qat(&net, &QConfigMapping::for_qat(engine), engine)?;
/// let mut optimizer = nn::Sgd::default().build(&vs, 0.1)?;
/// let before = conv.ws.copy();
/// qat.train();
/// for step in 0..4 {
///     if step == 2 {
///         qat.enable_observer(false);
///         qat.freeze_bn_stats();
///     }
///     let xs = Tensor::randn([8, 1, 6, 6], (Kind::Float, Device::Cpu));
///     let Value::Tensor(ys) = qat.forward(&[value(xs)])? else { panic!("one tensor") };
///     optimizer.backward_step(&(&*ys - 1.0).square().mean(Kind::Float));
/// }
/// assert_ne!(conv.ws, before);
///
/// qat.eval();
/// let qparams = qat.convert()?;
/// assert_eq!(qparams.sites.keys().collect::<Vec<_>>(), ["conv", "xs"]);
/// let quantized = qat.reference(&qparams)?;
/// assert_eq!(quantized.graph().find_nodes("call_module", None).len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Quantization`] if the mapping names what is not there, the engine has no kernels for a type, or an observer
/// cannot be made.
pub fn prepare_qat(module: &GraphModule, mapping: &QConfigMapping, engine: QEngine) -> Result<PreparedQat> {
    let fingerprint = QParamsFile::fingerprint(module.graph());
    let mut trained = module.shallow_clone();
    let norms: BTreeMap<String, String> = patterns::fold_batch_norms(&mut trained)?.into_iter().collect();
    let placed = sites::place(&trained, mapping, engine)?;
    let activations = placed.observers.iter().map(ObserverConfig::fake_quantizer).collect::<Result<Vec<_>>>()?;
    let weights = weight_fake_quants(&placed)?;

    let of_modules = placed.weights.iter().filter_map(|site| patterns::module_path(trained.graph(), site.node));
    let mut paths: Vec<String> = of_modules.chain(norms.keys().map(String::as_str)).map(str::to_owned).collect();
    paths.sort_unstable();
    paths.dedup();
    let called: Vec<NodeId> = trained.graph().nodes();
    let is_called = |norm: &str| called.iter().any(|&id| patterns::module_path(trained.graph(), id) == Some(norm));
    let folded_away: Vec<&String> = norms.values().filter(|norm| !is_called(norm)).collect();
    for norm in folded_away {
        trained.delete_submodule(norm);
    }
    let mut layers = Vec::new();
    for path in paths {
        let missing = || Error::Refused(format!("the graph has no module `{path}`"));
        let norm = norms.get(&path).and_then(|norm| module.submodule(norm));
        let fake = weights.get(&format!("{path}.weight")).cloned();
        let layer = Rc::new(QatLayer::new(module.shared_submodule(&path).ok_or_else(missing)?, norm, fake)?);
        trained.put_submodule(path, Rc::clone(&layer) as Rc<dyn Submodule>);
        layers.push(layer);
    }
    for site in &placed.weights {
        if let (None, Some(fake)) = (patterns::module_path(trained.graph(), site.node), weights.get(&site.path)) {
            let path = format!("{}_fake_quant", site.path);
            trained.put_submodule(path.clone(), Rc::clone(fake) as Rc<dyn Submodule>);
            quantize_read_weight(trained.graph_mut(), site.node, &path);
        }
    }
    for site in &placed.sites {
        let path = format!("activation_post_process_{}", site.observer);
        trained.put_submodule(path.clone(), Rc::clone(&activations[site.observer]) as Rc<dyn Submodule>);
        quantize_value(trained.graph_mut(), site, &path);
    }
    trained.lint()?;
    let float = module.shallow_clone();
    Ok(PreparedQat { module: trained, float, placed, activations, weights, layers, fingerprint, engine })
}

/// The fake quantization of each weight that is quantized.
fn weight_fake_quants(placed: &Placed) -> Result<BTreeMap<String, Rc<dyn FakeQuantizer>>> {
    let is_quantized = |statistic: &Statistic| !matches!(statistic, Statistic::Placeholder { .. } | Statistic::Noop);
    let quantized = placed.weights.iter().filter(|site| is_quantized(&site.config.statistic));
    quantized.map(|site| Ok((site.path.clone(), site.config.fake_quantizer()?))).collect()
}

/// Lets all that read the value read what the module at `path` makes of it.
fn quantize_value(graph: &mut Graph, site: &Site, path: &str) {
    let origin = graph.node(site.node).origin.clone();
    let (op, args) = (fake_quantize(), vec![Arg::Str(path.to_owned()), Arg::Node(site.node)]);
    let fake = graph.insert_after(site.node, op, args, path, Type::TENSOR, origin);
    graph.replace_all_uses_with(site.node, &Arg::Node(fake));
    graph.replace_input_with(fake, fake, &Arg::Node(site.node));
}

/// Lets a node read what the module at `path` makes of its weight.
fn quantize_read_weight(graph: &mut Graph, node: NodeId, path: &str) {
    let origin = graph.node(node).origin.clone();
    let Some(weight) = graph.node(node).args.get(1).cloned() else { return };
    let (op, args) = (fake_quantize(), vec![Arg::Str(path.to_owned()), weight]);
    let fake = graph.insert_before(node, op, args, "weight_fake_quant", Type::TENSOR, origin);
    if let Some(arg) = graph.node_mut(node).args.get_mut(1) {
        *arg = Arg::Node(fake);
    }
}

fn fake_quantize() -> Op {
    Op::CallModule(ModuleKind("FakeQuantize".to_owned()))
}

impl PreparedQat {
    /// The observed values, in the order in which they are computed.
    pub fn sites(&self) -> &[Site] {
        &self.placed.sites
    }

    /// The graph that trains, with its parameters; those of a norm that is folded are under the layer's path and `bn`.
    pub fn module(&self) -> &GraphModule {
        &self.module
    }

    /// Runs the graph on inputs, and records gradients.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`]; [`Error::At`] with the node if a value cannot be observed.
    pub fn forward(&self, inputs: &[Value]) -> Result<Value> {
        self.module.run(inputs)
    }

    /// Puts all modules into training mode, but for batch norms whose statistics are frozen.
    pub fn train(&self) {
        self.module.train();
    }

    /// Puts all modules into inference mode. Values are observed as before.
    pub fn eval(&self) {
        self.module.eval();
    }

    /// Normalizes with the running statistics from here on, in training too: the method `freeze_bn_stats` of each of
    /// PyTorch's fused modules; its function of that name leaves out those of linear layers.
    pub fn freeze_bn_stats(&self) {
        self.layers.iter().for_each(|layer| layer.freeze_bn_stats(true));
    }

    /// Normalizes with the batch's statistics again and moves the running ones: PyTorch's `update_bn_stats`.
    pub fn update_bn_stats(&self) {
        self.layers.iter().for_each(|layer| layer.freeze_bn_stats(false));
    }

    /// Switches all observers, those of weights too: PyTorch's `enable_observer` and `disable_observer`.
    pub fn enable_observer(&self, enabled: bool) {
        self.fake_quantizers().for_each(|fake| fake.enable_observer(enabled));
    }

    /// Switches all fake quantization: PyTorch's `enable_fake_quant` and `disable_fake_quant`.
    pub fn enable_fake_quant(&self, enabled: bool) {
        self.fake_quantizers().for_each(|fake| fake.enable_fake_quant(enabled));
    }

    fn fake_quantizers(&self) -> impl Iterator<Item = &Rc<dyn FakeQuantizer>> {
        self.activations.iter().chain(self.weights.values())
    }

    /// The parameters that values and weights are quantized with now, for the live model with the weights that it has now: a
    /// file as of [`Prepared::convert`](super::Prepared::convert).
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] with the site if it has seen no value.
    pub fn convert(&self) -> Result<QParamsFile> {
        self.parameters(|fake| fake.qparams())
    }

    /// The parameters that PyTorch's `convert_fx` takes: those that follow from the observed extremes.
    ///
    /// Of symmetric weights these are not what was trained with; see [`FusedMovingAvgObsFakeQuantize`]. At 4 bits that costs
    /// points of accuracy.
    ///
    /// # Errors
    ///
    /// As [`PreparedQat::convert`].
    ///
    /// [`FusedMovingAvgObsFakeQuantize`]: super::FusedMovingAvgObsFakeQuantize
    pub fn calculate_qparams(&self) -> Result<QParamsFile> {
        self.parameters(|fake| fake.calculate_qparams())
    }

    fn parameters(&self, of: fn(&dyn FakeQuantizer) -> Result<QParams>) -> Result<QParamsFile> {
        let named = |name: &str, fake: &Rc<dyn FakeQuantizer>| -> Result<(String, QParams)> {
            Ok((name.to_owned(), of(&**fake).map_err(|error| prepare::at(name, &error))?))
        };
        let sites = self.placed.sites.iter().map(|site| named(&site.name, &self.activations[site.observer]));
        Ok(QParamsFile {
            version: QParamsFile::VERSION,
            graph: self.module.graph().name.clone(),
            engine: self.engine,
            fingerprint: self.fingerprint.clone(),
            sites: sites.collect::<Result<_>>()?,
            weights: self.weights.iter().map(|(path, fake)| named(path, fake)).collect::<Result<_>>()?,
            equalization: Vec::new(),
            biases: std::collections::BTreeMap::new(),
        })
    }

    /// A graph that computes as the quantized model does, with the weights and statistics as they are now.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if a module is in training mode, or the parameters are another graph's or lack a site.
    pub fn reference(&self, qparams: &QParamsFile) -> Result<GraphModule> {
        patterns::check_inference(&self.module)?;
        let mut folded = self.float.shallow_clone();
        patterns::fold_batch_norms(&mut folded)?;
        reference::reference(folded, (&self.placed, &[]), &self.fingerprint, (qparams, reference::Rounding::ByTensors))
    }
}

impl fmt::Debug for PreparedQat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedQat").field("sites", &self.placed.sites).finish_non_exhaustive()
    }
}
