//! Puts what was computed at freeze time into a graph, which then names modules and tensors by path again.

use std::collections::BTreeSet;
use std::rc::Rc;

use fx_ir::{Arg, Binding, Bindings, Graph, HostOp, ModuleKind, NodeId, NodeSet, Op, Origin, RegionId, Type};
use tch::Tensor;

use super::super::{GraphModule, Submodule, Value};
use super::arguments::{activation_arg, params_arg, paths_of, unreferenced};
use super::evaluator::{Evaluator, Kept};
use super::freeze_functions::in_frame;
use crate::{Error, Result};

/// A graph in the form of a build, on its way to a module.
pub(super) struct Settler<'m> {
    graph: Graph,
    bindings: Bindings,
    /// What depends on the iteration of a loop, and so has no one value.
    turning: NodeSet,
    evaluator: Evaluator<'m>,
    settled: GraphModule,
    /// Where each tensor of the result came to lie.
    tensors: Vec<(Rc<Tensor>, NodeId)>,
    paths: BTreeSet<String>,
    /// The paths of layers that nodes name themselves, as the elements of a list: what these mean stays.
    named: BTreeSet<String>,
}

impl<'m> Settler<'m> {
    pub(super) fn new(graph: Graph, mut evaluator: Evaluator<'m>) -> Settler<'m> {
        let bindings = Bindings::of(&graph, true);
        if let Some(&model) = graph.region(graph.body()).params.first() {
            evaluator.bind_model(model);
        }
        let settled = GraphModule::new(Graph::new(graph.name.clone()));
        let turning = turning(&graph);
        let named = graph.nodes().into_iter().flat_map(|id| paths_of(&graph, id)).collect();
        Settler { graph, bindings, turning, evaluator, settled, tensors: Vec::new(), paths: BTreeSet::new(), named }
    }

    /// Settles the whole graph.
    pub(super) fn run(&mut self) -> Result<()> {
        self.region(self.graph.body(), true)?;
        let Some(&model) = self.graph.region(self.graph.body()).params.first() else { return Ok(()) };
        match self.graph.erase_node(model) {
            Ok(()) => self.keep_named(),
            Err(error) => Err(Error::Unsupported {
                what: format!("reading the model when the graph is called ({error})"),
                help: "leave out the pass that made it, or freeze by generated code".to_owned(),
            }),
        }
    }

    /// Keeps the modules that nodes still name, a frozen graph copies of them.
    fn keep_named(&mut self) -> Result<()> {
        for id in self.graph.nodes() {
            let paths = paths_of(&self.graph, id);
            for path in paths.into_iter().filter(|path| self.settled.submodule(path).is_none()).collect::<Vec<_>>() {
                let Some(module) = self.evaluator.module.shared_submodule(&path) else { continue };
                let kept = match self.evaluator.frame {
                    Some(frame) => in_frame(frame, &module)?,
                    None => module,
                };
                self.settled.put_submodule(path, kept);
            }
        }
        Ok(())
    }

    /// The module that came out.
    pub(super) fn finish(self) -> GraphModule {
        let mut module = self.settled;
        module.functions.clone_from(&self.evaluator.module.functions);
        *module.graph_mut() = self.graph;
        module
    }

    /// Settles the nodes of a region, those of its inner regions included, and erases those that freeze time did away with.
    /// `settles_end` says whether what the region hands over is settled too.
    fn region(&mut self, region: RegionId, settles_end: bool) -> Result<()> {
        let mut at = 0;
        while let Some(&id) = self.graph.region(region).nodes.get(at) {
            let is_end = self.graph.node(id).op == Op::Yield;
            if self.is_decided(id) {
                // What the taken region holds stands before it now, settled.
                at = self.take_region(id)?;
            } else if (is_end && !settles_end) || (!is_end && self.is_frozen(id)) {
                at += 1;
            } else {
                self.call_time(id)?;
                at = self.graph.position(id).map_or(at, |at| at + 1);
            }
        }
        for id in self.graph.region(region).nodes.clone().into_iter().rev() {
            if self.is_frozen(id) && self.graph.node(id).op != Op::Yield {
                // What is still read is read by nodes that stay, which `run` tells.
                let _ = self.graph.erase_node(id);
            }
        }
        Ok(())
    }

    fn is_frozen(&self, id: NodeId) -> bool {
        self.bindings.get(id) < Binding::Call && !self.turning.contains(id)
    }

    /// Whether it is a choice that weights alone decide.
    fn is_decided(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let is_choice = matches!(node.op, Op::If | Op::Match(_));
        is_choice && node.args.first().is_some_and(|subject| subject.nodes().all(|id| self.is_frozen(id)))
    }

    /// Puts the region that is taken in the place of the choice; returns the position behind it.
    fn take_region(&mut self, id: NodeId) -> Result<usize> {
        let arm = self.evaluator.decide(&self.graph, id)?;
        let region = self.graph.node(id).regions[arm];
        self.region(region, false)?;
        self.settle_bound(region)?;
        let refused = |error: String| self.evaluator.module.fault(format!("a choice cannot be taken: {error}"));
        let outputs = self.graph.splice_region(region, id).map_err(|error| refused(error.to_string()))?;
        let behind = self.graph.position(id).unwrap_or(0);
        if let [one] = outputs.as_slice() {
            self.graph.replace_all_uses_with(id, one);
        }
        for user in self.graph.users(id) {
            if let Op::TupleGet(at) = self.graph.node(user).op
                && let Some(output) = outputs.get(at)
            {
                self.graph.replace_all_uses_with(user, output);
                let _ = self.graph.erase_node(user);
            }
        }
        self.graph
            .erase_node(id)
            .map_err(|error| self.evaluator.module.fault(format!("a choice cannot be taken: {error}")))?;
        Ok(behind)
    }

    /// Puts what a pattern bound in the place of the parameters that are still read, as where the region hands one on.
    fn settle_bound(&mut self, region: RegionId) -> Result<()> {
        for param in self.graph.region(region).params.clone() {
            if !self.graph.has_users(param) {
                continue;
            }
            let value = self.evaluator.value(&self.graph, param)?;
            let name = self.graph.node(param).name.clone();
            let arg = self.arg(&value, &name)?;
            if let Arg::Node(id) = arg {
                self.evaluator.know(id, value);
            }
            self.graph.replace_all_uses_with(param, &arg);
        }
        Ok(())
    }

    /// Lets a node of call time read what was computed.
    fn call_time(&mut self, id: NodeId) -> Result<()> {
        self.call_kernel(id)?;
        let inputs: BTreeSet<NodeId> = self.graph.node(id).inputs().filter(|&input| self.is_frozen(input)).collect();
        for input in inputs {
            let value = self.evaluator.value(&self.graph, input)?;
            let name = self.graph.node(input).name.clone();
            let arg = self.arg(&value, &name)?;
            self.graph.replace_input_with(id, input, &arg);
        }
        self.own_tensor(id)?;
        for region in self.graph.node(id).regions.clone() {
            self.region(region, true)?;
        }
        Ok(())
    }

    /// `kernel.run(&x)` and `kernel.run_add(&x, &other)` as calls of a module.
    fn call_kernel(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph.node(id);
        let Some(HostOp::RuntimeMethod(method)) = node.op.host() else { return Ok(()) };
        let Some(kernel) = node.input(0).filter(|&kernel| self.is_frozen(kernel)) else { return Ok(()) };
        let is_run = method == "run" || method == "run_add";
        let read: Vec<Arg> = node.args[1..].iter().map(|arg| unreferenced(arg).clone()).collect();
        let Value::Handle(handle) = self.evaluator.value(&self.graph, kernel)? else { return Ok(()) };
        let Kept::Kernel { ty, module } = self.evaluator.kept(handle) else { return Ok(()) };
        if !is_run {
            return Err(self.evaluator.module.fault(format!("calls the method `{method}` of a kernel")));
        }
        let path = self.module_path(kernel, module);
        let node = self.graph.node_mut(id);
        node.op = Op::CallModule(ModuleKind(ty));
        node.args = std::iter::once(Arg::Str(path)).chain(read).collect();
        Ok(())
    }

    /// A read of a tensor that calls write to: of a frozen module's own copy.
    fn own_tensor(&mut self, id: NodeId) -> Result<()> {
        let (Op::GetAttr(path), [_]) = (&self.graph.node(id).op, self.graph.node(id).args.as_slice()) else {
            return Ok(());
        };
        let Some(tensor) = self.evaluator.module.tensor(path) else { return Ok(()) };
        if self.settled.tensor(path).is_none() {
            let tensor = match self.evaluator.frame {
                Some(frame) => frame.own(tensor)?,
                None => tensor.shallow_clone(),
            };
            self.settled.add_tensor(path.clone(), tensor);
        }
        self.graph.node_mut(id).args.clear();
        Ok(())
    }

    /// The path under which a kernel is kept: that of the layer it was, or the first of them.
    fn module_path(&mut self, kernel: NodeId, module: Rc<dyn Submodule>) -> String {
        let node = self.graph.node(kernel);
        let base = node.origin.labels.first().cloned().unwrap_or_else(|| node.name.clone());
        let is_taken = self.named.contains(&base);
        self.placed(base, is_taken, module)
    }

    /// Keeps a module under the path, or under one with a number where another module has that; `is_taken` says that one
    /// will have it.
    fn placed(&mut self, base: String, is_taken: bool, module: Rc<dyn Submodule>) -> String {
        let known = |path: &str| self.settled.submodule(path).map(|known| std::ptr::addr_eq(known, &raw const *module));
        let first = (!is_taken).then(|| base.clone());
        let mut paths = first.into_iter().chain((1..).map(|at: usize| format!("{base}_{at}")));
        let path = paths.find(|path| known(path) != Some(false)).unwrap_or(base);
        self.settled.put_submodule(path.clone(), module);
        path
    }

    /// A value as an argument.
    fn arg(&mut self, value: &Value, name: &str) -> Result<Arg> {
        Ok(match value {
            Value::Tensor(tensor) => Arg::Node(self.tensor(tensor, name)?),
            Value::Handle(handle) => self.kept(*handle, name)?,
            Value::Option(None) => Arg::None,
            Value::Option(Some(held)) => HostOp::Some.on(self.arg(held, name)?),
            Value::List(items) => Arg::List(self.all(items, name)?),
            Value::Tuple(parts) => HostOp::Tuple.of(self.all(parts, name)?),
            Value::Bool(known) => Arg::Bool(*known),
            Value::Float(number, _) => Arg::Float(*number),
            Value::Str(text) => Arg::Str(text.clone()),
            Value::Path(path) => Arg::Path(path.clone()),
            Value::Int(number, ty) => match (i64::try_from(*number), ty.name()) {
                (Ok(number), "i64") => Arg::Int(number),
                (Ok(number), ty) => HostOp::Literal(ty.to_owned()).on(Arg::Int(number)),
                _ => return Err(self.unsettled(value, name)),
            },
            Value::Range(range) => {
                let (Some(start), Some(end)) = (&range.start, &range.end) else {
                    return Err(self.unsettled(value, name));
                };
                let dots = if range.inclusive { "..=" } else { ".." };
                HostOp::Range(dots.to_owned()).of([self.arg(start, name)?, self.arg(end, name)?])
            }
            _ => return Err(self.unsettled(value, name)),
        })
    }

    fn all(&mut self, values: &[Value], name: &str) -> Result<Vec<Arg>> {
        values.iter().map(|value| self.arg(value, name)).collect()
    }

    fn unsettled(&self, value: &Value, name: &str) -> Error {
        self.evaluator.module.fault(format!("`{name}` is {value} at freeze time, for which a graph has no literal"))
    }

    fn kept(&mut self, handle: fx_ir::host::eval::Handle, name: &str) -> Result<Arg> {
        Ok(match self.evaluator.kept(handle) {
            Kept::Layer { path, module } => {
                let path = path.unwrap_or_else(|| name.to_owned());
                Arg::Str(self.placed(path, false, module))
            }
            Kept::Params(params) => params_arg(&params),
            Kept::Activation(act) => activation_arg(act),
            Kept::Kernel { .. } | Kept::Model | Kept::Frame | Kept::Config(_) => {
                let reason = format!("`{name}` is a part of a frozen model that no graph reads");
                return Err(self.evaluator.module.fault(reason));
            }
        })
    }

    /// The node that reads a tensor, at the head of the graph.
    fn tensor(&mut self, tensor: &Rc<Tensor>, name: &str) -> Result<NodeId> {
        if let Some((_, id)) = self.tensors.iter().find(|(known, _)| Rc::ptr_eq(known, tensor)) {
            return Ok(*id);
        }
        let placed = match self.evaluator.frame {
            Some(frame) => frame.param(tensor)?.shallow_clone(),
            None => tensor.shallow_clone(),
        };
        let path = self.tensor_path(tensor, name);
        let (op, origin) = (Op::GetAttr(path.clone()), Origin::default());
        let body = self.graph.body();
        let id = match self.graph.region(body).nodes.first() {
            Some(&first) => self.graph.insert_before(first, op, Vec::new(), name, Type::TENSOR, origin),
            None => self.graph.push(body, op, Vec::new(), name, Type::TENSOR, origin),
        };
        self.settled.add_tensor(path, placed);
        self.tensors.push((Rc::clone(tensor), id));
        Ok(id)
    }

    /// The path of a tensor: its own in the model, or a new one of the node's name.
    fn tensor_path(&mut self, tensor: &Tensor, name: &str) -> String {
        let same = |known: &Tensor| std::ptr::eq(known.data_ptr(), tensor.data_ptr()) && known.size() == tensor.size();
        let own = self.evaluator.module.tensors.iter().find(|(_, known)| same(known)).map(|(path, _)| path.clone());
        let base = own.unwrap_or_else(|| name.to_owned());
        let paths = std::iter::once(base.clone()).chain((1..).map(|at: usize| format!("{base}_{at}")));
        let path = paths.into_iter().find(|path| !self.paths.contains(path)).unwrap_or(base);
        self.paths.insert(path.clone());
        path
    }
}

/// The parameters of loops, and what is computed from them.
fn turning(graph: &Graph) -> NodeSet {
    let mut turning = NodeSet::default();
    for id in graph.nodes() {
        let node = graph.node(id);
        if node.inputs().any(|input| turning.contains(input)) {
            turning.insert(id);
        }
        let turns = matches!(node.op, Op::For(_) | Op::While) || turning.contains(id);
        for &region in node.regions.iter().filter(|_| turns) {
            graph.region(region).params.iter().for_each(|&param| _ = turning.insert(param));
        }
    }
    turning
}
