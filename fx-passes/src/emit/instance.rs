//! The instance graph: code that walks the live model and builds the flat graph that torch.fx would give.
//!
//! What is known of the live model runs as it is: its loops, its `match`es, its numbers. What needs an input is told to
//! the runtime's `Tracer` instead. So this is the third reading of the same graph, with the walk of `freeze`.

mod bare;
mod control;
mod live;
mod methods;
mod modes;
mod operands;
mod paths;
mod submodule;

use std::cell::OnceCell;

use fx_front::index::Ty;
use fx_front::trace::Param;
use fx_ir::{Arg, HostOp, ModuleScope, Node, NodeId, NodeSet, Op, RegionId, Type};

use self::bare::bare;
pub(super) use self::methods::{emit, emit_in_training};
pub use self::modes::{ModeUses, mode_uses};
use super::{
    Emitter, PartNames,
    body::stands_for_field,
    host::literal,
    names::identifier,
    value::Value,
    writer::{Phase, Writer},
};

struct Walk<'e, 'a> {
    writer: Writer<'e, 'a>,
    /// The parts that list their own graphs.
    parts: &'e PartNames,
    /// Where the graph depends on the mode, if it is listed for both.
    modes: Option<&'e ModeUses>,
    /// The counters of the loops over layers that are open, outermost first.
    loops: Vec<String>,
    count: usize,
    /// The variables that hold the live paths of parts of the model, by the labels that those have in the traced graph.
    paths: Vec<(String, String)>,
    /// Whether operands of an operation on the host are written.
    is_on_host: bool,
    /// The modules that the runtime's tracer is in.
    modules: Vec<ModuleScope>,
    /// Whether it may be in further modules inside those.
    may_be_deeper: bool,
    /// The file of the user's that it is in.
    file: String,
    /// The parameters of regions that are listed, which are values of the graph whatever they come from.
    listed: NodeSet,
    /// What is live, once that was asked.
    live: OnceCell<NodeSet>,
}

impl<'e, 'a> Walk<'e, 'a> {
    fn new(emitter: &'e Emitter<'a>, parts: &'e PartNames, modes: Option<&'e ModeUses>) -> Walk<'e, 'a> {
        let mut walk = Walk {
            writer: Writer::new(emitter, Phase::Freeze),
            parts,
            modes,
            loops: Vec::new(),
            count: 0,
            paths: Vec::new(),
            modules: Vec::new(),
            may_be_deeper: false,
            file: String::new(),
            listed: NodeSet::default(),
            live: OnceCell::new(),
            is_on_host: false,
        };
        walk.writer.prints_all = true;
        for name in ["t", "Arg", "args", "outputs"] {
            walk.writer.names.take(name);
        }
        emitter.bind_model(&mut walk.writer);
        walk.name_inputs();
        walk
    }

    /// The free parameters of the function, each with the node that it is.
    fn free_inputs(&self) -> Vec<(&'a Param, NodeId)> {
        let emitter = self.writer.emitter;
        let traced = emitter.traced;
        let params = &emitter.graph.region(emitter.graph.body()).params;
        let inputs = params.iter().skip(usize::from(traced.signature.has_receiver));
        let free = traced.signature.params.iter().filter(|param| param.fixed.is_none());
        free.zip(inputs.copied()).collect()
    }

    fn name_inputs(&mut self) {
        for (param, id) in self.free_inputs() {
            let name = self.writer.names.fresh(&format!("{}_arg", identifier(&param.name)));
            self.writer.set(id, Value::owned(name));
        }
    }

    /// The variables that hold the inputs.
    fn names_of_inputs(&self) -> Vec<String> {
        self.free_inputs().into_iter().map(|(_, id)| self.writer.read(id).text).collect()
    }

    /// The inputs' names in the graph, each with whether it is a tensor.
    fn kinds_of_inputs(&self) -> String {
        let input = |(param, _): (&Param, NodeId)| format!("({:?}, {})", param.name, param.ty == Ty::Tensor);
        self.free_inputs().into_iter().map(input).collect::<Vec<_>>().join(", ")
    }

    /// The lines that make the inputs.
    fn inputs(&self) -> String {
        let input = |(param, id): (&Param, NodeId)| {
            let name = self.writer.read(id).text;
            format!("let {name} = t.input({:?}, {});\n", param.name, param.ty == Ty::Tensor)
        };
        self.free_inputs().into_iter().map(input).collect()
    }

