//! Channels of alike ranges: what one scale for a whole value costs where a few channels are much larger than the others.
//!
//! A channel of a value is divided by a factor, and the weights that read it are multiplied by it, which changes no result in
//! floats. The division goes into the weights of the layers that the value comes from, where nothing but ops that commute
//! with it lies between. Where something does, [`Prepared::smoothed`] divides the input of linear layers by itself.
//!
//! | file | which question it answers |
//! |---|---|
//! | `groups.rs` | which layers share the factors of a value |
//! | `channels.rs` | how large channels are, and how weights are scaled |

mod channels;
mod groups;

use fx_ir::{Arg, NodeId, Op, Type, ops};
use tch::Tensor;

use self::channels::Ranges;
use self::groups::Group;
use super::Prepared;
use super::reference::missing;
use crate::graph_module::{GraphModule, IntoInputs};
use crate::qparams::Equalization;
use crate::{Error, Result};

/// Rounds of cross-layer equalization, and the change of all factors below which there are no more.
const ROUNDS: usize = 20;
const CONVERGED: f64 = 1e-3;

impl Prepared {
    /// The same graph with the weights of consecutive layers equalized, to be calibrated anew.
    ///
    /// Layers with only `relu`, `leaky_relu`, dropout, pools, additions or a flattening between them share factors
    /// `sqrt(r1 / r2)` of the channels between them, `r1` being the largest weight of a channel's producers and `r2` that of
    /// its consumers, until they change no more. It needs no data. Source: Nagel et al., "Data-Free Quantization Through
    /// Weight Equalization and Bias Correction" (2019), section 4.1; its changes of `relu6` and its absorption of biases are
    /// left out, since they change results.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses.
    pub fn equalized(&self) -> Result<Prepared> {
        let _no_grad = tch::no_grad_guard();
        let mut module = self.module().shallow_clone();
        let groups: Vec<Group> = groups::groups(&module).into_iter().filter(Group::is_of_layers).collect();
        let mut all: Vec<Option<Tensor>> = groups.iter().map(|_| None).collect();
        for _ in 0..ROUNDS {
            let mut change = 0f64;
            for (group, sum) in groups.iter().zip(&mut all) {
                let (producers, consumers) = (group.producer_ranges(&module)?, group.consumer_ranges(&module)?);
                let factors = channels::quotient(&producers, &consumers, 0.5)?;
                group.with(&factors)?.scale_weights(&mut module)?;
                change = change.max(factors.f_log()?.f_abs()?.f_max()?.f_double_value(&[])?);
                *sum = Some(sum.take().map_or_else(|| Ok(factors.shallow_clone()), |sum| sum.f_mul(&factors))?);
            }
            if change < CONVERGED {
                break;
            }
        }
        let found = groups.iter().zip(all).filter_map(|(group, factors)| factors.map(|factors| group.with(&factors)));
        self.equalized_by(found.collect::<Result<_>>()?)
    }

