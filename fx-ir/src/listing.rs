//! The graph in torch.fx's own grammar: what `str(graph)` writes in Python.
//!
//! ```text
//! graph():
//!     %x : torch.Tensor [num_users=1] = placeholder[target=x]
//!     %conv1 : [num_users=1] = call_module[target=conv1](args = (%x,), kwargs = {})
//!     %add : [num_users=1] = call_function[target=operator.add](args = (%conv1, %x), kwargs = {})
//!     return add
//! ```
//!
//! As in torch.fx a type stands where the source annotates one, which Rust does for parameters. What torch.fx has no
//! opcode for (`if`, `match`, `for`, `while`) is written alike, its regions indented below it.

use std::fmt;

use crate::python::{Python, Style};
use crate::tabular::branch;
use crate::{Graph, NodeId, Op, RegionId, Type};

/// A graph, to be written as torch.fx writes it.
#[derive(Clone, Copy, Debug)]
pub struct Listing<'g>(&'g Graph);

impl Graph {
    /// The graph as torch.fx writes it; `{:#}` of the graph is the same.
    ///
    /// ```
    /// let graph: fx_ir::Graph = r#"graph net(x: tensor) {
    ///     %conv1 = call_module[Conv2D]("conv1", x) : tensor
    ///     yield %conv1
    /// }"#.parse()?;
    /// let lines = [
    ///     "graph():",
    ///     "    %x : torch.Tensor [num_users=1] = placeholder[target=x]",
    ///     "    %conv1 : [num_users=1] = call_module[target=conv1](args = (%x,), kwargs = {})",
    ///     "    return conv1",
    /// ];
    /// assert_eq!(graph.listing().to_string(), lines.join("\n"));
    /// # Ok::<(), fx_ir::ParseError>(())
    /// ```
    pub fn listing(&self) -> Listing<'_> {
        Listing(self)
    }

    /// One node as torch.fx writes it, without its regions.
    pub fn format_node(&self, id: NodeId) -> String {
        let (node, name) = (self.node(id), &self.node(id).name);
        let python = Python { graph: self, style: Style::Listing };
        let (opcode, target) = (node.op.opcode(), self.qualified_target(id));
        let users = format!("[num_users={}]", self.users(id).len());
        match &node.op {
            Op::Placeholder => format!("%{name} : {}{users} = {opcode}[target={target}]", annotation(&node.ty)),
            Op::GetAttr(_) if node.args.is_empty() => format!("%{name} : {users} = {opcode}[target={target}]"),
            Op::Yield => {
                let names = Python { graph: self, style: Style::Table };
                let values: Vec<String> = node.args.iter().map(|arg| names.value(arg)).collect();
                match values.as_slice() {
                    [one] => format!("return {one}"),
                    values => format!("return ({})", values.join(", ")),
                }
            }
            _ => {
                let (args, kwargs) = (python.args(node), python.kwargs(node));
                format!("%{name} : {users} = {opcode}[target={target}](args = {args}, kwargs = {kwargs})")
            }
        }
    }

    fn list(&self, region: RegionId, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for id in self.region(region).members() {
            write!(f, "\n{:1$}{2}", "", 4 * depth, self.format_node(id))?;
            let node = self.node(id);
            for (position, &inner) in node.regions.iter().enumerate() {
                write!(f, "\n{:1$}{2}:", "", 4 * depth + 2, branch(&node.op, position))?;
                self.list(inner, depth + 1, f)?;
            }
        }
        Ok(())
    }
}

/// The annotation of a parameter, with a space behind it.
fn annotation(ty: &Type) -> String {
    match ty {
        Type::Unknown => String::new(),
        Type::Tensor(_) => "torch.Tensor ".to_owned(),
        Type::Rust(spelling) => format!("{spelling} "),
        other => format!("{other} "),
    }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph():")?;
        self.0.list(self.0.body(), 1, f)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::Graph;

    #[test]
    fn every_opcode_is_written_as_torch_fx_writes_it() -> Result<(), crate::ParseError> {
        let mut graph: Graph = r#"graph net(x: tensor, n) {
            %w = get_attr[layer.weight]() : f32[3]
            %fc = call_module[Linear]("layers.0.fc", x) : tensor
            %relu = relu(%fc) : tensor
            %add = add(%relu, %w) : tensor
            %flatten = flatten(%add, 1, -1) : tensor
            %gelu = gelu(%flatten, "tanh") : tensor
            %norm = layer_norm(%gelu, [3], none, none, 1e-5, false) : tensor
            %sum_1 = sum(%norm, `Kind::Float`, n=true) : tensor
            yield %norm, %sum_1
        }"#
        .parse()?;
        let [x, ..] = graph.region(graph.body()).params[..] else { return Ok(()) };
        graph.rename(x, "input");
        expect![[r#"
            graph():
                %input : torch.Tensor [num_users=1] = placeholder[target=input]
                %n : [num_users=0] = placeholder[target=n]
                %w : [num_users=1] = get_attr[target=layer.weight]
                %fc : [num_users=1] = call_module[target=layers.0.fc](args = (%input,), kwargs = {})
                %relu : [num_users=1] = call_method[target=relu](args = (%fc,), kwargs = {})
                %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %w), kwargs = {})
                %flatten : [num_users=1] = call_function[target=torch.flatten](args = (%add, 1, -1), kwargs = {})
                %gelu : [num_users=1] = call_method[target=gelu](args = (%flatten, tanh), kwargs = {})
                %norm : [num_users=2] = call_function[target=torch.nn.functional.layer_norm](args = (%gelu, [3], None, None, 1e-05, False), kwargs = {})
                %sum_1 : [num_users=1] = call_method[target=sum](args = (%norm, torch.float32), kwargs = {n: True})
                return (norm, sum_1)"#]]
        .assert_eq(&graph.listing().to_string());
        assert_eq!(format!("{graph:#}"), graph.listing().to_string());
        Ok(())
    }

    #[test]
    fn regions_stand_below_their_node() -> Result<(), crate::ParseError> {
        let graph: Graph = "graph f(x: f32[2], flag: rust<bool>) {
            %y = if(flag) { %a = relu(x) ; yield %a } else { yield x }
            yield %y
        }"
        .parse()?;
        expect![[r#"
            graph():
                %x : torch.Tensor [num_users=2] = placeholder[target=x]
                %flag : bool [num_users=1] = placeholder[target=flag]
                %y : [num_users=1] = if[target=if](args = (%flag,), kwargs = {})
                  then:
                    %a : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
                    return a
                  else:
                    return x
                return y"#]]
        .assert_eq(&graph.listing().to_string());
        Ok(())
    }
}
