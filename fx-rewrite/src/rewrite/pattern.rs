//! Rules made of graphs while a pass runs: torch.fx's `replace_pattern`, on the engine that `fx_pass!` uses.
//!
//! A parameter of the pattern is a capture: of a tensor, of a layer, or of anything where no type is given. What matches
//! is what matches a declared rule, and rules are applied until none applies.

use std::collections::HashMap;
use std::fmt;

use fx_ir::{Arg, CodeForm, Effect, Graph, HostOp, Node, NodeId, Op, Type, catalog};

use super::rule::{FieldType, RustForm};
use super::rule_set::Replaced;
use super::{Capture, Found, HostCall, Kind, Let, Param, Rule, RuleSet, Rust, Template, Term, Text, Yields};
use crate::context::PassContext;

/// A pattern and its replacement, as graphs.
///
/// ```
/// use fx_rewrite::{Graph, pass::PassContext, rewrite::Pattern};
///
/// let before: Graph = "graph p(x: tensor) { %a = relu(x) ; %b = relu(%a) ; yield %b }".parse()?;
/// let after: Graph = "graph r(x: tensor) { %a = relu(x) : tensor ; yield %a }".parse()?;
/// let once = Pattern::new("relu-once", &before, &after)?;
///
/// let text = "graph f(x: tensor) { %a = relu(x) : tensor ; %b = relu(%a) : tensor ; %c = relu(%b) : tensor ; yield %c }";
/// let mut graph: Graph = text.parse()?;
/// assert_eq!(once.replace_in(&mut graph, &PassContext::default()).matches.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pattern {
    name: &'static str,
    rules: RuleSet,
}

/// The reason why graphs are no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// A result of the pattern is a parameter, which matches everything.
    Bare(String),
    /// The node of this name has regions, writes somewhere or is opaque code, which a pattern cannot name.
    Unsupported(String),
    /// The replacement has a parameter of this name, and the pattern does not.
    Unbound(String),
    /// Pattern and replacement yield this many values.
    Outputs(usize, usize),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::Bare(name) => {
                write!(f, "the pattern yields its parameter `{name}`, which matches everything")
            }
            PatternError::Unsupported(name) => {
                write!(f, "`{name}` is no op, layer or field: a rule has neither control flow nor effects")
            }
            PatternError::Unbound(name) => {
                write!(f, "the pattern has no parameter `{name}`, which the replacement reads")
            }
            PatternError::Outputs(before, after) => {
                write!(f, "the pattern yields {before} values and the replacement {after}")
            }
        }
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// A rule of two graphs, whose parameters go together by name. It is kept for as long as the program runs, as a
    /// declared one is.
    ///
    /// # Errors
    /// If the graphs are no rule.
    pub fn new(name: &str, before: &Graph, after: &Graph) -> Result<Pattern, PatternError> {
        let name: &'static str = String::leak(name.to_owned());
        let mut reading = Reading { graph: before, captures: Vec::new(), slots: HashMap::new() };
        for &param in &before.region(before.body()).params {
            let node = before.node(param);
            reading.slot(param, &node.name, kind_of(&node.ty));
        }
        let terms = reading.outputs()?;
        let captures = reading.captures;
        let mut writing = Writing { graph: after, captures: &captures, lets: Vec::new(), made: HashMap::new() };
        let templates = writing.outputs()?;
        if terms.len() != templates.len() {
            return Err(PatternError::Outputs(terms.len(), templates.len()));
        }
        let text = Text { before: String::leak(before.to_line()), after: String::leak(after.to_line()), guard: "" };
        let (lets, after) = (Vec::leak(writing.lets), Vec::leak(templates));
        let before = Vec::leak(terms);
        let captures = Vec::leak(captures);
        let rule = Rule { name, doc: "", text, captures, before, guards: &[], computed: &[], lets, after };
        Ok(Pattern { name, rules: RuleSet::new(Vec::leak(vec![rule])) })
    }

    /// Replaces the pattern wherever it is found, until it is found no more.
    pub fn replace_in(&self, graph: &mut Graph, cx: &PassContext) -> Replaced {
        self.replace_where(graph, cx, |_| true)
    }

    /// The same for those places alone that `filter` says yes to.
    pub fn replace_where(
        &self,
        graph: &mut Graph,
        cx: &PassContext,
        mut filter: impl FnMut(&Found<'_>) -> bool,
    ) -> Replaced {
        self.rules.replace(self.name, graph, cx, &mut filter)
    }
}

fn kind_of(ty: &Type) -> Kind {
    match ty {
        Type::Tensor(_) => Kind::Tensor,
        Type::Module(name) => Kind::Module(String::leak(name.clone())),
        Type::List(inner) if inner.is_tensor() => Kind::Tensors,
        _ => Kind::Value,
    }
}

fn leaked_words(op: &HostOp) -> &'static [&'static str] {
    let words = op.words().into_iter().map(|word| &*String::leak(word));
    Vec::leak(words.collect())
}

