//! A live graph rewritten by the passes of build time: [`GraphModule::transform`], and frozen: [`GraphModule::freeze`].
//!
//! Passes see a graph whose first parameter is the model, as in a build script. So the instance graph, whose nodes name
//! modules and tensors by path, is brought into that form (`source_form.rs`), the pipeline runs, and what it moved to
//! freeze time is computed on the live weights (`evaluator.rs`) and put into the graph as modules, tensors and literals
//! (`settle.rs`).
//!
//! **Invariant:** one pass list, one set of kernels. Nothing here decides what is folded, fused or packed.

mod arguments;
mod evaluator;
mod freeze_functions;
pub(super) mod kernels;
mod layer_fields;
mod settle;
mod source_form;

use fx_ir::{Graph, NodeId};
use fx_rewrite::analysis::is_brought;
use fx_rewrite::inference::in_inference;
use fx_rewrite::pass::PassContext;
use fx_rewrite::pipeline::{Observer, Pipeline};

use self::evaluator::Evaluator;
use self::settle::Settler;
use super::runtime_functions::attend_in_bf16;
use super::{GraphModule, Value};
use crate::frame::{Frame, Scope};
use crate::freeze::Backend;
use crate::{Error, Freeze, Result};

/// A graph that was frozen: the passes of a build on it, its layers packed into the kernels of frozen models.
///
/// It stays on its thread, since values of graphs do; the generated frozen type is the form that threads share.
pub struct FrozenModule {
    frame: Frame,
    module: GraphModule,
    /// For each input whether the model's own code gives it its dtype and device.
    brought: Vec<bool>,
}

impl FrozenModule {
    /// Runs the frozen graph on one value for each of its inputs; yields its output, several as a tuple.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`]; [`Error::Device`] or [`Error::Kind`] with the input's name where an input is elsewhere or of
    /// another dtype than the weights.
    pub fn run(&self, inputs: &[Value]) -> Result<Value> {
        let scope = self.frame.enter_with_autograd();
        outputs(self.on_inputs(&scope, inputs, |inputs| self.module.run(inputs))?, &|tensor| {
            scope.output(tensor.shallow_clone())
        })
    }

    /// Hands the inputs to `run` as the frozen graph takes them.
    pub(crate) fn with_inputs<T>(&self, inputs: &[Value], run: impl FnOnce(&[Value]) -> Result<T>) -> Result<T> {
        self.on_inputs(&self.frame.enter_with_autograd(), inputs, run)
    }

    fn on_inputs<T>(&self, scope: &Scope<'_>, inputs: &[Value], run: impl FnOnce(&[Value]) -> Result<T>) -> Result<T> {
        let graph = self.module.graph();
        let params = &graph.region(graph.body()).params;
        let name = |at: usize| params.get(at).map_or("input", |&id| graph.node(id).name.as_str());
        let inputs = inputs.iter().enumerate().map(|(at, input)| match input {
            Value::Tensor(tensor) if self.brought.get(at) == Some(&true) => {
                scope.input_of_any_type(name(at), tensor).map(|tensor| Value::Tensor(tensor.into()))
            }
            Value::Tensor(tensor) => scope.input(name(at), tensor).map(|tensor| Value::Tensor(tensor.into())),
            other => Ok(other.clone()),
        });
        let inputs = inputs.collect::<Result<Vec<Value>>>()?;
        run(&inputs)
    }

    /// The frozen graph with its kernels: it can be printed, profiled and run node by node.
    pub fn module(&self) -> &GraphModule {
        &self.module
    }
}

/// The value with what `output` makes of its tensors.
fn outputs(value: Value, output: &dyn Fn(&tch::Tensor) -> Result<tch::Tensor>) -> Result<Value> {
    let all = |values: Vec<Value>| values.into_iter().map(|value| outputs(value, output)).collect::<Result<Vec<_>>>();
    Ok(match value {
        Value::Tensor(tensor) => Value::Tensor(output(&tensor)?.into()),
        Value::Option(Some(held)) => Value::option(Some(outputs(*held, output)?)),
        Value::List(items) => Value::List(all(items)?),
        Value::Tuple(parts) => Value::Tuple(all(parts)?),
        other => other,
    })
}

