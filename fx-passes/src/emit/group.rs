//! Groups as Rust: each distinct one is a function over elements of any kind, and a node calls it by name.
//!
//! The function is the whole of a group, ops on rows included. The runtime runs it over vectors of numbers; run over
//! tensors it is the same computation by `ATen`'s operators, and over descriptions of tensors it tells which shape and
//! layout the results have.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use fx_ir::{Arg, Graph, Node, NodeId, Op, Scalar, Type};

use super::QUIET;
use super::{Emitter, names::Names, value::Value, writer::Writer};

/// The groups of one item, and what they are called.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The first node of each, in the order of execution, with its body and the name of its type.
    each: Vec<(NodeId, Graph, String)>,
    /// By node, the place of its group.
    of: HashMap<NodeId, usize>,
}

impl Groups {
    /// The groups of a graph; `frozen` is the name of the frozen type, whose parts have the names `taken`.
    pub(super) fn of(graph: &Graph, frozen: &str, taken: &HashSet<&str>) -> Groups {
        let (mut groups, mut names, mut places) = (Groups::default(), Names::default(), HashMap::new());
        for id in graph.nodes() {
            let Some(body) = graph.node(id).group_body() else { continue };
            let place = *places.entry(nameless(&body)).or_insert(groups.each.len());
            groups.of.insert(id, place);
            if place == groups.each.len() {
                let name = format!("{frozen}{}", fx_ir::camel(&names.fresh(&body.name)));
                let ending = if taken.contains(name.as_str()) { "Group" } else { "" };
                groups.each.push((id, body, format!("{name}{ending}")));
            }
        }
        groups
    }
}

/// What a body computes, whatever its values are called.
fn nameless(body: &Graph) -> String {
    let mut bare = body.clone();
    bare.name.clear();
    for (position, id) in bare.nodes().into_iter().enumerate() {
        bare.node_mut(id).name = format!("v{position}");
    }
    bare.to_line()
}

impl Emitter<'_> {
    /// The type of each group.
    pub(super) fn groups(&self) -> String {
        self.groups
            .each
            .iter()
            .map(|(id, body, name)| definition(self.graph.node(*id), body, name, &self.constants))
            .collect()
    }
}

impl Writer<'_, '_> {
    /// The call of a group; a part of a `Result`.
    pub(super) fn group_call(&self, id: NodeId) -> Option<String> {
        let (_, body, name) = &self.emitter.groups.each[*self.emitter.groups.of.get(&id)?];
        let (tensors, _) = body.tensors_and_numbers();
        let (tensors, numbers) = self.graph().node(id).args.split_at(tensors.len());
        let read = |arg: &Arg| arg.node().map_or_else(|| Value::owned("()"), |id| self.read(id));
        let tensors: Vec<String> = tensors.iter().map(|arg| read(arg).borrowed()).collect();
        let number = |arg: &Arg| format!("::fx_runtime::frozen::Number::from({})", read(arg).text);
        let numbers: Vec<String> = numbers.iter().map(number).collect();
        Some(format!("{name}::run(&scope, [{}], [{}])", tensors.join(", "), numbers.join(", ")))
    }
}

/// A unit type and its impl of `Group`.
fn definition(node: &Node, body: &Graph, name: &str, constants: &BTreeSet<String>) -> String {
    let (tensors, numbers) = body.tensors_and_numbers();
    let results: Vec<NodeId> = body.yield_of(body.body()).into_iter().flat_map(|end| body.node(end).inputs()).collect();
    let (inputs, count, outputs) = (tensors.len(), numbers.len(), results.len());
    let result = vec!["::fx_runtime::Tensor"; outputs].join(", ");
    let result = if outputs == 1 { result } else { format!("({result})") };
    let function = Function::new(body, constants);
    let (params, numbers, yields) = (function.list(&tensors), function.list(&numbers), function.list(&results));
    let numbers = if count == 0 { String::new() } else { format!("let [{numbers}] = numbers;") };
    let lines = function.body_lines();
    let origin = super::labels::origin_doc(node);
    let reductions = match body.reductions() {
        0 => String::new(),
        count => format!("const REDUCTIONS: usize = {count};"),
    };
    format!(
        "{origin}{QUIET}
        #[derive(Debug)]
        struct {name};
        {QUIET}
        impl ::fx_runtime::frozen::Group<{inputs}, {count}, {outputs}> for {name} {{
            const OPTIMIZED: bool = ::core::cfg!(fx_optimized);
            {reductions}
            type Results = {result};

            #[inline(always)]
            fn lanes<L: ::fx_runtime::frozen::PointwiseOps>(
                tensors: [L; {inputs}],
                numbers: [L::Number; {count}],
            ) -> [L; {outputs}] {{
                let [{params}] = tensors;
                {numbers}
                {lines}
                [{yields}]
            }}
        }}\n"
    )
}

