//! The batch axis: whether the samples of a batch of images go through a forward side by side.
//!
//! Where they do, a part of a batch yields the same part of the result, and a large batch can be computed piece by piece.
//! What is not known to keep samples apart does not; what is taken for certain here is checked again when a piece is there:
//! it has as many samples as went in.

use fx_ir::ops::SamplesRule as Rule;
use fx_ir::{Arg, Binding, Bindings, Effect, Graph, HostOp, LayerRow, NodeId, NodeMap, Op, OpId, RegionId, Type};

use super::layer::leaf_of;

/// Axes of a batch of images.
const IMAGES: usize = 4;

/// The methods that yield all sizes of a tensor.
/// The function of the runtime that puts a batch norm's numbers along the axis of channels of its input.
const CHANNELS: &str = "norm::along_channels";
const SIZES: [&str; 6] = ["size", "size1", "size2", "size3", "size4", "size5"];

/// Whether a part of `batch`, which is of images, makes the same part of the only result.
pub fn are_side_by_side(graph: &Graph, bindings: &Bindings, batch: NodeId) -> bool {
    let does_more = |&id: &NodeId| bindings.get(id) == Binding::Call && graph.node(id).op.effect() != Effect::Pure;
    if graph.nodes().iter().any(does_more) {
        return false;
    }
    let mut walk = Walk { graph, bindings, known: NodeMap::default(), convolves: false };
    walk.known.insert(batch, Value::Batched(IMAGES));
    let results = walk.region(graph.body());
    walk.convolves && matches!(results[..], [Value::Batched(_)])
}

/// What a value has to do with the samples.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// Nothing.
    Fixed,
    /// A tensor of so many axes, the first of which is that of the samples.
    Batched(usize),
    /// A list of such tensors.
    List(usize),
    /// How many there are.
    Count,
    /// A tuple.
    Parts(Vec<Value>),
    /// Anything else.
    Mixed,
}

struct Walk<'a> {
    graph: &'a Graph,
    bindings: &'a Bindings,
    known: NodeMap<Value>,
    /// There are activations that are worth it.
    convolves: bool,
}

