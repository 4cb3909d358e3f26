//! A graph of ATen ops, evaluated op by op with `tch`: its regions as they run, its groups by their bodies.

mod host;

use std::collections::HashMap;

use fx_ir::pattern::Literal;
use fx_ir::{Arg, Graph, Node, NodeId, Op, Pattern, RegionId, Type};
use fx_runtime::frozen::{Activation, linear, product};
use tch::{Kind, Tensor};

/// What a node yields.
#[derive(Debug)]
pub enum Value {
    /// A tensor, which others may share.
    Tensor(Tensor),
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
    /// A list of integers.
    Ints(Vec<i64>),
    /// An element type.
    Kind(Kind),
    /// An optional value that is not there.
    Absent,
    /// Several values.
    Tuple(Vec<Value>),
    /// A part of the model, by the fields that lead to it.
    Module(String),
}

impl Value {
    fn share(&self) -> Value {
        match self {
            Value::Tensor(tensor) => Value::Tensor(tensor.shallow_clone()),
            Value::Number(number) => Value::Number(*number),
            Value::Bool(known) => Value::Bool(*known),
            Value::Ints(ints) => Value::Ints(ints.clone()),
            Value::Kind(kind) => Value::Kind(*kind),
            Value::Absent => Value::Absent,
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(Value::share).collect()),
            Value::Module(path) => Value::Module(path.clone()),
        }
    }
}

/// The weight of a layer, by the fields that lead to it and its sizes.
pub type Weights<'w> = &'w dyn Fn(&str, &[i64]) -> Tensor;

struct Machine<'g> {
    graph: &'g Graph,
    values: HashMap<NodeId, Value>,
    weights: Weights<'g>,
}

/// The tensors that a graph yields; what it is not given are the model and its layers.
///
/// # Panics
/// At an op that rules have not needed yet.
#[allow(clippy::panic, reason = "it is called in tests")]
pub fn eval(graph: &Graph, inputs: HashMap<NodeId, Value>, weights: Weights<'_>) -> Vec<Tensor> {
    let tensor = |value| match value {
        Value::Tensor(tensor) => tensor,
        other => panic!("{other:?} is no tensor in {graph}"),
    };
    let mut machine = Machine { graph, values: inputs, weights };
    machine.region(graph.body(), Vec::new()).into_iter().map(tensor).collect()
}