    /// The lines that list the function's nodes, and its outputs.
    fn walked(&mut self) -> (String, Vec<String>) {
        let graph = self.writer.graph();
        if graph.nodes().into_iter().any(|id| graph.node(id).does_on_host(&|op| *op == HostOp::Frame)) {
            // The live model has none.
            self.writer.line("let frame = ();");
        }
        let body = graph.body();
        self.region(body);
        let outputs = self.outputs(body);
        (self.writer.lines.join("\n"), outputs)
    }

    /// What a region hands over; a carried number of the live model's stays one.
    fn given(&mut self, region: RegionId) -> Vec<String> {
        let owner = self.writer.graph().owner_of(region);
        let is_loop = owner.is_some_and(|owner| matches!(self.writer.graph().node(owner).op, Op::For(_)));
        let params = self.writer.graph().region(region).params.clone();
        let Some(end) = self.writer.graph().yield_of(region) else { return Vec::new() };
        let args = self.writer.graph().node(end).args.clone();
        let carried = &params[params.len().saturating_sub(args.len())..];
        let outputs = args.iter().enumerate().map(|(position, arg)| match carried.get(position) {
            Some(&param) if is_loop && self.is_live(param) => literal(arg, &|id| self.writer.read(id)),
            _ => format!("{}.clone()", self.arg(arg).trim_start_matches('&')),
        });
        outputs.collect()
    }

    fn outputs(&mut self, region: RegionId) -> Vec<String> {
        let Some(end) = self.writer.graph().yield_of(region) else { return Vec::new() };
        let args = self.writer.graph().node(end).args.clone();
        args.iter().map(|arg| self.arg(arg)).collect()
    }

    fn region(&mut self, region: RegionId) {
        let opening = self.writer.openings.remove(&Some(region)).unwrap_or_default();
        self.writer.lines.extend(opening);
        for id in self.writer.graph().region(region).nodes.clone() {
            self.list(id);
            self.own_variable(id);
        }
    }

    fn list(&mut self, id: NodeId) {
        let op = self.writer.graph().node(id).op.clone();
        match op {
            Op::Yield => {}
            Op::GetAttr(_) if self.writer.graph().node(id).input(0).is_none_or(|base| self.is_live(base)) => {}
            _ if self.writer.is_set(id) => {}
            Op::Host(host) if stands_for_field(&host.op) => self.writer.live_field(id),
            op if op.is_control_flow() && self.is_live(id) => self.writer.control(id),
            op if op.is_control_flow() => self.control(id),
            Op::TupleGet(_) if self.is_live(id) => {
                let value = self.writer.expression(id);
                self.writer.set(id, value);
            }
            _ if self.is_live(id) => {
                let value = self.writer.expression(id);
                self.writer.bind(id, value);
                self.name_element(id);
            }
            op => self.record(id, &op),
        }
    }

    /// Makes an option a variable of the graph's own where code behind it writes to it: the live model may decide what it is,
    /// so that a literal would stand for it.
    fn own_variable(&mut self, id: NodeId) {
        let graph = self.writer.graph();
        let node = graph.node(id);
        let is_decided = node.op.is_control_flow() || matches!(node.op, Op::TupleGet(_) | Op::Host(_));
        if is_decided && matches!(node.ty, Type::Option(_)) && !self.is_live(id) && graph.may_be_changed(id) {
            let value = self.writer.read(id).text;
            self.name(id, &format!("t.variable(&{value})"));
        }
    }

