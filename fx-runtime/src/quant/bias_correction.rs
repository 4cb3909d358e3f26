//! Bias correction: what rounding moves the mean of each output channel by is taken out of the bias.
//!
//! Rounded weights and inputs make errors that do not cancel out over the positions of a channel. A layer whose inputs are
//! quantized, but computed in floats, is compared with the same one in floats, and the mean difference of each channel goes
//! into its bias. Source: Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction" (2019),
//! section 4.2, with means of real data.

use std::collections::BTreeMap;

use fx_ir::{NodeId, NodeMap};
use tch::{Kind, Tensor};

use super::accuracy::Values;
use super::reference::missing;
use super::{Prepared, QParamsFile, patterns, weighted};
use crate::graph_module::{GraphModule, IntoInputs};
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
        let sites: Vec<NodeId> = self.placed.sites.iter().map(|site| site.node).collect();
        let nodes: Vec<NodeId> = sites.iter().copied().chain(layers.iter().map(|(id, _)| id)).collect();
        for batch in batches {
            let inputs = batch.inputs();
            let (_, exact) = Self::tapped(&self.module, &nodes, None, &inputs)?;
            let mut given = Values::default();
            for &site in &sites {
                if let Some(value) = exact.get(site) {
                    given.insert(site, value.clone());
                }
            }
            let (_, found) = Self::tapped(&reference, &nodes, Some(&given), &inputs)?;
            for &node in &nodes[sites.len()..] {
                if let (Some(sums), Some(exact), Some(found)) = (layers.get_mut(node), exact.get(node), found.get(node))
                {
                    sums.add(exact, found)?;
                }
            }
        }
        let mut biases = BTreeMap::new();
        for (_, sums) in layers.iter() {
            if let Some(mean) = sums.mean()? {
                biases.insert(sums.path.clone(), mean);
            }
        }
        Ok(QParamsFile { biases, ..plain })
    }

    /// The layers whose weights are quantized.
    fn layers(&self) -> NodeMap<Sums> {
        let mut layers = NodeMap::default();
        for site in &self.placed.weights {
            let layer =
                patterns::module_path(self.module.graph(), site.node).and_then(|path| self.module.submodule(path));
            if let Some(rank) = layer.and_then(weighted::weight).map(Tensor::dim) {
                // Of a matrix the last axis, of images the one before their own axes.
                let axis = if rank == 2 { -1 } else { 1 - i64::try_from(rank).unwrap_or(0) };
                layers.insert(site.node, Sums { path: site.path.clone(), axis, total: None, batches: 0 });
            }
        }
        layers
    }
}

impl Sums {
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

    /// The mean over all batches; none without any.
    fn mean(&self) -> Result<Option<Vec<f32>>> {
        let Some(total) = &self.total else { return Ok(None) };
        Ok(Some(Vec::try_from(total.f_div_scalar(self.batches)?.f_to_kind(Kind::Float)?)?))
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
        let layer = module.submodule(path).ok_or_else(|| missing(weight))?;
        let (Some(ws), bias) = (weighted::weight(layer), weighted::bias(layer)) else { return Err(missing(weight)) };
        let channels = ws.size()[weighted::channel_axis(layer)];
        if i64::try_from(correction.len()) != Ok(channels) {
            let reason = format!("a bias of {channels} numbers is to be corrected by {}", correction.len());
            return Err(Error::Quantization { site: weight.clone(), reason });
        }
        let correction = Tensor::f_from_slice(correction)?.f_to_device(ws.device())?;
        let bias = bias.map_or_else(|| Ok(correction.shallow_clone()), |bias| bias.f_add(&correction))?;
        let corrected = weighted::with_weight(layer, ws.shallow_clone(), Some(bias)).ok_or_else(|| missing(weight))?;
        module.put_submodule(path.to_owned(), corrected);
    }
    Ok(())
}
