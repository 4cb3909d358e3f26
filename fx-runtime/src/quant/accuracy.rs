//! How much of each value is lost to quantization.
//!
//! `SQNR = 20 log10(|x| / |x - y|)`, in dB, of the float value `x` and the quantized one `y`, norms being Euclidean. Source:
//! `torch.ao.ns.fx.utils.compute_sqnr`. As a rule of thumb more than 40 dB cannot be told from floats, and less than 20 dB
//! is worth a look.

use std::fmt;
use std::rc::Rc;

use fx_ir::{Graph, NodeId, NodeMap};
use tch::{Kind, Tensor};

use super::{Prepared, QParams, QParamsFile, ZeroPoint};
use crate::graph_module::{GraphModule, Hook, Interpreter, Value};
use crate::{Error, Result};

/// What one site loses.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteAccuracy {
    /// The site's name.
    pub site: String,
    /// SQNR in dB where all before it is quantized too; infinite where nothing is lost.
    pub sqnr: f64,
    /// SQNR in dB where its inputs are quantized, but computed in floats: what is lost here alone.
    pub shadowed_sqnr: f64,
    /// The cosine of the angle between the float value and the quantized one, of which the first figure is.
    pub cosine: f64,
    /// The share of the float value's elements, from 0 to 1, that no integer stands for.
    pub saturation: f64,
}

/// What all sites lose, in the order in which they are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    /// The sites.
    pub sites: Vec<SiteAccuracy>,
    /// SQNR of the graph's result in dB, if that is one tensor.
    pub output_sqnr: Option<f64>,
}

impl Accuracy {
    /// The `count` sites that lose most by themselves, the worst first: those to leave in floats.
    pub fn worst(&self, count: usize) -> Vec<&SiteAccuracy> {
        let mut sites: Vec<&SiteAccuracy> = self.sites.iter().collect();
        sites.sort_by(|a, b| a.shadowed_sqnr.total_cmp(&b.shadowed_sqnr));
        sites.truncate(count);
        sites
    }
}

/// A table: a site a line.
impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.sites.iter().map(|site| site.site.len()).max().unwrap_or(0).max("output".len());
        writeln!(f, "{:width$}  {:>8}  {:>8}  {:>9}  {:>9}", "site", "SQNR dB", "shadowed", "cosine", "saturated")?;
        for SiteAccuracy { site, sqnr, shadowed_sqnr, cosine, saturation } in &self.sites {
            let share = 100.0 * saturation;
            writeln!(f, "{site:width$}  {sqnr:>8.2}  {shadowed_sqnr:>8.2}  {cosine:>9.6}  {share:>7.3} %")?;
        }
        self.output_sqnr.map_or(Ok(()), |sqnr| writeln!(f, "{:width$}  {sqnr:>8.2}", "output"))
    }
}

impl Prepared {
    /// Compares each site in floats with the same one quantized, on one set of inputs.
    ///
    /// # Errors
    ///
    /// Those of [`Prepared::reference`] and of [`GraphModule::run`].
    pub fn accuracy(&self, qparams: &QParamsFile, inputs: &[Value]) -> Result<Accuracy> {
        let _no_grad = tch::no_grad_guard();
        let reference = self.reference(qparams)?;
        let nodes: Vec<NodeId> = self.placed.sites.iter().map(|site| site.node).collect();
        let (wanted, exact) = Prepared::tapped(&self.module, &nodes, None, inputs)?;
        let (found, propagated) = Prepared::tapped(&reference, &nodes, None, inputs)?;
        let (_, shadowed) = Prepared::tapped(&reference, &nodes, Some(&exact), inputs)?;

        let mut sites = Vec::new();
        for site in &self.placed.sites {
            let (id, of) = (site.node, &qparams.sites[&site.name]);
            let values = [&exact, &propagated, &shadowed].map(|values| values.get(id));
            let [Some(exact), Some(propagated), Some(shadowed)] = values else { continue };
            let quantized = of.fake_quantize(&single(propagated)?)?;
            sites.push(SiteAccuracy {
                site: site.name.clone(),
                sqnr: sqnr(exact, &quantized)?,
                shadowed_sqnr: sqnr(exact, &of.fake_quantize(&single(shadowed)?)?)?,
                cosine: cosine(exact, &quantized)?,
                saturation: saturation(exact, of)?,
            });
        }
        let output_sqnr = match (&wanted, &found) {
            (Value::Tensor(wanted), Value::Tensor(found)) => Some(sqnr(wanted, found)?),
            _ => None,
        };
        Ok(Accuracy { sites, output_sqnr })
    }

