//! Putting a replacement in the place of what was found: check first, then act.

use fx_ir::{
    Arg, Code, CodeForm, CodeScope, Effect, Graph, Host, HostOp, ModuleKind, NodeId, Op, OpId, Origin, Type, ops,
};

use super::facts::Facts;
use super::found::Bound;
use super::rule::{FieldType, RustForm};
use super::{Found, HostCall, Kind, Let, Operator, Rule, Template, Yields};

/// The outcome of one application of a rule.
pub(super) struct Applied {
    /// The values that now stand for the outputs.
    pub(super) results: Vec<Arg>,
    /// The nodes that were made.
    pub(super) made: Vec<NodeId>,
}

/// Puts the replacement in place of the outputs and erases what nobody reads any more.
pub(super) fn apply(
    graph: &mut Graph,
    facts: &mut Facts,
    pass: &'static str,
    rule: &'static Rule,
    bound: &Bound,
    outputs: &[NodeId],
) -> Applied {
    let found = Found { graph, facts, rule, bound };
    let computed = rule.computed.iter().map(|compute| compute(&found).0).collect();
    let mut matched = bound.nodes.clone();
    matched.sort_by_cached_key(|&id| graph.position(id));
    let origin = Origin::merged(pass, matched.iter().map(|&id| &graph.node(id).origin));
    let last = matched.iter().rev().find(|id| outputs.contains(id)).copied().unwrap_or(outputs[0]);
    for &id in &matched {
        facts.forget(graph, id);
    }
    let mut builder =
        Builder { graph, facts, rule, bound, computed, origin, anchor: last, lets: Vec::new(), made: Vec::new() };
    for value in rule.lets {
        let parts = builder.bind(value);
        builder.lets.push(parts);
    }
    let results = match (rule.after, outputs) {
        ([after], &[root]) => vec![builder.become_value(after, root)],
        (after, _) => after.iter().map(|value| builder.value(value)).collect(),
    };
    let made = builder.made;
    for (&output, result) in outputs.iter().zip(&results) {
        if result.node() != Some(output) {
            graph.replace_all_uses_with(output, result);
        }
    }
    for &id in matched.iter().rev().chain(&bound.fields) {
        // What has readers left stays: a field that others read, or the output that became the replacement.
        let stays = results.iter().any(|result| result.node() == Some(id)) || !graph.is_alive(id);
        if !stays {
            let _ = graph.erase_node(id);
        }
    }
    for &id in &made {
        facts.learn(graph, id, id);
    }
    Applied { results, made }
}

struct Builder<'a> {
    graph: &'a mut Graph,
    facts: &'a mut Facts,
    rule: &'static Rule,
    bound: &'a Bound,
    computed: Vec<Arg>,
    origin: Origin,
    anchor: NodeId,
    /// By `let`, its value or its parts.
    lets: Vec<Vec<Arg>>,
    made: Vec<NodeId>,
}

/// An op on arguments, not yet a node.
struct Step {
    op: Op,
    args: Vec<Arg>,
    ty: Type,
    name: String,
}

