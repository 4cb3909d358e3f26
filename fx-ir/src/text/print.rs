//! A graph as text: the user's names, one node a line, regions indented.

use std::fmt::{self, Display, Write};

use super::print_op::{is_unnamed, kwarg_text, meta_text};
use super::word::{Percent, Word};
use super::{arg_text, name_text, op_text, origin_text};
use crate::{Graph, NodeId, Op, Pattern, RegionId, Type};

/// The text form, which reads back; `{:#}` writes the [listing](crate::Listing) of torch.fx instead.
impl Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return self.listing().fmt(f);
        }
        Printer { graph: self, out: f, depth: 0, one_line: false }.graph()
    }
}

impl Graph {
    /// The same text in one line, statements parted by ` ; `, which short tests like to compare.
    pub fn to_line(&self) -> String {
        let mut out = String::new();
        // A string takes whatever is written to it.
        let _ = Printer { graph: self, out: &mut out, depth: 0, one_line: true }.graph();
        out
    }
}

struct Printer<'a, W> {
    graph: &'a Graph,
    out: &'a mut W,
    depth: usize,
    one_line: bool,
}

impl<W: Write> Printer<'_, W> {
    fn graph(&mut self) -> fmt::Result {
        write!(self.out, "graph {}(", Word(&self.graph.name))?;
        self.params(self.graph.body())?;
        write!(self.out, ") ")?;
        self.block(self.graph.body())
    }

    fn params(&mut self, region: RegionId) -> fmt::Result {
        for (position, &id) in self.graph.region(region).params.iter().enumerate() {
            let node = self.graph.node(id);
            write!(self.out, "{}{}", if position > 0 { ", " } else { "" }, name_text(self.graph, id))?;
            if node.ty != Type::Unknown {
                write!(self.out, ": {}", node.ty)?;
            }
            write!(self.out, "{}{}", origin_text(&node.origin), meta_text(&node.meta))?;
        }
        Ok(())
    }

    fn block(&mut self, region: RegionId) -> fmt::Result {
        self.open()?;
        for (position, &id) in self.graph.region(region).nodes.iter().enumerate() {
            self.part(position)?;
            self.statement(id)?;
        }
        self.close()
    }

    fn statement(&mut self, id: NodeId) -> fmt::Result {
        let node = self.graph.node(id);
        if !is_unnamed(node) {
            write!(self.out, "{} = ", Percent(&node.name))?;
        }
        write!(self.out, "{}", op_text(node))?;
        self.args(id)?;
        if node.ty != Type::Unknown {
            write!(self.out, " : {}", node.ty)?;
        }
        write!(self.out, "{}{}", origin_text(&node.origin), meta_text(&node.meta))?;
        self.regions(id)
    }

    fn args(&mut self, id: NodeId) -> fmt::Result {
        let node = self.graph.node(id);
        let mut items: Vec<_> = node.args.iter().map(|arg| arg_text(self.graph, arg)).collect();
        items.extend(node.kwargs.iter().map(|(key, arg)| kwarg_text(self.graph, key, arg)));
        let items = items.join(", ");
        match node.op {
            Op::Yield if items.is_empty() => Ok(()),
            Op::Yield => write!(self.out, " {items}"),
            _ => write!(self.out, "({items})"),
        }
    }

    fn regions(&mut self, id: NodeId) -> fmt::Result {
        let node = self.graph.node(id);
        if let Op::Match(patterns) = &node.op {
            write!(self.out, " ")?;
            self.open()?;
            for (position, &region) in node.regions.iter().enumerate() {
                self.part(position)?;
                write!(self.out, "{:?}", patterns.get(position).map(Pattern::to_string).unwrap_or_default())?;
                self.region(region)?;
            }
            return self.close();
        }
        let joint = if node.op == Op::While { " do" } else { " else" };
        for (position, &region) in node.regions.iter().enumerate() {
            write!(self.out, "{}", if position > 0 { joint } else { "" })?;
            self.region(region)?;
        }
        Ok(())
    }

    fn region(&mut self, region: RegionId) -> fmt::Result {
        write!(self.out, " ")?;
        if !self.graph.region(region).params.is_empty() {
            write!(self.out, "(")?;
            self.params(region)?;
            write!(self.out, ") ")?;
        }
        self.block(region)
    }

    fn open(&mut self) -> fmt::Result {
        self.depth += 1;
        write!(self.out, "{{")
    }

    /// Before a statement: a new line, or a `;` after the one before it.
    fn part(&mut self, position: usize) -> fmt::Result {
        match (self.one_line, position) {
            (true, 0) => write!(self.out, " "),
            (true, _) => write!(self.out, " ; "),
            (false, _) => write!(self.out, "\n{:1$}", "", 2 * self.depth),
        }
    }

    fn close(&mut self) -> fmt::Result {
        self.depth -= 1;
        if self.one_line { write!(self.out, " }}") } else { write!(self.out, "\n{:1$}}}", "", 2 * self.depth) }
    }
}
