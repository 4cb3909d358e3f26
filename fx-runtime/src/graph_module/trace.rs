//! A profiled run as a trace that Perfetto, HTA and `cargo fx diff` open: [`GraphModule::profile_trace`].

use std::time::Duration;

use fx_ir::{Arg, Graph, Node, NodeId, Op, OpId};
use fx_trace::{NodeInfo, Recorder, Trace};
use tch::{Cuda, Kind};

use super::{FrozenModule, GraphModule, Hook, Interpreter, Profile, Value};
use crate::Result;

impl GraphModule {
    /// Runs the graph `warm_up` times and then `iterations` times, at least once, and keeps when each node ran: an event a
    /// node, under PyTorch's name for the operator where it has one (`aten::relu`), with the shapes of its inputs, its
    /// modules, its source lines and what it stands for; and a `ProfilerStep#N` an iteration.
    ///
    /// On a CUDA device it waits for each node, as [`GraphModule::profile`] does.
    ///
    /// ```
    /// use fx_runtime::graph_module::value;
    /// use fx_runtime::{Tensor, instance::Tracer};
    ///
    /// let mut t = Tracer::new("net");
    /// let xs = t.input("xs", true);
    /// let ys = t.call("relu", &[&xs], 1);
    /// let trace = t.finish(&[&ys])?.profile_trace(&[value(Tensor::from(1.0))], 1, 3)?;
    /// assert_eq!((trace.name(&trace.events[0]), trace.iterations().len()), ("aten::relu", 3));
    /// # let folder = std::env::temp_dir().join(format!("fx-trace-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("trace.json.gz");
    /// trace.write(path).unwrap();
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), fx_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`GraphModule::run`].
    pub fn profile_trace(&self, inputs: &[Value], warm_up: usize, iterations: usize) -> Result<Trace> {
        for _ in 0..warm_up {
            self.run(inputs)?;
        }
        let mut events =
            Events { module: self, recorder: Recorder::new(), on_cuda: self.cuda_device(inputs), open: Vec::new() };
        for number in 0..iterations.max(1) {
            let begin = events.recorder.now();
            Interpreter::new(self).with_hook(&mut events).run(inputs)?;
            events.recorder.step(number, begin);
        }
        Ok(events.recorder.finish())
    }
}

impl FrozenModule {
    /// As [`GraphModule::profile`], of the frozen graph with its kernels.
    ///
    /// # Errors
    ///
    /// As [`FrozenModule::run`].
    pub fn profile(&self, inputs: &[Value], warm_up: usize, runs: usize) -> Result<Profile> {
        self.with_inputs(inputs, |inputs| self.module().profile(inputs, warm_up, runs))
    }

    /// As [`GraphModule::profile_trace`], of the frozen graph with its kernels.
    ///
    /// # Errors
    ///
    /// As [`FrozenModule::run`].
    pub fn profile_trace(&self, inputs: &[Value], warm_up: usize, iterations: usize) -> Result<Trace> {
        self.with_inputs(inputs, |inputs| self.module().profile_trace(inputs, warm_up, iterations))
    }
}

/// Notes when each node ran.
struct Events<'m> {
    module: &'m GraphModule,
    recorder: Recorder,
    on_cuda: Option<i64>,
    /// The nodes that have begun, innermost last: of control flow what runs inside begins before it ends.
    open: Vec<(NodeId, NodeInfo, Duration)>,
}

impl Hook for &mut Events<'_> {
    fn run(&mut self, graph: &Graph, id: NodeId, args: &mut dyn FnMut(&Arg) -> Result<Value>) -> Result<Option<Value>> {
        let mut info = info(graph, id);
        let node = graph.node(id);
        // The path of a module is no input.
        let inputs = node.args.iter().skip(usize::from(matches!(node.op, Op::CallModule(_))));
        for arg in inputs {
            let (dims, ty) = match arg {
                Arg::Node(_) => described(&args(arg)?),
                Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) => (Vec::new(), "Scalar"),
                Arg::List(_) => (Vec::new(), "ScalarList"),
                _ => (Vec::new(), ""),
            };
            info.input_dims.push(dims);
            info.input_types.push(ty.to_owned());
        }
        self.open.push((id, info, self.recorder.now()));
        Ok(None)
    }

    fn after(&mut self, graph: &Graph, id: NodeId, _: &mut Value) -> Result<()> {
        // Inputs have not begun.
        let Some((_, info, begin)) = self.open.pop_if(|(open, ..)| *open == id) else { return Ok(()) };
        if let Some(device) = self.on_cuda {
            Cuda::synchronize(device);
        }
        self.recorder.node(&event_name(self.module, graph.node(id), &info.target), begin, info);
        Ok(())
    }
}

