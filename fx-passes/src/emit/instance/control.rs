//! Control flow of the instance graph: decided by the live model where it can be, one node where it cannot.

use std::fmt::Write as _;

use fx_ir::{Arg, ForLoop, HostOp, ModuleScope, NodeId, Op, Pattern, RegionId, Type, host::Adaptor};

use super::super::{
    control::{before_brace, first_position},
    host::{self, literal},
    names::identifier,
    pattern,
    value::Value,
};
use super::{Walk, place_of};

impl Walk<'_, '_> {
    /// A decision of the live model is taken; any other control flow is one node.
    pub(super) fn control(&mut self, id: NodeId) {
        let node = self.writer.graph().node(id);
        let is_live = |subject: &Arg| subject.nodes().all(|id| self.is_live(id));
        let decided = node.args.first().is_none_or(is_live) && !matches!(node.op, Op::While);
        match node.op.clone() {
            Op::For(header) if decided => self.each(id, &header),
            Op::Match(patterns) if decided => {
                let subject = self.writer.subject(id);
                let is_lent = node.input(0).is_some_and(|subject| self.is_lent_layer(subject));
                let subject = if is_lent { subject.text } else { self.writer.taken_apart(id, &subject) };
                self.choice(id, &format!("match {}", before_brace(subject)), &patterns);
            }
            Op::If if decided => {
                let condition = literal(&node.args[0], &|id| self.writer.read(id));
                self.choice(id, &format!("match {}", before_brace(condition)), &pattern::TRUTH);
            }
            op => self.undecided(id, &op),
        }
    }

    /// Whether it is an option of a layer that is borrowed from a list: `layers.get(1)`.
    fn is_lent_layer(&self, id: NodeId) -> bool {
        let node = self.writer.graph().node(id);
        let of_layer = matches!(&node.ty, Type::Option(inner) if matches!(**inner, Type::Module(_)));
        of_layer && node.op.host().is_some_and(HostOp::yields_loan)
    }

    /// Control flow that inputs decide is a node with regions.
    fn undecided(&mut self, id: NodeId, op: &Op) {
        self.stand_in_modules_of(id);
        let node = self.writer.graph().node(id);
        let (place, ty, regions, all) = (place_of(node), node.ty.to_string(), node.regions.clone(), node.args.clone());
        let heads: Vec<String> = match op {
            Op::Match(patterns) => patterns.iter().map(|pattern| format!("{:?}", pattern.to_string())).collect(),
            Op::For(head) => vec![format!("{:?}", head.to_string())],
            _ => Vec::new(),
        };
        let (opcode, args, heads) = (op.opcode(), self.host_values(&all), heads.join(", "));
        self.typed_node(id, &format!("t.flow({opcode:?}, [{heads}]; {args}"), &format!("{ty:?}; {place}"));
        for region in regions {
            self.listed_region(id, region);
        }
    }

    /// A region of such a node.
    fn listed_region(&mut self, id: NodeId, region: RegionId) {
        let names = self.writer.names.clone();
        let mut params = Vec::new();
        for param in self.writer.graph().region(region).params.clone() {
            let base = self.writer.graph().base_name(param).to_owned();
            let name = self.writer.names.fresh(&identifier(&base));
            params.push(format!("{name}: {base:?} {:?}", self.writer.graph().node(param).ty.to_string()));
            self.writer.set(param, Value::owned(name));
            self.listed.insert(param);
            self.live.take();
        }
        let owner = self.writer.read(id).text;
        self.writer.line(match params.as_slice() {
            [] => format!("t.begin(&{owner}, []);"),
            params => format!("node!({} = t.begin({owner}));", params.join(", ")),
        });
        let end = self.writer.graph().yield_of(region);
        let given = end.map(|end| self.writer.graph().node(end).args.clone()).unwrap_or_default();
        let (known, around, file) = (self.paths.len(), self.modules.clone(), self.file.clone());
        self.region(region);
        let outputs = self.host_args(&given);
        self.stand_in(&around);
        self.be_in(&file);
        self.paths.truncate(known);
        self.writer.line(format!("t.end(&[{outputs}]);"));
        self.writer.names = names;
    }

