//! The writes of a graph: past which nodes a pure one may not move, and which values change under their readers.
//!
//! The order of execution falls into *epochs*: a new one begins after every node that may write to a tensor, and at the
//! head of a loop that holds one, since one iteration comes before the next. Within an epoch a pure node yields the same
//! wherever it stands.
//!
//! What the caller may write to when the call is over is known too: what it *gets* with the results, and what it *has*
//! already, inputs and fields of the model. A result that was a tensor of its own must not become one that the caller has.

use std::rc::Rc;

use fx_ir::{AliasAnalysis, Effect, Graph, NodeId, NodeMap, NodeSet, Op, RegionId, Writers};

use crate::context::PassContext;

/// The epochs of a graph and the values that it, or its caller, may write to.
pub(crate) struct Effects {
    epochs: NodeMap<u32>,
    written: NodeSet,
    handed_out: NodeSet,
    held: NodeSet,
}

impl Effects {
    pub(crate) fn of(graph: &Graph, cx: &PassContext) -> Rc<Effects> {
        cx.analysis(graph, || Effects::new(graph))
    }

    fn new(graph: &Graph) -> Effects {
        let aliases = AliasAnalysis::of(graph);
        let mut effects = Effects {
            epochs: NodeMap::default(),
            written: aliases.reached(&aliases.written(Writers::OpsAndCode)),
            handed_out: aliases.handed_out(),
            held: aliases.reached(&aliases.given()),
        };
        effects.number(graph, graph.body(), 0);
        effects
    }

    /// The epoch in which a node runs.
    pub(crate) fn epoch(&self, id: NodeId) -> Option<u32> {
        self.epochs.get(id).copied()
    }

    /// Returns whether the pure node `id` may move down to where `to` stands, in the same region.
    pub(crate) fn may_move(&self, graph: &Graph, id: NodeId, to: NodeId) -> bool {
        graph.scope_of(id) == graph.scope_of(to) && self.epoch(id).is_some() && self.epoch(id) == self.epoch(to)
    }

    /// Returns whether `reader` alone reads the pure node `id`, and may take its place: no write lies in between.
    pub(crate) fn is_only_reader(&self, graph: &Graph, reader: NodeId, id: NodeId) -> bool {
        graph.users(id) == [reader] && self.may_move(graph, id, reader)
    }

    /// Returns whether the value, or memory that it shares, may be written to after it was made.
    pub(crate) fn is_written(&self, id: NodeId) -> bool {
        self.written.contains(id)
    }

    /// Returns whether the caller may get the value's memory with the results.
    pub(crate) fn is_handed_out(&self, id: NodeId) -> bool {
        self.handed_out.contains(id)
    }

    /// Returns whether the caller may have the value's memory before the call, or get it otherwise.
    pub(crate) fn is_known_outside(&self, id: NodeId) -> bool {
        self.held.contains(id) || self.handed_out.contains(id)
    }

    fn number(&mut self, graph: &Graph, region: RegionId, mut epoch: u32) -> u32 {
        for &id in &graph.region(region).params {
            self.epochs.insert(id, epoch);
        }
        for &id in &graph.region(region).nodes {
            self.epochs.insert(id, epoch);
            let op = &graph.node(id).op;
            let before = epoch;
            epoch += u32::from(matches!(op, Op::For(_) | Op::While) && graph.is_impure(id));
            for &inner in &graph.node(id).regions {
                epoch = self.number(graph, inner, epoch);
            }
            let writes = matches!(graph.node(id).effect(), Effect::InPlace(_) | Effect::Io);
            epoch += u32::from(writes || epoch > before);
        }
        epoch
    }
}

#[cfg(test)]
mod tests {
    use fx_ir::ParseError;

    use super::*;

