//! Groups: pointwise ops that each element goes through in one pass over memory, and ops on rows among them.
//!
//! What a `group` computes is a graph of its own, kept as text in the option `body`: its parameters stand for the group's
//! arguments (tensors, and numbers that a call knows), its nodes are ops that have a [scalar form](crate::Scalar), and
//! what it yields are the group's results. One graph is printed as Rust over elements; whatever else a group has to be
//! (`ATen`'s operators, CUDA C) is that same Rust over something else than numbers.
//!
//! An op on rows has no axis here, since it is the last one, and only those arguments that change what it computes:
//! `softmax(x, dtype)`, `layer_norm(x, weight, bias, eps)`.

use crate::{Arg, Graph, Node, Op, Type, ops};

/// The option that holds the graph.
const BODY: &str = "body";

impl Node {
    /// Is it a group?
    pub fn is_group(&self) -> bool {
        self.op == Op::Call(ops::GROUP)
    }

    /// Makes the node a group of this body on these arguments.
    pub fn become_group(&mut self, body: &Graph, args: Vec<Arg>) {
        self.op = Op::Call(ops::GROUP);
        self.args = args;
        self.kwargs = vec![(BODY.to_owned(), Arg::Str(body.to_line()))];
    }

    /// What a group computes; none of a node that is no group, or one whose body is wrong, which the verifier tells.
    pub fn group_body(&self) -> Option<Graph> {
        self.checked_body().ok()
    }

    /// The body, or what is wrong with it.
    pub(crate) fn checked_body(&self) -> Result<Graph, String> {
        let Some(Arg::Str(text)) = self.kwarg(BODY).filter(|_| self.is_group()) else {
            return Err("has no graph as its `body`".to_owned());
        };
        let body: Graph = text.parse().map_err(|error| format!("has a `body` that is no graph ({error})"))?;
        let region = body.region(body.body());
        if region.params.len() != self.args.len() {
            let (args, params) = (self.args.len(), region.params.len());
            return Err(format!("has {args} arguments where its `body` takes {params}"));
        }
        let is_scalar =
            |node: &Node| matches!(&node.op, Op::Call(op) if op.row().is_some_and(|row| row.scalar.is_some()));
        let wrong = region.nodes.iter().map(|&id| body.node(id)).find(|node| node.op != Op::Yield && !is_scalar(node));
        match wrong {
            Some(node) => Err(format!("has `{}` in its `body`, which has no scalar form", node.name)),
            None => Ok(body),
        }
    }
}

impl Graph {
    /// How many sums and maxima of a row a group's body asks for; none if it is pointwise.
    pub fn reductions(&self) -> usize {
        let scalar = |id: &crate::NodeId| match &self.node(*id).op {
            Op::Call(op) => op.row()?.scalar,
            _ => None,
        };
        let of = |scalar| if let crate::Scalar::Row(count) = scalar { count } else { 0 };
        self.region(self.body()).nodes.iter().filter_map(scalar).map(of).sum()
    }

    /// Of the parameters of a group's body, those that are tensors, and those that are numbers.
    pub fn tensors_and_numbers(&self) -> (Vec<crate::NodeId>, Vec<crate::NodeId>) {
        let params = self.region(self.body()).params.iter();
        params.copied().partition(|&param| !matches!(self.node(param).ty, Type::Rust(_)))
    }
}
