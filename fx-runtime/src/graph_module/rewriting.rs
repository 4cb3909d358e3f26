//! Edits of a live graph as a whole: patterns that are replaced, and graphs that are taken apart.

use std::rc::Rc;

use fx_ir::{Arg, Graph, HostOp, ModuleKind, NodeId, Op};
use fx_rewrite::parts;
use fx_rewrite::pass::PassContext;
use fx_rewrite::rewrite::{Found, Pattern};

use super::{GraphModule, Submodule, Value};
use crate::{Module, Result};

impl GraphModule {
    /// Replaces a pattern wherever it is found, until it is found no more: torch.fx's `replace_pattern`. Returns in how
    /// many places.
    ///
    /// Pattern and replacement are graphs whose parameters go together by name: those of traced functions, or text in
    /// parentheses of its own (`"graph p(x: tensor) { .. }".parse()`). Unlike in torch.fx a value of the pattern that is
    /// read elsewhere, and an effect between its nodes, are no match.
    ///
    /// ```
    /// use fx_runtime::{Graph, instance::Tracer};
    ///
    /// let mut t = Tracer::new("net");
    /// let xs = t.input("xs", true);
    /// let ys = t.call("relu", &[&xs], 1);
    /// let ys = t.call("relu", &[&ys], 2);
    /// let mut net = t.finish(&[&ys])?;
    /// let before: Graph = "graph p(x: tensor) { %a = relu(x) ; %b = relu(%a) ; yield %b }".parse().unwrap();
    /// let after: Graph = "graph r(x: tensor) { %a = relu(x) : tensor ; yield %a }".parse().unwrap();
    /// assert_eq!(net.replace_pattern(&before, &after)?, 1);
    /// # Ok::<(), fx_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Graph`](crate::Error::Graph) if the graphs are no rule, with the node at which; or if the pattern is replaced
    /// nowhere because, where it is, the replacement could share memory with what others read, with the first such node.
    pub fn replace_pattern(&mut self, pattern: &Graph, replacement: &Graph) -> Result<usize> {
        self.replace_pattern_where(pattern, replacement, |_| true)
    }

    /// The same for those places alone that `filter` says yes to.
    ///
    /// # Errors
    ///
    /// As [`GraphModule::replace_pattern`].
    pub fn replace_pattern_where(
        &mut self,
        pattern: &Graph,
        replacement: &Graph,
        filter: impl FnMut(&Found<'_>) -> bool,
    ) -> Result<usize> {
        let rule = Pattern::new("replace-pattern", pattern, replacement);
        let rule = rule.map_err(|error| self.fault(format!("cannot replace a pattern: {error}")))?;
        let replaced = rule.replace_where(&mut self.graph, &PassContext::new(false), filter);
        match replaced.refused.first() {
            Some(place) if replaced.matches.is_empty() => Err(self.fault(format!("cannot replace a pattern: {place}"))),
            _ => Ok(replaced.matches.len()),
        }
    }

    /// A module that calls the parts of this one, each a module of its own: torch.fx's `split_module`.
    ///
    /// `part_of` says in which part a node goes, and that it stays in the module itself by `None`. Parts are called
    /// `part_0`, `part_1` and so on; they share modules and tensors with this one.
    ///
    /// # Errors
    ///
    /// [`Error::Graph`](crate::Error::Graph) if parts need each other's results.
    pub fn split_module(&self, part_of: impl Fn(&Graph, NodeId) -> Option<usize>) -> Result<GraphModule> {
        let split = parts::split_module(&self.graph, part_of).map_err(|error| self.fault(error.to_string()))?;
        let mut main = GraphModule { graph: split.main, ..self.shallow_clone() };
        for part in split.parts {
            let name = part.graph.name.clone();
            let mut part = GraphModule { graph: part.graph, ..self.shallow_clone() };
            part.delete_all_unused_submodules();
            main.put_submodule(name, Rc::new(part));
        }
        for id in main.graph.nodes() {
            let node = main.graph.node(id);
            let Some(HostOp::Call(name)) = node.op.host() else { continue };
            if main.submodules.contains_key(name) {
                let (path, mut args) = (Arg::Str(name.clone()), node.args.clone());
                for arg in &mut args {
                    *arg = unreferenced(arg);
                }
                args.insert(0, path);
                let node = main.graph.node_mut(id);
                (node.op, node.args) = (Op::CallModule(ModuleKind("GraphModule".to_owned())), args);
            }
        }
        main.delete_all_unused_submodules();
        Ok(main)
    }
}

/// The node that a reference refers to.
fn unreferenced(arg: &Arg) -> Arg {
    match arg.expr() {
        Some(expr) if expr.op == HostOp::Ref && expr.args.len() == 1 => expr.args[0].clone(),
        _ => arg.clone(),
    }
}

/// A graph can be a part of another one.
impl Submodule for GraphModule {
    fn call(&self, args: &[Value]) -> Result<Value> {
        self.run(args)
    }

    fn module(&self) -> Option<&dyn Module> {
        Some(self)
    }
}
