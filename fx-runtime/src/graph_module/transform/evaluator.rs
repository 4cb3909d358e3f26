//! Computes what passes moved to freeze time, on the live modules and tensors of a graph.

use std::rc::Rc;

use fx_ir::host::eval::{self, EvalError, Handle, Machine as EvalMachine, Taken, Variables};
use fx_ir::layers::FieldType;
use fx_ir::{Graph, Host, HostOp, LayerRow, Node, NodeId, Op};
use tch::Tensor;

use super::super::dispatch::Dispatch;
use super::super::interpreter::{located, unwrapped};
use super::super::machine::Machine;
use super::super::{GraphModule, Submodule, Value, convert};
use super::layer_fields::{conv_params, plain_field};
use super::{freeze_functions, kernels};
use crate::frame::Frame;
use crate::frozen::{Activation, ConvParams};
use crate::nn::BatchNorm;
use crate::{Error, Result};

/// Something beside plain values that freeze-time nodes work with.
#[derive(Clone)]
pub(super) enum Kept {
    /// The model itself.
    Model,
    /// The frame of the frozen model.
    Frame,
    /// A layer, and its path if it is one of the model's.
    Layer { path: Option<String>, module: Rc<dyn Submodule> },
    /// The configuration of a layer.
    Config(Rc<dyn Submodule>),
    /// The parameters of a convolution.
    Params(ConvParams),
    /// An activation that kernels apply.
    Activation(Activation),
    /// A packed layer, of that type.
    Kernel { ty: String, module: Rc<dyn Submodule> },
}

/// The values of freeze-time nodes so far.
pub(super) struct Evaluator<'m> {
    pub(super) module: &'m GraphModule,
    pub(super) frame: Option<&'m Frame>,
    variables: Variables<Rc<Tensor>>,
    keeper: Keeper<'m>,
}

/// The machine that freeze-time operations run on.
pub(super) struct Keeper<'m> {
    module: &'m GraphModule,
    frame: Option<&'m Frame>,
    kept: Vec<Kept>,
}

/// Why a node has no value.
type Failure = EvalError<Rc<Tensor>, Error>;

impl<'m> Evaluator<'m> {
    pub(super) fn new(module: &'m GraphModule, frame: Option<&'m Frame>) -> Evaluator<'m> {
        let keeper = Keeper { module, frame, kept: Vec::new() };
        Evaluator { module, frame, variables: Variables::default(), keeper }
    }

    /// What a handle stands for.
    pub(super) fn kept(&self, handle: Handle) -> Kept {
        self.keeper.kept[handle.0].clone()
    }

    /// The parameter that stands for the model.
    pub(super) fn bind_model(&mut self, id: NodeId) {
        let model = self.keeper.keep(Kept::Model);
        self.variables.set(id, model);
    }

    /// Says what the value of a node is that was made since.
    pub(super) fn know(&mut self, id: NodeId, value: Value) {
        self.variables.set(id, value);
    }

    /// The value of a node, whose inputs are computed first where they are not yet.
    pub(super) fn value(&mut self, graph: &Graph, id: NodeId) -> Result<Value> {
        if let Some(value) = self.variables.get(id) {
            return Ok(value.clone());
        }
        let node = graph.node(id);
        for input in node.inputs() {
            self.value(graph, input)?;
        }
        let value = self.compute(node).map_err(|failure| unwrapped(located(failure, node)))?;
        self.variables.set(id, value.clone());
        Ok(value)
    }

    /// Which region a decided `if` or `match` takes; what its pattern binds are the values of the region's parameters.
    pub(super) fn decide(&mut self, graph: &Graph, id: NodeId) -> Result<usize> {
        let node = graph.node(id);
        for input in node.args[0].nodes() {
            self.value(graph, input)?;
        }
        let (arm, bound) = self.taken(node).map_err(|failure| unwrapped(located(failure, node)))?;
        for (&param, value) in graph.region(node.regions[arm]).params.iter().zip(bound) {
            self.variables.set(param, value);
        }
        Ok(arm)
    }

    fn taken(&mut self, node: &Node) -> Result<(usize, Vec<Value>), Failure> {
        if let Op::Match(patterns) = &node.op {
            let taken = eval::eval_match(patterns, &node.args[0], &mut self.variables, &mut self.keeper)?;
            let Taken { arm, bound } = taken.ok_or_else(|| EvalError::Operands("no pattern matches".to_owned()))?;
            return Ok((arm, bound));
        }
        match eval::eval_arg(&node.args[0], &mut self.variables, &mut self.keeper)? {
            Value::Bool(taken) => Ok((usize::from(!taken), Vec::new())),
            other => Err(EvalError::Operands(format!("the condition is {other} and not a bool"))),
        }
    }

    fn compute(&mut self, node: &Node) -> Result<Value, Failure> {
        match &node.op {
            Op::Host(Host { op, .. }) => {
                eval::eval_typed(op, &node.args, &node.ty, &mut self.variables, &mut self.keeper)
            }
            Op::GetAttr(path) => match eval::eval_arg(&node.args[0], &mut self.variables, &mut self.keeper)? {
                Value::Handle(of) => self.keeper.field(of, path).map_err(EvalError::Machine),
                other => Err(EvalError::Operands(format!("the field `{path}` of {other}"))),
            },
            Op::Call(op) => {
                let args = node.args.iter().map(|arg| eval::eval_operand(arg, &mut self.variables, &mut self.keeper));
                let args = args.collect::<Result<Vec<_>, _>>()?;
                Dispatch::of(*op).and_then(|dispatch| dispatch.call(&args)).map_err(EvalError::Machine)
            }
            Op::TupleGet(at) => match eval::eval_arg(&node.args[0], &mut self.variables, &mut self.keeper)? {
                Value::Tuple(parts) | Value::List(parts) if *at < parts.len() => Ok(parts[*at].clone()),
                other => Err(EvalError::Operands(format!("part {at} of {other}"))),
            },
            other => Err(EvalError::Machine(Error::Unsupported {
                what: format!("computing `{}` from weights alone", other.opcode()),
                help: "leave out the pass that moved it there".to_owned(),
            })),
        }
    }
}

