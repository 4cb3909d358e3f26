//! The instance graph: code that walks the live model and builds the flat graph that torch.fx would give.
//!
//! What is known of the live model runs as it is: its loops, its `match`es, its numbers. What needs an input is told to
//! the runtime's `Tracer` instead. So this is the third reading of the same graph, with the walk of `freeze`.

use fx_front::{
    index::{Index, Ty},
    trace::Traced,
};
use fx_ir::{Arg, Binding, NodeId, Op, RegionId, Type};

use super::{
    Emitter,
    body::{Phase, Writer},
    names::identifier,
    template,
    value::{Value, literal},
};

/// `graph()` of the model, or `name_graph()` of a free function.
pub(super) fn emit(index: &Index, traced: &Traced) -> String {
    let emitter = Emitter::new(index, traced, &traced.graph);
    let mut walk = Walk { writer: Writer::new(&emitter, Phase::Freeze), loops: Vec::new(), count: 0 };
    ["t", "Arg"].into_iter().for_each(|name| walk.writer.names.take(name));
    emitter.bind_model(&mut walk.writer);
    let body = traced.graph.body();
    walk.inputs(body);
    walk.region(body);
    let outputs = walk.outputs(body);
    let lines = walk.writer.lines.join("\n");
    let title = &traced.graph.name;
    let code = format!(
        "{{
            use ::fx_runtime::frozen::prelude::*;
            use ::fx_runtime::instance::{{Arg, Otherwise as _}};
            let _no_grad = ::fx_runtime::tch::no_grad_guard();
            let mut t = ::fx_runtime::instance::Tracer::new({title:?});
            {lines}
            t.finish(&[{}])
        }}",
        outputs.join(", ")
    );
    let result = "::fx_runtime::Result<::fx_runtime::Graph>";
    let doc = "/// The graph of the live object, flat, as torch.fx would show it: `print_tabular()` it, or print it.\n";
    let allow = "#[allow(unused, clippy::all, clippy::pedantic)]";
    if traced.model.is_some() {
        format!("impl {} {{ {doc} {allow} pub fn graph(&self) -> {result} {code} }}\n", emitter.owner())
    } else {
        format!("{doc} {allow} pub fn {}_graph() -> {result} {code}\n", identifier(title))
    }
}

/// The numbers of a list that holds nothing else.
fn ints(items: &[Arg]) -> Option<Vec<i64>> {
    items.iter().map(|item| if let Arg::Int(number) = item { Some(*number) } else { None }).collect()
}

struct Walk<'e, 'a> {
    writer: Writer<'e, 'a>,
    /// The counters of the loops over layers that are open, outermost first.
    loops: Vec<String>,
    count: usize,
}