    fn choice(&mut self, id: NodeId, head: &str, patterns: &[Pattern]) {
        let regions = self.writer.graph().node(id).regions.clone();
        let is_parted = self.is_taken_apart(id);
        let mut arms = String::new();
        let (around, mut ends) = ((self.modules.clone(), self.may_be_deeper), Vec::new());
        for (&region, pattern) in regions.iter().zip(patterns) {
            let names = self.writer.names.clone();
            let pattern = self.writer.pattern_of(pattern, region);
            let parts = if is_parted { self.tuple_given(region) } else { None };
            let copies = self.never_given(id, region);
            (self.modules, self.may_be_deeper) = around.clone();
            let block = self.block(region, None, |outputs| match outputs {
                [] => "()".to_owned(),
                [one] => match (copies, parts) {
                    (Some(0), _) => "()".to_owned(),
                    (Some(copies), _) => format!("({},)", vec![one.as_str(); copies].join(", ")),
                    (None, Some(count)) => taken_apart(one, count),
                    (None, None) => one.clone(),
                },
                many => format!("({},)", many.join(", ")),
            });
            ends.push((self.modules.clone(), self.may_be_deeper));
            self.writer.names = names;
            // Writing to a string cannot fail.
            let _ = writeln!(arms, "{pattern} => {block}");
        }
        self.join_modules(&ends);
        let text = format!("{head} {{ {arms} }}");
        self.results(id, &text);
    }

    /// Whether the parts of what the node yields are all that is read of it.
    fn is_taken_apart(&self, id: NodeId) -> bool {
        let graph = self.writer.graph();
        let users = graph.users(id);
        !users.is_empty() && users.iter().all(|&user| matches!(graph.node(user).op, Op::TupleGet(_)))
    }

    /// The number of parts that the node yields, where the region does not come to its end: its last node stands for each.
    fn never_given(&self, id: NodeId, region: RegionId) -> Option<usize> {
        let graph = self.writer.graph();
        let last = graph.yield_of(region).and_then(|end| graph.node(end).input(0));
        match &graph.node(id).ty {
            Type::Tuple(parts) if last.is_some_and(|last| graph.node(last).ty == Type::rust("!")) => Some(parts.len()),
            _ => None,
        }
    }

