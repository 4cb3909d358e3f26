//! The graph as a drawing: Graphviz text, a cluster for each region.

use std::fmt::Write as _;

use crate::tabular::branch;
use crate::text::{arg_text, op_text};
use crate::{Arg, Graph, NodeId, Op, RegionId, Type};

impl Graph {
    /// The graph in Graphviz's language; `dot -Tsvg` draws it.
    pub fn to_dot(&self) -> String {
        let mut out = format!("digraph {} {{\n  node [shape=box, fontname=\"monospace\"];\n", quoted(&self.name));
        self.draw(self.body(), 1, &mut out);
        for id in self.nodes() {
            for input in self.node(id).inputs() {
                push(&mut out, 1, &format!("{input:?} -> {id:?};"));
            }
        }
        out + "}\n"
    }

    fn draw(&self, region: RegionId, depth: usize, out: &mut String) {
        let members = self.region(region);
        for &id in members.params.iter().chain(&members.nodes) {
            push(out, depth, &format!("{id:?} [label={}{}];", quoted(&self.label(id)), style(&self.node(id).op)));
            for (position, &inner) in self.node(id).regions.iter().enumerate() {
                push(out, depth, &format!("subgraph cluster_{inner:?} {{"));
                let title = format!("{}: {}", self.node(id).name, branch(&self.node(id).op, position));
                push(out, depth + 1, &format!("label={};", quoted(&title)));
                self.draw(inner, depth + 1, out);
                push(out, depth, "}");
            }
        }
    }

    /// Name and op, the literal arguments, and the type if it is known.
    fn label(&self, id: NodeId) -> String {
        let node = self.node(id);
        let literal = |arg: &&Arg| !matches!(arg, Arg::Node(_));
        let literals = node.args.iter().filter(literal).map(|arg| arg_text(self, arg));
        let named = node.kwargs.iter().map(|(key, arg)| format!("{key}={}", arg_text(self, arg)));
        let options: Vec<_> = literals.chain(named).collect();
        let mut label = format!("{}\n{}", node.name, op_text(node));
        if !options.is_empty() {
            let _ = write!(label, "\n{}", options.join(", "));
        }
        if node.ty != Type::Unknown {
            let _ = write!(label, "\n{}", node.ty);
        }
        label
    }
}

fn style(op: &Op) -> &'static str {
    match op {
        Op::Placeholder | Op::Yield => ", shape=oval",
        Op::If | Op::Match(_) | Op::For(_) | Op::While => ", shape=diamond",
        Op::GetAttr(_) => ", style=dashed",
        _ => "",
    }
}

fn push(out: &mut String, depth: usize, line: &str) {
    let _ = writeln!(out, "{:1$}{line}", "", 2 * depth);
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::Graph;

    #[test]
    fn a_region_is_a_cluster() -> Result<(), crate::ParseError> {
        let graph: Graph = r#"graph f(x: f32[2]) {
            %y = if(x) { %a = clamp(x, -1.0, 1.0) ; yield %a } else { yield x }
            yield %y
        }"#
        .parse()?;
        expect![[r#"
            digraph "f" {
              node [shape=box, fontname="monospace"];
              n0 [label="x\nplaceholder\nf32[2]", shape=oval];
              n1 [label="y\nif", shape=diamond];
              subgraph cluster_r1 {
                label="y: then";
                n2 [label="a\nclamp\n-1.0, 1.0"];
                n3 [label="yield\nyield", shape=oval];
              }
              subgraph cluster_r2 {
                label="y: else";
                n4 [label="yield_1\nyield", shape=oval];
              }
              n5 [label="output\nyield", shape=oval];
              n0 -> n1;
              n0 -> n2;
              n2 -> n3;
              n0 -> n4;
              n1 -> n5;
            }
        "#]]
        .assert_eq(&graph.to_dot());
        Ok(())
    }
}