#[allow(clippy::panic, reason = "it is called in tests")]
impl Machine<'_> {
    /// Runs a region, its first parameters bound to `given`; yields what it does.
    fn region(&mut self, region: RegionId, given: Vec<Value>) -> Vec<Value> {
        let graph = self.graph;
        self.values.extend(graph.region(region).params.iter().copied().zip(given));
        for &id in &graph.region(region).nodes {
            let node = graph.node(id);
            if node.op == Op::Yield {
                return node.args.iter().map(|arg| self.value(arg)).collect();
            }
            let value = match &node.op {
                Op::GetAttr(_) if self.values.contains_key(&id) => continue,
                Op::GetAttr(field) => self.field(field, node),
                Op::Call(_) if node.is_group() => self.group(node),
                Op::Call(op) => Value::Tensor(self.call(op.name(), node)),
                Op::CallModule(kind) => self.layer(&kind.0, node),
                Op::TupleGet(part) => match self.value(&node.args[0]) {
                    Value::Tuple(mut parts) => parts.swap_remove(*part),
                    other => panic!("{other:?} has no parts"),
                },
                Op::Host(host) => self.host(&host.op, &node.args),
                op => self.control(op, node),
            };
            self.values.insert(id, value);
        }
        Vec::new()
    }

    /// Control flow, each way of it as often as the program would go it.
    fn control(&mut self, op: &Op, node: &Node) -> Value {
        let results = match (op, self.value(&node.args[0])) {
            (Op::If, Value::Bool(known)) => self.region(node.regions[usize::from(!known)], Vec::new()),
            (Op::Match(patterns), subject) => {
                let found = patterns.iter().position(|pattern| is_matched(pattern, &subject)).unwrap_or(0);
                let bound = if let Value::Tuple(parts) = subject { parts } else { vec![subject] };
                self.region(node.regions[found], bound)
            }
            (Op::For(_), Value::Number(turns)) => {
                let mut carried: Vec<Value> = node.args[1..].iter().map(|arg| self.value(arg)).collect();
                let mut turn = 0.0;
                while turn < turns {
                    carried.insert(0, Value::Number(turn));
                    carried = self.region(node.regions[0], carried);
                    turn += 1.0;
                }
                carried
            }
            (Op::While, first) => {
                let rest = node.args[1..].iter().map(|arg| self.value(arg));
                let mut carried: Vec<Value> = std::iter::once(first).chain(rest).collect();
                let shared = |values: &[Value]| values.iter().map(Value::share).collect();
                while matches!(self.region(node.regions[0], shared(&carried))[..], [Value::Bool(true)]) {
                    carried = self.region(node.regions[1], carried);
                }
                carried
            }
            (other, subject) => panic!("{} of {subject:?} cannot be evaluated here", other.opcode()),
        };
        if let Type::Tuple(_) = node.ty { Value::Tuple(results) } else { one(results) }
    }

    /// A layer, or the weight or bias of one; the bias of `narrow` is absent.
    fn field(&self, field: &str, node: &Node) -> Value {
        match (self.value(&node.args[0]), field) {
            (Value::Module(path), "ws") => Value::Tensor((self.weights)(&path, &[4, 4])),
            (Value::Module(path), "bs") if path == "narrow" => Value::Absent,
            (Value::Module(path), "bs") => Value::Tensor((self.weights)(&format!("{path}.bs"), &[4])),
            (_, field) => Value::Module(field.to_owned()),
        }
    }

    fn layer(&self, kind: &str, node: &Node) -> Value {
        let x = self.tensor(&node.args[1]);
        let [weight, bias] = ["ws", "bs"].map(|field| self.field(field, node));
        match (kind, weight, bias) {
            ("Linear", Value::Tensor(weight), Value::Tensor(bias)) => Value::Tensor(x.linear(&weight, Some(&bias))),
            ("Linear", Value::Tensor(weight), _) => Value::Tensor(x.linear(&weight, None::<&Tensor>)),
            ("Identity" | "Dropout", ..) => Value::Tensor(x),
            ("ReLU", ..) => Value::Tensor(x.relu()),
            ("Sigmoid", ..) => Value::Tensor(x.sigmoid()),
            _ => panic!("the layer {kind} cannot be evaluated here"),
        }
    }

    fn group(&self, node: &Node) -> Value {
        let Some(body) = node.group_body() else { panic!("a group without a body") };
        let given = node.args.iter().map(|arg| self.value(arg)).collect();
        let mut inner = Machine { graph: &body, values: HashMap::new(), weights: self.weights };
        let results = inner.region(body.body(), given);
        if let Type::Tuple(_) = node.ty { Value::Tuple(results) } else { one(results) }
    }

    /// The value of an argument.
    fn value(&self, arg: &Arg) -> Value {
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        match arg {
            Arg::Node(id) => match self.values.get(id) {
                Some(value) => value.share(),
                // The model itself.
                None if self.graph.node(*id).op == Op::Placeholder => Value::Module(String::new()),
                None => panic!("`{}` has no value in {}", self.graph.node(*id).name, self.graph),
            },
            Arg::Int(number) => Value::Number(*number as f64),
            Arg::Float(number) => Value::Number(*number),
            Arg::Bool(known) => Value::Bool(*known),
            Arg::None => Value::Absent,
            Arg::List(items) => Value::Ints(items.iter().map(|item| self.int(item)).collect()),
            Arg::Expr(expr) => self.host(&expr.op, &expr.args),
            Arg::Str(_) | Arg::Path(_) => panic!("{arg:?} is no value"),
        }
    }

    fn tensor(&self, arg: &Arg) -> Tensor {
        match self.value(arg) {
            Value::Tensor(tensor) => tensor,
            _ => panic!("{arg:?} is no tensor in {}", self.graph),
        }
    }

    fn optional(&self, arg: Option<&Arg>) -> Option<Tensor> {
        match self.value(arg?) {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    fn number(&self, arg: &Arg) -> f64 {
        match self.value(arg) {
            Value::Number(number) => number,
            _ => panic!("{arg:?} is no number"),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "small integers")]
    fn int(&self, arg: &Arg) -> i64 {
        self.number(arg) as i64
    }

    fn ints(&self, arg: &Arg) -> Vec<i64> {
        match self.value(arg) {
            Value::Ints(ints) => ints,
            Value::Number(_) => vec![self.int(arg)],
            _ => panic!("{arg:?} is no list"),
        }
    }

    fn call(&self, name: &str, node: &Node) -> Tensor {
        let args = &node.args;
        if let ("cat", Arg::List(parts)) = (name, &args[0]) {
            let parts: Vec<Tensor> = parts.iter().map(|part| self.tensor(part)).collect();
            return Tensor::cat(&parts, self.int(&args[1]));
        }
        let mut x = self.tensor(&args[0]);
        let other = || self.tensor(&args[1]);
        let number = || self.number(&args[1]);
        match name {
            "add" => x + other(),
            "sub" => x - other(),
            "mul" => x * other(),
            "div" => x / other(),
            "add.Scalar" => x + number(),
            "sub.Scalar" => x - number(),
            "mul.Scalar" => x * number(),
            "div.Scalar" => x / number(),
            "add_" => x.g_add_(&other()),
            "relu_" => x.relu_(),
            "pow_tensor_scalar" => x.pow_tensor_scalar(number()),
            "clamp_min" => x.clamp_min(number()),
            "clamp" => x.clamp(number(), self.number(&args[2])),
            "gt" => x.gt(number()),
            "matmul" => x.matmul(&other()),
            "mm" => x.mm(&other()),
            "addmm" => x.addmm(&other(), &self.tensor(&args[2])),
            "linear" | "product" => {
                let (bias, add) = (self.optional(args.get(2)), self.optional(node.kwarg("add")));
                let layer = if name == "linear" { linear } else { product };
                let found = layer(&x, &other(), bias.as_ref(), add.as_ref(), act(node));
                found.unwrap_or_else(|error| panic!("{error}"))
            }
            "softmax" => x.softmax(self.int(&args[1]), None),
            "gelu" => x.gelu(if args.get(1) == Some(&Arg::Str("tanh".to_owned())) { "tanh" } else { "none" }),
            "mean.dim" => x.mean_dim(self.ints(&args[1]), args.get(2) == Some(&Arg::Bool(true)), None),
            "layer_norm" => {
                let (weight, bias) = (self.optional(args.get(2)), self.optional(args.get(3)));
                x.layer_norm(self.ints(&args[1]), weight, bias, self.number(&args[4]), false)
            }
            "rms_norm" => x.rms_norm(self.ints(&args[1]), self.optional(args.get(2)), self.number(&args[3])),
            "scaled_dot_product_attention" => {
                let (mask, scale) = (self.optional(args.get(3)), self.number(&args[6]));
                Tensor::scaled_dot_product_attention(
                    &x,
                    &other(),
                    &self.tensor(&args[2]),
                    mask,
                    0.0,
                    false,
                    scale,
                    false,
                )
            }
            "permute" => x.permute(self.ints(&args[1])),
            "reshape" | "view" => x.reshape(self.ints(&args[1])),
            "transpose" => x.transpose(self.int(&args[1]), self.int(&args[2])),
            "masked_fill" => x.masked_fill(&mask(&other()), self.number(&args[2])),
            "logical_not" => mask(&x).logical_not(),
            "narrow" => x.narrow(self.int(&args[1]), self.int(&args[2]), self.int(&args[3])),
            "unsqueeze" => x.unsqueeze(self.int(&args[1])),
            "squeeze_dim" => x.squeeze_dim(self.int(&args[1])),
            _ => unary(name, &x),
        }
    }
}

/// The activation that a layer applies to its result.
#[allow(clippy::panic, reason = "it is called in tests")]
fn act(node: &Node) -> Activation {
    match node.kwarg("act") {
        None => Activation::None,
        Some(Arg::Str(name)) => match name.as_str() {
            "Relu" => Activation::Relu,
            "Relu6" => Activation::Relu6,
            "HardSwish" => Activation::HardSwish,
            "Silu" => Activation::Silu,
            "Sigmoid" => Activation::Sigmoid,
            "Tanh" => Activation::Tanh,
            "Gelu" => Activation::Gelu,
            other => panic!("the activation {other} cannot be evaluated here"),
        },
        Some(other) => panic!("{other:?} is no activation"),
    }
}

#[allow(clippy::panic, reason = "it is called in tests")]
fn one(mut results: Vec<Value>) -> Value {
    results.pop().filter(|_| results.is_empty()).unwrap_or_else(|| panic!("several results where one was asked for"))
}

/// Returns whether the pattern of an arm matches the value: an optional tensor, or a number.
fn is_matched(pattern: &Pattern, value: &Value) -> bool {
    match (pattern, value) {
        (Pattern::Wild, _) => true,
        (Pattern::None, value) => matches!(value, Value::Absent),
        (Pattern::Literal(Literal::Int(wanted, _)), Value::Number(number)) => wanted.to_string().parse() == Ok(*number),
        (Pattern::Some(_), value) => !matches!(value, Value::Absent | Value::Number(_)),
        _ => false,
    }
}

/// Numbers between -2 and 2 as a mask that leaves something in every row.
fn mask(x: &Tensor) -> Tensor {
    x.gt(1.5)
}

#[allow(clippy::panic, reason = "it is called in tests")]
fn unary(name: &str, x: &Tensor) -> Tensor {
    match name {
        "neg" => x.neg(),
        "exp" => x.exp(),
        "erf" => x.erf(),
        "sqrt" => x.sqrt(),
        "rsqrt" => x.rsqrt(),
        "reciprocal" => x.reciprocal(),
        "square" => x.square(),
        "sigmoid" => x.sigmoid(),
        "tanh" => x.tanh(),
        "relu" => x.relu(),
        "relu6" => x.relu6(),
        "silu" => x.silu(),
        "hardswish" => x.hardswish(),
        "hardsigmoid" => x.hardsigmoid(),
        "contiguous" => x.contiguous(),
        "tr" => x.tr(),
        "flat_view" => x.flat_view(),
        other => panic!("`{other}` cannot be evaluated here"),
    }
}
