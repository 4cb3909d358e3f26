//! What one function is printed with: its lines so far, its variables, and how each value is read.

use std::collections::{BTreeSet, HashMap};

use fx_ir::{Arg, Graph, NodeId, Op, RegionId, Type, host::Yields};

use super::{Emitter, memory::Peak, names::Names, template::own_variables, value::Value};

/// Which half of a graph is being printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// What is known of the live model.
    Freeze,
    /// What needs an input.
    Call,
}

/// A variable that owns a tensor.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) node: NodeId,
    pub(super) region: Option<RegionId>,
    /// The line of its `let`.
    pub(super) line: usize,
}

/// Prints the statements of one function.
pub(super) struct Writer<'e, 'a> {
    pub(super) emitter: &'e Emitter<'a>,
    pub(super) phase: Phase,
    pub(super) lines: Vec<String>,
    pub(super) values: HashMap<NodeId, Value>,
    pub(super) names: Names,
    /// The variable that holds the struct of each scope that is open.
    pub(super) holders: HashMap<RegionId, String>,
    /// The tensors that this function owns, by variable.
    pub(super) owned: HashMap<String, Owned>,
    /// How many of them were handed on for good since the last statement.
    pub(super) moved: usize,
    /// The most that were alive at once so far.
    pub(super) peak: Peak,
    pub(super) last_reads: HashMap<NodeId, NodeId>,
    /// The lines that a region begins with.
    pub(super) openings: HashMap<Option<RegionId>, Vec<String>>,
    /// Whether all is printed that is known of the live model, not only what a call needs.
    pub(super) prints_all: bool,
}

impl<'e, 'a> Writer<'e, 'a> {
    pub(super) fn new(emitter: &'e Emitter<'a>, phase: Phase) -> Writer<'e, 'a> {
        let mut names = Names::default();
        for name in ["self", "frame", "scope", "options", "drop"] {
            names.take(name);
        }
        for name in &emitter.constants {
            names.take(name);
        }
        for id in emitter.graph.nodes() {
            if let Op::Rust(code) = &emitter.graph.node(id).op {
                own_variables(code).for_each(|name| names.take(name));
            }
        }
        Writer {
            emitter,
            phase,
            lines: Vec::new(),
            values: HashMap::new(),
            names,
            holders: HashMap::new(),
            owned: HashMap::new(),
            moved: 0,
            peak: Peak::default(),
            last_reads: last_reads(emitter.graph),
            openings: HashMap::new(),
            prints_all: false,
        }
    }

    pub(super) fn graph(&self) -> &'a Graph {
        self.emitter.graph
    }

    pub(super) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// From here on the node is read as `value`.
    pub(super) fn set(&mut self, id: NodeId, value: Value) {
        self.values.insert(id, value);
    }

    /// Whether it is known how the node is read.
    pub(super) fn is_set(&self, id: NodeId) -> bool {
        self.values.contains_key(&id)
    }
}

/// For every node the last one of its own region that reads it, by itself or through the regions it owns.
pub(super) fn last_reads(graph: &Graph) -> HashMap<NodeId, NodeId> {
    let mut last = HashMap::new();
    let mut lent: HashMap<NodeId, BTreeSet<NodeId>> = HashMap::new();
    for reader in graph.nodes() {
        let node = graph.node(reader);
        let behind = node.inputs().filter_map(|input| lent.get(&input)).flatten();
        let read: BTreeSet<NodeId> = node.inputs().chain(behind.copied()).collect();
        let is_plain = matches!(&node.ty, Type::Rust(name) if fx_ir::scalar::is_plain(name));
        if !node.ty.is_tensor() && !is_plain {
            let handed_on = || read.iter().filter_map(|input| lent.get(input)).flatten().copied();
            let borrowed: BTreeSet<NodeId> = match node.op {
                // The value may be made of references to what the code was given.
                Op::Rust(_) => read.clone(),
                _ => node.args.iter().flat_map(borrowed_by).chain(handed_on()).collect(),
            };
            if !borrowed.is_empty() {
                lent.insert(reader, borrowed);
            }
        }
        for input in read {
            let home = graph.scope_of(input);
            let mut at = reader;
            while graph.scope_of(at) != home {
                match graph.scope_of(at).and_then(|region| graph.owner_of(region)) {
                    Some(owner) => at = owner,
                    None => break,
                }
            }
            last.insert(input, at);
        }
    }
    last
}

/// What the operand holds references to.
fn borrowed_by(arg: &Arg) -> Vec<NodeId> {
    match arg {
        Arg::Expr(expr) if expr.op.yields() == Yields::Reference => arg.nodes().collect(),
        Arg::Expr(expr) => expr.args.iter().flat_map(borrowed_by).collect(),
        Arg::List(items) => items.iter().flat_map(borrowed_by).collect(),
        _ => Vec::new(),
    }
}

/// Statements of a function that has the runtime's module in scope as `fx`.
pub(super) fn short(lines: &[String]) -> String {
    lines.join("\n").replace("::fx_runtime::frozen::", "fx::")
}
