//! What one function is printed with: its lines so far, its variables, and how each value is read.

use std::collections::{HashMap, HashSet};

use fx_front::index::Module;
use fx_ir::{Graph, NodeId, Op, RegionId};

use super::{
    Emitter,
    liveness::Liveness,
    memory::Peak,
    names::Names,
    template::{called_functions, lent_by, own_variables},
    value::Value,
};

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
    pub(super) liveness: Liveness,
    /// The variables, with their declarations, that a branch is to be preceded by, since what it yields refers to them.
    pub(super) outlived: HashMap<NodeId, Vec<(String, String)>>,
    /// The branches that are being printed as Rust, and so can be preceded by declarations.
    pub(super) branches: HashSet<NodeId>,
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
            let node = emitter.graph.node(id);
            if let Op::Rust(code) = &node.op {
                own_variables(code).chain(called_functions(code)).for_each(|name| names.take(name));
                lent_by(code, node)
                    .into_iter()
                    .flat_map(|scope| &scope.variables)
                    .for_each(|one| names.take(&one.name));
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
            liveness: Liveness::of(emitter.graph),
            outlived: HashMap::new(),
            branches: HashSet::new(),
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

/// The path of the runtime's module that generated functions have in scope as `fx`.
const FROZEN: &str = "::fx_runtime::frozen";

impl Emitter<'_> {
    /// The line that brings the runtime's module into scope as `fx`; none where the user's code has something of that name.
    pub(super) fn alias(&self) -> String {
        let is_own = |module: &Module| module.names.contains_key("fx");
        let is_taken = self.index.modules.get(self.home).is_some_and(is_own)
            || self.index.modules.contains_key(&format!("{}::fx", self.home));
        if is_taken { String::new() } else { format!("use {FROZEN} as fx;") }
    }

    /// Statements of a function that begins with that line.
    pub(super) fn short(&self, lines: &str) -> String {
        if self.alias().is_empty() { lines.to_owned() } else { lines.replace(&format!("{FROZEN}::"), "fx::") }
    }
}