    fn record(&mut self, id: NodeId, op: &Op) {
        self.stand_in_modules_of(id);
        let node = self.writer.graph().node(id);
        let (place, ty) = (place_of(node), node.ty.to_string());
        let label = node.origin.labels.first().cloned().unwrap_or_default();
        let (all, mode) = (node.args.clone(), self.mode_of(id));
        let listed = op.host().and_then(|host| self.listed_part(host, &all, &label));
        let call = match op {
            Op::Host(_) if listed.is_some() => listed.unwrap_or_default(),
            Op::CallModule(kind) if all[0].node().is_some_and(|module| !self.is_live(module)) => {
                let module = self.arg(&all[0]);
                let args = self.args(&all[1..]);
                let call = format!("t.chosen_module({:?}, {module}, &[{args}], {label:?}, {place:?})", kind.0);
                self.name(id, &call);
                return self.in_mode(id, &mode);
            }
            Op::CallModule(kind) if kind.row().is_some_and(|row| row.is_chain) => {
                let module = self.writer.read(all[0].node().unwrap_or(id)).text;
                let input = self.arg(&all[1]);
                format!("t.sequential({}, {module}.as_chain(), {input}, {mode}, {place:?})", self.path(&label))
            }
            Op::CallModule(_) => {
                let module = self.writer.read(all[0].node().unwrap_or(id)).borrowed();
                let args = self.values(&all[1..]);
                let call = format!("t.module({}, {module}; {args}; {place:?})", self.relative_path(&label));
                self.node(id, &call);
                return self.in_mode(id, &mode);
            }
            Op::Call(op) => {
                let call = format!("t.call({:?}; {}; {place:?})", op.name(), self.values_of(id, &all));
                return self.node(id, &call);
            }
            Op::TupleGet(position) => {
                let tuple = self.arg(&all[0]);
                format!("t.part({tuple}, {position})")
            }
            Op::Host(host) if self.submodule(id, &host.op).is_some() => self.submodule_call(id, host, place),
            Op::Host(host) => {
                let (op, words, args) = (host.op.name(), host.op.words(), self.host_values(&all));
                let call = format!("t.host({op:?}, {words:?}; {args}");
                return self.typed_node(id, &call, &format!("{ty:?}; {place}"));
            }
            Op::Rust(code) => {
                let name = self.writer.graph().base_name(id).to_owned();
                format!("t.code({:?}, &[{}], ({name:?}, {ty:?}), {place:?})", code.text(), self.args(&all))
            }
            Op::GetAttr(field) => {
                format!("t.field({}, {field:?}, {place:?})", self.args(&all))
            }
            other => format!("t.code({:?}, &[{}], (\"node\", {ty:?}), {place:?})", other.opcode(), self.args(&all)),
        };
        self.name(id, &call);
    }

    /// The mode in which the call of a layer runs it, as an option.
    fn mode_of(&self, id: NodeId) -> String {
        if self.modes.is_some_and(|modes| modes.layers.contains(&id)) {
            return "t.mode_of_layers()".to_owned();
        }
        format!("{:?}", self.writer.graph().node(id).mode())
    }

    /// Has the call of a layer run it in the mode that the code says, if it says one.
    fn in_mode(&mut self, id: NodeId, mode: &str) {
        if mode != "None" {
            let call = self.writer.read(id).text;
            self.writer.line(format!("t.in_mode(&{call}, {mode});"));
        }
    }

    /// The nodes of a part that lists them itself.
    fn listed_part(&mut self, call: &HostOp, args: &[Arg], label: &str) -> Option<String> {
        let HostOp::CallPart(function) = call else { return None };
        let part = args.first().and_then(Arg::node)?;
        let HostOp::FreezePart(ty) = self.writer.graph().node(part).op.host()? else { return None };
        let is_listed = self.parts.contains(&(ty.clone(), function.clone()));
        // What the part was traced for is no input of its.
        let free =
            args[1..].iter().filter(|arg| !matches!(arg, Arg::Bool(_) | Arg::Int(_) | Arg::Float(_) | Arg::Str(_)));
        let free: Vec<Arg> = free.map(bare).collect();
        is_listed.then(|| {
            let (model, path) = (self.writer.read(part).text, self.path(label));
            format!("t.within({path}, {model}.as_traced(), &[{}])?", self.args(&free))
        })
    }

    /// The line of a node, in the notation of the runtime's macro `node!`.
    fn node(&mut self, id: NodeId, call: &str) {
        let wanted = identifier(self.writer.graph().base_name(id));
        let name = self.writer.names.fresh(&wanted);
        self.writer.line(format!("node!({name} = {call});"));
        self.writer.set(id, Value::owned(name));
    }

    /// The same of a node with a type; its name stands there where the variable has another.
    fn typed_node(&mut self, id: NodeId, call: &str, described: &str) {
        let base = self.writer.graph().base_name(id).to_owned();
        let name = self.writer.names.fresh(&identifier(&base));
        let label = if name == base { String::new() } else { format!("{base:?}, ") };
        self.writer.line(format!("node!({name} = {call}; {label}{described}));"));
        self.writer.set(id, Value::owned(name));
    }

    fn name(&mut self, id: NodeId, call: &str) {
        let wanted = identifier(self.writer.graph().base_name(id));
        let name = self.writer.names.fresh(&wanted);
        self.writer.line(format!("let {name} = {call};"));
        self.writer.set(id, Value::owned(name));
    }
}

/// The source line of a node as the runtime's tracer takes it; 0 where none is known.
fn place_of(node: &Node) -> usize {
    node.origin.places.last().map_or(0, |place| place.line)
}