/// The function over elements.
struct Function<'a> {
    body: &'a Graph,
    names: HashMap<NodeId, String>,
    /// By value, the last node that reads it, which takes it; all others read a copy.
    takers: HashMap<NodeId, NodeId>,
}

impl<'a> Function<'a> {
    fn new(body: &'a Graph, constants: &BTreeSet<String>) -> Function<'a> {
        let (mut names, mut taken, mut takers) = (HashMap::new(), Names::default(), HashMap::new());
        for name in ["tensors", "numbers"] {
            taken.take(name);
        }
        for name in constants {
            taken.take(name);
        }
        for id in body.nodes() {
            names.insert(id, taken.fresh(&body.node(id).name));
            takers.extend(body.node(id).inputs().map(|input| (input, id)));
        }
        Function { body, names, takers }
    }

    fn list(&self, params: &[NodeId]) -> String {
        params.iter().map(|param| self.names[param].as_str()).collect::<Vec<_>>().join(", ")
    }

    fn body_lines(&self) -> String {
        let mut out = String::new();
        for &id in &self.body.region(self.body.body()).nodes {
            if let Some(mut expression) = self.expression(id) {
                if self.is_kept(id) {
                    expression = format!("({expression}).kept()");
                }
                // Writing to a string cannot fail.
                let _ = writeln!(out, "let {} = {expression};", self.names[&id]);
            }
        }
        out
    }

    /// Whether an op on rows reads it, which goes over a row more than once.
    fn is_kept(&self, id: NodeId) -> bool {
        let reads = |&reader: &NodeId| {
            self.body.node(reader).input(0) == Some(id) && self.scalar(reader).is_some_and(Scalar::is_row)
        };
        self.body.users(id).iter().any(reads)
    }

    fn scalar(&self, id: NodeId) -> Option<Scalar> {
        let Op::Call(op) = &self.body.node(id).op else { return None };
        op.row()?.scalar
    }

    fn expression(&self, id: NodeId) -> Option<String> {
        let node = self.body.node(id);
        let Op::Call(op) = &node.op else { return None };
        let args: Vec<String> = node.args.iter().enumerate().map(|(at, arg)| self.operand(arg, id, at)).collect();
        let (first, rest) = args.split_first()?;
        Some(match self.scalar(id)? {
            Scalar::Infix(sign) => format!("{first} {sign} {}", rest.join(", ")),
            Scalar::Function => format!("{first}.{}({})", op.name(), rest.join(", ")),
            // `mean.dim` and `mean` are one function of rows, whose axis is not said.
            Scalar::Row(_) => {
                format!("{first}.{}({})", op.name().split('.').next().unwrap_or_default(), rest.join(", "))
            }
        })
    }

    /// Whether it is no number.
    fn yields_tensor(&self, id: NodeId) -> bool {
        !matches!(self.body.node(id).ty, Type::Rust(_))
    }

    /// The operand at a position of a node: the value itself where nothing reads it any more, and else a copy.
    fn operand(&self, arg: &Arg, reader: NodeId, position: usize) -> String {
        let is_option = position > 0 && self.scalar(reader).is_some_and(Scalar::is_row);
        let Some(id) = arg.node() else {
            return match arg {
                Arg::Int(number) => format!("{number}i64"),
                Arg::Str(kind) if is_option => format!("Some(::fx_runtime::Kind::{kind})"),
                other => super::host::literal(other, &|_| Value::owned("()")),
            };
        };
        let is_again = self.body.node(reader).args[position + 1..].contains(arg);
        let copy = if is_again || self.takers.get(&id) != Some(&reader) { ".clone()" } else { "" };
        let value = format!("{}{copy}", self.names[&id]);
        if is_option && self.yields_tensor(id) { format!("Some({value})") } else { value }
    }
}
