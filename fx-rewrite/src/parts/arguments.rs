//! Arguments in one form: all by position, none left to its default.

use fx_ir::{Graph, Node, Op, catalog};

use crate::pass::Changed;

/// Puts every argument of an op of the catalog where its schema has it, and writes out the defaults of those that are
/// missing. An op of fx's own (`convolution`, `linear`) keeps the options that its schema does not name.
///
/// ```
/// use fx_rewrite::{Graph, parts::normalize_arguments};
///
/// let mut graph: Graph = "graph f(x: tensor) { %y = flatten(x, end_dim=-1) : tensor ; yield %y }".parse()?;
/// assert!(normalize_arguments(&mut graph).is_yes());
/// assert_eq!(graph.to_line(), "graph f(x: tensor) { %y = flatten(x, 0, -1) : tensor ; yield %y }");
/// # Ok::<(), fx_ir::ParseError>(())
/// ```
pub fn normalize_arguments(graph: &mut Graph) -> Changed {
    let mut changed = false;
    for id in graph.nodes() {
        if let Some(normal) = normal(graph.node(id)) {
            *graph.node_mut(id) = normal;
            changed = true;
        }
    }
    Changed::from(changed)
}

/// The node with its arguments in their normal form, where they are not in it.
fn normal(node: &Node) -> Option<Node> {
    let Op::Call(op) = &node.op else { return None };
    let entry = op.entry()?;
    let receiver = usize::from(entry.receiver != catalog::Receiver::Free);
    if node.args.len() > receiver + entry.params.len() {
        return None;
    }
    let (mut args, mut kwargs) = (node.args.clone(), node.kwargs.clone());
    for param in entry.params.iter().skip(args.len().checked_sub(receiver)?) {
        let named = kwargs.iter().position(|(name, _)| name == param.name);
        let given = named.map(|at| kwargs.remove(at).1);
        // Without a value here none that comes later has its place.
        args.push(given.or_else(|| param.default_arg())?);
    }
    (args.len() != node.args.len()).then(|| Node { args, kwargs, ..node.clone() })
}