fn yielded(graph: &Graph) -> Vec<Arg> {
    graph.yield_of(graph.body()).map(|end| graph.node(end).args.clone()).unwrap_or_default()
}

/// The parts of a rule that a pattern's graph is read into.
struct Reading<'g> {
    graph: &'g Graph,
    captures: Vec<Capture>,
    slots: HashMap<NodeId, usize>,
}

impl Reading<'_> {
    fn slot(&mut self, id: NodeId, name: &str, kind: Kind) -> usize {
        let slot = self.captures.len();
        self.captures.push(Capture { name: String::leak(name.to_owned()), kind });
        self.slots.insert(id, slot);
        slot
    }

    fn outputs(&mut self) -> Result<Vec<Term>, PatternError> {
        let outputs = yielded(self.graph);
        outputs.iter().map(|output| self.output(output)).collect()
    }

    fn output(&mut self, output: &Arg) -> Result<Term, PatternError> {
        match output.node() {
            Some(id) if self.graph.node(id).op != Op::Placeholder => self.term(output),
            Some(id) => Err(PatternError::Bare(self.graph.node(id).name.clone())),
            None => Err(PatternError::Bare(format!("{output:?}"))),
        }
    }

    fn term(&mut self, arg: &Arg) -> Result<Term, PatternError> {
        Ok(match arg {
            Arg::Int(number) => Term::Int(*number),
            Arg::Float(number) => Term::Float(*number),
            Arg::Bool(value) => Term::Bool(*value),
            Arg::Str(text) => Term::Str(String::leak(text.clone())),
            Arg::None => Term::Absent,
            Arg::Path(path) => Term::Path(String::leak(path.clone())),
            Arg::List(items) => {
                let items = items.iter().map(|item| self.term(item)).collect::<Result<Vec<Term>, _>>()?;
                Term::List(Vec::leak(items))
            }
            Arg::Node(id) => return self.node(*id),
            Arg::Expr(expr) => return Err(PatternError::Unsupported(expr.op.name().to_owned())),
        })
    }

    fn node(&mut self, id: NodeId) -> Result<Term, PatternError> {
        let node = self.graph.node(id);
        if node.op == Op::Placeholder {
            return Ok(Term::Capture(self.slots[&id]));
        }
        let term = self.op(node)?;
        if self.graph.users(id).len() < 2 {
            return Ok(term);
        }
        // A value that the pattern reads twice is one value.
        let known = self.slots.get(&id).copied();
        let slot = known.unwrap_or_else(|| self.slot(id, &node.name, Kind::Value));
        Ok(Term::Named(slot, Box::leak(Box::new(term))))
    }

    fn op(&mut self, node: &Node) -> Result<Term, PatternError> {
        let unsupported = || PatternError::Unsupported(node.name.clone());
        let layer = node.input(0).and_then(|id| self.slots.get(&id).copied());
        match (&node.op, layer) {
            (Op::Call(op), _) if op.effect() == fx_ir::Effect::Pure => {
                let entry = op.entry();
                let receiver = entry.map_or(0, |entry| usize::from(entry.receiver != catalog::Receiver::Free));
                let named = |position: usize| {
                    let param = entry.and_then(|entry| entry.params.get(position.checked_sub(receiver)?));
                    param.map_or("", |param| param.name)
                };
                let mut params = Vec::new();
                for (position, arg) in node.args.iter().enumerate() {
                    params.push(Param { position, name: named(position), term: self.term(arg)? });
                }
                for (key, arg) in &node.kwargs {
                    let at = entry.and_then(|entry| entry.params.iter().position(|param| param.name == key));
                    let position = at.ok_or_else(unsupported)? + receiver;
                    params.push(Param { position, name: named(position), term: self.term(arg)? });
                }
                Ok(Term::Call(op.name(), Vec::leak(params)))
            }
            (Op::CallModule(_), Some(slot)) => {
                let args = node.args[1..].iter().map(|arg| self.term(arg)).collect::<Result<Vec<Term>, _>>()?;
                Ok(Term::Module(slot, Vec::leak(args)))
            }
            (Op::GetAttr(field), Some(slot)) => Ok(Term::Field(slot, Vec::leak(vec![&*String::leak(field.clone())]))),
            _ => Err(unsupported()),
        }
    }
}

/// What a replacement's graph is written out as.
struct Writing<'g> {
    graph: &'g Graph,
    captures: &'g [Capture],
    lets: Vec<Let>,
    /// By node, the template that stands for its value.
    made: HashMap<NodeId, Template>,
}

