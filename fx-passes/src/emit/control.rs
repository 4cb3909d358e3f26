//! Control flow as Rust: plain where it depends on an input, decided once where it depends on the model.

use fx_ir::{Arg, ForLoop, Graph, HostOp, NodeId, Op, Pattern, RegionId, host::Adaptor};

use super::{
    holder::is_number,
    host,
    names::identifier,
    pattern,
    plan::{Decided, Shape},
    value::Value,
    writer::{Phase, Writer},
};

impl Writer<'_, '_> {
    /// Control flow that is run in this phase.
    pub(super) fn control(&mut self, id: NodeId) {
        match self.graph().node(id).op.clone() {
            Op::For(header) => self.each(id, &header),
            Op::While => self.repeat(id),
            Op::Match(patterns) => self.choice(id, &patterns),
            _ => self.choice(id, &pattern::TRUTH),
        }
    }

    fn choice(&mut self, id: NodeId, patterns: &[Pattern]) {
        self.branches.insert(id);
        let regions = self.graph().node(id).regions.clone();
        let decided = self.emitter.plan.decided.get(&id).filter(|_| self.phase == Phase::Call);
        let text = match decided {
            Some(decided) => {
                let head = self.decision(decided);
                let shape = decided.shape.clone();
                let arms = regions.iter().enumerate();
                let arms = arms.map(|(at, &region)| (self.decided_arm(&shape, at, region), region)).collect();
                self.match_text(&head, arms)
            }
            None if patterns.first() == pattern::TRUTH.first() => {
                let subject = self.subject(id);
                let is_ref = subject.is_ref && self.graph().node(id).op != Op::If;
                let condition = if is_ref { format!("*{}", subject.text) } else { before_brace(subject.text) };
                let [then, other] = [regions[0], regions[1]].map(|region| self.arm(region));
                format!("if {condition} {then} else {other}")
            }
            None => {
                let subject = before_brace(self.borrowed_subject(id, patterns));
                let arms = patterns.iter().zip(&regions);
                let arms = arms.map(|(pattern, &region)| (self.pattern_of(pattern, region), region)).collect();
                self.match_text(&subject, arms)
            }
        };
        self.declare_outlived(id);
        if self.graph().node(id).ty == fx_ir::Type::Tuple(Vec::new()) {
            self.line(format!("{text};"));
            return;
        }
        let is_ref = self.is_lent(id) || self.graph().is_lent_choice(id);
        self.bind(id, Value { is_ref, ..Value::owned(text) });
    }

    /// A reference to what `freeze` has decided.
    fn decision(&self, decided: &Decided) -> String {
        self.field(decided.scope, &decided.field).map_or_else(String::new, |field| field.borrowed())
    }

    fn match_text(&mut self, subject: &str, arms: Vec<(String, RegionId)>) -> String {
        let arms: Vec<String> =
            arms.into_iter().map(|(pattern, region)| format!("{pattern} => {}", self.arm(region))).collect();
        format!("match {subject} {{ {} }}", arms.join("\n"))
    }

    /// A pattern with its variables named, which are bound in the region from here on.
    pub(super) fn pattern_of(&mut self, pattern: &Pattern, region: RegionId) -> String {
        let params = self.graph().region(region).params.clone();
        self.bound(pattern, &params)
    }

    fn bound(&mut self, pattern: &Pattern, params: &[NodeId]) -> String {
        let mut names = vec![String::new(); params.len()];
        for (position, &param) in params.iter().enumerate().rev() {
            let name = self.names.fresh(&identifier(self.graph().base_name(param)));
            names[position].clone_from(&name);
            if is_number(&self.graph().node(param).ty) {
                // Whether the pattern binds a number or a reference to one, from here on it is a number.
                self.openings
                    .entry(self.graph().scope_of(param))
                    .or_default()
                    .push(format!("let {name} = {name}.clone();"));
                self.set(param, Value::owned(name));
            } else {
                self.set(param, Value::reference(name));
            }
        }
        pattern::rust(pattern, &names)
    }

    fn decided_arm(&mut self, shape: &Shape, position: usize, region: RegionId) -> String {
        let params = self.graph().region(region).params.clone();
        let label = params.first().map_or("branch", |&param| self.graph().base_name(param)).to_owned();
        match shape {
            Shape::Maybe(full) if *full == position => format!("Some({})", self.hold(region, &label)),
            Shape::Choice(name, variants) => match &variants[position] {
                (variant, true) => format!("{name}::{variant}({})", self.hold(region, &label)),
                (variant, false) => format!("{name}::{variant}"),
            },
            _ => "None".to_owned(),
        }
    }