impl Walk<'_> {
    /// What the region yields.
    fn region(&mut self, region: RegionId) -> Vec<Value> {
        for &id in &self.graph.region(region).nodes {
            let value = self.node(id);
            self.known.insert(id, value);
        }
        let yields = self.graph.yield_of(region).map_or(&[][..], |end| &self.graph.node(end).args);
        yields.iter().map(|arg| self.value(arg)).collect()
    }

    fn value(&self, arg: &Arg) -> Value {
        match arg {
            Arg::Node(id) if self.bindings.get(*id) != Binding::Call => Value::Fixed,
            Arg::Node(id) => self.known.get(*id).cloned().unwrap_or(Value::Mixed),
            Arg::List(items) => {
                let items: Vec<Value> = items.iter().map(|item| self.value(item)).collect();
                match items.first() {
                    Some(Value::Batched(rank)) if items.iter().all(|item| *item == items[0]) => Value::List(*rank),
                    _ if items.iter().all(|item| *item == Value::Fixed) => Value::Fixed,
                    _ => Value::Mixed,
                }
            }
            Arg::Expr(expr) => self.computed(&expr.op, &expr.args),
            _ => Value::Fixed,
        }
    }

    fn node(&mut self, id: NodeId) -> Value {
        let node = self.graph.node(id);
        let values: Vec<Value> = node.args.iter().map(|arg| self.value(arg)).collect();
        match &node.op {
            Op::Call(op) => self.call(id, *op, &values),
            Op::Host(host) => self.host(id, &host.op, &values),
            Op::TupleGet(at) => match &values[..] {
                [Value::Parts(parts)] => parts.get(*at).cloned().unwrap_or(Value::Mixed),
                [Value::Fixed] => Value::Fixed,
                _ => Value::Mixed,
            },
            Op::If | Op::Match(_) if values.first() == Some(&Value::Fixed) => self.arms(id),
            Op::For(_) if values.first() == Some(&Value::Fixed) => self.turns(id, &values[1..]),
            Op::Yield => Value::Fixed,
            op if !op.is_control_flow() && values.iter().all(|value| *value == Value::Fixed) => Value::Fixed,
            _ => Value::Mixed,
        }
    }

    /// Arms agree on what they yield.
    fn arms(&mut self, id: NodeId) -> Value {
        let regions = self.graph.node(id).regions.clone();
        let mut arms = regions.into_iter().map(|region| {
            self.bind(region, &[]);
            self.region(region)
        });
        let first = arms.next().unwrap_or_default();
        if arms.all(|arm| arm == first) { joined(first) } else { Value::Mixed }
    }

    /// Every iteration yields what it was given.
    fn turns(&mut self, id: NodeId, carried: &[Value]) -> Value {
        let Some(&region) = self.graph.node(id).regions.first() else { return Value::Mixed };
        self.bind(region, carried);
        let next = self.region(region);
        if next == carried { joined(next) } else { Value::Mixed }
    }

    /// The last parameters of a region are these, what a pattern binds before them is fixed.
    fn bind(&mut self, region: RegionId, last: &[Value]) {
        let params = &self.graph.region(region).params;
        let bound = params.len().saturating_sub(last.len());
        for (at, &param) in params.iter().enumerate() {
            let value = at.checked_sub(bound).and_then(|at| last.get(at)).unwrap_or(&Value::Fixed);
            self.known.insert(param, value.clone());
        }
    }

    fn call(&mut self, id: NodeId, op: OpId, values: &[Value]) -> Value {
        let node = self.graph.node(id);
        let rule = op.row().map_or(Rule::Mixes, |row| row.samples);
        if rule == Rule::Pointwise {
            return match (samples_and_fixed(values), &node.ty) {
                (Some(rank), Type::Tuple(parts)) => Value::Parts(vec![Value::Batched(rank); parts.len()]),
                (Some(rank), _) => Value::Batched(rank),
                (None, _) if values.iter().all(|value| *value == Value::Fixed) => Value::Fixed,
                (None, _) => Value::Mixed,
            };
        }
        let list = matches!(values.first(), Some(Value::List(_)));
        let (Some(Value::Batched(rank) | Value::List(rank)), rest) =
            (values.first(), values.get(1..).unwrap_or_default())
        else {
            return if values.iter().all(|value| *value == Value::Fixed) { Value::Fixed } else { Value::Mixed };
        };
        let rank = *rank;
        let axis = |at: usize| Axes { rank }.of(node.args.get(at));
        let is_fixed = rest.iter().all(|value| *value == Value::Fixed);
        let samples = match rule {
            Rule::Joins if list && axis(1).is_some() => Some(rank),
            _ if list => None,
            Rule::Reshapes => self.reshaped(node.args.get(1)),
            Rule::Convolves if is_fixed && rank == IMAGES => {
                self.convolves = true;
                Some(rank)
            }
            Rule::Multiplies if rest == [Value::Batched(rank)] && rank > 2 => Some(rank),
            _ if !is_fixed => None,
            Rule::Keeps | Rule::Multiplies => Some(rank),
            Rule::KeepsImages if rank == IMAGES => Some(rank),
            Rule::FlattensRest => Some(2),
            Rule::Flattens => axis(1).and_then(|from| Some(rank - (axis(2)? - from))),
            Rule::Transposes => axis(1).and(axis(2)).map(|_| rank),
            Rule::Permutes => matches!(node.args.get(1), Some(Arg::List(order)) if order.first() == Some(&Arg::Int(0)))
                .then_some(rank),
            Rule::Along => axis(1).map(|_| rank),
            Rule::Drops => axis(1).map(|_| rank - 1),
            Rule::Adds => Axes { rank: rank + 1 }.of(node.args.get(1)).map(|_| rank + 1),
            Rule::Reduces => self.reduced(id, rank),
            Rule::Splits if axis(2).is_some() => return Value::List(rank),
            _ => None,
        };
        samples.map_or(Value::Mixed, Value::Batched)
    }

    /// So many axes, of which the first stays.
    fn reshaped(&self, sizes: Option<&Arg>) -> Option<usize> {
        let Some(Arg::List(sizes)) = sizes else { return None };
        let (first, rest) = sizes.split_first()?;
        let stays = *first == Arg::Int(-1) || self.value(first) == Value::Count;
        let fits = stays && !rest.is_empty() && rest.iter().all(|size| self.value(size) == Value::Fixed);
        fits.then_some(sizes.len())
    }

    /// Sums, means and maxima along other axes than that of the samples.
    fn reduced(&self, id: NodeId, rank: usize) -> Option<usize> {
        let node = self.graph.node(id);
        let Some(Arg::List(axes)) = node.args.get(1) else { return None };
        let apart = axes.iter().all(|axis| Axes { rank }.of(Some(axis)).is_some());
        match node.args.get(2) {
            _ if !apart || axes.is_empty() => None,
            Some(Arg::Bool(true)) => Some(rank),
            Some(Arg::Bool(false)) | None => Some(rank - axes.len()),
            _ => None,
        }
    }

    /// A host node: a kernel of the runtime's, or what is computed of sizes.
    fn host(&mut self, id: NodeId, op: &HostOp, values: &[Value]) -> Value {
        let HostOp::RuntimeMethod(name) = op else { return self.computed(op, &self.graph.node(id).args) };
        match (name.as_str(), values) {
            (_, values) if values.iter().all(|value| *value == Value::Fixed) => Value::Fixed,
            ("run", [Value::Fixed, Value::Batched(rank)]) => self.kernel(id, *rank),
            ("run_add", [Value::Fixed, Value::Batched(rank), other]) if values[1] == *other => self.kernel(id, *rank),
            _ => Value::Mixed,
        }
    }

    /// A host operation on arguments.
    fn computed(&self, op: &HostOp, args: &[Arg]) -> Value {
        let values: Vec<Value> = args.iter().map(|arg| self.value(arg)).collect();
        let index = || match args.get(1) {
            Some(Arg::Int(at)) => usize::try_from(*at).ok(),
            _ => None,
        };
        match (op, &values[..]) {
            (_, values) if values.iter().all(|value| *value == Value::Fixed) => Value::Fixed,
            (HostOp::Ref | HostOp::Use, [one]) => one.clone(),
            // Of what is normalised it takes the number of axes alone.
            (HostOp::Runtime(name), [Value::Fixed, Value::Batched(_)]) if name == CHANNELS => Value::Fixed,
            (HostOp::Method(name), [Value::Batched(rank)]) if SIZES.contains(&name.as_str()) => sizes(*rank),
            (HostOp::Item | HostOp::ItemRef, [Value::Parts(parts), Value::Fixed]) => {
                index().and_then(|at| parts.get(at)).cloned().unwrap_or(Value::Mixed)
            }
            (HostOp::Item | HostOp::ItemRef, [Value::List(rank), Value::Fixed]) if index().is_some() => {
                Value::Batched(*rank)
            }
            _ => Value::Mixed,
        }
    }

    /// A layer of the frozen type's own.
    fn kernel(&mut self, id: NodeId, rank: usize) -> Value {
        let layer = self.graph.node(id).input(0).map(|layer| self.graph.node(layer).ty.clone());
        let Some(layer) = layer else { return Value::Mixed };
        let Some(("frozen", name)) = layer.of_runtime() else { return Value::Mixed };
        let rule = match name {
            "Conv" => Rule::Convolves,
            "Linear" | "Product" => Rule::Keeps,
            _ => leaf_of(&layer).map_or(Rule::Mixes, LayerRow::samples_rule),
        };
        self.convolves |= rule == Rule::Convolves;
        let keeps = match rule {
            Rule::Keeps | Rule::Pointwise => true,
            Rule::KeepsImages | Rule::Convolves => rank == IMAGES,
            _ => false,
        };
        if keeps { Value::Batched(rank) } else { Value::Mixed }
    }
}

