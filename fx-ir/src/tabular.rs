//! The graph as a table: torch.fx's five columns, and the type, the module and the source lines beside them.

use std::borrow::Cow;

use crate::python::{Python, Style};
use crate::{Graph, NodeId, Op, RegionId};

const COLUMNS: [&str; 8] = ["opcode", "name", "target", "args", "kwargs", "type", "module", "source"];

type Row = [String; COLUMNS.len()];

impl Graph {
    /// A table of the nodes: opcode, name, target, args and kwargs as in torch.fx, then type, the innermost
    /// module that the node stands in, and source lines. What stands in a region is indented under the pattern or the branch that it belongs to.
    pub fn print_tabular(&self) -> String {
        let mut rows = vec![COLUMNS.map(str::to_owned)];
        self.tabulate(self.body(), 0, &mut rows);
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..COLUMNS.len()).map(width).collect();
        rows.insert(1, std::array::from_fn(|column| "-".repeat(widths[column])));
        rows.iter().map(|row| line(row, &widths)).collect()
    }

    /// The arguments of a node as the table has them: the positional ones as a tuple, the named ones as a dict.
    ///
    /// ```
    /// let graph: fx_ir::Graph = "graph f(x: tensor) { %y = add(x, 2, alpha=1.5) ; yield %y }".parse()?;
    /// let add = graph.find_nodes("call_function", None)[0];
    /// assert_eq!(graph.operands(add), ("(x, 2)".to_owned(), "{'alpha': 1.5}".to_owned()));
    /// # Ok::<(), fx_ir::ParseError>(())
    /// ```
    pub fn operands(&self, id: NodeId) -> (String, String) {
        let (node, python) = (self.node(id), Python { graph: self, style: Style::Table });
        (python.args(node), python.kwargs(node))
    }

    /// The control flow in whose region a node stands, and the part that the region plays there: `then`, a pattern, `do`.
    /// None of a node of the body.
    pub fn branch_of(&self, id: NodeId) -> Option<(NodeId, Cow<'static, str>)> {
        let region = self.scope_of(id)?;
        let owner = self.owner_of(region)?;
        let node = self.node(owner);
        let position = node.regions.iter().position(|&inner| inner == region)?;
        Some((owner, branch(&node.op, position)))
    }

    fn tabulate(&self, region: RegionId, depth: usize, rows: &mut Vec<Row>) {
        let members = self.region(region);
        for &id in members.params.iter().chain(&members.nodes) {
            rows.push(self.row(id, depth));
            let node = self.node(id);
            for (position, &inner) in node.regions.iter().enumerate() {
                let mut head = Row::default();
                head[1] = format!("{:1$}{2}:", "", 2 * depth + 2, branch(&node.op, position));
                rows.push(head);
                self.tabulate(inner, depth + 2, rows);
            }
        }
    }

    fn row(&self, id: NodeId, depth: usize) -> Row {
        let (node, (args, kwargs)) = (self.node(id), self.operands(id));
        [
            node.op.opcode().to_owned(),
            format!("{:1$}{2}", "", 2 * depth, node.name),
            self.target(id),
            args,
            kwargs,
            node.ty.to_string(),
            node.origin.modules(),
            node.origin.lines().unwrap_or_default(),
        ]
    }
}

/// The role of a region of a control-flow node.
pub(crate) fn branch(op: &Op, position: usize) -> Cow<'static, str> {
    Cow::Borrowed(match (op, position) {
        (Op::If, 0) => "then",
        (Op::If, _) => "else",
        (Op::While, 0) => "while",
        (Op::Match(patterns), _) => {
            return patterns.get(position).map_or(Cow::Borrowed("?"), |pattern| Cow::Owned(pattern.to_string()));
        }
        _ => "do",
    })
}