    /// The written values of a graph, and every node under its epoch.
    fn facts(text: &str) -> Result<(String, String), ParseError> {
        let graph: Graph = text.parse()?;
        let effects = Effects::new(&graph);
        let named = |id: &NodeId| graph.node(*id).name.clone();
        let nodes = graph.nodes();
        let written: Vec<_> = nodes.iter().filter(|&&id| effects.is_written(id)).map(named).collect();
        let epoch = |id: &NodeId| format!("{}{}", named(id), effects.epoch(*id).unwrap_or_default());
        Ok((written.join(" "), nodes.iter().map(epoch).collect::<Vec<_>>().join(" ")))
    }

    #[test]
    fn a_write_reaches_what_shares_memory() -> Result<(), ParseError> {
        let text = "graph f(x) { %a = relu(x) ; %v = view(%a, [1]) ; %w = add_(%v, 1) ; %b = relu(%a) ; yield %b }";
        let (written, epochs) = facts(text)?;
        assert_eq!((written.as_str(), epochs.as_str()), ("a v w", "x0 a0 v0 w0 b1 output1"));
        Ok(())
    }

    #[test]
    fn what_the_caller_has_and_gets() -> Result<(), ParseError> {
        let text = "graph f(m: module<Net>, x: tensor) {
          %w = get_attr[w](m) : tensor
          %v = transpose(x, 0, 1) : tensor
          %a = relu(%v) : tensor
          %r = view(%a, [4]) : tensor
          %p = view(%w, [4]) : tensor
          %s = add(%r, %p) : tensor
          yield %r, %s
        }";
        let graph: Graph = text.parse()?;
        let effects = Effects::new(&graph);
        let named = |is: &dyn Fn(NodeId) -> bool| {
            let found = graph.nodes().into_iter().filter(|&id| is(id));
            found.map(|id| graph.node(id).name.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named(&|id| effects.is_handed_out(id)), "a r s");
        assert_eq!(named(&|id| effects.is_known_outside(id)), "x w v a r p s");
        Ok(())
    }

    #[test]
    fn a_loop_hands_on_memory_from_turn_to_turn() -> Result<(), ParseError> {
        let text = r#"graph f(x, w, n: rust<i64>) {
          %r = for["%0"](n, x, w) (i: rust<i64>, y, z) { %v = add_(z, 1) ; %d = neg(y) ; yield %d, y }
          yield %r
        }"#;
        let (written, _) = facts(text)?;
        // What is `y` in one iteration is `z`, and written to, in the next.
        assert_eq!(written, "x w r y z v d");
        Ok(())
    }

    #[test]
    fn what_a_region_is_given_is_the_argument_itself() -> Result<(), ParseError> {
        let text = r#"graph f(o: option<tensor>) {
          %w = match(o) { "Some(%0)" (v: tensor) { %r = relu(v) ; %s = add_(v, 1) ; yield %r } "None" { yield 1 } }
          %m = match(o) { "Some(%0)" (u: tensor) { %t = neg(u) ; yield %t } "None" { yield 2 } }
          yield %w, %m
        }"#;
        let (written, _) = facts(text)?;
        assert_eq!(written, "o v s u");
        Ok(())
    }

    #[test]
    fn sizes_share_no_memory() -> Result<(), ParseError> {
        let text = r#"graph f(x: tensor, y: tensor) {
          %s = host.method["size2", fallible](x) : (rust<i64>, rust<i64>)
          %n = tuple_get[0](%s) : rust<i64>
          %w = add_(x, 1) : tensor
          %a = relu(y) : tensor
          %v = view(%a, [%n, -1]) : tensor
          yield %v
        }"#;
        let (written, _) = facts(text)?;
        assert_eq!(written, "x w");
        Ok(())
    }

    #[test]
    fn a_loop_that_writes_begins_an_epoch() -> Result<(), ParseError> {
        let text = r#"graph f(x, n) {
          %a = relu(x)
          %r = for["%0"](n, x) (i, y) { %b = relu(x) ; %w = add_(y, 1) ; %c = relu(x) ; yield y }
          %d = relu(x)
          yield %d
        }"#;
        let (written, epochs) = facts(text)?;
        assert_eq!(written, "x r y w");
        assert_eq!(epochs, "x0 n0 a0 r0 i1 y1 b1 w1 c2 yield2 d3 output3");
        Ok(())
    }
}