    /// The same graph with the ranges of channels moved from values to weights, learned on these batches, to be calibrated
    /// anew.
    ///
    /// The factor of a channel is `x^alpha / w^(1 - alpha)`, with its largest value `x` and its largest weight `w`; from 0
    /// (values stay as they are) to 1 (all channels of a value become alike), as a rule 0.5. Where the factors cannot go into
    /// the layers before, as behind a GELU, the input of linear layers is divided when it is computed. Source: Xiao et al.,
    /// `SmoothQuant` (2023, arXiv 2211.10438), equation 4.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if `alpha` is not from 0 to 1, or a value is not finite; those of [`GraphModule::run`].
    pub fn smoothed<I: IntoInputs>(&self, alpha: f64, batches: impl IntoIterator<Item = I>) -> Result<Prepared> {
        let _no_grad = tch::no_grad_guard();
        if !(0.0..=1.0).contains(&alpha) {
            return Err(refused("smoothing", format!("its alpha is {alpha}; take one from 0 to 1, as a rule 0.5")));
        }
        let groups = groups::groups(self.module());
        // What is rounded: the pre-activations of a residual may be larger than what is left of them behind it.
        let nodes: Vec<NodeId> = self.sites().iter().map(|site| site.node).collect();
        let mut largest: Vec<Ranges> = groups.iter().map(|_| Ranges::default()).collect();
        for batch in batches {
            let (_, values) = Self::tapped(self.module(), &nodes, None, &batch.inputs())?;
            for (group, largest) in groups.iter().zip(&mut largest) {
                for &(id, axis) in &group.values {
                    if let Some(value) = values.get(id) {
                        largest.add(&channels::range_along(value, axis)?)?;
                    }
                }
            }
        }
        let mut found = Vec::new();
        for (group, largest) in groups.iter().zip(&largest) {
            let Some(values) = largest.all() else { continue };
            if values.f_isfinite()?.f_all()?.f_int64_value(&[])? == 0 {
                let site = &self.module().graph().node(group.values[0].0).name;
                return Err(refused(site, "its values are not finite".to_owned()));
            }
            found.push(group.with(&channels::quotient(values, &group.consumer_ranges(self.module())?, alpha)?)?);
        }
        self.equalized_by(found)
    }

    /// The same graph with the factors brought in.
    fn equalized_by(&self, more: Vec<Equalization>) -> Result<Prepared> {
        if !self.equalization().is_empty() {
            let reason = "it is equalized already; equalize or smooth what `prepare` yields".to_owned();
            return Err(refused(&self.module().graph().name, reason));
        }
        let mut module = self.module().shallow_clone();
        equalize(&mut module, &more)?;
        self.again(module, more)
    }
}

/// Brings the factors of a file into a graph with batch norms folded.
///
/// # Errors
///
/// [`Error::Quantization`] with the weight that is not there, or has another number of channels.
pub(super) fn equalize(module: &mut GraphModule, equalization: &[Equalization]) -> Result<()> {
    for of in equalization {
        let first = of.consumers.first().map_or("", String::as_str);
        if of.factors.iter().any(|factor| !factor.is_finite() || *factor <= 0.0) {
            return Err(refused(first, "a factor of its channels is not positive".to_owned()));
        }
        of.scale_weights(module)?;
        if of.producers.is_empty() {
            divide_value(module, of)?;
        }
    }
    Ok(())
}

/// Divides the value that the consumers read.
fn divide_value(module: &mut GraphModule, of: &Equalization) -> Result<()> {
    let graph = module.graph();
    let first = of.consumers.first().map_or("", String::as_str);
    let readers = groups::readers(graph, &of.consumers);
    let Some((&reader, value)) = readers.first().and_then(|reader| Some((reader, groups::data(graph, *reader)?)))
    else {
        return Err(missing(first));
    };
    if readers.len() != of.consumers.len() || readers.iter().any(|&id| groups::data(graph, id) != Some(value)) {
        return Err(refused(first, "the layers that share its factors read different values".to_owned()));
    }
    let (name, path) = (format!("{}_smoothed", graph.node(value).name), format!("{first}_smoothing"));
    let origin = graph.node(reader).origin.clone();
    let inverse = Tensor::f_from_slice(&of.factors)?.f_reciprocal()?;
    let graph = module.graph_mut();
    let read = Op::GetAttr(path.clone());
    let inverse_node = graph.insert_before(reader, read, Vec::new(), &name, Type::TENSOR, origin.clone());
    let args = vec![Arg::Node(value), Arg::Node(inverse_node)];
    let divided = graph.insert_before(reader, Op::Call(ops::MUL), args, &name, Type::TENSOR, origin);
    for id in readers {
        graph.replace_input_with(id, value, &Arg::Node(divided));
    }
    module.add_tensor(path, inverse);
    Ok(())
}

fn refused(site: &str, reason: String) -> Error {
    Error::Quantization { site: site.to_owned(), reason }
}