impl Keeper<'_> {
    pub(super) fn keep(&mut self, what: Kept) -> Value {
        self.kept.push(what);
        Value::Handle(Handle(self.kept.len() - 1))
    }

    /// What a value stands for, if it is none of the plain ones.
    pub(super) fn kept(&self, value: &Value) -> Option<&Kept> {
        match value {
            Value::Handle(handle) => self.kept.get(handle.0),
            Value::Option(Some(held)) => self.kept(held),
            _ => None,
        }
    }

    /// The frame that kernels are packed for.
    pub(super) fn frame(&self) -> Result<&Frame> {
        self.frame.ok_or_else(|| Error::Unsupported {
            what: "packing kernels while a graph is transformed".to_owned(),
            help: "use `GraphModule::freeze_with`, or leave `pack-kernels` out of the pipeline".to_owned(),
        })
    }

    /// The layer that a value is.
    pub(super) fn layer(&self, value: &Value) -> Option<&Rc<dyn Submodule>> {
        match self.kept(value)? {
            Kept::Layer { module, .. } => Some(module),
            _ => None,
        }
    }

    /// A field of the model: a layer or a tensor, by its path.
    fn part(&mut self, path: &str) -> Result<Value> {
        if let Some(module) = self.module.shared_submodule(path) {
            return Ok(self.keep(Kept::Layer { path: Some(path.to_owned()), module }));
        }
        match self.module.tensor(path) {
            Some(tensor) => Ok(Value::Tensor(Rc::new(tensor.shallow_clone()))),
            None => Err(self.module.fault(format!("has no module and no tensor `{path}`"))),
        }
    }

    /// A field of a layer: a tensor by its name in Rust, its configuration, a plain value.
    fn layer_field(&mut self, module: &Rc<dyn Submodule>, name: &str) -> Result<Value> {
        let absent = || Error::Unsupported {
            what: format!("the field `{name}` of a layer"),
            help: "it is no field that passes may read".to_owned(),
        };
        let layer = module.module().ok_or_else(absent)?;
        let row = LayerRow::of_type(layer.type_name()).ok_or_else(absent)?;
        let field = row.field(name.split('.').next().unwrap_or(name)).ok_or_else(absent)?;
        match (field.ty, field.saved) {
            (FieldType::Tensor | FieldType::OptTensor, Some(saved)) => {
                let held = layer.state_dict().into_iter().find(|(known, _)| known == saved);
                let held = held.map(|(_, tensor)| Value::Tensor(Rc::new(tensor.shallow_clone())));
                match field.ty {
                    FieldType::OptTensor => Ok(Value::option(held)),
                    _ => held.ok_or_else(absent),
                }
            }
            (FieldType::Config(_), _) if name == field.name => Ok(self.keep(Kept::Config(Rc::clone(module)))),
            _ => module.as_any().and_then(|layer| plain_field(layer, name)).ok_or_else(absent),
        }
    }

    /// The parameters that a value is, or that a configuration says.
    pub(super) fn params(&self, value: &Value) -> Option<ConvParams> {
        match self.kept(value) {
            Some(Kept::Params(params)) => Some(params.clone()),
            Some(Kept::Config(layer)) => conv_params(layer.as_any()?),
            _ => kernels::params_of(value),
        }
    }

    /// The activation that a value is.
    pub(super) fn activation(&self, value: &Value) -> Option<Activation> {
        match self.kept(value) {
            Some(Kept::Activation(activation)) => Some(*activation),
            _ => kernels::activation_of(value),
        }
    }

    /// The batch norm that a value is.
    pub(super) fn batch_norm(&self, value: &Value) -> Option<&BatchNorm> {
        self.layer(value)?.as_any()?.downcast_ref()
    }
}