    /// The number of parts where a region hands over one value that is a tuple, and not its parts one by one.
    fn tuple_given(&self, region: RegionId) -> Option<usize> {
        let graph = self.writer.graph();
        match graph.node(graph.yield_of(region)?).args.as_slice() {
            [Arg::Node(one)] => match &graph.node(*one).ty {
                Type::Tuple(parts) => Some(parts.len()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Binds what control flow yields: one name, or one for every part that is read.
    fn results(&mut self, id: NodeId, text: &str) {
        match self.writer.parts_pattern(id) {
            Some(pattern) => self.writer.line(format!("let {pattern} = {text};")),
            None if self.writer.graph().node(id).ty == Type::Tuple(Vec::new()) => self.writer.line(format!("{text};")),
            None => self.name(id, text),
        }
    }

    /// A region as a block. With `around` it is repeated, and leaves the tracer in these modules.
    fn block(
        &mut self,
        region: RegionId,
        around: Option<&[ModuleScope]>,
        tail: impl FnOnce(&[String]) -> String,
    ) -> String {
        let outer = std::mem::take(&mut self.writer.lines);
        let (known, file) = (self.paths.len(), self.file.clone());
        self.region(region);
        let outputs = self.given(region);
        let tail = tail(&outputs);
        // The next iteration finds the tracer where this one did.
        if let Some(around) = around {
            self.stand_in(around);
        }
        self.be_in(&file);
        self.paths.truncate(known);
        let lines = std::mem::replace(&mut self.writer.lines, outer);
        format!("{{ {}\n{tail} }}", lines.join("\n"))
    }

    fn each(&mut self, id: NodeId, head: &ForLoop) {
        let graph = self.writer.graph();
        let region = graph.node(id).regions[0];
        let params = graph.region(region).params.clone();
        let inits = graph.node(id).args[1..].to_vec();
        let (bound, carried) = params.split_at(params.len() - inits.len());
        let names: Vec<String> =
            carried.iter().zip(&inits).map(|(&param, init)| self.carried_variable(param, init)).collect();
        self.count += 1;
        let turn = self.writer.names.fresh(&format!("turn{}", self.count));
        let subject = self.writer.subject(id);
        let pattern = self.writer.element(head, bound);
        let positions = with_positions(&subject.text, &head.adaptors, first_position(self.writer.graph(), id));
        self.loops.push(turn.clone());
        let known = self.paths.len();
        for &element in bound {
            self.name_bound(element, region, &turn);
        }
        let (around, may_be_deeper) = (self.modules.clone(), self.may_be_deeper);
        let body = self.block(region, Some(&around), |outputs| match (names.as_slice(), outputs) {
            ([], _) => String::new(),
            ([name], [value]) => format!("{name} = {value};"),
            _ => format!("({}) = ({});", names.join(", "), outputs.join(", ")),
        });
        // The list may be empty.
        self.may_be_deeper = may_be_deeper;
        self.loops.pop();
        self.paths.truncate(known);
        self.writer.line(format!("for ({turn}, {pattern}) in {positions} {body}"));
        for (&param, name) in carried.iter().zip(&names) {
            if self.is_live(param) {
                self.writer.line(format!("let {name} = (&::fx_runtime::instance::Probe(&{name})).arg({name:?});"));
            }
        }
        self.loop_results(id, &names);
    }

    /// The variable of a value that a loop carries, set to its first value.
    fn carried_variable(&mut self, param: NodeId, init: &Arg) -> String {
        let first = if self.is_live(param) {
            literal(init, &|id| self.writer.read(id))
        } else {
            format!("{}.clone()", self.arg(init).trim_start_matches('&'))
        };
        let name = self.writer.names.fresh(&identifier(self.writer.graph().base_name(param)));
        self.writer.line(format!("let mut {name} = {first};"));
        self.writer.set(param, Value::owned(name.clone()));
        name
    }

    /// A loop's results are what its variables hold at its end.
    fn loop_results(&mut self, id: NodeId, names: &[String]) {
        if let [one] = names {
            self.writer.set(id, Value::owned(one.clone()));
            return;
        }
        for user in self.writer.graph().users(id) {
            if let Op::TupleGet(position) = self.writer.graph().node(user).op
                && let Some(name) = names.get(position)
            {
                self.writer.set(user, Value::owned(name.clone()));
            }
        }
    }
}

/// The parts of a tuple that one node yields.
fn taken_apart(tuple: &str, parts: usize) -> String {
    let parts: Vec<String> = (0..parts).map(|part| format!("t.part(&whole, {part})")).collect();
    format!("{{ let whole = {tuple}; ({},) }}", parts.join(", "))
}

/// What a loop runs over, each element behind its position in the list, the first of which is `first`.
fn with_positions(list: &str, adaptors: &[Adaptor], first: i64) -> String {
    let over = host::adapted(list, adaptors);
    let is_in_order = !adaptors.iter().any(|adaptor| matches!(adaptor, Adaptor::Rev | Adaptor::StepBy(_)));
    match (adaptors, first) {
        ([Adaptor::Iter, Adaptor::Skip(skipped), ..], 0) if is_in_order => {
            format!("({skipped}_usize..).zip({over})")
        }
        ([Adaptor::Iter, rest @ ..], _) if !is_in_order => {
            let numbered = format!("{list}.iter().enumerate()");
            let shifted = if first == 0 { "at".to_owned() } else { format!("at + {first}_usize") };
            match rest {
                // The position is the number that the pattern has.
                [Adaptor::Enumerate, rest @ ..] => {
                    format!("{}.map(|(at, one)| ({shifted}, (at, one)))", host::adapted(&numbered, rest))
                }
                rest if rest.contains(&Adaptor::Enumerate) => {
                    format!("{}.map(|(i, (at, one))| ({shifted}, (i, one)))", host::adapted(&numbered, rest))
                }
                rest => format!("{}.map(|(at, one)| ({shifted}, one))", host::adapted(&numbered, rest)),
            }
        }
        (_, 0) => format!("({over}).enumerate()"),
        (_, first) => format!("({first}_usize..).zip({over})"),
    }
}