impl Walk<'_, '_> {
    fn inputs(&mut self, body: RegionId) {
        let traced = self.writer.emitter.traced;
        let params = self.writer.graph().region(body).params.clone();
        let inputs = params.iter().skip(usize::from(traced.signature.has_receiver));
        let free = traced.signature.params.iter().filter(|param| param.fixed.is_none());
        for (param, &id) in free.zip(inputs) {
            let name = self.writer.names.fresh(&format!("{}_arg", identifier(&param.name)));
            self.writer.line(format!("let {name} = t.input({:?}, {});", param.name, param.ty == Ty::Tensor));
            self.writer.set(id, Value::owned(name));
        }
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

    /// Is the value there before any input is? Tensors are recorded even then, as torch.fx has them.
    fn is_live(&self, id: NodeId) -> bool {
        let node = self.writer.graph().node(id);
        let early = self.writer.emitter.bindings.get(id) != Binding::Call;
        let made_by_op = matches!(node.op, Op::Call(_) | Op::CallModule(_));
        let inside = node.regions.iter().flat_map(|&region| &self.writer.graph().region(region).nodes);
        let all_inside =
            inside.copied().all(|inner| matches!(self.writer.graph().node(inner).op, Op::Yield) || self.is_live(inner));
        early
            && !made_by_op
            && all_inside
            && node.inputs().all(|input| self.is_live(input) || matches!(node.op, Op::GetAttr(_)))
    }

    fn region(&mut self, region: RegionId) {
        let opening = self.writer.openings.remove(&Some(region)).unwrap_or_default();
        self.writer.lines.extend(opening);
        for id in self.writer.graph().region(region).nodes.clone() {
            let op = self.writer.graph().node(id).op.clone();
            match op {
                Op::Yield => {}
                Op::GetAttr(_) if self.writer.graph().node(id).input(0).is_none_or(|base| self.is_live(base)) => {}
                _ if self.writer.is_set(id) => {}
                op if op.is_control_flow() && self.is_live(id) => self.writer.control(id),
                op if op.is_control_flow() => self.control(id),
                _ if self.is_live(id) => {
                    let value = self.writer.expression(id);
                    self.writer.bind(id, value);
                }
                op => self.record(id, &op),
            }
        }
    }

    fn record(&mut self, id: NodeId, op: &Op) {
        let node = self.writer.graph().node(id);
        let place = node.origin.places.last().map(ToString::to_string).unwrap_or_default();
        let label = node.origin.labels.first().cloned().unwrap_or_default();
        let all = node.args.clone();
        let call = match op {
            Op::CallModule(kind) if matches!(kind.0.as_str(), "Sequential" | "SequentialT") => {
                let module = self.writer.read(all[0].node().unwrap_or(id)).text;
                let input = self.arg(&all[1]);
                format!("t.chain({}, {module}.layers(), {input}, {place:?})", self.path(&label))
            }
            Op::CallModule(_) => {
                let module = self.writer.read(all[0].node().unwrap_or(id)).borrowed();
                let args = self.args(&all[1..]);
                format!("t.module({}, {module}, &[{args}], {place:?})", self.path(&label))
            }
            Op::Call(op) => format!("t.call({:?}, &[{}], {place:?})", op.name(), self.args(&all)),
            Op::TupleGet(position) => {
                let tuple = self.arg(&all[0]);
                format!("t.part({tuple}, {position})")
            }
            Op::Rust(code) => {
                let name = self.writer.graph().base_name(id).to_owned();
                format!("t.code({:?}, &[{}], {name:?}, {place:?})", code.template, self.args(&all))
            }
            Op::GetAttr(field) => {
                format!("t.code({:?}, &[{}], {field:?}, {place:?})", format!("$0.{field}"), self.args(&all))
            }
            other => format!("t.code({:?}, &[{}], \"node\", {place:?})", other.opcode(), self.args(&all)),
        };
        self.name(id, &call);
    }

    fn name(&mut self, id: NodeId, call: &str) {
        let wanted = identifier(self.writer.graph().base_name(id));
        let name = self.writer.names.fresh(&wanted);
        self.writer.line(format!("let {name} = {call};"));
        self.writer.set(id, Value::owned(name));
    }

    fn args(&mut self, args: &[Arg]) -> String {
        let args: Vec<String> = args.iter().map(|arg| self.arg(arg)).collect();
        args.join(", ")
    }

    /// An argument as a graph has it, borrowed; a live tensor becomes a `get_attr`.
    fn arg(&mut self, arg: &Arg) -> String {
        match arg {
            Arg::Node(id) if !self.is_live(*id) => format!("&{}", self.writer.read(*id).text),
            Arg::Node(id) => self.live(*id),
            Arg::Int(number) => format!("&Arg::Int({number})"),
            Arg::Float(_) => format!("&Arg::Float({})", literal(arg, &|id| self.writer.read(id))),
            Arg::Bool(known) => format!("&Arg::Bool({known})"),
            Arg::Str(text) => format!("&Arg::Str({text:?}.to_owned())"),
            Arg::None => "&Arg::None".to_owned(),
            Arg::Path(path) => format!("&Arg::Path({path:?}.to_owned())"),
            Arg::List(items) => match ints(items) {
                Some(numbers) => format!("&Arg::ints(&{numbers:?})"),
                None => format!("&Arg::list(&[{}])", self.args(items)),
            },
        }
    }

    fn live(&mut self, id: NodeId) -> String {
        let node = self.writer.graph().node(id);
        let value = self.writer.read(id);
        let label = node.origin.labels.first().cloned().unwrap_or_else(|| node.name.clone());
        match &node.ty {
            Type::Tensor(_) => {
                let name = self.writer.names.fresh("attr");
                let path = self.path(&label);
                self.writer.line(format!("let {name} = t.tensor({path}, {});", value.borrowed()));
                format!("&{name}")
            }
            Type::Option(inner) if inner.is_tensor() => {
                let name = self.writer.names.fresh("attr");
                let path = self.path(&label);
                self.writer.line(format!(
                    "let {name} = match {} {{ Some(tensor) => t.tensor({path}, tensor), None => Arg::None }};",
                    value.borrowed()
                ));
                format!("&{name}")
            }
            _ => format!("&(&::fx_runtime::instance::Probe({})).arg({:?})", value.borrowed(), value.text),
        }
    }

    /// A path as an expression: each `*` is the turn of a loop.
    fn path(&self, label: &str) -> String {
        let stars = label.matches('*').count();
        if stars == 0 {
            return format!("{label:?}");
        }
        let skip = self.loops.len().saturating_sub(stars);
        let turns: Vec<&str> = self.loops.iter().skip(skip).map(String::as_str).collect();
        let format = label.replace('*', "{}");
        let missing = vec!["\"*\""; stars.saturating_sub(turns.len())];
        format!("&format!({format:?}, {})", [missing, turns].concat().join(", "))
    }

    /// A decision of the live model is taken; any other control flow is one node.
    fn control(&mut self, id: NodeId) {
        let node = self.writer.graph().node(id);
        let decided = node.input(0).is_none_or(|subject| self.is_live(subject)) && !matches!(node.op, Op::While);
        match node.op.clone() {
            Op::For(header) if decided => self.each(id, &header),
            Op::Match(patterns) if decided => {
                let subject = node.input(0).map_or(Value::owned("()"), |subject| self.writer.read(subject));
                self.choice(id, &format!("match {}", subject.borrowed()), &patterns);
            }
            Op::If if decided => {
                let condition = literal(&node.args[0], &|id| self.writer.read(id));
                self.choice(id, &format!("match {condition}"), &["true".to_owned(), "false".to_owned()]);
            }
            op => self.undecided(id, &op),
        }
    }

    fn undecided(&mut self, id: NodeId, op: &Op) {
        let mut inputs: Vec<Arg> = Vec::new();
        self.outer_inputs(id, &mut inputs);
        let node = self.writer.graph().node(id);
        let place = node.origin.places.last().map(ToString::to_string).unwrap_or_default();
        let name = self.writer.graph().base_name(id).to_owned();
        let args = self.args(&inputs);
        let call = format!("t.code(\"{} at {place}\", &[{args}], {name:?}, {place:?})", op.opcode());
        self.name(id, &call);
    }

    /// What the node and its regions read of what is outside them and needs an input.
    fn outer_inputs(&self, id: NodeId, out: &mut Vec<Arg>) {
        let graph = self.writer.graph();
        let mut pending = vec![id];
        while let Some(at) = pending.pop() {
            for input in graph.node(at).inputs() {
                let inside = graph.scope_of(input).is_some_and(|scope| graph.is_inside(scope, id));
                if !inside && !self.is_live(input) && !out.contains(&Arg::Node(input)) {
                    out.push(Arg::Node(input));
                }
            }
            for &region in &graph.node(at).regions {
                pending.extend(&graph.region(region).nodes);
            }
        }
    }

    fn choice(&mut self, id: NodeId, head: &str, patterns: &[String]) {
        let regions = self.writer.graph().node(id).regions.clone();
        let mut arms = String::new();
        for (&region, pattern) in regions.iter().zip(patterns) {
            let names = self.writer.names.clone();
            let pattern = self.writer.pattern_of(pattern, region);
            let block = self.block(region, |outputs| match outputs {
                [] => "()".to_owned(),
                [one] => one.clone(),
                many => format!("({},)", many.join(", ")),
            });
            self.writer.names = names;
            arms.push_str(&format!("{pattern} => {block}\n"));
        }
        let text = format!("{head} {{ {arms} }}");
        self.results(id, &text);
    }

    /// Binds what control flow yields: one name, or one for every part that is read.
    fn results(&mut self, id: NodeId, text: &str) {
        match self.writer.parts_pattern(id) {
            Some(pattern) => self.writer.line(format!("let {pattern} = {text};")),
            None if self.writer.graph().node(id).ty == Type::Tuple(Vec::new()) => self.writer.line(format!("{text};")),
            None => self.name(id, text),
        }
    }

    fn block(&mut self, region: RegionId, tail: impl FnOnce(&[String]) -> String) -> String {
        let outer = std::mem::take(&mut self.writer.lines);
        self.region(region);
        let outputs = self.given(region);
        let tail = tail(&outputs);
        let lines = std::mem::replace(&mut self.writer.lines, outer);
        format!("{{ {}\n{tail} }}", lines.join("\n"))
    }

    /// The position of what a loop begins with: not the first where it runs over the layers in the middle of a chain.
    fn first_turn(&self, id: NodeId) -> usize {
        let graph = self.writer.graph();
        let Some(Op::Rust(code)) = graph.node(id).input(0).map(|list| &graph.node(list).op) else { return 0 };
        let bounds = code.template.strip_prefix("$0.layers_between::<").and_then(|rest| rest.rsplit_once('('));
        let first = bounds.and_then(|(_, bounds)| bounds.split_once(','));
        first.and_then(|(first, _)| first.parse().ok()).unwrap_or(0)
    }

    fn each(&mut self, id: NodeId, header: &str) {
        let graph = self.writer.graph();
        let region = graph.node(id).regions[0];
        let params = graph.region(region).params.clone();
        let inits = graph.node(id).args[1..].to_vec();
        let (bound, carried) = params.split_at(params.len() - inits.len());
        let mut names = Vec::new();
        for (&param, init) in carried.iter().zip(&inits) {
            let first = match self.is_live(param) {
                true => literal(init, &|id| self.writer.read(id)),
                false => format!("{}.clone()", self.arg(init).trim_start_matches('&')),
            };
            let name = self.writer.names.fresh(&identifier(self.writer.graph().base_name(param)));
            self.writer.line(format!("let mut {name} = {first};"));
            self.writer.set(param, Value::owned(name.clone()));
            names.push(name);
        }
        self.count += 1;
        let turn = self.writer.names.fresh(&format!("turn{}", self.count));
        let subject =
            self.writer.graph().node(id).input(0).map_or(Value::owned("()"), |subject| self.writer.read(subject));
        let (pattern, over) = header.split_once(" in ").unwrap_or((header, "$0"));
        let pattern = self.writer.turn(pattern, over, bound);
        let over = template::fill(over, &|_| subject.clone());
        self.loops.push(turn.clone());
        let targets = names.clone();
        let body = self.block(region, |outputs| match (targets.as_slice(), outputs) {
            ([], _) => String::new(),
            ([name], [value]) => format!("{name} = {value};"),
            _ => format!("({}) = ({});", targets.join(", "), outputs.join(", ")),
        });
        self.loops.pop();
        let turns = match self.first_turn(id) {
            0 => format!("({over}).enumerate()"),
            first => format!("({first}_usize..).zip({over})"),
        };
        self.writer.line(format!("for ({turn}, {pattern}) in {turns} {body}"));
        let live: Vec<String> = carried
            .iter()
            .zip(&names)
            .filter(|(param, _)| self.is_live(**param))
            .map(|(_, name)| name.clone())
            .collect();
        for name in live {
            self.writer.line(format!("let {name} = (&::fx_runtime::instance::Probe(&{name})).arg({name:?});"));
        }
        match names.as_slice() {
            [one] => self.writer.set(id, Value::owned(one.clone())),
            many => {
                for user in self.writer.graph().users(id) {
                    if let Op::TupleGet(position) = self.writer.graph().node(user).op
                        && let Some(name) = many.get(position)
                    {
                        self.writer.set(user, Value::owned(name.clone()));
                    }
                }
            }
        }
    }
}