impl Writing<'_> {
    fn outputs(&mut self) -> Result<Vec<Template>, PatternError> {
        let outputs = yielded(self.graph);
        let nodes = self.graph.region(self.graph.body()).nodes.clone();
        for id in nodes {
            let node = self.graph.node(id);
            // What is yielded alone takes the place, and the name, of what it replaces.
            let is_result = outputs == [Arg::Node(id)] && self.graph.users(id).len() == 1;
            if node.op == Op::Yield || self.made.contains_key(&id) {
                continue;
            }
            let template = self.op(node)?;
            let template = if is_result { template } else { self.bind(node, template) };
            self.made.insert(id, template);
        }
        outputs.iter().map(|output| self.template(output)).collect()
    }

    fn bind(&mut self, node: &Node, value: Template) -> Template {
        if matches!(value, Template::Part(..) | Template::Field(..)) {
            return value;
        }
        let parts = if let Type::Tuple(parts) = &node.ty { parts.len() } else { 1 };
        let name = |part: usize| if parts == 1 { node.name.clone() } else { format!("{}_{part}", node.name) };
        let names: Vec<&'static str> = (0..parts).map(|part| &*String::leak(name(part))).collect();
        self.lets.push(Let { names: Vec::leak(names), value });
        Template::Let(self.lets.len() - 1)
    }

    fn template(&mut self, arg: &Arg) -> Result<Template, PatternError> {
        Ok(match arg {
            Arg::Int(number) => Template::Int(*number),
            Arg::Float(number) => Template::Float(*number),
            Arg::Bool(value) => Template::Bool(*value),
            Arg::Str(text) => Template::Str(String::leak(text.clone())),
            Arg::None => Template::Absent,
            Arg::Path(path) => Template::Path(String::leak(path.clone())),
            Arg::List(_) => Template::List(Vec::leak(self.templates(std::slice::from_ref(arg))?)),
            Arg::Node(id) => match self.made.get(id) {
                Some(template) => *template,
                None => Template::Capture(self.capture(*id)?),
            },
            Arg::Expr(expr) => {
                let args = expr.args.iter().map(|arg| self.template(arg)).collect::<Result<Vec<Template>, _>>()?;
                Template::Expr(expr.op.name(), leaked_words(&expr.op), Vec::leak(args))
            }
        })
    }

    fn templates(&mut self, args: &[Arg]) -> Result<Vec<Template>, PatternError> {
        let flat = |arg: &Arg| if let Arg::List(items) = arg { items.clone() } else { vec![arg.clone()] };
        let args: Vec<Arg> = if let [list @ Arg::List(_)] = args { flat(list) } else { args.to_vec() };
        args.iter().map(|arg| self.template(arg)).collect()
    }

    fn capture(&self, id: NodeId) -> Result<usize, PatternError> {
        let name = &self.graph.node(id).name;
        let slot = self.captures.iter().position(|capture| capture.name == name);
        slot.ok_or_else(|| PatternError::Unbound(name.clone()))
    }

    fn op(&mut self, node: &Node) -> Result<Template, PatternError> {
        let unsupported = || PatternError::Unsupported(node.name.clone());
        let args = |writing: &mut Self, args: &[Arg]| {
            args.iter()
                .map(|arg| writing.template(arg))
                .collect::<Result<Vec<Template>, _>>()
                .map(|all| &*Vec::leak(all))
        };
        let base = node.input(0).ok_or_else(unsupported);
        match &node.op {
            Op::Call(op) if node.kwargs.is_empty() => Ok(Template::Call(op.name(), args(self, &node.args)?)),
            Op::CallModule(_) => Ok(Template::Module(self.capture(base?)?, args(self, &node.args[1..])?)),
            Op::GetAttr(field) => {
                let ty = match &node.ty {
                    Type::Option(_) => FieldType::OptTensor,
                    Type::Rust(spelling) => FieldType::Rust(String::leak(spelling.clone())),
                    _ => FieldType::Tensor,
                };
                let path = Vec::leak(vec![(&*String::leak(field.clone()), ty)]);
                Ok(Template::Field(self.capture(base?)?, path))
            }
            Op::TupleGet(part) => match self.made.get(&base?) {
                Some(Template::Let(at)) => Ok(Template::Part(*at, *part)),
                _ => Err(unsupported()),
            },
            Op::Host(host) if host.effect == Effect::Pure => {
                let (name, words, yields) = (host.op.name(), leaked_words(&host.op), Yields::of_type(&node.ty));
                let args = args(self, &node.args)?;
                Ok(Template::Host(HostCall { name, words, args, fallible: host.fallible, yields }))
            }
            Op::Rust(code) if code.opaque.is_none() => {
                let yields = Yields::of_type(&node.ty);
                let template = String::leak(code.text());
                let form = match code.form {
                    CodeForm::Value => RustForm::Value,
                    CodeForm::Reference => RustForm::Reference,
                    CodeForm::Block(_) => RustForm::Block,
                };
                Ok(Template::Rust(Rust {
                    template,
                    form,
                    args: args(self, &node.args)?,
                    fallible: code.fallible,
                    yields,
                }))
            }
            _ => Err(unsupported()),
        }
    }
}
