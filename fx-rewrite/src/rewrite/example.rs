//! Graphs in which a rule applies, made from its pattern: what a rule is tested on.
//!
//! Tensors are inputs of `[2, 2, 4, 4]`, or weights of one or two axes of four, numbers come from a pool of those that
//! rules are about; what the guards hold of is tried out. Every alternative of a pattern gets a graph of its own.

use fx_ir::{Arg, Graph, ModuleKind, NodeId, Op, OpId, Origin, TensorType, Type, catalog, ops};

use super::facts::Facts;
use super::matcher::Matcher;
use super::{Kind, Param, Rule, Term};
use crate::context::PassContext;

/// Numbers that rules are about.
const FLOATS: &[f64] =
    &[0.5, 2.0, 1e-5, std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2, 0.044_715, 0.797_884_560_802_865_4];
const INTS: &[i64] = &[-1, 1, 2, 3];
const LISTS: &[&[i64]] = &[&[0, 1, 3, 2], &[-1], &[0, 1, 2, 3], &[4, 16], &[1, 1]];

/// The number of assignments that are tried.
const PATIENCE: usize = 20_000;

impl Rule {
    /// Graphs in which the rule applies, its results read once more before the yield, one for each alternative for which an assignment
    /// was found. The first parameter is the model, whose fields are the weights.
    pub fn examples(&'static self) -> Vec<Graph> {
        let variants = self.before.iter().map(alternatives).max().unwrap_or(1);
        (0..variants).filter_map(|variant| self.example(variant)).collect()
    }

    fn example(&'static self, variant: usize) -> Option<Graph> {
        let sizes: Vec<usize> = self.captures.iter().map(|capture| choices(capture.kind)).collect();
        let count = sizes.iter().product::<usize>().min(PATIENCE);
        (0..count).find_map(|mut number| {
            let choice = sizes.iter().map(|size| {
                let one = number % size;
                number /= size;
                one
            });
            let (graph, root) = Builder::new(self, variant, choice.collect()).build()?;
            let facts = Facts::of(&graph, &PassContext::new(true));
            let fits = graph.lint().is_ok() && Matcher::new(&graph, &facts, self).find(root).is_ok();
            fits.then_some(graph)
        })
    }
}

fn alternatives(term: &Term) -> usize {
    let most = |terms: &[Term]| terms.iter().map(alternatives).max().unwrap_or(1);
    match term {
        Term::Either(terms) => most(terms).max(terms.len()),
        Term::List(terms) | Term::Module(_, terms) => most(terms),
        Term::Operator(_, terms) => most(*terms),
        Term::Call(_, params) => params.iter().map(|param| alternatives(&param.term)).max().unwrap_or(1),
        Term::Named(_, term) | Term::Repeat(term) => alternatives(term),
        _ => 1,
    }
}

fn choices(kind: Kind) -> usize {
    match kind {
        Kind::Value => 6,
        Kind::Tensor => 3,
        Kind::Float => FLOATS.len(),
        Kind::Int => INTS.len(),
        Kind::Bool => 2,
        Kind::Ints => LISTS.len(),
        Kind::Module(_) | Kind::Tensors => 1,
    }
}

struct Builder {
    graph: Graph,
    rule: &'static Rule,
    variant: usize,
    choice: Vec<usize>,
    slots: Vec<Option<Arg>>,
    model: NodeId,
    /// Whether the op that is being built takes matrices only.
    is_matrix: bool,
}

impl Builder {
    fn new(rule: &'static Rule, variant: usize, choice: Vec<usize>) -> Builder {
        let mut graph = Graph::new("example");
        let body = graph.body();
        let model = graph.add_param(body, "self", Type::Module("Model".to_owned()), Origin::default());
        Builder { graph, rule, variant, choice, slots: vec![None; rule.captures.len()], model, is_matrix: false }
    }