    /// Opens the scope of a region: its struct is in a variable of that name.
    fn hold(&mut self, region: RegionId, label: &str) -> String {
        let name = self.names.fresh(&identifier(label));
        self.holders.insert(region, name.clone());
        name
    }

    /// A region as a block that evaluates to what it yields.
    fn arm(&mut self, region: RegionId) -> String {
        self.block(region, |writer| writer.yielded(region))
    }

    fn block(&mut self, region: RegionId, tail: impl FnOnce(&mut Self) -> String) -> String {
        let outer = std::mem::take(&mut self.lines);
        let names = self.names.clone();
        self.region(region);
        let mut tail = tail(self);
        self.names = names;
        self.take_outlived_names();
        let mut lines = std::mem::replace(&mut self.lines, outer);
        fold_tail(&mut lines, &mut tail);
        format!("{{\n{}\n{tail}\n}}", lines.join("\n"))
    }

    /// What a region hands over, as an expression; nothing where it does not end.
    pub(super) fn yielded(&mut self, region: RegionId) -> String {
        let Some(end) = self.graph().yield_of(region) else { return String::new() };
        let args = self.graph().node(end).args.clone();
        let parts: Vec<String> = match (self.graph().owner_of(region), args.as_slice()) {
            (Some(owner), [Arg::Node(chosen)]) if self.graph().is_lent_choice(owner) => {
                vec![self.borrowed_tensor(*chosen)]
            }
            _ => args.iter().map(|arg| self.give_arg(arg, end)).collect(),
        };
        match parts.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            many => format!("({},)", many.join(", ")),
        }
    }

    fn each(&mut self, id: NodeId, header: &ForLoop) {
        let region = self.graph().node(id).regions[0];
        let params = self.graph().region(region).params.clone();
        let carried = self.graph().node(id).args.len() - 1;
        let (bound, carried) = params.split_at(params.len() - carried);
        let results = self.carry(id, carried, 1);
        let decided = self.emitter.plan.decided.get(&id).filter(|_| self.phase == Phase::Call);
        let names = self.names.clone();
        let head = match decided {
            Some(decided) => {
                let decision = self.decision(decided);
                let label = bound.last().map_or("turn", |&param| self.graph().base_name(param)).to_owned();
                let over = self.in_iterations(id, header, bound, decision);
                format!("for {} in {over}", self.hold(region, &label))
            }
            None => self.for_head(id, header, bound),
        };
        let body = self.block(region, |writer| writer.next(region, &results));
        self.names = names;
        self.line(format!("{head} {body}"));
    }

    /// `for x in list.iter()`, with what its pattern binds named.
    pub(super) fn for_head(&mut self, id: NodeId, head: &ForLoop, bound: &[NodeId]) -> String {
        let subject = self.subject(id);
        let pattern = self.element(head, bound);
        let over = self.in_iterations(id, head, bound, host::adapted(&subject.text, &head.adaptors));
        format!("for {pattern} in {over}")
    }

    /// What a loop over layers goes over, so that an error in it names the layer.
    fn in_iterations(&self, id: NodeId, head: &ForLoop, bound: &[NodeId], over: String) -> String {
        let in_order = |adaptor: &Adaptor| matches!(adaptor, Adaptor::Iter | Adaptor::Copied | Adaptor::Enumerate);
        let labels = bound.iter().filter_map(|&param| self.graph().node(param).origin.labels.first());
        let label = labels.into_iter().find(|label| label.ends_with(".*"));
        match label.filter(|_| !self.prints_all && head.adaptors.iter().all(in_order)) {
            Some(label) => {
                let first = first_position(self.graph(), id);
                format!("::fx_runtime::frozen::iterations({label:?}, {first}, {over})")
            }
            None => over,
        }
    }

    /// What a loop's pattern binds, named. An element is a reference; a number of a range or of `enumerate` is not.
    pub(super) fn element(&mut self, head: &ForLoop, bound: &[NodeId]) -> String {
        let text = self.bound(&head.pattern, bound);
        let is_copied = head.adaptors.first() == Some(&Adaptor::Clone) || matches!(head.pattern, Pattern::Reference(_));
        for (position, &param) in bound.iter().enumerate() {
            if is_copied || head.counter() == Some(position) {
                let name = self.read(param).text;
                self.set(param, Value::owned(name));
            }
        }
        text
    }

    /// Variables for what a loop carries, set to their first values; the loop's results are what they hold at its end.
    fn carry(&mut self, id: NodeId, params: &[NodeId], first: usize) -> Vec<String> {
        let inits: Vec<Arg> = self.graph().node(id).args[first..].to_vec();
        let results: Vec<NodeId> = match inits.as_slice() {
            [_] => vec![id],
            _ => self.graph().users(id),
        };
        let mut names = Vec::new();
        for (position, (&param, init)) in params.iter().zip(&inits).enumerate() {
            let is_of = |&result: &NodeId| result == id || self.graph().node(result).op == Op::TupleGet(position);
            let results: Vec<NodeId> = results.iter().copied().filter(is_of).collect();
            let (name, line) = match results.iter().find_map(|&result| self.outlived_by(result)) {
                Some(branch) => (self.outlived_variable(param, init, (id, branch)), None),
                None => self.loop_variable(param, init, id),
            };
            self.set(param, Value::owned(name.clone()));
            for result in results {
                self.set(result, Value::owned(name.clone()));
                if let Some(line) = line.filter(|_| self.graph().node(result).ty.is_tensor()) {
                    self.own(&name, result, line);
                }
            }
            names.push(name);
        }
        // They live on in these variables.
        self.moved = 0;
        names
    }

    /// The variable of a carried value, and the line that declares it; the user's own variable goes on where it can.
    fn loop_variable(&mut self, param: NodeId, init: &Arg, id: NodeId) -> (String, Option<usize>) {
        let wanted = identifier(self.graph().base_name(param));
        let declared = self.declared_at(&wanted);
        let given = self.give_arg(init, id);
        if let Some(line) = declared.filter(|_| given == wanted) {
            self.make_mutable_at(line, &wanted);
            return (given, Some(line));
        }
        let name = self.names.fresh(&wanted);
        self.line(format!("let mut {name} = {given};"));
        (name, Some(self.lines.len() - 1))
    }

    /// The variable of a carried value to whose last value a branch around the loop hands over a reference.
    fn outlived_variable(&mut self, param: NodeId, init: &Arg, (id, branch): (NodeId, NodeId)) -> String {
        let given = self.give_arg(init, id);
        let name = self.names.unused(&identifier(self.graph().base_name(param)));
        self.declare_ahead(branch, &name, &given, true);
        name
    }

    /// Sets the carried variables to their next values.
    fn next(&mut self, region: RegionId, names: &[String]) -> String {
        let Some(end) = self.graph().yield_of(region) else { return String::new() };
        let args = self.graph().node(end).args.clone();
        let given: Vec<String> = args.iter().map(|arg| self.give_arg(arg, end)).collect();
        self.moved = 0;
        // What holds its next value already stays.
        let (names, values): (Vec<&str>, Vec<&str>) = names
            .iter()
            .zip(&given)
            .filter(|(name, value)| name != value)
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .unzip();
        match (names.as_slice(), values.as_slice()) {
            ([], _) => String::new(),
            ([name], [value]) => format!("{name} = {value};"),
            _ => format!("({}) = ({});", names.join(", "), values.join(", ")),
        }
    }

    fn repeat(&mut self, id: NodeId) {
        let regions = self.graph().node(id).regions.clone();
        let params = |region: RegionId| self.graph().region(region).params.clone();
        let (tests, turns) = (params(regions[0]), params(regions[1]));
        let names = self.carry(id, &turns, 0);
        for (&test, name) in tests.iter().zip(&names) {
            self.set(test, Value::owned(name.clone()));
        }
        let condition = self.block(regions[0], |writer| writer.yielded(regions[0]));
        let body = self.block(regions[1], |writer| writer.next(regions[1], &names));
        self.line(format!("while {condition} {body}"));
    }
}