/// What the trace says of a node, whatever its inputs are.
fn info(graph: &Graph, id: NodeId) -> NodeInfo {
    let node = graph.node(id);
    NodeInfo {
        node: node.name.clone(),
        opcode: node.op.opcode().to_owned(),
        target: graph.target(id),
        labels: node.origin.labels.clone(),
        passes: node.origin.passes.iter().map(|&pass| pass.to_owned()).collect(),
        source: node.origin.lines().unwrap_or_default(),
        modules: node.nn_module_stack().iter().map(ToString::to_string).collect(),
        ..NodeInfo::default()
    }
}

/// The operator that a node runs, by PyTorch's name. What PyTorch has no name for has one that begins with `fx::`: a packed
/// kernel that of its type, with `_add` where it adds a second input to its product.
fn event_name(module: &GraphModule, node: &Node, target: &str) -> String {
    let plain = |op: OpId| match op.entry().and_then(|entry| entry.aten) {
        Some(name) => name.split('.').next().unwrap_or(name).to_owned(),
        None => format!("fx::{op}"),
    };
    match &node.op {
        Op::Call(op) => plain(*op),
        // A packed kernel is no module of the model's.
        Op::CallModule(kind) if module.submodule(target).is_some_and(|called| called.module().is_none()) => {
            let adds = if node.args.len() > 2 { "_add" } else { "" };
            format!("fx::{}{adds}", kind.0)
        }
        Op::CallModule(kind) => match (operator_of(&kind.0), kind.row().and_then(|row| row.op)) {
            (Some(name), _) => name.to_owned(),
            (None, Some(op)) => plain(op),
            (None, None) => format!("fx::{}", kind.0),
        },
        Op::Host(_) | Op::TupleGet(_) => format!("fx::{target}"),
        Op::Rust(_) => "fx::rust".to_owned(),
        op => format!("fx::{}", op.opcode()),
    }
}

/// The operator of a layer that shares its op with others here, or has none.
fn operator_of(layer: &str) -> Option<&'static str> {
    Some(match layer {
        "Conv1D" => "aten::conv1d",
        "Conv2D" => "aten::conv2d",
        "Conv3D" => "aten::conv3d",
        "ConvTranspose1D" => "aten::conv_transpose1d",
        "ConvTranspose2D" => "aten::conv_transpose2d",
        "ConvTranspose3D" => "aten::conv_transpose3d",
        "LSTM" => "aten::lstm",
        "GRU" => "aten::gru",
        _ => return None,
    })
}

/// The shape of a value and its type, as PyTorch's traces name them.
fn described(value: &Value) -> (Vec<i64>, &'static str) {
    match value {
        Value::Tensor(tensor) => (tensor.size(), tensor.f_kind().map_or("", type_name)),
        Value::List(_) | Value::Tuple(_) => (Vec::new(), "TensorList"),
        _ => (Vec::new(), "Scalar"),
    }
}

/// The C++ type of a tensor's elements.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Uint8 => "unsigned char",
        Kind::Int8 => "signed char",
        Kind::Int16 => "short int",
        Kind::Int => "int",
        Kind::Int64 => "long int",
        Kind::Half => "c10::Half",
        Kind::Float => "float",
        Kind::Double => "double",
        Kind::ComplexHalf => "c10::complex<c10::Half>",
        Kind::ComplexFloat => "c10::complex<float>",
        Kind::ComplexDouble => "c10::complex<double>",
        Kind::Bool => "bool",
        Kind::BFloat16 => "c10::BFloat16",
        _ => "",
    }
}
