//! Runs a graph node by node, with hooks before and after each: torch.fx's `Interpreter`.

use std::rc::Rc;

use fx_ir::host::eval::{self, EvalError, Variables};
use fx_ir::{Arg, Graph, Host, HostOp, Node, NodeId, NodeSet, Op, OpId, RegionId};
use tch::Tensor;

use super::machine::Machine;
use super::plan::Plan;
use super::{GraphModule, Value, runtime_functions};
use crate::{Error, Result};

/// What is done around each node of a run.
pub trait Hook {
    /// Before a node runs.
    ///
    /// # Errors
    ///
    /// An error ends the run, with the node and its place.
    fn before(&mut self, graph: &Graph, id: NodeId) -> Result<()> {
        let _ = (graph, id);
        Ok(())
    }

    /// Instead of what the node would do: a value, or none to let it run.
    ///
    /// # Errors
    ///
    /// As [`Hook::before`].
    fn run(&mut self, graph: &Graph, id: NodeId, args: &mut dyn FnMut(&Arg) -> Result<Value>) -> Result<Option<Value>> {
        let _ = (graph, id, args);
        Ok(None)
    }

    /// After a node ran; the value may be replaced.
    ///
    /// # Errors
    ///
    /// As [`Hook::before`].
    fn after(&mut self, graph: &Graph, id: NodeId, value: &mut Value) -> Result<()> {
        let _ = (graph, id, value);
        Ok(())
    }
}

/// A run of a graph. Values are freed when the last node that reads them has run.
pub struct Interpreter<'m> {
    module: &'m GraphModule,
    plan: Rc<Plan>,
    variables: Variables<Rc<Tensor>>,
    machine: Machine<'m>,
    hooks: Vec<Box<dyn Hook + 'm>>,
    keeps_values: bool,
    given: NodeSet,
}

/// Why a node has no value.
type Failure = EvalError<Rc<Tensor>, Error>;

