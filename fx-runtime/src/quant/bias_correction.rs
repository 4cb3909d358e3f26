//! Bias correction: what rounding moves the mean of each output channel by is taken out of the bias.
//!
//! Rounded weights and inputs make errors that do not cancel out over the positions of a channel. The quantized graph is
//! compared with that in floats, layer by layer in the order of the graph, and the mean difference of each channel goes into
//! the layer's bias before the next layer is looked at, so that what layers before it have moved is taken out as well.
//! Source: Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction" (2019), section 4.2 and
//! appendix D, with means of real data.
//!
//! Batches go through one by one: each sees the means over those before it and itself.

use std::collections::BTreeMap;
use std::rc::Rc;

use fx_ir::{Arg, Graph, NodeId, NodeMap, Op, Type, ops};
use tch::{Kind, Tensor};

use super::accuracy::Values;
use super::reference::missing;
use super::{Prepared, QParamsFile, patterns, weighted};
use crate::graph_module::{GraphModule, Hook, Interpreter, IntoInputs, Value};
use crate::{Error, Result};

/// The differences of a layer so far.
struct Sums {
    path: String,
    /// The axis of the result along which its channels lie, from the end.
    axis: i64,
    /// `f64[channels]`
    total: Option<Tensor>,
    batches: i64,
}

impl Prepared {
    /// The same parameters with corrections of the biases of all layers whose weights are quantized, learned on these
    /// batches; those of calibration will do.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the parameters are another graph's; those of [`GraphModule::run`].
    pub fn bias_correction<I: IntoInputs>(
        &self,
        qparams: &QParamsFile,
        batches: impl IntoIterator<Item = I>,
    ) -> Result<QParamsFile> {
        let _no_grad = tch::no_grad_guard();
        let plain = QParamsFile { biases: BTreeMap::new(), ..qparams.clone() };
        let reference = self.reference(&plain)?;
        let mut layers = self.layers();
        let nodes: Vec<NodeId> = layers.iter().map(|(id, _)| id).collect();
        for batch in batches {
            let inputs = batch.inputs();
            let (_, exact) = Self::tapped(&self.module, &nodes, None, &inputs)?;
            let correct = Correct { exact: &exact, layers: &mut layers };
            Interpreter::new(&reference).with_hook(correct).run(&inputs)?;
        }
        let mut biases = BTreeMap::new();
        for (_, sums) in layers.iter() {
            if let Some(mean) = sums.mean_so_far()? {
                biases.insert(sums.path.clone(), Vec::try_from(mean)?);
            }
        }
        Ok(QParamsFile { biases, ..plain })
    }

    /// The layers whose weights are quantized.
    fn layers(&self) -> NodeMap<Sums> {
        let mut layers = NodeMap::default();
        for site in &self.placed.weights {
            let graph = self.module.graph();
            let rank = match patterns::module_path(graph, site.node) {
                Some(path) => self.module.submodule(path).and_then(weighted::weight).map(Tensor::dim),
                None => (patterns::op_of(graph, site.node) == Some(ops::LINEAR)).then_some(2),
            };
            if let Some(rank) = rank {
                // Of a matrix the last axis, of images the one before their own axes.
                let axis = if rank == 2 { -1 } else { 1 - i64::try_from(rank).unwrap_or(0) };
                layers.insert(site.node, Sums { path: site.path.clone(), axis, total: None, batches: 0 });
            }
        }
        layers
    }
}

/// Takes the mean differences so far out of the values of layers, each as it is computed.
struct Correct<'c> {
    exact: &'c Values,
    layers: &'c mut NodeMap<Sums>,
}

impl Hook for Correct<'_> {
    fn after(&mut self, _: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        let (Some(sums), Some(exact), Value::Tensor(found)) = (self.layers.get_mut(id), self.exact.get(id), &*value)
        else {
            return Ok(());
        };
        sums.add(exact, found)?;
        *value = Value::Tensor(Rc::new(sums.corrected(found)?));
        Ok(())
    }
}

impl Sums {
    /// The value with the mean difference so far added to each channel.
    fn corrected(&self, found: &Tensor) -> Result<Tensor> {
        let Some(mean) = self.mean_so_far()? else { return Ok(found.shallow_clone()) };
        let mut shape = vec![1; found.dim()];
        let axis = usize::try_from(self.axis.rem_euclid(i64::try_from(found.dim()).unwrap_or(1))).unwrap_or(0);
        shape[axis] = -1;
        Ok(found.f_add(&mean.f_view(shape.as_slice())?)?)
    }

