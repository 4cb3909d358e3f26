//! Whoever wants to see what each pass did: the graph behind every one of them.

use fx_ir::Graph;

use super::Step;
use crate::pass::Pass;

/// Sees the graph while a pipeline runs on it. Nodes that no pass touched have the same ids throughout.
///
/// ```
/// use fx_ir::Graph;
/// use fx_rewrite::pass::{Pass, PassContext};
/// use fx_rewrite::pipeline::{Observer, Pipeline, Step};
///
/// /// The number of nodes behind each pass that changed it.
/// #[derive(Default)]
/// struct Counts(Vec<(&'static str, usize)>);
///
/// impl Observer for Counts {
///     fn behind(&mut self, pass: &dyn Pass, step: &Step, graph: &Graph) {
///         if step.changed.is_yes() {
///             self.0.push((pass.name(), graph.nodes().len()));
///         }
///     }
/// }
///
/// let mut graph: Graph = "graph f(x: tensor) { %a = relu(x) ; %b = neg(x) ; yield %a }".parse()?;
/// let mut counts = Counts::default();
/// Pipeline::inference().run_observed(&mut graph, &PassContext::default(), &mut counts)?;
/// assert_eq!(counts.0, [("dead-code", 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer {
    /// The graph as the first pass is given it.
    fn begin(&mut self, _graph: &Graph) {}

    /// The graph as a pass left it, whether or not the pass changed it; the verifier has nothing to say against it.
    fn behind(&mut self, pass: &dyn Pass, step: &Step, graph: &Graph);
}

/// Looks away.
impl Observer for () {
    fn behind(&mut self, _: &dyn Pass, _: &Step, _: &Graph) {}
}