impl Builder<'_> {
    /// The single output becomes what its template says; its name and its readers stay.
    fn become_value(&mut self, template: &'static Template, root: NodeId) -> Arg {
        match self.step(template) {
            Ok(step) => {
                let node = self.graph.node_mut(root);
                (node.op, node.args, node.origin) = (step.op, step.args, self.origin.clone());
                node.kwargs.clear();
                self.made.push(root);
                Arg::Node(root)
            }
            Err(value) => value,
        }
    }

    fn value(&mut self, template: &'static Template) -> Arg {
        match self.step(template) {
            Ok(step) => self.make(step),
            Err(value) => value,
        }
    }

    /// The value of a `let`, or its parts, under the names that the rule gives them.
    fn bind(&mut self, value: &'static Let) -> Vec<Arg> {
        let bound = match (self.step(&value.value), value.names) {
            (Ok(step), &[name]) => self.make(Step { name: name.to_owned(), ..step }),
            (Ok(step), names) => self.make(Step { name: names.join("_"), ..step }),
            (Err(value), _) => value,
        };
        if value.names.len() == 1 {
            return vec![bound];
        }
        let part = |(at, name): (usize, &&str)| {
            self.make(Step {
                op: Op::TupleGet(at),
                args: vec![bound.clone()],
                ty: Type::TENSOR,
                name: (*name).to_owned(),
            })
        };
        value.names.iter().enumerate().map(part).collect()
    }

    fn make(&mut self, step: Step) -> Arg {
        let Step { op, args, ty, name } = step;
        let made = self.graph.insert_before(self.anchor, op, args, &name, ty, self.origin.clone());
        self.facts.learn(self.graph, made, self.anchor);
        self.made.push(made);
        Arg::Node(made)
    }

    fn values(&mut self, templates: &'static [Template]) -> Vec<Arg> {
        templates.iter().map(|template| self.value(template)).collect()
    }

    /// The items that a part of a list stands for: one, or those of a captured list.
    fn items(&mut self, template: &'static Template) -> Vec<Arg> {
        match (template, self.value(template)) {
            (Template::Splice(_), Arg::List(items)) => items,
            (_, item) => vec![item],
        }
    }

    /// The last op of a template with its arguments made, or the value where no op is needed.
    fn step(&mut self, template: &'static Template) -> Result<Step, Arg> {
        match template {
            Template::Capture(slot) | Template::Splice(slot) => {
                Err(self.bound.slots[*slot].clone().unwrap_or(Arg::None))
            }
            Template::Let(at) => Err(self.lets[*at].first().cloned().unwrap_or(Arg::None)),
            Template::Part(at, part) => Err(self.lets[*at].get(*part).cloned().unwrap_or(Arg::None)),
            Template::Int(number) => Err(Arg::Int(*number)),
            Template::Float(number) => Err(Arg::Float(*number)),
            Template::Bool(value) => Err(Arg::Bool(*value)),
            Template::Str(text) => Err(Arg::Str((*text).to_owned())),
            Template::Absent => Err(Arg::None),
            Template::Path(path) => Err(Arg::Path((*path).to_owned())),
            Template::List(items) => {
                let parts: Vec<Arg> = items.iter().flat_map(|item| self.items(item)).collect();
                Err(Arg::List(parts))
            }
            Template::Computed(at) => Err(self.computed[*at].clone()),
            Template::Call(op, args) => {
                let args = self.values(args);
                Ok(named_call(op, args))
            }
            Template::Operator(operator, [left, right]) => {
                let (left, right) = (self.value(left), self.value(right));
                self.operator(*operator, left, right)
            }
            Template::Neg(inner) => {
                let inner = self.value(inner);
                self.negated(inner)
            }
            Template::Module(slot, args) => {
                let Kind::Module(kind) = self.rule.captures[*slot].kind else { return Err(Arg::None) };
                let layer = self.bound.slots[*slot].clone();
                let args = layer.into_iter().chain(self.values(args)).collect();
                let op = Op::CallModule(ModuleKind(kind.to_owned()));
                Ok(Step { op, args, ty: Type::TENSOR, name: kind.to_lowercase() })
            }
            Template::Field(slot, path) => Err(self.field(*slot, path)),
            Template::Or([optional, other]) => {
                let args = vec![self.value(optional), self.value(other)];
                Ok(Step { op: Op::Host(HostOp::HandleOr.into()), args, ty: Type::TENSOR, name: "value".to_owned() })
            }
            Template::Rust(rust) => {
                let code = Code::pure(rust.template).of_form(code_form(rust.form));
                let code = Code { fallible: rust.fallible, ..code };
                Ok(self.embedded(Op::Rust(code), rust.args, rust.yields))
            }
            Template::Host(HostCall { name, words, args, fallible, yields }) => {
                let op =
                    operation(name, words).map(|op| Op::Host(Host { op, effect: Effect::Pure, fallible: *fallible }));
                Ok(self.embedded(op.unwrap_or_else(|| unknown(name)), args, *yields))
            }
            Template::Expr(name, words, args) => {
                let args = self.values(args);
                Err(operation(name, words).map_or(Arg::None, |op| op.of(args)))
            }
        }
    }

    /// Rust that a rule brings.
    fn embedded(&mut self, op: Op, args: &'static [Template], yields: Yields) -> Step {
        let args = self.values(args);
        let ty = match yields {
            Yields::Tensors(1) => Type::TENSOR,
            Yields::Tensors(several) => Type::Tuple(vec![Type::TENSOR; several]),
            Yields::Rust(spelling) => Type::rust(spelling),
        };
        Step { op, args, ty, name: "value".to_owned() }
    }

    fn field(&mut self, slot: usize, path: &'static [(&'static str, FieldType)]) -> Arg {
        let mut at = self.bound.slots[slot].clone().unwrap_or(Arg::None);
        for (field, ty) in path {
            let ty = match ty {
                FieldType::Tensor => Type::TENSOR,
                FieldType::OptTensor => Type::Option(Box::new(Type::TENSOR)),
                FieldType::Rust(spelling) => Type::rust(*spelling),
            };
            at =
                self.make(Step { op: Op::GetAttr((*field).to_owned()), args: vec![at], ty, name: (*field).to_owned() });
        }
        at
    }

    fn is_number(&self, arg: &Arg) -> bool {
        match arg {
            Arg::Int(_) | Arg::Float(_) | Arg::Path(_) => true,
            Arg::Node(id) => matches!(self.graph.node(*id).ty, Type::Rust(_)),
            _ => false,
        }
    }

    fn operator(&mut self, operator: Operator, left: Arg, right: Arg) -> Result<Step, Arg> {
        match (self.is_number(&left), self.is_number(&right)) {
            (false, false) => Ok(call(operator.tensor_op(), vec![left, right])),
            (false, true) => Ok(call(operator.scalar_op(), vec![left, right])),
            (true, true) => numbers(operator, left, right),
            (true, false) => Ok(match operator {
                Operator::Add | Operator::Mul => call(operator.scalar_op(), vec![right, left]),
                Operator::Sub => {
                    let negated = self.make(call(ops::NEG, vec![right]));
                    call(ops::ADD_SCALAR, vec![negated, left])
                }
                Operator::Div => {
                    let divided = self.make(call(ops::DIV_SCALAR, vec![right, left]));
                    call(ops::RECIPROCAL, vec![divided])
                }
            }),
        }
    }

    fn negated(&mut self, inner: Arg) -> Result<Step, Arg> {
        match inner {
            Arg::Int(number) => Err(Arg::Int(-number)),
            Arg::Float(number) => Err(Arg::Float(-number)),
            inner if self.is_number(&inner) => Ok(number(HostOp::Neg, vec![inner])),
            inner => Ok(call(ops::NEG, vec![inner])),
        }
    }
}