impl GraphModule {
    /// The graph rewritten by these passes, as a module of its own; this one stays as it is.
    ///
    /// Passes are those of build scripts: what [`fx_pass!`](crate::passes::fx_pass) declares and whatever implements
    /// [`Pass`](crate::passes::pass::Pass). A layer that no pass touched is shared with this module; a weight that a pass
    /// computes from others (a folded convolution's) is a tensor of the new module, without gradients.
    ///
    /// ```
    /// use fx_runtime::graph_module::{Value, value};
    /// use fx_runtime::passes::{fx_pass, pipeline::Pipeline};
    /// use fx_runtime::{Tensor, instance::Tracer};
    ///
    /// fx_pass! {
    ///     /// a + b as a * b.
    ///     pub AddToMul { |a: Tensor, b: Tensor| a + b => a * b }
    /// }
    ///
    /// let mut t = Tracer::new("sum");
    /// let (a, b) = (t.input("a", true), t.input("b", true));
    /// let sum = t.call("add", &[&a, &b], 1);
    /// let product = t.finish(&[&sum])?.transform(&Pipeline::empty().then(AddToMul))?;
    /// let inputs = [value(Tensor::from(3.0)), value(Tensor::from(4.0))];
    /// let Value::Tensor(ys) = product.run(&inputs)? else { panic!("one tensor") };
    /// assert_eq!(ys.double_value(&[]), 12.0);
    /// # Ok::<(), fx_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Graph`] if the list of passes contradicts itself or a pass leaves a graph that the verifier refuses,
    /// [`Error::At`] with the node where a weight cannot be computed, [`Error::Unsupported`] if the list packs kernels.
    pub fn transform(&self, pipeline: &Pipeline) -> Result<GraphModule> {
        self.rewritten(pipeline, None, &mut ())
    }

    /// Runs the passes of a build on the graph, and packs its layers into the kernels of frozen models.
    ///
    /// Weights are copied: what is done to this module later does not change the frozen one. Beside generated code the
    /// frozen graph has no groups of pointwise ops, no slices of batches and no recorded CUDA graphs.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::transform`], and [`Error::Unsupported`] where something cannot be frozen as `options` ask.
    pub fn freeze(&self, options: &Freeze) -> Result<FrozenModule> {
        self.freeze_with(options, Pipeline::inference())
    }

    /// The same with a list of passes of one's own, which starts from [`Pipeline::inference`].
    ///
    /// # Errors
    ///
    /// As [`GraphModule::freeze`].
    pub fn freeze_with(&self, options: &Freeze, pipeline: Pipeline) -> Result<FrozenModule> {
        self.freeze_observed(options, pipeline, &mut ())
    }

    /// The same with an observer of the passes. It sees the graph in the form that passes do: the model is its first
    /// parameter, and layers are nodes that read it; every other node has the name that it has in this graph.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::freeze`].
    pub fn freeze_observed(
        &self,
        options: &Freeze,
        mut pipeline: Pipeline,
        observer: &mut dyn Observer,
    ) -> Result<FrozenModule> {
        if options.qparams.is_some() {
            return Err(Error::Unsupported {
                what: format!("`Freeze::quantize` on the graph `{}`", self.graph.name),
                help: "quantize it first: `quantize(&graph, &qparams)?.freeze(..)`".to_owned(),
            });
        }
        // Generated code alone has loops over the lanes of a vector.
        pipeline.leave_out("group-pointwise");
        let frame = Frame::new(self.graph.name.as_str(), options, self)?;
        let freezing = frame.freezing();
        let mut module = self.rewritten(&pipeline, Some(&frame), observer)?;
        drop(freezing);
        if options.backend == Backend::Best && self.submodules.values().any(|part| part.is_on_codes()) {
            attend_in_bf16(module.graph_mut());
        }
        let params = &self.graph.region(self.graph.body()).params;
        let brought = params.iter().map(|&input| is_brought(&self.graph, input)).collect();
        Ok(FrozenModule { frame, module, brought })
    }

    fn rewritten(
        &self,
        pipeline: &Pipeline,
        frame: Option<&Frame>,
        observer: &mut dyn Observer,
    ) -> Result<GraphModule> {
        let _no_grad = tch::no_grad_guard();
        let mut graph = source_form::of(self);
        if frame.is_some() {
            in_inference(&mut graph).map_err(|call| located(&graph, call))?;
        }
        let cx = PassContext::new(true);
        pipeline.run_observed(&mut graph, &cx, observer).map_err(|error| self.fault(error.to_string()))?;
        let mut settler = Settler::new(graph, Evaluator::new(self, frame));
        settler.run()?;
        let module = settler.finish();
        module.lint()?;
        Ok(module)
    }
}

/// The error of a call in training in a graph that is to be frozen.
fn located(graph: &Graph, call: NodeId) -> Error {
    let node = graph.node(call);
    let what = "freezing a layer that is called in training".to_owned();
    let help = "freeze the graph of a call in inference, `graph_module()`".to_owned();
    Error::At {
        node: node.name.clone(),
        place: node.origin.lines().unwrap_or_default(),
        source: Box::new(Error::Unsupported { what, help }),
    }
}

impl std::fmt::Debug for FrozenModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrozenModule").field("graph", self.module.graph()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
