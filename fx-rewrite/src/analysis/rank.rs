//! The rank of tensors: their number of axes, as far as the source tells.

use std::rc::Rc;

use fx_ir::{Arg, Graph, Node, NodeMap, Op, Type, ops::Rank};

use crate::context::PassContext;

/// The ranks of the tensors of a graph.
pub(crate) struct Ranks(NodeMap<Rank>);

impl Ranks {
    pub(crate) fn of(graph: &Graph, cx: &PassContext) -> Rc<Ranks> {
        cx.analysis(graph, || Ranks::new(graph))
    }

    fn new(graph: &Graph) -> Ranks {
        let mut ranks = Ranks(NodeMap::default());
        for id in graph.nodes() {
            let rank = ranks.node(graph.node(id));
            ranks.0.insert(id, rank);
        }
        ranks
    }

    pub(crate) fn get(&self, arg: &Arg) -> Rank {
        arg.node().and_then(|id| self.0.get(id)).copied().unwrap_or(Rank::ANY)
    }

    fn node(&self, node: &Node) -> Rank {
        if let Type::Tensor(ty) = &node.ty
            && let Some(shape) = &ty.shape
        {
            return Rank::exactly(shape.len());
        }
        match &node.op {
            Op::Call(op) => op.row().map_or(Rank::ANY, |row| row.rank.apply(&node.args, |arg| self.get(arg))),
            Op::CallModule(kind) => {
                let inputs = node.args.get(1..).unwrap_or_default();
                kind.row().map_or(Rank::ANY, |row| row.rank_rule().apply(inputs, |arg| self.get(arg)))
            }
            _ => Rank::ANY,
        }
    }
}

#[cfg(test)]
mod tests {
    use fx_ir::ParseError;

    use super::*;

    #[test]
    fn ranks_follow_the_ops() -> Result<(), ParseError> {
        let text = r#"graph f(m: module<Linear>, x, y: f32[B, C, H]) {
          %pool = adaptive_avg_pool2d(x, [1, 1])
          %flat = flat_view(%pool)
          %fc = call_module[Linear](m, %flat)
          %act = relu(%fc)
          %v = view(y, [2, -1, 3, 4])
          %sum = add(%v, x)
          %fit = add(%v, y)
          %one = select(%v, 0, 1)
          %two = unsqueeze(%one, 0)
          %p = permute(x, [0, 2, 1])
          yield %act, %sum
        }"#;
        let graph: Graph = text.parse()?;
        let ranks = Ranks::new(&graph);
        let of = |name: &str| {
            let id = graph.nodes().into_iter().find(|&id| graph.node(id).name == name);
            id.map_or(Rank::ANY, |id| ranks.get(&Arg::Node(id)))
        };
        assert_eq!(of("x"), Rank::ANY);
        assert_eq!(of("pool"), Rank::at_least(3));
        assert_eq!([of("flat"), of("fc"), of("act")], [Rank::exactly(2); 3]);
        assert_eq!([of("y"), of("v"), of("fit")], [Rank::exactly(3), Rank::exactly(4), Rank::exactly(4)]);
        assert_eq!([of("one"), of("two"), of("p")], [Rank::exactly(3), Rank::exactly(4), Rank::exactly(3)]);
        assert_eq!(of("sum"), Rank::at_least(4));
        Ok(())
    }
}