/// The position of the first of the elements that a loop goes over: not 0 where they are the layers in the middle of a chain.
pub(super) fn first_position(graph: &Graph, each: NodeId) -> i64 {
    let list = graph.node(each).input(0).map(|list| graph.node(list));
    match list.map(|list| (list.op.host(), list.args.get(1))) {
        Some((Some(HostOp::LayersBetween(_)), Some(Arg::Int(first)))) => *first,
        _ => 0,
    }
}

/// An expression that stands before `{`, where no struct literal may.
pub(super) fn before_brace(text: String) -> String {
    if text.contains('{') { format!("({text})") } else { text }
}

/// `let x = value; x` is `value`, and `let x = value; y = x;` is `y = value;`.
pub(super) fn fold_tail(lines: &mut Vec<String>, tail: &mut String) {
    let Some(last) = lines.last() else { return };
    let (target, name) = match tail.split_once(" = ") {
        Some((target, value)) => (format!("{target} = "), value.trim_end_matches(';').to_owned()),
        None => (String::new(), tail.clone()),
    };
    let Some(value) = last.strip_prefix(&format!("let {name} = ")).and_then(|rest| rest.strip_suffix(';')) else {
        return;
    };
    let end = if target.is_empty() { "" } else { ";" };
    *tail = format!("{target}{value}{end}");
    lines.pop();
}
