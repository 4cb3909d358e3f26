//! The graph as a drawing for Mermaid, which Markdown on code hosts shows: a subgraph for each region.

use std::fmt::Write as _;

use crate::tabular::branch;
use crate::{Graph, NodeId, Op, RegionId};

impl Graph {
    /// The graph as a flowchart in Mermaid's language.
    pub fn to_mermaid(&self) -> String {
        let mut out = "flowchart TD\n".to_owned();
        self.chart(self.body(), 1, &mut out);
        for id in self.nodes() {
            for input in self.node(id).inputs() {
                line(&mut out, 1, &format!("{input:?} --> {id:?}"));
            }
        }
        out
    }

    fn chart(&self, region: RegionId, depth: usize, out: &mut String) {
        for id in self.region(region).members() {
            let node = self.node(id);
            let (open, close) = shape(&node.op);
            line(out, depth, &format!("{id:?}{open}\"{}\"{close}", escaped(&self.box_lines(id).join("\n"))));
            for (position, &inner) in node.regions.iter().enumerate() {
                let title = format!("{}: {}", node.name, branch(&node.op, position));
                line(out, depth, &format!("subgraph {inner:?} [\"{}\"]", escaped(&title)));
                self.chart(inner, depth + 1, out);
                line(out, depth, "end");
            }
        }
    }

    /// The lines in the box of a node: its name, what it calls, and its type where that is known.
    pub(crate) fn box_lines(&self, id: NodeId) -> Vec<String> {
        let node = self.node(id);
        let target = self.qualified_target(id);
        let called = match &node.op {
            Op::Placeholder | Op::Yield | Op::If | Op::Match(_) | Op::While => node.op.opcode().to_owned(),
            Op::CallModule(kind) => format!("{} {target}", kind.0),
            Op::Call(_) | Op::Host(_) | Op::Rust(_) | Op::TupleGet(_) => target,
            _ => format!("{} {target}", node.op.opcode()),
        };
        let ty = Some(node.ty.to_string()).filter(|ty| node.ty.is_tensor() && ty != "tensor");
        [node.name.clone(), called].into_iter().chain(ty).collect()
    }
}

/// The brackets that give a box its form.
fn shape(op: &Op) -> (&'static str, &'static str) {
    match op {
        Op::Placeholder | Op::Yield => ("([", "])"),
        Op::GetAttr(_) => ("[(", ")]"),
        Op::If | Op::Match(_) | Op::For(_) | Op::While => ("{{", "}}"),
        _ => ("[", "]"),
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{:1$}{text}", "", 2 * depth);
}

/// Text in quotes: Mermaid reads entities, with `#` for `&`.
fn escaped(text: &str) -> String {
    let text = text.replace('#', "#35;").replace('"', "#quot;").replace('<', "#lt;").replace('>', "#gt;");
    text.replace('\n', "<br/>")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::Graph;

    #[test]
    fn a_region_is_a_subgraph() -> Result<(), crate::ParseError> {
        let graph: Graph = r##"graph f(x: f32[2]) {
            %w = get_attr[layer.weight]() : f32[2]
            %conv = call_module[Conv2D]("layer.0", x) : tensor
            %y = if(x) { %a = rust["$0 < \"#\""](%conv) ; yield %a } else { yield %w }
            yield %y
        }"##
        .parse()?;
        expect![[r#"
            flowchart TD
              n0(["x<br/>placeholder<br/>f32[2]"])
              n1[("w<br/>get_attr layer.weight<br/>f32[2]")]
              n2["conv<br/>Conv2D layer.0"]
              n3{{"y<br/>if"}}
              subgraph r1 ["y: then"]
                n4["a<br/>$0 #lt; #quot;#35;#quot;"]
                n5(["yield<br/>output"])
              end
              subgraph r2 ["y: else"]
                n6(["yield_1<br/>output"])
              end
              n7(["output<br/>output"])
              n0 --> n2
              n0 --> n3
              n2 --> n4
              n4 --> n5
              n1 --> n6
              n3 --> n7
        "#]]
        .assert_eq(&graph.to_mermaid());
        Ok(())
    }
}