/// An operator between two numbers: done here where both are literals, else in the generated code.
/// The form of a rule's Rust in a graph.
fn code_form(form: RustForm) -> CodeForm {
    match form {
        RustForm::Value => CodeForm::Value,
        RustForm::Reference => CodeForm::Reference,
        RustForm::Block => CodeForm::Block(CodeScope::default()),
    }
}

fn numbers(operator: Operator, left: Arg, right: Arg) -> Result<Step, Arg> {
    #[allow(clippy::cast_precision_loss, reason = "Rust's own conversion of a literal")]
    let float = |arg: &Arg| match arg {
        Arg::Int(number) => Some(*number as f64),
        Arg::Float(number) => Some(*number),
        _ => None,
    };
    if let (Arg::Int(a), Arg::Int(b)) = (&left, &right)
        && let Some(exact) = operator.of_ints(*a, *b)
    {
        return Err(Arg::Int(exact));
    }
    match (float(&left), float(&right)) {
        (Some(a), Some(b)) => Err(Arg::Float(operator.of_floats(a, b))),
        _ => Ok(number(HostOp::Binary(operator.sign().to_string()), vec![left, right])),
    }
}

fn number(op: HostOp, args: Vec<Arg>) -> Step {
    Step { op: Op::Host(op.into()), args, ty: Type::rust("f64"), name: "number".to_owned() }
}

/// The host operation that the macro has found in a rule's Rust.
fn operation(name: &str, words: &[&str]) -> Option<HostOp> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    HostOp::parse(name, &words)
}

/// The macro has looked the op up; an op that is gone since prints as what it is.
fn unknown(op: &str) -> Op {
    Op::Rust(Code::opaque(op, "an unknown op"))
}

fn named_call(op: &str, args: Vec<Arg>) -> Step {
    match OpId::lookup(op) {
        Some(op) => call(op, args),
        None => Step { op: unknown(op), args, ty: Type::Unknown, name: op.to_owned() },
    }
}

fn call(op: OpId, args: Vec<Arg>) -> Step {
    let name = op.name().split('.').next().unwrap_or_default().to_owned();
    Step { op: Op::Call(op), args, ty: op.result_type(), name }
}