    /// Adds the mean difference of each channel on one batch.
    fn add(&mut self, exact: &Tensor, found: &Tensor) -> Result<()> {
        let difference = exact.f_to_kind(Kind::Double)?.f_sub(&found.f_to_kind(Kind::Double)?)?;
        let channels = difference.f_transpose(self.axis, -1)?;
        let count = channels.size().last().copied().unwrap_or(1);
        let mean = channels.f_reshape([-1, count])?.f_mean_dim([0i64].as_slice(), false, Kind::Double)?;
        self.total = Some(match self.total.take() {
            Some(total) => total.f_add(&mean)?,
            None => mean,
        });
        self.batches += 1;
        Ok(())
    }

    /// The mean over all batches, `f32[channels]`; none without any.
    fn mean_so_far(&self) -> Result<Option<Tensor>> {
        let Some(total) = &self.total else { return Ok(None) };
        Ok(Some(total.f_div_scalar(self.batches)?.f_to_kind(Kind::Float)?))
    }
}

/// Adds the corrections of a file to the biases of a graph.
///
/// # Errors
///
/// [`Error::Quantization`] with the layer that is not there, or has another number of output channels.
pub(super) fn correct(module: &mut GraphModule, qparams: &QParamsFile) -> Result<()> {
    for (weight, correction) in &qparams.biases {
        let path = weight.strip_suffix(".weight").unwrap_or(weight);
        let Some(layer) = module.submodule(path) else {
            correct_product(module, weight, correction)?;
            continue;
        };
        let (Some(ws), bias) = (weighted::weight(layer), weighted::bias(layer)) else { return Err(missing(weight)) };
        let bias = corrected((weight, ws.size()[weighted::channel_axis(layer)]), bias, correction, ws)?;
        let corrected = weighted::with_weight(layer, ws.shallow_clone(), Some(bias)).ok_or_else(|| missing(weight))?;
        module.put_submodule(path.to_owned(), corrected);
    }
    Ok(())
}

/// Corrects the bias of a linear product with a weight of the model.
fn correct_product(module: &mut GraphModule, weight: &str, correction: &[f32]) -> Result<()> {
    let graph = module.graph();
    let nodes = graph.region(graph.body()).nodes.iter().copied();
    let is_product = |&id: &NodeId| {
        patterns::op_of(graph, id) == Some(ops::LINEAR) && patterns::weight_site(graph, id).as_deref() == Some(weight)
    };
    let id = nodes.clone().find(is_product).ok_or_else(|| missing(weight))?;
    let ws = module.tensor(weight).ok_or_else(|| missing(weight))?;
    let bias = match graph.node(id).args.get(2) {
        Some(Arg::Node(read)) => match &graph.node(*read).op {
            Op::GetAttr(path) => module.tensor(path),
            _ => return Err(missing(weight)),
        },
        _ => None,
    };
    let bias = corrected((weight, ws.size()[0]), bias, correction, ws)?;
    let (path, origin) = (format!("{weight}_corrected_bias"), graph.node(id).origin.clone());
    let graph = module.graph_mut();
    let read = graph.insert_before(id, Op::GetAttr(path.clone()), Vec::new(), "bias", Type::TENSOR, origin);
    let args = &mut graph.node_mut(id).args;
    args.truncate(2);
    args.push(Arg::Node(read));
    module.add_tensor(path, bias);
    Ok(())
}

/// The bias of a layer with so many output channels, where and as its weight is, with the correction added.
fn corrected((site, channels): (&str, i64), bias: Option<&Tensor>, correction: &[f32], ws: &Tensor) -> Result<Tensor> {
    if i64::try_from(correction.len()) != Ok(channels) {
        let reason = format!("a bias of {channels} numbers is to be corrected by {}", correction.len());
        return Err(Error::Quantization { site: site.to_owned(), reason });
    }
    let correction = Tensor::f_from_slice(correction)?.f_to_device(ws.device())?;
    Ok(bias.map_or_else(|| Ok(correction.shallow_clone()), |bias| bias.f_add(&correction))?)
}