impl<'m> Interpreter<'m> {
    /// A run of the module's graph.
    pub fn new(module: &'m GraphModule) -> Interpreter<'m> {
        Interpreter {
            module,
            plan: module.plan(),
            variables: Variables::default(),
            machine: Machine { module },
            hooks: Vec::new(),
            keeps_values: false,
            given: NodeSet::default(),
        }
    }

    /// Adds a hook; those that were added first come first.
    #[must_use]
    pub fn with_hook(mut self, hook: impl Hook + 'm) -> Self {
        self.hooks.push(Box::new(hook));
        self
    }

    /// Keeps all values, so that [`Interpreter::value_of`] finds them after the run.
    #[must_use]
    pub fn keep_values(mut self) -> Self {
        self.keeps_values = true;
        self
    }

    /// Gives a node its value beforehand, so that it is not run.
    #[must_use]
    pub fn given(mut self, id: NodeId, value: Value) -> Self {
        self.variables.set(id, value);
        self.given.insert(id);
        self
    }

    /// The value of a node, if it has one.
    pub fn value_of(&self, id: NodeId) -> Option<&Value> {
        self.variables.get(id)
    }

    /// Runs the graph on one value for each of its placeholders; yields its output, several as a tuple.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`].
    pub fn run(&mut self, inputs: &[Value]) -> Result<Value> {
        let graph = self.module.graph();
        let params = &graph.region(graph.body()).params;
        if params.len() != inputs.len() {
            let names: Vec<&str> = params.iter().map(|&id| graph.node(id).name.as_str()).collect();
            let reason = format!("takes {} inputs ({}), got {}", params.len(), names.join(", "), inputs.len());
            return Err(Error::Graph { graph: graph.name.clone(), reason });
        }
        for (&param, input) in params.iter().zip(inputs) {
            let mut value = input.clone();
            for hook in &mut self.hooks {
                hook.after(graph, param, &mut value)?;
            }
            self.variables.set(param, value);
        }
        match self.region(graph.body()) {
            Ok(mut outputs) if outputs.len() == 1 => Ok(outputs.remove(0)),
            Ok(outputs) if outputs.is_empty() => Ok(Value::Unit),
            Ok(outputs) => Ok(Value::Tuple(outputs)),
            Err(EvalError::Return(value)) => Ok(*value),
            Err(EvalError::Machine(error)) => Err(error),
            Err(EvalError::Operands(message) | EvalError::Panic(message)) => Err(Error::Refused(message)),
        }
    }

    /// Runs a region; yields what it hands over.
    fn region(&mut self, region: RegionId) -> Result<Vec<Value>, Failure> {
        let graph = self.module.graph();
        let mut outputs = Vec::new();
        for &id in &graph.region(region).nodes {
            let node = graph.node(id);
            if matches!(node.op, Op::Yield) {
                outputs = if region == graph.body() {
                    self.operands(&node.args)?
                } else {
                    node.args.iter().map(|arg| self.arg(arg)).collect::<Result<_, _>>()?
                };
            } else if !self.given.contains(id) {
                let value = self.node(id, node).map_err(|failure| located(failure, node))?;
                self.variables.set(id, value);
            }
            self.free_after(id);
        }
        Ok(outputs)
    }

    /// Frees the values that no node behind this one reads.
    fn free_after(&mut self, id: NodeId) {
        if !self.keeps_values {
            let plan = Rc::clone(&self.plan);
            plan.done_after(id).iter().for_each(|&done| self.variables.remove(done));
        }
    }

    fn node(&mut self, id: NodeId, node: &Node) -> Result<Value, Failure> {
        let graph = self.module.graph();
        let mut hooks = std::mem::take(&mut self.hooks);
        let value = self.hooked(graph, id, node, &mut hooks);
        self.hooks = hooks;
        value
    }

    fn hooked(
        &mut self,
        graph: &Graph,
        id: NodeId,
        node: &Node,
        hooks: &mut [Box<dyn Hook + 'm>],
    ) -> Result<Value, Failure> {
        let mut value = None;
        for hook in &mut *hooks {
            hook.before(graph, id).map_err(EvalError::Machine)?;
            let mut read = |arg: &Arg| self.arg(arg).map_err(unwrapped);
            let given = hook.run(graph, id, &mut read).map_err(EvalError::Machine)?;
            value = value.or(given);
        }
        let mut value = match value {
            Some(value) => value,
            None => self.run_node(id, node)?,
        };
        for hook in hooks {
            hook.after(graph, id, &mut value).map_err(EvalError::Machine)?;
        }
        Ok(value)
    }

    fn arg(&mut self, arg: &Arg) -> Result<Value, Failure> {
        eval::eval_arg(arg, &mut self.variables, &mut self.machine)
    }

    fn operands(&mut self, args: &[Arg]) -> Result<Vec<Value>, Failure> {
        args.iter().map(|arg| eval::eval_operand(arg, &mut self.variables, &mut self.machine)).collect()
    }

    fn run_node(&mut self, id: NodeId, node: &Node) -> Result<Value, Failure> {
        let cannot = |what: &str| {
            EvalError::Machine(Error::Unsupported {
                what: format!("interpreting {what}"),
                help: "freeze the model, which runs it as it is written".to_owned(),
            })
        };
        match &node.op {
            Op::Call(op) => {
                let args = self.operands(&node.args)?;
                if runtime_functions::is_contraction(*op, !node.kwargs.is_empty()) {
                    return self.contraction(*op, &args, node);
                }
                self.plan.dispatch(id).and_then(|dispatch| dispatch.call(&args)).map_err(EvalError::Machine)
            }
            Op::CallModule(_) => self.call_module(id, node),
            Op::GetAttr(path) if node.args.is_empty() => match self.module.tensor(path) {
                Some(tensor) => Ok(Value::Tensor(Rc::new(tensor.shallow_clone()))),
                None => Err(EvalError::Machine(self.module.fault(format!("has no tensor `{path}`")))),
            },
            // As a variable of generated code, such a place is a mutable reference.
            Op::Host(Host {
                op:
                    op @ (HostOp::UnwrapMut(_)
                    | HostOp::UnwrapBorrow
                    | HostOp::EndMut(_)
                    | HostOp::Interior
                    | HostOp::MutSlice),
                ..
            }) => self.arg(&HostOp::RefMut.of([op.clone().of(node.args.iter().cloned())])),
            Op::Host(host) => eval::eval_typed(&host.op, &node.args, &node.ty, &mut self.variables, &mut self.machine),
            Op::TupleGet(position) => match self.arg(&node.args[0])? {
                Value::Tuple(parts) | Value::List(parts) if *position < parts.len() => Ok(parts[*position].clone()),
                other => Err(EvalError::Operands(format!("part {position} of {other}"))),
            },
            op if op.is_control_flow() => self.control(node),
            Op::Rust(code) => Err(cannot(&format!("the code `{}`, which is not understood,", code.text()))),
            Op::GetAttr(field) => Err(cannot(&format!("the field `{field}`"))),
            other => Err(cannot(&format!("`{}`", other.opcode()))),
        }
    }

    fn contraction(&mut self, op: OpId, args: &[Value], node: &Node) -> Result<Value, Failure> {
        let mut options = Vec::with_capacity(node.kwargs.len());
        for (name, arg) in &node.kwargs {
            options.push((name.as_str(), self.arg(arg)?));
        }
        runtime_functions::contraction(self.module, op, args, &options).map_err(EvalError::Machine)
    }

    /// What control flow yields: one value, or a tuple of several.
    fn control(&mut self, node: &Node) -> Result<Value, Failure> {
        let mut outputs = match &node.op {
            Op::If => {
                let taken = match self.arg(&node.args[0])? {
                    Value::Bool(taken) => taken,
                    other => return Err(EvalError::Operands(format!("the condition is {other} and not a bool"))),
                };
                self.region(node.regions[usize::from(!taken)])?
            }
            Op::Match(patterns) => {
                let taken = eval::eval_match(patterns, &node.args[0], &mut self.variables, &mut self.machine)?;
                let taken = taken.ok_or_else(|| EvalError::Operands("no pattern matches".to_owned()))?;
                self.entered(node.regions[taken.arm], taken.bound)?
            }
            Op::For(head) => {
                let elements = HostOp::Collect(head.adaptors.clone()).of([node.args[0].clone()]);
                let Value::List(elements) = self.arg(&elements)? else {
                    return Err(EvalError::Operands("the loop is over something else than a list".to_owned()));
                };
                let mut carried = node.args[1..].iter().map(|arg| self.arg(arg)).collect::<Result<Vec<_>, _>>()?;
                for element in elements {
                    let bound = eval::eval_pattern(&head.pattern, element, &mut self.variables, &mut self.machine)?;
                    let bound = bound.ok_or_else(|| EvalError::Operands("an element does not match".to_owned()))?;
                    carried = self.entered(node.regions[0], bound.into_iter().chain(carried).collect())?;
                }
                carried
            }
            _ => {
                let mut carried = node.args.iter().map(|arg| self.arg(arg)).collect::<Result<Vec<_>, _>>()?;
                while matches!(self.entered(node.regions[0], carried.clone())?.as_slice(), [Value::Bool(true)]) {
                    carried = self.entered(node.regions[1], carried)?;
                }
                carried
            }
        };
        Ok(match outputs.len() {
            0 => Value::Unit,
            1 => outputs.remove(0),
            _ => Value::Tuple(outputs),
        })
    }

    /// Runs a region on these values of its parameters.
    fn entered(&mut self, region: RegionId, values: Vec<Value>) -> Result<Vec<Value>, Failure> {
        for (&param, value) in self.module.graph().region(region).params.iter().zip(values) {
            self.variables.set(param, value);
        }
        self.region(region)
    }

    fn call_module(&mut self, id: NodeId, node: &Node) -> Result<Value, Failure> {
        if let Some(module) = self.plan.module(id).map(Rc::clone) {
            let mut args = self.operands(&node.args[1..])?;
            args.extend(node.mode().map(Value::Bool));
            // Before and not after: the module may be the last one to have them.
            self.free_after(id);
            return module.call_owned(args).map_err(EvalError::Machine);
        }
        // The path of the module, itself a value where an input chooses the module.
        let mut args = self.operands(&node.args)?.into_iter();
        let Some(Value::Str(path) | Value::Path(path)) = args.next() else {
            return Err(EvalError::Machine(self.module.fault(format!("`{}` names no module", node.name))));
        };
        let args: Vec<Value> = args.chain(node.mode().map(Value::Bool)).collect();
        match self.module.submodule(&path) {
            Some(module) => module.call(&args).map_err(EvalError::Machine),
            None => Err(EvalError::Machine(self.module.fault(format!("has no module `{path}`")))),
        }
    }
}

/// A failure as an error.
pub(super) fn unwrapped(failure: Failure) -> Error {
    match failure {
        EvalError::Machine(error) => error,
        other => Error::Refused(other.to_string()),
    }
}

/// The failure with the node and the user's lines, unless it has a place already or is no failure.
pub(super) fn located(failure: Failure, node: &Node) -> Failure {
    match failure {
        EvalError::Return(_) | EvalError::Machine(Error::At { .. }) => failure,
        other => EvalError::Machine(Error::At {
            node: node.name.clone(),
            place: node.origin.lines().unwrap_or_default(),
            source: Box::new(unwrapped(other)),
        }),
    }
}
