//! A pass: a named rewrite of one graph that leaves its meaning alone.

use fx_ir::Graph;

pub use crate::context::{Changed, PassContext};
use crate::rewrite::RuleSet;

/// A rewrite of a graph, known by its name.
///
/// ```
/// use fx_ir::{Graph, Op};
/// use fx_rewrite::pass::{Changed, Pass, PassContext};
///
/// /// Counts as a change every node that nothing reads; erases none.
/// struct Unread;
///
/// impl Pass for Unread {
///     fn name(&self) -> &'static str {
///         "unread"
///     }
///
///     fn doc(&self) -> &'static str {
///         "finds nodes that nothing reads"
///     }
///
///     fn run(&self, graph: &mut Graph, _: &PassContext) -> Changed {
///         let unread = graph.nodes().into_iter().filter(|&id| !graph.has_users(id) && graph.node(id).op != Op::Yield);
///         Changed::from(unread.count() > 0)
///     }
/// }
/// ```
pub trait Pass {
    /// Its name: words with hyphens, `fold-batch-norm`.
    fn name(&self) -> &'static str;

    /// Its effect, in one line.
    fn doc(&self) -> &'static str;

    /// The names of passes that have to have run before this one, where the list has them: those whose work it needs.
    fn after(&self) -> &'static [&'static str] {
        &[]
    }

    /// The names of passes that may run only after this one, where the list has them: those that would hide from it what
    /// it looks for.
    fn before(&self) -> &'static [&'static str] {
        &[]
    }

    /// Rewrites the graph. What it leaves must pass `graph.lint()`, and a node that it makes inherits the origins of
    /// those that it replaces ([`Origin::merged`](fx_ir::Origin::merged)).
    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed;

    /// Its rules, if it is made of rules: what [`fx_pass!`](crate::fx_pass) declares.
    fn rules(&self) -> Option<&'static RuleSet> {
        None
    }
}
