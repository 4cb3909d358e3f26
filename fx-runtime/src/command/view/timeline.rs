//! What each pass did to the graph: the nodes that went, came and changed, and which nodes of the live graph they stand for.

use std::collections::{BTreeMap, BTreeSet};

use fx_ir::{Arg, Graph, Node, NodeId, NodeMap, Op};
use fx_rewrite::pass::Pass;
use fx_rewrite::pipeline::{Observer, Step};
use serde_json::{Value as Json, json};

/// Nodes of the live graph, by their numbers.
type Sources = BTreeSet<usize>;

/// The passes so far.
pub(super) struct Timeline {
    /// The nodes of the live graph by their names.
    by_name: BTreeMap<String, usize>,
    /// Those that a label of an origin names: layers by their paths, ops by their names.
    by_label: BTreeMap<String, Sources>,
    /// Those that read a tensor, by its path.
    by_tensor: BTreeMap<String, usize>,
    /// What the nodes that passes have seen stand for.
    sources: NodeMap<Sources>,
    /// The graph behind the last pass that changed it.
    last: Option<Graph>,
    steps: Vec<Entry>,
}

/// One pass.
struct Entry {
    pass: &'static str,
    doc: &'static str,
    nodes: (usize, usize),
    rules: Vec<(&'static str, usize)>,
    went: Vec<Item>,
    came: Vec<Item>,
    changed: Vec<Item>,
}

/// A node as it was behind a pass, or before it if it went.
struct Item {
    id: NodeId,
    name: String,
    target: String,
    sources: Sources,
}

impl Timeline {
    /// Before any pass.
    pub(super) fn of(live: &Graph) -> Timeline {
        let mut by_label: BTreeMap<String, Sources> = BTreeMap::new();
        let (mut by_name, mut by_tensor) = (BTreeMap::new(), BTreeMap::new());
        for (number, id) in live.nodes().into_iter().enumerate() {
            let node = live.node(id);
            by_name.insert(node.name.clone(), number);
            if let Op::GetAttr(path) = &node.op {
                by_tensor.entry(path.clone()).or_insert(number);
            }
            let label = match (&node.op, node.args.first()) {
                (Op::CallModule(_), Some(Arg::Str(path))) => Some(path),
                (Op::Call(_), _) => Some(&node.name),
                _ => None,
            };
            if let Some(label) = label {
                by_label.entry(label.clone()).or_default().insert(number);
            }
        }
        Timeline { by_name, by_label, by_tensor, sources: NodeMap::default(), last: None, steps: Vec::new() }
    }

    /// The nodes of the live graph that a node of the frozen graph came from.
    pub(super) fn sources(&self, frozen: &Graph, id: NodeId) -> Sources {
        let node = frozen.node(id);
        let known = self.sources.get(id).cloned().unwrap_or_else(|| self.labelled(node));
        match &node.op {
            // What freezing itself puts into the graph, the tensors that it reads, has no origin.
            Op::GetAttr(path) if known.is_empty() => self.by_tensor.get(path).into_iter().copied().collect(),
            _ => known,
        }
    }

    fn labelled(&self, node: &Node) -> Sources {
        node.origin.labels.iter().filter_map(|label| self.by_label.get(label)).flatten().copied().collect()
    }

    /// Learns what nodes that are new, or of another origin than before, stand for.
    fn learn(&mut self, before: &Graph, after: &Graph, went: &[NodeId]) {
        for id in after.nodes() {
            let node = after.node(id);
            let is_known = before.is_alive(id);
            if is_known && before.node(id).origin == node.origin {
                continue;
            }
            let mut sources = self.labelled(node);
            if sources.is_empty() && !is_known {
                // Labels of host code are words of the source, which several nodes may have; of those that went, the ones of its
                // lines are meant.
                let is_near = |other: &&NodeId| {
                    before.node(**other).origin.places.iter().any(|place| node.origin.places.contains(place))
                };
                sources =
                    went.iter().filter(is_near).filter_map(|&id| self.sources.get(id)).flatten().copied().collect();
            }
            self.sources.get_or_default(id).extend(sources);
        }
    }

    fn item(&self, graph: &Graph, id: NodeId) -> Item {
        let sources = self.sources.get(id).cloned().unwrap_or_default();
        Item { id, name: graph.node(id).name.clone(), target: graph.target(id), sources }
    }

    /// The steps as JSON; nodes that the frozen graph still has are named by their numbers in it.
    pub(super) fn json(&self, frozen: &Graph) -> Json {
        let numbers: BTreeMap<NodeId, usize> = frozen.nodes().into_iter().zip(0..).collect();
        let items = |items: &[Item]| -> Json {
            items.iter().map(|item| json!([item.name, item.target, item.sources, numbers.get(&item.id)])).collect()
        };
        let step = |step: &Entry| {
            let fired: Vec<_> = step.rules.iter().filter(|(_, count)| *count > 0).collect();
            json!({
                "pass": step.pass, "doc": step.doc, "nodes": [step.nodes.0, step.nodes.1], "rules": fired,
                "went": items(&step.went), "came": items(&step.came), "changed": items(&step.changed),
            })
        };
        self.steps.iter().map(step).collect()
    }
}

impl Observer for Timeline {
    fn begin(&mut self, graph: &Graph) {
        for id in graph.nodes() {
            let node = graph.node(id);
            // A layer is a node of its own here, and the call that reads it another.
            let sources = match self.by_name.get(&node.name) {
                Some(&number) => Sources::from([number]),
                None => self.labelled(node),
            };
            self.sources.insert(id, sources);
        }
        self.last = Some(graph.clone());
    }

    fn behind(&mut self, pass: &dyn Pass, step: &Step, graph: &Graph) {
        let mut entry = Entry {
            pass: pass.name(),
            doc: pass.doc(),
            nodes: step.nodes,
            rules: step.rules.applied.clone(),
            went: Vec::new(),
            came: Vec::new(),
            changed: Vec::new(),
        };
        if let Some(before) = self.last.take_if(|last| last.revision() != graph.revision()) {
            let went: Vec<NodeId> = before.nodes().into_iter().filter(|&id| !graph.is_live(id)).collect();
            self.learn(&before, graph, &went);
            entry.went = went.iter().map(|&id| self.item(&before, id)).collect();
            for id in graph.nodes() {
                if !before.is_alive(id) {
                    entry.came.push(self.item(graph, id));
                } else if differs(before.node(id), graph.node(id)) {
                    entry.changed.push(self.item(graph, id));
                }
            }
            self.last = Some(graph.clone());
        }
        self.steps.push(entry);
    }
}

/// Whether a node computes something else than before, not only on the results of other nodes.
fn differs(before: &Node, after: &Node) -> bool {
    let blind = |node: &Node| -> Vec<Arg> { node.args.iter().map(|arg| arg.map_nodes(&mut |_| Arg::None)).collect() };
    before.op != after.op || before.kwargs.len() != after.kwargs.len() || blind(before) != blind(after)
}