/// Several values are a tuple.
fn joined(values: Vec<Value>) -> Value {
    match <[Value; 1]>::try_from(values) {
        Ok([one]) => one,
        Err(several) => Value::Parts(several),
    }
}

/// Axes of all samples that have as many, beside what is fixed.
fn samples_and_fixed(values: &[Value]) -> Option<usize> {
    let mut others = values.iter().filter(|value| **value != Value::Fixed);
    let &Value::Batched(rank) = others.next()? else { return None };
    others.all(|value| *value == Value::Batched(rank)).then_some(rank)
}

fn sizes(rank: usize) -> Value {
    Value::Parts((0..rank).map(|axis| if axis == 0 { Value::Count } else { Value::Fixed }).collect())
}

/// Axes of a tensor.
struct Axes {
    rank: usize,
}

impl Axes {
    /// An axis from the first on; none for that of the samples, and where it is not known.
    fn of(&self, arg: Option<&Arg>) -> Option<usize> {
        let &Arg::Int(axis) = arg? else { return None };
        let from_end = usize::try_from(axis.unsigned_abs()).ok()?;
        let axis = if axis < 0 { self.rank.checked_sub(from_end)? } else { from_end };
        (1..self.rank).contains(&axis).then_some(axis)
    }
}

#[cfg(test)]
mod tests {
    use fx_ir::ParseError;

    use super::*;