    fn build(mut self) -> Option<(Graph, NodeId)> {
        let outputs: Option<Vec<Arg>> = self.rule.before.iter().map(|term| self.term(term, None)).collect();
        let outputs = outputs?;
        let root = outputs.first()?.node()?;
        let body = self.graph.body();
        // A result that is an input itself would not be the caller's own, so the caller gets its negative.
        let outputs =
            outputs.into_iter().map(|output| self.push(Op::Call(ops::NEG), vec![output], ops::NEG.name())).collect();
        self.graph.push(body, Op::Yield, outputs, "output", Type::Unknown, Origin::default());
        Some((self.graph, root))
    }

    /// The value of a term; `param` is what it is given for.
    fn term(&mut self, term: &'static Term, param: Option<&catalog::Param>) -> Option<Arg> {
        Some(match term {
            Term::Any => self.anything(param),
            Term::Capture(slot) | Term::Optional(slot) => self.capture(*slot),
            Term::Int(number) => Arg::Int(*number),
            Term::Float(number) => Arg::Float(*number),
            Term::Bool(value) => Arg::Bool(*value),
            Term::Str(text) => Arg::Str((*text).to_owned()),
            Term::Absent => Arg::None,
            Term::Path(path) => Arg::Path((*path).to_owned()),
            Term::List(terms) => self.list(terms)?,
            Term::Rest | Term::RestOf(_) | Term::Repeat(_) => return None,
            Term::Collect(slot) => self.next_of(*slot)?,
            Term::Call(op, params) => self.call(op, params)?,
            Term::Operator(operator, [left, right]) => {
                let (left, right) = (self.term(left, None)?, self.term(right, None)?);
                let number = |arg: &Arg, graph: &Graph| match arg {
                    Arg::Node(id) => !graph.node(*id).ty.is_tensor(),
                    _ => true,
                };
                let (a, b) = (number(&left, &self.graph), number(&right, &self.graph));
                let op = match (a, b) {
                    (false, false) => operator.tensor_op(),
                    (false, true) => operator.scalar_op(),
                    _ => return None,
                };
                self.push(Op::Call(op), vec![left, right], op.name())
            }
            Term::Module(slot, terms) => {
                let mut args = vec![self.capture(*slot)];
                for term in *terms {
                    args.push(self.term(term, None)?);
                }
                let Kind::Module(kind) = self.rule.captures[*slot].kind else { return None };
                self.push(Op::CallModule(ModuleKind(kind.to_owned())), args, kind)
            }
            Term::Field(slot, path) => {
                let mut at = self.capture(*slot);
                for field in *path {
                    at = self.push(Op::GetAttr((*field).to_owned()), vec![at], field);
                }
                at
            }
            Term::Either(terms) => self.term(terms.get(self.variant).or(terms.first())?, param)?,
            Term::Named(slot, term) => {
                if let Some(value) = &self.slots[*slot] {
                    return Some(value.clone());
                }
                let value = self.term(term, param)?;
                self.slots[*slot] = Some(value.clone());
                value
            }
        })
    }

    /// A list; a repeated part stands in it twice.
    fn list(&mut self, terms: &'static [Term]) -> Option<Arg> {
        let mut items = Vec::new();
        for term in terms {
            match term {
                Term::Rest => {}
                Term::RestOf(slot) => match self.capture(*slot) {
                    Arg::List(rest) => items.extend(rest),
                    _ => return None,
                },
                Term::Repeat(term) => {
                    items.push(self.term(term, None)?);
                    items.push(self.term(term, None)?);
                }
                term => items.push(self.term(term, None)?),
            }
        }
        Some(Arg::List(items))
    }

    /// The next value of a capture in a repeated part.
    fn next_of(&mut self, slot: usize) -> Option<Arg> {
        let capture = self.rule.captures[slot];
        let gathered = match &self.slots[slot] {
            Some(Arg::List(items)) => items.clone(),
            _ => Vec::new(),
        };
        let next = match capture.kind {
            Kind::Ints => Arg::Int(*LISTS[self.choice[slot]].get(gathered.len())?),
            _ => self.placeholder(capture.name),
        };
        self.slots[slot] = Some(Arg::List([gathered, vec![next.clone()]].concat()));
        Some(next)
    }

