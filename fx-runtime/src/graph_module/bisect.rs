//! Where two forms of one model part: the first node whose value leaves a tolerance.

use std::collections::HashMap;
use std::fmt;

use fx_ir::{Graph, Node, NodeId};
use serde::Serialize;
use tch::{Kind, Tensor};

use super::{GraphModule, Interpreter, Value, convert};
use crate::Result;

/// How far values may lie apart: `|a - b| <= absolute + relative * |b|`, as in `torch.allclose`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Of the size of the value.
    pub relative: f64,
    /// Of any value.
    pub absolute: f64,
}

/// PyTorch's for f32: 1.3e-6 and 1e-5 (`torch.testing.assert_close`), ten times as much, for sums in another order.
impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { relative: 1.3e-5, absolute: 1e-4 }
    }
}

/// What is told of a tensor's values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Its shape.
    pub shape: Vec<i64>,
    /// The smallest value that is a number.
    pub min: f64,
    /// The mean of the values that are numbers.
    pub mean: f64,
    /// The largest value that is a number.
    pub max: f64,
    /// How many values are NaN.
    pub nan: i64,
}

/// The first node at which two graphs yield different values.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The node's name, in both graphs.
    pub node: String,
    /// The user's source lines, if they are known.
    pub place: Option<String>,
    /// The passes that made the node of the second graph.
    pub passes: Vec<&'static str>,
    /// What the node stands for, in the names of the user: `conv1`, `bn1`, `relu`.
    pub labels: Vec<String>,
    /// The largest distance of two values; NaN if one is NaN where the other is not.
    pub largest: f64,
    /// Of the first graph.
    pub reference: Statistics,
    /// Of the second graph.
    pub found: Statistics,
    /// How many nodes before it agree.
    pub agreeing: usize,
}

/// Runs two graphs on the same inputs, and finds the first node of the second whose value leaves the tolerance of the node
/// of its name in the first; none where all agree.
///
/// A pass keeps the name of the node whose value it computes otherwise, so that a fused node is compared with the last of
/// those that it replaced. A node of a [quantized](crate::quant::quantize) graph that yields codes is compared by what they
/// stand for with the node that it notes as `value_of`; the tolerance is then one of quantization, a step of its scale at
/// least. Both graphs run without gradients, and all their values lie in memory at once.
///
/// ```
/// use fx_runtime::graph_module::{bisect, value};
/// use fx_runtime::{Tensor, instance::{Arg, Tracer}};
///
/// let net = |factor: f64| {
///     let mut t = Tracer::new("net");
///     t.file("src/net.rs");
///     let xs = t.input("xs", true);
///     let ys = t.call("relu", &[&xs], 1);
///     let ys = t.call("mul.Scalar", &[&ys, &Arg::Float(factor)], 2);
///     t.finish(&[&ys])
/// };
/// let found = bisect(&net(2.0)?, &net(2.5)?, &[value(Tensor::from_slice(&[1.0, -3.0]))], Default::default())?;
/// let found = found.expect("the factors differ");
/// assert_eq!((found.node.as_str(), found.place.as_deref(), found.agreeing), ("mul", Some("src/net.rs:2"), 1));
/// # Ok::<(), fx_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`GraphModule::run`] of either.
pub fn bisect(
    reference: &GraphModule,
    other: &GraphModule,
    inputs: &[Value],
    tolerance: Tolerance,
) -> Result<Option<Divergence>> {
    tch::no_grad(|| {
        let mut first = Interpreter::new(reference).keep_values();
        first.run(&copies(inputs))?;
        let mut second = Interpreter::new(other).keep_values();
        second.run(&copies(inputs))?;
        let (before, after) = (reference.graph(), other.graph());
        let named: HashMap<&str, NodeId> =
            before.nodes().into_iter().map(|id| (before.node(id).name.as_str(), id)).collect();
        let mut agreeing = 0;
        for id in after.nodes() {
            let codes = Codes::of(after.node(id));
            let name = codes.as_ref().map_or(&after.node(id).name, |codes| &codes.value_of);
            let Some(&twin) = named.get(name.as_str()) else { continue };
            let pair =
                first.value_of(twin).and_then(convert::tensor).zip(second.value_of(id).and_then(convert::tensor));
            let Some((wanted, found)) = pair.filter(|_| !is_placeholder(after, id)) else { continue };
            let found = codes.map_or_else(|| Ok(found.shallow_clone()), |codes| codes.dequantized(found))?;
            if let Some(largest) = distance(wanted, &found, tolerance)? {
                return Ok(Some(divergence(after, id, (wanted, &found), largest, agreeing)?));
            }
            agreeing += 1;
        }
        Ok(None)
    })
}

