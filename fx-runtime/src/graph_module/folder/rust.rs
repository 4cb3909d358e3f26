//! The source of such a crate: the struct, its loader, and the forward.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use fx_ir::{Arg, Effect, Graph, HostOp, LayerRow, Node, NodeId, Op, RegionId, Type, catalog};
use fx_print::call::{Operands, op_call};
use fx_print::host;
use fx_print::names::Names;
use fx_print::value::{Form, Value};

use super::super::GraphModule;
use super::spelling::{is_written, renamed, spelled};
use crate::{Error, Result};

/// What is written so far.
pub(super) struct Source<'m> {
    module: &'m GraphModule,
    name: &'m str,
    /// The fields of the layers and tensors, by their paths.
    fields: BTreeMap<String, String>,
    /// How the nodes are read.
    values: HashMap<NodeId, Value>,
    names: Names,
    lines: Vec<String>,
    /// How many braces are open.
    depth: usize,
    params: String,
    output: String,
}

impl<'m> Source<'m> {
    /// Writes the graph as a type of this name.
    pub(super) fn of(module: &'m GraphModule, name: &'m str) -> Result<Source<'m>> {
        let (mut fields, mut taken) = (BTreeMap::new(), Names::default());
        for path in module.submodules.keys().chain(module.tensors.keys()) {
            fields.insert(path.clone(), taken.fresh(path));
        }
        let mut source = Source {
            module,
            name,
            fields,
            values: HashMap::new(),
            names: Names::default(),
            lines: Vec::new(),
            depth: 2,
            params: String::new(),
            output: String::new(),
        };
        source.inputs()?;
        source.region(module.graph().body())?;
        Ok(source)
    }

    /// The whole file.
    pub(super) fn text(&self) -> String {
        let graph = &self.module.graph().name;
        let (mut declared, mut made) = (String::new(), String::new());
        for (path, module) in &self.module.submodules {
            let kind = module.module().map_or("Identity", |module| module.type_name());
            let field = &self.fields[path];
            // Writing to a string cannot fail.
            let _ = writeln!(declared, "{}    pub {field}: nn::{kind},", renamed(path, field, ""));
            let _ = writeln!(made, "            {field}: parts.shared_layer({path:?})?,");
        }
        for (path, tensor) in &self.module.tensors {
            let field = &self.fields[path];
            let buffer = if tensor.requires_grad() { "" } else { "buffer" };
            let _ = writeln!(declared, "{}    pub {field}: Tensor,", renamed(path, field, buffer));
            let _ = writeln!(made, "            {field}: parts.shared_tensor({path:?})?,");
        }
        let (name, params, output, lines) = (self.name, &self.params, &self.output, self.lines.join("\n"));
        let unread = if made.is_empty() { "let _ = parts;\n        " } else { "" };
        format!(
            "//! The graph `{graph}` of a live model, written by `GraphModule::to_folder`.

use std::path::Path;

#[allow(unused_imports, reason = \"not every graph needs all of them\")]
use fx_runtime::{{
    Device, IndexOp as _, Kind, Module, Result, Tensor,
    graph_module::GraphModule,
    nn::{{self, Layer as _, RNN as _}},
    tch::Reduction,
}};

/// The layers and tensors of the graph, under the names that they have in it.
#[derive(Debug, Module)]
pub struct {name} {{
{declared}}}

impl {name} {{
    /// Loads what `weights.safetensors` beside this crate's manifest holds, or another file that `GraphModule::save` wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<{name}> {{
        {name}::new(&GraphModule::load(path)?)
    }}

    /// Takes the layers and tensors of a graph, and shares them with it.
    pub fn new(parts: &GraphModule) -> Result<{name}> {{
        {unread}Ok({name} {{
{made}        }})
    }}

    /// What the graph computes, a line a node.
    pub fn forward(&self{params}) -> Result<{output}> {{
{lines}
    }}
}}
"
        )
    }

    fn inputs(&mut self) -> Result<()> {
        let graph = self.module.graph();
        for &input in &graph.region(graph.body()).params {
            let node = graph.node(input);
            let written = match &node.ty {
                Type::Tensor(_) => "&Tensor".to_owned(),
                Type::Option(held) if held.is_tensor() => "Option<&Tensor>".to_owned(),
                Type::List(held) if held.is_tensor() => "&[Tensor]".to_owned(),
                Type::Rust(spelling) => spelling.clone(),
                _ => return Err(located(node, "an input of a type that the graph does not know")),
            };
            let name = self.names.fresh(&node.name);
            // Writing to a string cannot fail.
            let _ = write!(self.params, ", {name}: {written}");
            let is_ref = written.starts_with('&');
            self.values.insert(input, Value::variable(name, is_ref));
        }
        Ok(())
    }

    fn line(&mut self, text: &str) {
        self.lines.push(format!("{:1$}{text}", "", 4 * self.depth));
    }

    fn region(&mut self, region: RegionId) -> Result<()> {
        let graph = self.module.graph();
        for &id in &graph.region(region).nodes {
            let node = graph.node(id);
            match &node.op {
                Op::Yield => self.handed_over(region, node)?,
                Op::If => self.branches(id, node)?,
                Op::GetAttr(path) if node.args.is_empty() => {
                    self.values.insert(id, Value::owned(format!("self.{}", self.fields[path])));
                }
                _ => {
                    let value = self.expression(node)?;
                    let name = self.names.fresh(&node.name);
                    self.line(&format!("let {name} = {};", value.text));
                    self.values.insert(id, Value::variable(name, value.is_ref));
                }
            }
        }
        Ok(())
    }

    /// `if` as an expression of what its branches hand over.
    fn branches(&mut self, id: NodeId, node: &Node) -> Result<()> {
        let condition = host::literal(&node.args[0], &|id| self.read(id));
        let name = self.names.fresh(&node.name);
        self.line(&format!("let {name} = if {condition} {{"));
        for (position, &region) in node.regions.iter().enumerate() {
            if position > 0 {
                self.line("} else {");
            }
            self.depth += 1;
            self.region(region)?;
            self.depth -= 1;
        }
        self.line("};");
        self.values.insert(id, Value::variable(name, false));
        Ok(())
    }

    /// What a region yields: of the body the result.
    fn handed_over(&mut self, region: RegionId, node: &Node) -> Result<()> {
        let is_body = region == self.module.graph().body();
        let parts: Vec<String> = node.args.iter().map(|arg| self.owned(arg)).collect();
        let whole = if let [one] = parts.as_slice() { one.clone() } else { format!("({})", parts.join(", ")) };
        if is_body {
            let types = node.args.iter().map(|arg| self.type_of(arg).ok_or_else(|| self.untyped(node, arg)));
            let types = types.collect::<Result<Vec<String>>>()?;
            self.output = if let [one] = types.as_slice() { one.clone() } else { format!("({})", types.join(", ")) };
            self.line(&format!("Ok({whole})"));
        } else {
            self.line(&whole);
        }
        Ok(())
    }

    /// The error of a result whose type is not known.
    fn untyped(&self, node: &Node, arg: &Arg) -> Error {
        let value = arg.node().map_or(node, |id| self.module.graph().node(id));
        located(value, "a result of a type that the graph does not know")
    }

    /// An argument as a value of the reader's own.
    fn owned(&self, arg: &Arg) -> String {
        let value = host::operand(arg, &|id| self.read(id));
        let is_tensor = arg.node().is_some_and(|id| self.module.graph().node(id).ty.is_tensor());
        let is_local = value.form == Form::Name && !value.is_ref;
        let is_read_once = arg.node().is_some_and(|id| self.module.graph().users(id).len() == 1);
        if is_tensor && !(is_local && is_read_once) {
            format!("{}.shallow_clone()", value.receiver())
        } else {
            value.text
        }
    }

    fn type_of(&self, arg: &Arg) -> Option<String> {
        match arg {
            Arg::Node(id) => spelled(&self.module.graph().node(*id).ty),
            Arg::Int(_) => Some("i64".to_owned()),
            Arg::Float(_) => Some("f64".to_owned()),
            Arg::Bool(_) => Some("bool".to_owned()),
            Arg::Expr(expr) if expr.op == HostOp::Tuple => {
                let parts = expr.args.iter().map(|arg| self.type_of(arg)).collect::<Option<Vec<String>>>()?;
                Some(format!("({})", parts.join(", ")))
            }
            _ => None,
        }
    }

    fn expression(&self, node: &Node) -> Result<Value> {
        let read = |id| self.read(id);
        match &node.op {
            Op::CallModule(kind) => self.layer(node, &kind.0),
            Op::Call(op) => match op_call(self, *op, node) {
                Some((call, fallible)) => Ok(Value::owned(if fallible { format!("{call}?") } else { call })),
                None => Err(located(node, &format!("the op `{op}`"))),
            },
            Op::TupleGet(position) => {
                let tuple = host::operand(&node.args[0], &read).receiver();
                let handle = if node.ty.is_tensor() { ".shallow_clone()" } else { "" };
                Ok(Value::owned(format!("{tuple}.{position}{handle}")))
            }
            Op::Host(called) if is_written(&called.op) && !node.does_on_host(&|op| !is_written(op)) => {
                let text = if called.fallible || yields_result(&called.op) {
                    format!("{}?", host::rust(&called.op, &node.args, &read))
                } else {
                    host::bare(&called.op, &node.args, &read)
                };
                Ok(host::expression(&called.op, text))
            }
            Op::Host(called) => Err(located(node, &format!("`{}`", called.op.label()))),
            Op::Rust(code) => Err(located(node, &format!("the code `{}`, which is not understood,", code.text()))),
            other => Err(located(node, &format!("`{}`", other.opcode()))),
        }
    }

    /// The call of a layer, in the mode that it says or else in the one that the layer keeps.
    fn layer(&self, node: &Node, kind: &str) -> Result<Value> {
        let field = match node.args.first() {
            Some(Arg::Str(path)) => format!("self.{}", self.fields[path]),
            _ => return Err(located(node, "a layer that an input chooses")),
        };
        let args: Vec<String> =
            node.args[1..].iter().map(|arg| host::operand(arg, &|id| self.read(id)).borrowed()).collect();
        let row = LayerRow::of_type(kind);
        if row.is_some_and(|row| row.state.is_some()) {
            let entry = if args.len() > 1 { "seq_init" } else { "seq" };
            return Ok(Value::owned(format!("{field}.{entry}({})", args.join(", "))));
        }
        let has_mode = row.is_none_or(|row| row.training != Effect::Pure);
        Ok(Value::owned(match node.mode() {
            Some(train) => format!("{field}.f_forward_t({}, {train})?", args.join(", ")),
            None if has_mode => format!("{field}.f_forward_t({}, {field}.training() == Some(true))?", args.join(", ")),
            None => format!("{field}.f_forward({})?", args.join(", ")),
        }))
    }
}

impl Operands for Source<'_> {
    fn graph(&self) -> &Graph {
        self.module.graph()
    }

    fn read(&self, id: NodeId) -> Value {
        self.values.get(&id).cloned().unwrap_or_else(|| Value::owned("()"))
    }

    fn holds_reference(&self, id: NodeId) -> bool {
        matches!(self.module.graph().node(id).op, Op::Placeholder)
    }
}

/// Whether it is a method of tensors that yields a `Result` under its own name, as `size3`; the graph of a live model has what
/// is in it.
fn yields_result(op: &HostOp) -> bool {
    let HostOp::Method(name) = op else { return false };
    catalog::lookup(name).is_some_and(|entry| entry.fallible().as_deref() == Some(entry.method))
}

fn located(node: &Node, what: &str) -> Error {
    Error::At {
        node: node.name.clone(),
        place: node.origin.lines().unwrap_or_default(),
        source: Box::new(Error::Unsupported {
            what: format!("writing {what} as a crate"),
            help: "freeze the model in its own crate, or leave this node out of the graph".to_owned(),
        }),
    }
}