fn line(row: &Row, widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &width)| format!("{cell:width$}"));
    let line = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::Graph;

    #[test]
    fn a_live_module_is_a_target() -> Result<(), crate::ParseError> {
        let graph: Graph = r#"graph Net(xs: tensor) {
            %fc = call_module[Linear]("layers.0.fc", xs) : tensor @ src/model.rs:12 as fc
            yield %fc
        }"#
        .parse()?;
        expect![[r#"
            opcode       name    target       args   kwargs  type    module  source
            -----------  ------  -----------  -----  ------  ------  ------  ---------------
            placeholder  xs      xs           ()     {}      tensor
            call_module  fc      layers.0.fc  (xs,)  {}      tensor          src/model.rs:12
            output       output  output       (fc,)  {}      ?
        "#]]
        .assert_eq(&graph.print_tabular());
        Ok(())
    }

    #[test]
    fn code_is_shown_as_it_is_written() -> Result<(), crate::ParseError> {
        let graph: Graph = r#"graph f(x: tensor) {
            %a = rust["$0.gelu(\"none\")"](x) : tensor
            %b = rust["{\n    let y = $0.neg();\n\ty\n}"](%a) : tensor
            %c = match(%b) : tensor { "Some(_)" { yield %a } "_" { yield x } }
            yield %c
        }"#
        .parse()?;
        let table = graph.print_tabular();
        assert!(
            table.contains("  $0.gelu(\"none\")  ") && table.contains("  { let y = $0.neg(); y }  (a,)"),
            "{table}"
        );
        assert!(table.contains("Some(_):") && !table.contains('\\'), "{table}");
        assert_eq!(table.lines().count(), 2 + 1 + 3 + 2 + 2 + 1, "{table}");
        Ok(())
    }

    #[test]
    fn host_operations_have_a_target() -> Result<(), crate::ParseError> {
        let graph: Graph = r#"graph f(x: tensor) {
            %all = host.empty_vec["Tensor", io]() : list<tensor>
            %push = host.mutate["push", io](%all, host.handle(x)) : ()
            %rows = host.cast["f64"](host.binary["*"](2, host.method["size1"](x))) : rust<f64>
            %path = host.call["crate::path", io](%rows) : (tensor, tensor)
            %first = tuple_get[0](%path) : tensor
            yield %first
        }"#
        .parse()?;
        expect![[r#"
            opcode         name    target       args                               kwargs  type              module  source
            -------------  ------  -----------  ---------------------------------  ------  ----------------  ------  ------
            placeholder    x       x            ()                                 {}      tensor
            call_function  all     empty_vec    ('Tensor',)                        {}      list<tensor>
            call_method    push    push         (all, handle(x))                   {}      ()
            call_function  rows    cast         (binary(2, size1(x), '*'), 'f64')  {}      rust<f64>
            call_function  path    crate::path  (rows,)                            {}      (tensor, tensor)
            call_function  first   getitem      (path, 0)                          {}      tensor
            output         output  output       (first,)                           {}      ?
        "#]].assert_eq(&graph.print_tabular());
        assert_eq!(graph.find_nodes("call_method", Some("push")).len(), 1);
        Ok(())
    }

    #[test]
    fn a_table_with_a_match() -> Result<(), crate::ParseError> {
        let graph: Graph = r#"graph Block(self: module<Block>, xs: tensor) {
            %conv1 = get_attr[conv1](self) : module<Conv2D>
            %y = call_module[Conv2D](%conv1, xs) : f32[B, 64, ?, ?] @ src/model.rs:12 as conv1
            %down = get_attr[downsample](self)
            %skip = match(%down) : tensor @ src/model.rs:13 {
              "Some(%0)" (d: module<Down>) { %v = call_module[Down](d, xs) ; yield %v }
              "None" { yield xs }
            }
            %sum = add(%y, %skip, alpha=1.0) : tensor @ src/model.rs:14 + src/model.rs:15
            yield %sum
        }"#
        .parse()?;
        expect![[r#"
            opcode         name         target      args         kwargs          type              module  source
            -------------  -----------  ----------  -----------  --------------  ----------------  ------  ------------------
            placeholder    self         self        ()           {}              module<Block>
            placeholder    xs           xs          ()           {}              tensor
            get_attr       conv1        conv1       (self,)      {}              module<Conv2D>
            call_module    y            Conv2D      (conv1, xs)  {}              f32[B, 64, ?, ?]          src/model.rs:12
            get_attr       down         downsample  (self,)      {}              ?
            match          skip         match       (down,)      {}              tensor                    src/model.rs:13
                             Some(%0):
            placeholder        d        d           ()           {}              module<Down>
            call_module        v        Down        (d, xs)      {}              ?
            output             yield    output      (v,)         {}              ?
                             None:
            output             yield_1  output      (xs,)        {}              ?
            call_function  sum          add         (y, skip)    {'alpha': 1.0}  tensor                    src/model.rs:14,15
            output         output       output      (sum,)       {}              ?
        "#]].assert_eq(&graph.print_tabular());
        Ok(())
    }
}
