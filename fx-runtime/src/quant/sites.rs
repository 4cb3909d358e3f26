//! Where in a graph values are observed, and by which observer.

use std::collections::BTreeMap;

use fx_ir::ops::Quantization;
use fx_ir::{Graph, NodeId, NodeMap};

use super::config::{Resolver, Standing};
use super::patterns::{self, Pattern};
use super::{DType, ObserverConfig, QConfig, QConfigMapping, QEngine, QScheme, Statistic};
use crate::Result;
use crate::graph_module::GraphModule;

/// A value that is observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Its name: that of the input, of the op, or of the layer with what is fused into it, as the graph names the node.
    pub name: String,
    /// The node whose value it is.
    pub node: NodeId,
    /// The number of its observer; sites with one number share it.
    pub observer: usize,
}

/// A weight that is quantized.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WeightSite {
    /// Its path, for instance `layer1.0.conv1.weight`.
    pub(super) path: String,
    /// The node that it belongs to.
    pub(super) node: NodeId,
    pub(super) config: ObserverConfig,
}

/// All sites of a graph.
pub(super) struct Placed {
    pub(super) sites: Vec<Site>,
    pub(super) weights: Vec<WeightSite>,
    /// How each observer is made.
    pub(super) observers: Vec<ObserverConfig>,
}

/// Decides where observers stand, as `prepare_fx` of torch 2.11 does.
///
/// Each quantized pattern has its inputs observed, unless they are already, and its result: by an observer of its own, by
/// that of its input, or by none where its range is known.
pub(super) fn place(module: &GraphModule, mapping: &QConfigMapping, engine: QEngine) -> Result<Placed> {
    let resolver = mapping.resolver()?;
    let mut placement =
        Placement { module, engine, sites: NodeMap::default(), observers: Vec::new(), weights: Vec::new() };
    let standing = standings(module.graph());
    let configured = |id: NodeId| standing.get(id).and_then(|standing| resolved(&resolver, standing));
    for pattern in patterns::patterns(module, engine) {
        let Some(qconfig) = configured(pattern.root) else { continue };
        if qconfig.activation.statistic != Statistic::ReuseInput {
            engine.check(&qconfig, &module.graph().node(pattern.root).name)?;
        }
        placement.pattern(&pattern, &qconfig);
    }
    resolver.check_named()?;
    Ok(placement.finished())
}

struct Placement<'m> {
    module: &'m GraphModule,
    engine: QEngine,
    /// The observer and the name of each observed value.
    sites: NodeMap<(usize, String)>,
    observers: Vec<ObserverConfig>,
    weights: Vec<WeightSite>,
}

impl Placement<'_> {
    fn pattern(&mut self, pattern: &Pattern, qconfig: &QConfig) {
        let continues =
            qconfig.activation.statistic == Statistic::ReuseInput || !self.engine.begins(pattern.quantization);
        if continues && pattern.inputs.iter().any(|&input| self.sites.get(input).is_none()) {
            return;
        }
        let name = |id: NodeId| self.module.graph().node(id).name.clone();
        let names: Vec<String> = pattern.inputs.iter().map(|&input| name(input)).collect();
        let root = name(pattern.root);
        for (&input, name) in pattern.inputs.iter().zip(names) {
            if self.sites.get(input).is_none() {
                self.observe(input, name, qconfig.activation.clone());
            }
        }
        match pattern.quantization {
            Quantization::Shares => self.share(pattern, root),
            Quantization::Within { low, high } => self.observe(pattern.last, root, fixed(low, high)),
            _ => self.observe(pattern.last, root, qconfig.activation.clone()),
        }
        if pattern.quantization == Quantization::Weighted {
            let graph = self.module.graph();
            let path = patterns::weight_site(graph, pattern.root);
            let config = qconfig.weight.clone();
            self.weights.extend(path.map(|path| WeightSite { path, node: pattern.root, config }));
        }
    }

    fn observe(&mut self, node: NodeId, name: String, config: ObserverConfig) {
        self.sites.insert(node, (self.observers.len(), name));
        self.observers.push(config);
    }

    /// One observer for the inputs and the result.
    ///
    /// PyTorch exchanges the observers of the inputs alone; those that shared them before lose what they share.
    fn share(&mut self, pattern: &Pattern, name: String) {
        let number = |input: &NodeId| self.sites.get(*input).map(|(observer, _)| *observer);
        let mut observers = pattern.inputs.iter().filter_map(number);
        let Some(first) = observers.next() else { return };
        let others: Vec<usize> = observers.collect();
        let observed: Vec<NodeId> = self.sites.iter().map(|(id, _)| id).collect();
        for id in observed {
            if let Some((observer, _)) = self.sites.get_mut(id)
                && others.contains(observer)
            {
                *observer = first;
            }
        }
        self.sites.insert(pattern.last, (first, name));
    }

    fn finished(self) -> Placed {
        let graph = self.module.graph();
        let site = |id: NodeId| self.sites.get(id).map(|(observer, name)| (id, *observer, name.clone()));
        let body = graph.region(graph.body());
        let in_order = body.params.iter().chain(&body.nodes).filter_map(|&id| site(id));
        let sites = in_order.map(|(node, observer, name)| Site { name, node, observer }).collect();
        Placed { sites, weights: self.weights, observers: self.observers }
    }
}

/// PyTorch's observers of results between 0 and 1 and between -1 and 1: 256 steps over the range.
fn fixed(low: f32, high: f32) -> ObserverConfig {
    let scale = (high - low) / 256.0;
    let zero_point = if low < 0.0 { 128 } else { 0 };
    ObserverConfig::fixed_qparams(scale, zero_point).dtype(DType::QUInt8).qscheme(QScheme::PerTensorAffine)
}

/// What a mapping has to know of a node.
pub(super) struct NodeStanding {
    /// The path of the module that it calls or stands in.
    pub(super) module: String,
    module_type: String,
    /// The op, of a node that calls none of a module.
    pub(super) op: Option<String>,
    parent: String,
    index: usize,
}

pub(super) fn resolved(resolver: &Resolver<'_>, of: &NodeStanding) -> Option<QConfig> {
    let op = of.op.as_deref();
    let (module, module_type, parent) = (of.module.as_str(), of.module_type.as_str(), of.parent.as_str());
    resolver.qconfig(&Standing { module, module_type, op, parent, index: of.index })
}

/// Where each node stands that computes.
pub(super) fn standings(graph: &Graph) -> NodeMap<NodeStanding> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut standings = NodeMap::default();
    for id in graph.nodes() {
        let node = graph.node(id);
        let around = node.nn_module_stack().last();
        let scope = around.map(|scope| scope.path.clone()).unwrap_or_default();
        let (module, module_type, op) = match (&node.op, patterns::module_path(graph, id)) {
            (fx_ir::Op::CallModule(kind), Some(path)) => (path.to_owned(), kind.0.clone(), None),
            (fx_ir::Op::Call(op), _) => {
                let ty = around.map(|scope| scope.ty.clone()).unwrap_or_default();
                (scope.clone(), ty, Some(op.name().to_owned()))
            }
            _ => continue,
        };
        let ty = op.clone().unwrap_or_else(|| module_type.clone());
        let count = counts.entry((scope.clone(), ty.to_ascii_lowercase())).or_default();
        standings.insert(id, NodeStanding { module, module_type, op, parent: scope, index: *count });
        *count += 1;
    }
    standings
}