    /// Runs a graph, on the given values behind nodes that have one; yields its result and the values of these nodes, as
    /// they were before.
    pub(super) fn tapped(
        module: &GraphModule,
        nodes: &[NodeId],
        given: Option<&Values>,
        inputs: &[Value],
    ) -> Result<(Value, Values)> {
        let mut taps = Taps { nodes: nodes.to_vec(), values: Values::default(), given };
        let result = Interpreter::new(module).with_hook(&mut taps).run(inputs)?;
        Ok((result, taps.values))
    }
}

/// The values of nodes.
pub(super) type Values = NodeMap<Rc<Tensor>>;

/// Keeps the values of nodes, and hands on other ones in their place.
struct Taps<'t> {
    nodes: Vec<NodeId>,
    values: Values,
    given: Option<&'t Values>,
}

impl Hook for &mut Taps<'_> {
    fn after(&mut self, _: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        let Value::Tensor(tensor) = &*value else { return Ok(()) };
        if !self.nodes.contains(&id) {
            return Ok(());
        }
        // What follows may write to the value in place.
        self.values.insert(id, Rc::new(tensor.f_detach_copy()?));
        if let Some(given) = self.given.and_then(|given| given.get(id)) {
            *value = Value::Tensor(Rc::new(given.f_detach_copy()?));
        }
        Ok(())
    }
}

fn single(tensor: &Tensor) -> Result<Tensor> {
    Ok(tensor.f_to_kind(Kind::Float)?)
}

/// The signal of the first over the noise between both, in dB.
///
/// # Errors
///
/// [`Error::Torch`] if the shapes differ.
pub fn sqnr(exact: &Tensor, quantized: &Tensor) -> Result<f64> {
    let (exact, quantized) = (exact.f_to_kind(Kind::Double)?, quantized.f_to_kind(Kind::Double)?);
    let noise = exact.f_sub(&quantized)?.f_norm()?.f_double_value(&[])?;
    if noise == 0.0 {
        return Ok(f64::INFINITY);
    }
    Ok(20.0 * (exact.f_norm()?.f_double_value(&[])? / noise).log10())
}

fn cosine(a: &Tensor, b: &Tensor) -> Result<f64> {
    let [a, b] = [a, b].map(|tensor| tensor.f_to_kind(Kind::Double)?.f_reshape([-1]));
    let (a, b) = (a?, b?);
    let norms = a.f_norm()?.f_double_value(&[])? * b.f_norm()?.f_double_value(&[])?;
    Ok(if norms == 0.0 { 1.0 } else { a.f_dot(&b)?.f_double_value(&[])? / norms })
}

/// The share of elements more than half a step outside of what the integers stand for.
#[expect(clippy::cast_precision_loss, reason = "integers of eight bits and counts of elements")]
fn saturation(xs: &Tensor, of: &QParams) -> Result<f64> {
    let (ZeroPoint::Int(zero), [scale]) = (&of.zero_point, of.scale.as_slice()) else {
        let reason = "its parameters are not per tensor".to_owned();
        return Err(Error::Quantization { site: of.scheme.to_string(), reason });
    };
    let zero = zero.first().copied().unwrap_or(0);
    let bound = |integer: i64, half: f64| ((integer - zero) as f64 + half) * f64::from(*scale);
    let below = xs.f_lt(bound(of.quant_min, -0.5))?;
    let outside = below.f_logical_or(&xs.f_gt(bound(of.quant_max, 0.5))?)?;
    let count = outside.f_sum(Kind::Int64)?.f_int64_value(&[])?;
    Ok(count as f64 / xs.numel().max(1) as f64)
}
