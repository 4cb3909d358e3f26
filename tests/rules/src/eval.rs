//! A graph of ATen ops, evaluated op by op with `tch`.

use std::collections::HashMap;

use fx_ir::{Arg, Graph, Node, NodeId, Op};
use fx_runtime::frozen::attention;
use tch::Tensor;

/// What a node yields.
enum Value {
    Tensor(Tensor),
    Number(f64),
    Ints(Vec<i64>),
    Pair([Tensor; 2]),
}

struct Machine<'g> {
    graph: &'g Graph,
    values: HashMap<NodeId, Value>,
}

/// The tensors that a graph without control flow yields.
///
/// # Panics
/// At an op that rules have not needed yet.
#[allow(clippy::panic, reason = "it is called in tests")]
pub fn eval(graph: &Graph, inputs: HashMap<NodeId, Tensor>) -> Vec<Tensor> {
    let values = inputs.into_iter().map(|(id, tensor)| (id, Value::Tensor(tensor))).collect();
    let mut machine = Machine { graph, values };
    for &id in &graph.region(graph.body()).nodes {
        let node = graph.node(id);
        match &node.op {
            Op::GetAttr(_) => {}
            Op::Yield => return node.args.iter().map(|arg| machine.tensor(arg)).collect(),
            Op::Call(op) => {
                let value = Value::Tensor(machine.call(op.name(), node));
                machine.values.insert(id, value);
            }
            Op::TupleGet(part) => {
                if let Some(Value::Pair(pair)) = node.input(0).and_then(|pair| machine.values.get(&pair)) {
                    let value = Value::Tensor(pair[*part].shallow_clone());
                    machine.values.insert(id, value);
                }
            }
            Op::Rust(code) => {
                let value = machine.rust(&code.template, node);
                machine.values.insert(id, value);
            }
            other => panic!("{} cannot be evaluated here", other.opcode()),
        }
    }
    Vec::new()
}

#[allow(clippy::panic, reason = "it is called in tests")]
impl Machine<'_> {
    fn rust(&self, template: &str, node: &Node) -> Value {
        match template {
            "vec![$0.size()[$1.dim() - 1]]" => {
                Value::Ints(self.tensor(&node.args[0]).size().last().copied().into_iter().collect())
            }
            "$0.f_to_kind(::fx_runtime::frozen::at_least_float($1.kind()))" => {
                let x = self.tensor(&node.args[0]);
                Value::Tensor(x.to_kind(fx_runtime::frozen::at_least_float(x.kind())))
            }
            "::fx_runtime::frozen::attention::added(&$0, &$1)" => {
                pair(attention::added(&self.tensor(&node.args[0]), &self.tensor(&node.args[1])))
            }
            "::fx_runtime::frozen::attention::filled(&$0, &$1, $2)" => {
                let (query, hidden) = (self.tensor(&node.args[0]), mask(&self.tensor(&node.args[1])));
                pair(attention::filled(&query, &hidden, self.number(&node.args[2])))
            }
            "($0 / $1)" => Value::Number(self.number(&node.args[0]) / self.number(&node.args[1])),
            "1.0 / $0" => Value::Number(1.0 / self.number(&node.args[0])),
            other => panic!("`{other}` cannot be evaluated here"),
        }
    }

    fn tensor(&self, arg: &Arg) -> Tensor {
        match arg.node().and_then(|id| self.values.get(&id)) {
            Some(Value::Tensor(tensor)) => tensor.shallow_clone(),
            _ => panic!("{arg:?} is no tensor in {}", self.graph),
        }
    }

    fn optional(&self, arg: Option<&Arg>) -> Option<Tensor> {
        arg.filter(|&arg| *arg != Arg::None).map(|arg| self.tensor(arg))
    }

    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    fn number(&self, arg: &Arg) -> f64 {
        match arg {
            Arg::Int(number) => *number as f64,
            Arg::Float(number) => *number,
            Arg::Node(id) => match self.values.get(id) {
                Some(Value::Number(number)) => *number,
                _ => panic!("{arg:?} is no number"),
            },
            _ => panic!("{arg:?} is no number"),
        }
    }

    fn int(arg: &Arg) -> i64 {
        match arg {
            Arg::Int(number) => *number,
            _ => panic!("{arg:?} is no integer"),
        }
    }

    fn ints(&self, arg: &Arg) -> Vec<i64> {
        match arg {
            Arg::Int(number) => vec![*number],
            Arg::List(items) => items.iter().map(Machine::int).collect(),
            Arg::Node(id) => match self.values.get(id) {
                Some(Value::Ints(ints)) => ints.clone(),
                _ => panic!("{arg:?} is no list"),
            },
            _ => panic!("{arg:?} is no list"),
        }
    }

    fn call(&self, name: &str, node: &Node) -> Tensor {
        let args = &node.args;
        if let ("cat", Arg::List(parts)) = (name, &args[0]) {
            let parts: Vec<Tensor> = parts.iter().map(|part| self.tensor(part)).collect();
            return Tensor::cat(&parts, Machine::int(&args[1]));
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
            "linear" => x.linear(&other(), self.optional(args.get(2))),
            "softmax" => x.softmax(Machine::int(&args[1]), None),
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
            "transpose" => x.transpose(Machine::int(&args[1]), Machine::int(&args[2])),
            "masked_fill" => x.masked_fill(&mask(&other()), self.number(&args[2])),
            "logical_not" => mask(&x).logical_not(),
            "narrow" => x.narrow(Machine::int(&args[1]), Machine::int(&args[2]), Machine::int(&args[3])),
            "unsqueeze" => x.unsqueeze(Machine::int(&args[1])),
            "squeeze_dim" => x.squeeze_dim(Machine::int(&args[1])),
            _ => unary(name, &x),
        }
    }
}

#[allow(clippy::panic, reason = "it is called in tests")]
fn pair(found: Result<(Tensor, Tensor), fx_runtime::Error>) -> Value {
    let (first, second) = found.unwrap_or_else(|error| panic!("{error}"));
    Value::Pair([first, second])
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
