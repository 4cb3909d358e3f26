//! A graph as text: the user's names, one node a line, regions indented.

use std::fmt;

use super::print_op::{kwarg_text, yield_name};
use super::word::{Percent, Word};
use super::{arg_text, name_text, op_text, origin_text};
use crate::names::Names;
use crate::{Graph, NodeId, Op, RegionId, Type};

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Printer::of(self, false))
    }
}

impl Graph {
    /// The same text in one line, statements parted by ` ; `, which short tests like to compare.
    pub fn to_line(&self) -> String {
        Printer::of(self, true)
    }
}

struct Printer<'a> {
    graph: &'a Graph,
    out: String,
    depth: usize,
    one_line: bool,
    /// The names that the parser will have met by here.
    names: Names,
}

impl Printer<'_> {
    fn of(graph: &Graph, one_line: bool) -> String {
        let mut printer = Printer { graph, out: String::new(), depth: 0, one_line, names: Names::default() };
        printer.out = format!("graph {}(", Word(&graph.name));
        printer.params(graph.body());
        printer.out.push_str(") ");
        printer.block(graph.body());
        printer.out
    }

    fn params(&mut self, region: RegionId) {
        for (position, &id) in self.graph.region(region).params.iter().enumerate() {
            let node = self.graph.node(id);
            self.names.claim(&node.name);
            self.out.push_str(if position > 0 { ", " } else { "" });
            self.out.push_str(&name_text(self.graph, id));
            if node.ty != Type::Unknown {
                self.out.push_str(&format!(": {}", node.ty));
            }
            self.out.push_str(&origin_text(&node.origin));
        }
    }

    fn block(&mut self, region: RegionId) {
        self.open();
        for (position, &id) in self.graph.region(region).nodes.iter().enumerate() {
            self.part(position);
            self.statement(id);
        }
        self.close();
    }

    fn statement(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let unnamed = yield_name(self.graph.region_of(id) == Some(self.graph.body()));
        if node.op == Op::Yield && self.names.peek(unnamed) == node.name {
            self.names.fresh(unnamed);
        } else {
            self.names.claim(&node.name);
            self.out.push_str(&format!("{} = ", Percent(&node.name)));
        }
        self.out.push_str(&op_text(node));
        self.args(id);
        if node.ty != Type::Unknown {
            self.out.push_str(&format!(" : {}", node.ty));
        }
        self.out.push_str(&origin_text(&node.origin));
        self.regions(id);
    }

    fn args(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let mut items: Vec<_> = node.args.iter().map(|arg| arg_text(self.graph, arg)).collect();
        items.extend(node.kwargs.iter().map(|(key, arg)| kwarg_text(self.graph, key, arg)));
        let items = items.join(", ");
        match node.op {
            Op::Yield if items.is_empty() => {}
            Op::Yield => self.out.push_str(&format!(" {items}")),
            _ => self.out.push_str(&format!("({items})")),
        }
    }

    fn regions(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        if let Op::Match(patterns) = &node.op {
            self.out.push(' ');
            self.open();
            for (position, &region) in node.regions.iter().enumerate() {
                self.part(position);
                let pattern = patterns.get(position).map_or("", String::as_str);
                self.out.push_str(&format!("{pattern:?}"));
                self.region(region);
            }
            self.close();
            return;
        }
        let joint = if node.op == Op::While { " do" } else { " else" };
        for (position, &region) in node.regions.iter().enumerate() {
            self.out.push_str(if position > 0 { joint } else { "" });
            self.region(region);
        }
    }

    fn region(&mut self, region: RegionId) {
        self.out.push(' ');
        if !self.graph.region(region).params.is_empty() {
            self.out.push('(');
            self.params(region);
            self.out.push_str(") ");
        }
        self.block(region);
    }

    fn open(&mut self) {
        self.out.push('{');
        self.depth += 1;
    }

    /// Before a statement: a new line, or a `;` after the one before it.
    fn part(&mut self, position: usize) {
        match (self.one_line, position) {
            (true, 0) => self.out.push(' '),
            (true, _) => self.out.push_str(" ; "),
            (false, _) => self.out.push_str(&format!("\n{:1$}", "", 2 * self.depth)),
        }
    }

    fn close(&mut self) {
        self.depth -= 1;
        if self.one_line {
            self.out.push_str(" }");
        } else {
            self.out.push_str(&format!("\n{:1$}}}", "", 2 * self.depth));
        }
    }
}