impl EvalMachine for Keeper<'_> {
    type Tensor = Rc<Tensor>;
    type Error = Error;

    fn handle(&mut self, tensor: &Rc<Tensor>) -> Result<Rc<Tensor>> {
        Machine { module: self.module }.handle(tensor)
    }

    fn tensor_method(&mut self, name: &str, tensor: &Rc<Tensor>, args: &[Value]) -> Result<Value> {
        Machine { module: self.module }.tensor_method(name, tensor, args)
    }

    fn index(&mut self, tensor: &Rc<Tensor>, index: &Value) -> Result<Rc<Tensor>> {
        Machine { module: self.module }.index(tensor, index)
    }

    fn tensor_of(&mut self, numbers: &[Value]) -> Result<Rc<Tensor>> {
        Machine { module: self.module }.tensor_of(numbers)
    }

    fn contents(&mut self, tensor: &Rc<Tensor>, ty: &str) -> Result<Value> {
        Machine { module: self.module }.contents(tensor, ty)
    }

    fn field(&mut self, of: Handle, name: &str) -> Result<Value> {
        match self.kept[of.0].clone() {
            Kept::Model => self.part(name),
            Kept::Layer { module, .. } => self.layer_field(&module, name),
            Kept::Config(layer) => self.layer_field(&layer, &format!("config.{name}")),
            Kept::Params(_) | Kept::Activation(_) | Kept::Frame | Kept::Kernel { .. } => {
                Err(Error::Refused(format!("the field `{name}` of a part of a kernel")))
            }
        }
    }

    fn cell(&mut self, cell: Handle) -> Result<&mut Value> {
        let _ = cell;
        Err(Error::Refused("state is read when the model is called, not when it is frozen".to_owned()))
    }

    fn path(&mut self, path: &str) -> Result<Value> {
        Machine { module: self.module }.path(path)
    }

    fn perform(&mut self, op: &HostOp, args: Vec<Value>, variables: &mut Variables<Rc<Tensor>>) -> Result<Value> {
        match (op, args.as_slice()) {
            (HostOp::Frame, []) => Ok(self.keep(Kept::Frame)),
            (HostOp::Runtime(name) | HostOp::Nn(name), args) => freeze_functions::call(self, name, args),
            (HostOp::StructDefault((path, names)), fields) if path.ends_with("ConvParams") => {
                let fields = names.iter().cloned().zip(fields.iter().cloned()).collect();
                let value = Value::Struct(path.clone(), fields);
                let params = kernels::params_of(&value)
                    .ok_or_else(|| Error::Refused("parameters of a convolution of other types".to_owned()))?;
                Ok(self.keep(Kept::Params(params)))
            }
            _ => Machine { module: self.module }.perform(op, args, variables),
        }
    }
}

/// The tensor that a function takes.
pub(super) fn tensor<'v>(function: &str, value: Option<&'v Value>) -> Result<&'v Tensor> {
    value.and_then(convert::tensor).ok_or_else(|| wrong(function))
}

/// That a function of the runtime was handed something else than it takes: a pass made a wrong call.
pub(super) fn wrong(function: &str) -> Error {
    Error::Refused(format!("`{function}` takes other arguments"))
}