    fn call(&mut self, name: &'static str, params: &'static [Param]) -> Option<Arg> {
        let op = OpId::lookup(name)?;
        let entry = op.entry();
        let receiver = usize::from(entry.is_none_or(|entry| entry.receiver != catalog::Receiver::Free));
        let count = entry.map_or(4, |entry| receiver + entry.params.len());
        let around = std::mem::replace(&mut self.is_matrix, matches!(op, ops::T | ops::MM | ops::ADDMM));
        let mut args = Vec::new();
        for position in 0..count {
            let schema = entry.and_then(|entry| entry.params.get(position.checked_sub(receiver)?));
            let written = params.iter().find(|param| param.position == position);
            args.push(match written {
                Some(param) => self.term(&param.term, schema)?,
                None => schema?.default_arg()?,
            });
        }
        self.is_matrix = around;
        Some(self.push(Op::Call(op), args, name))
    }

    fn push(&mut self, op: Op, args: Vec<Arg>, name: &str) -> Arg {
        let body = self.graph.body();
        let name = name.split('.').next().unwrap_or(name);
        Arg::Node(self.graph.push(body, op, args, name, Type::TENSOR, Origin::default()))
    }

    fn anything(&mut self, param: Option<&catalog::Param>) -> Arg {
        use catalog::Kind as K;
        match param.map(|param| (param.kind, param.name)) {
            Some((K::IntList | K::Shape, _)) => Arg::ints(&[2, 32]),
            Some((K::Int, _)) => Arg::Int(0),
            Some((K::Float | K::Scalar, _)) => Arg::Float(0.5),
            Some((K::Bool, _)) => Arg::Bool(false),
            Some((K::OptElementKind | K::OptIntList | K::OptTensor, _)) => Arg::None,
            _ => self.placeholder("any"),
        }
    }

    fn capture(&mut self, slot: usize) -> Arg {
        if let Some(value) = &self.slots[slot] {
            return value.clone();
        }
        let (capture, choice) = (self.rule.captures[slot], self.choice[slot]);
        let value = match (capture.kind, choice) {
            (Kind::Value | Kind::Tensor, 0) => self.placeholder(capture.name),
            (Kind::Value | Kind::Tensor, 1) => self.weight(capture.name, &["4", "4"]),
            (Kind::Value | Kind::Tensor, 2) => self.weight(capture.name, &["4"]),
            (Kind::Value, 3) => Arg::Int(-1),
            (Kind::Value, 4) => Arg::Float(0.5),
            (Kind::Value, _) => Arg::Float(-1e9),
            (Kind::Tensor, _) => Arg::None,
            (Kind::Float, at) => Arg::Float(FLOATS[at]),
            (Kind::Int, at) => Arg::Int(INTS[at]),
            (Kind::Bool, at) => Arg::Bool(at == 1),
            (Kind::Ints, at) => Arg::ints(LISTS[at]),
            (Kind::Tensors, _) => Arg::List(vec![self.placeholder(capture.name), self.placeholder(capture.name)]),
            (Kind::Module(kind), _) => {
                let ty = Type::Module(kind.to_owned());
                let (body, args) = (self.graph.body(), vec![Arg::Node(self.model)]);
                Arg::Node(self.graph.push(
                    body,
                    Op::GetAttr(capture.name.to_owned()),
                    args,
                    capture.name,
                    ty,
                    Origin::default(),
                ))
            }
        };
        self.slots[slot] = Some(value.clone());
        value
    }

    fn placeholder(&mut self, name: &str) -> Arg {
        let body = self.graph.body();
        let shape: &[&str] = if self.is_matrix { &["4", "4"] } else { &["2", "2", "4", "4"] };
        Arg::Node(self.graph.add_param(body, name, floats(shape), Origin::default()))
    }

    fn weight(&mut self, name: &str, shape: &[&str]) -> Arg {
        let (body, args) = (self.graph.body(), vec![Arg::Node(self.model)]);
        Arg::Node(self.graph.push(body, Op::GetAttr(name.to_owned()), args, name, floats(shape), Origin::default()))
    }
}

fn floats(shape: &[&str]) -> Type {
    let shape = shape.iter().map(|&size| size.to_owned()).collect();
    Type::Tensor(TensorType { dtype: Some("f32".to_owned()), shape: Some(shape) })
}
