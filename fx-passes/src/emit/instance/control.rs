//! Control flow of the instance graph: decided by the live model where it can be, one node where it cannot.

use std::fmt::Write as _;

use fx_ir::{Arg, NodeId, Op, RegionId, Type};

use super::super::{
    control::before_brace,
    names::identifier,
    template,
    value::{Value, literal},
};
use super::Walk;

impl Walk<'_, '_> {
    /// A decision of the live model is taken; any other control flow is one node.
    pub(super) fn control(&mut self, id: NodeId) {
        let node = self.writer.graph().node(id);
        let decided = node.input(0).is_none_or(|subject| self.is_live(subject)) && !matches!(node.op, Op::While);
        match node.op.clone() {
            Op::For(header) if decided => self.each(id, &header),
            Op::Match(patterns) if decided => {
                let subject = self.writer.subject(id);
                let is_lent = node.input(0).is_some_and(|subject| self.is_lent_layer(subject));
                let subject = if is_lent { subject.text } else { subject.borrowed() };
                self.choice(id, &format!("match {}", before_brace(subject)), &patterns);
            }
            Op::If if decided => {
                let condition = literal(&node.args[0], &|id| self.writer.read(id));
                self.choice(
                    id,
                    &format!("match {}", before_brace(condition)),
                    &["true".to_owned(), "false".to_owned()],
                );
            }
            op => self.undecided(id, &op),
        }
    }

    /// Is it an option of a layer that is borrowed from a list: `layers.get(1)`?
    fn is_lent_layer(&self, id: NodeId) -> bool {
        let node = self.writer.graph().node(id);
        let of_layer = matches!(&node.ty, Type::Option(inner) if matches!(**inner, Type::Module(_)));
        of_layer && matches!(&node.op, Op::Rust(code) if code.is_lent())
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
        let is_parted = self.is_taken_apart(id);
        let mut arms = String::new();
        for (&region, pattern) in regions.iter().zip(patterns) {
            let names = self.writer.names.clone();
            let pattern = self.writer.pattern_of(pattern, region);
            let parts = if is_parted { self.tuple_given(region) } else { None };
            let copies = self.never_given(id, region);
            let block = self.block(region, |outputs| match outputs {
                [] => "()".to_owned(),
                [one] => match (copies, parts) {
                    (Some(0), _) => "()".to_owned(),
                    (Some(copies), _) => format!("({},)", vec![one.as_str(); copies].join(", ")),
                    (None, Some(count)) => taken_apart(one, count),
                    (None, None) => one.clone(),
                },
                many => format!("({},)", many.join(", ")),
            });
            self.writer.names = names;
            // Writing to a string cannot fail.
            let _ = writeln!(arms, "{pattern} => {block}");
        }
        let text = format!("{head} {{ {arms} }}");
        self.results(id, &text);
    }

    /// Are the parts of what the node yields all that is read of it?
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

    fn block(&mut self, region: RegionId, tail: impl FnOnce(&[String]) -> String) -> String {
        let outer = std::mem::take(&mut self.writer.lines);
        self.region(region);
        let outputs = self.given(region);
        let tail = tail(&outputs);
        let lines = std::mem::replace(&mut self.writer.lines, outer);
        format!("{{ {}\n{tail} }}", lines.join("\n"))
    }

    /// The position of what a loop begins with: not the first where it runs over the layers in the middle of a chain, or
    /// skips some; `over` is the template of what it runs over.
    fn first_turn(&self, id: NodeId, over: &str) -> usize {
        if let Some((_, skipped)) = over.rsplit_once(".iter().skip(") {
            return skipped.split(')').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        }
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
        let names: Vec<String> =
            carried.iter().zip(&inits).map(|(&param, init)| self.carried_variable(param, init)).collect();
        self.count += 1;
        let turn = self.writer.names.fresh(&format!("turn{}", self.count));
        let subject = self.writer.subject(id);
        let (pattern, over) = header.split_once(" in ").unwrap_or((header, "$0"));
        let pattern = self.writer.turn(pattern, over, bound);
        let first = self.first_turn(id, over);
        let over = template::fill(over, &|_| subject.clone());
        self.loops.push(turn.clone());
        let body = self.block(region, |outputs| match (names.as_slice(), outputs) {
            ([], _) => String::new(),
            ([name], [value]) => format!("{name} = {value};"),
            _ => format!("({}) = ({});", names.join(", "), outputs.join(", ")),
        });
        self.loops.pop();
        let turns = match first {
            0 => format!("({over}).enumerate()"),
            first => format!("({first}_usize..).zip({over})"),
        };
        self.writer.line(format!("for ({turn}, {pattern}) in {turns} {body}"));
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