    fn holds(body: &str) -> Result<bool, ParseError> {
        let text = format!(
            "graph f(self: module<Net>, x: tensor) {{
              %conv = get_attr[conv](self) : rust<::fx_runtime::frozen::Conv>
              %fc = get_attr[fc](self) : rust<::fx_runtime::frozen::Linear>
              %pool = get_attr[pool](self) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::MaxPool2D>>
              %layers = get_attr[layers](self) : list<rust<::fx_runtime::frozen::Conv>>
              %flag = get_attr[flag](self) : rust<bool>
              {body}
            }}"
        );
        let graph: Graph = text.parse()?;
        let batch = graph.region(graph.body()).params[1];
        Ok(are_side_by_side(&graph, &Bindings::of(&graph, true), batch))
    }

    const RUN: &str = r#"%y = host.runtime_method["run", fallible](%conv, host.ref(x)) : tensor ; "#;

    #[test]
    fn samples_stay_apart() -> Result<(), ParseError> {
        for rest in [
            "yield %y",
            r#"%z = host.runtime_method["run_add", fallible](%conv, host.ref(%y), host.ref(%y)) : tensor ; yield %z"#,
            "%z = mean.dim(%y, [-1, -2], false) ; %s = sigmoid(%z) ; yield %s",
            r#"%p = adaptive_avg_pool2d(%y, [1, 1]) ; %f = flatten(%p, 1, -1) ; %z = host.runtime_method["run"](%fc, host.ref(%f)) : tensor ; yield %z"#,
            r#"%n = host.item(host.method["size"](%y), 0) : rust<i64> ; %z = reshape(%y, [%n, -1]) ; yield %z"#,
            r#"%n = host.method["size4", fallible](%y) : (rust<i64>, rust<i64>, rust<i64>, rust<i64>) ; %b = tuple_get[0](%n) ; %c = tuple_get[1](%n) ; %z = reshape(%y, [%b, %c, -1]) ; yield %z"#,
            "%z = cat([%y, %y], 1) ; %u = permute(%z, [0, 2, 3, 1]) ; yield %u",
            r#"%z = host.runtime_method["run"](%pool, host.ref(%y)) : tensor ; %s = add(%z, %z) ; yield %s"#,
            r#"%z = if(%flag) { %a = relu(%y) ; yield %a } else { yield %y } ; yield %z"#,
            r#"%z = for["%0"](%layers, %y) (layer: rust<::fx_runtime::frozen::Conv>, at: tensor) { %a = host.runtime_method["run"](layer, host.ref(at)) : tensor ; yield %a } ; yield %z"#,
        ] {
            assert!(holds(&format!("{RUN}{rest}"))?, "{rest}");
        }
        Ok(())
    }

    #[test]
    fn what_may_mix_them_is_seen() -> Result<(), ParseError> {
        for rest in [
            "%z = mean.dim(%y, [0], false) ; yield %z",
            "%z = mean(%y) ; yield %z",
            "%z = softmax(%y, 0) ; yield %z",
            "%z = softmax(%y, -4) ; yield %z",
            "%z = cat([%y, %y], 0) ; yield %z",
            "%z = reshape(%y, [8, -1]) ; yield %z",
            "%z = flatten(%y, 0, -1) ; yield %z",
            "%z = transpose(%y, 0, 1) ; yield %z",
            "%z = permute(%y, [1, 0, 2, 3]) ; yield %z",
            "%z = select(%y, 0, 1) ; yield %z",
            "%s = mean.dim(%y, [1, 2], false) ; %z = add(%y, %s) ; yield %z",
            "%z = relu_(%y) ; yield %z",
            "%z = rand_like(%y) ; %s = add(%y, %z) ; yield %s",
            "yield %y, %y",
            r#"%n = host.cast["f64"](host.item(host.method["size"](%y), 0)) : rust<f64> ; %z = div.Scalar(%y, %n) ; yield %z"#,
            r#"%c = host.binary[">"](host.method["double_value"](%y, host.array()), 0.0) : rust<bool> ; %z = if(%c) { %a = relu(%y) ; yield %a } else { yield %y } ; yield %z"#,
            r#"%z = for["%0"](%layers, %y) (layer: rust<::fx_runtime::frozen::Conv>, at: tensor) { %a = mean.dim(at, [1], false) ; yield %a } ; yield %z"#,
        ] {
            assert!(!holds(&format!("{RUN}{rest}"))?, "{rest}");
        }
        assert!(!holds("%y = relu(x) ; yield %y")?, "nothing is large enough");
        Ok(())
    }
}