/// What the codes that a node of a quantized graph yields stand for.
struct Codes {
    value_of: String,
    scale: f64,
    zero_point: i64,
}

impl Codes {
    /// As the node notes it; none if it yields no codes.
    fn of(node: &Node) -> Option<Codes> {
        let (scale, zero_point) = (node.meta.get("scale")?, node.meta.get("zero_point")?);
        Some(Codes { value_of: node.meta.get("value_of")?, scale, zero_point })
    }

    fn dequantized(&self, codes: &Tensor) -> Result<Tensor> {
        Ok(codes.f_to_kind(Kind::Double)?.f_sub_scalar(self.zero_point)?.f_mul_scalar(self.scale)?)
    }
}

fn is_placeholder(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).op == fx_ir::Op::Placeholder
}

/// Tensors of their own, so that what one run writes to its inputs the other does not see.
fn copies(inputs: &[Value]) -> Vec<Value> {
    let copy = |input: &Value| match input {
        Value::Tensor(tensor) => Value::Tensor(tensor.copy().into()),
        other => other.clone(),
    };
    inputs.iter().map(copy).collect()
}

/// The largest distance of two tensors, if it is beyond the tolerance.
fn distance(wanted: &Tensor, found: &Tensor, tolerance: Tolerance) -> Result<Option<f64>> {
    if wanted.size() != found.size() {
        return Ok(Some(f64::INFINITY));
    }
    let [wanted, found] = [wanted, found].map(|tensor| tensor.f_to_kind(Kind::Double));
    let (wanted, found) = (wanted?, found?);
    if found.f_allclose(&wanted, tolerance.relative, tolerance.absolute, true)? {
        return Ok(None);
    }
    Ok(Some(found.f_sub(&wanted)?.f_abs()?.f_max()?.f_double_value(&[])?))
}

fn divergence(
    graph: &Graph,
    id: NodeId,
    (wanted, found): (&Tensor, &Tensor),
    largest: f64,
    agreeing: usize,
) -> Result<Divergence> {
    let node = graph.node(id);
    Ok(Divergence {
        node: node.name.clone(),
        place: node.origin.lines(),
        passes: node.origin.passes.clone(),
        labels: node.origin.labels.clone(),
        largest,
        reference: statistics(wanted)?,
        found: statistics(found)?,
        agreeing,
    })
}

fn statistics(tensor: &Tensor) -> Result<Statistics> {
    let shape = tensor.size();
    let values = tensor.f_to_kind(Kind::Double)?.f_flatten(0, -1)?;
    let is_nan = values.f_isnan()?;
    let nan = is_nan.f_sum(Kind::Int64)?.f_int64_value(&[])?;
    let numbers = values.f_masked_select(&is_nan.f_logical_not()?)?;
    if numbers.numel() == 0 {
        return Ok(Statistics { shape, min: f64::NAN, mean: f64::NAN, max: f64::NAN, nan });
    }
    let one = |value: Tensor| value.f_double_value(&[]);
    let (min, mean, max) = (one(numbers.f_min()?)?, one(numbers.f_mean(Kind::Double)?)?, one(numbers.f_max()?)?);
    Ok(Statistics { shape, min, mean, max, nan })
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shape {:?}, min {:.6}, mean {:.6}, max {:.6}", self.shape, self.min, self.mean, self.max)?;
        if self.nan > 0 { write!(f, ", {} NaN", self.nan) } else { Ok(()) }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.node)?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        writeln!(f, " is the first of {} to differ, by {:.3e}", self.agreeing + 1, self.largest)?;
        if !self.labels.is_empty() {
            writeln!(f, "  of:     {}", self.labels.join(", "))?;
        }
        if !self.passes.is_empty() {
            writeln!(f, "  passes: {}", self.passes.join(", "))?;
        }
        writeln!(f, "  wanted: {}", self.reference)?;
        write!(f, "  found:  {}", self.found)
    }
}
