//! A place in a graph at which nodes are made, one behind the other: torch.fx's `inserting_before` and `inserting_after`.

use std::collections::BTreeMap;

use super::{EditError, Spot};
use crate::host::{Host, HostOp};
use crate::{Arg, Effect, Graph, ModuleKind, NodeId, Op, OpId, Origin, Type, nearest_op};

/// A place at which nodes are made. They have the origin of the node that the place was named by, and come in the order in
/// which they are made, before a node as behind it.
///
/// ```
/// let mut graph: fx_ir::Graph = "graph f(x: tensor, y: tensor) { %sum = add(x, y) ; yield %sum }".parse()?;
/// for sum in graph.find_nodes("call_function", Some("operator.add")) {
///     let args = graph.node(sum).args.clone();
///     let product = graph.inserting_after(sum)?.call("mul", args)?;
///     graph.try_replace_all_uses_with(sum, product)?;
///     graph.erase_node(sum)?;
/// }
/// assert_eq!(graph.to_line(), "graph f(x: tensor, y: tensor) { %mul = mul(x, y) : tensor ; yield %mul }");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Cursor<'g> {
    graph: &'g mut Graph,
    spot: Spot,
    origin: Origin,
}

impl Graph {
    /// The place right before a node, in its region; before a parameter means at the region's start.
    ///
    /// # Errors
    /// Those of [`Graph::try_node`].
    pub fn inserting_before(&mut self, id: NodeId) -> Result<Cursor<'_>, EditError> {
        let origin = self.try_node(id)?.origin.clone();
        let spot = match self.position(id) {
            Some(_) => Spot::Before(id),
            None => self.start_of(id),
        };
        Ok(Cursor { graph: self, spot, origin })
    }

    /// The place right behind a node, in its region; behind a parameter means at the region's start.
    ///
    /// # Errors
    /// [`EditError::End`] if the node ends its region; those of [`Graph::try_node`].
    pub fn inserting_after(&mut self, id: NodeId) -> Result<Cursor<'_>, EditError> {
        let node = self.try_node(id)?;
        if node.op == Op::Yield {
            return Err(EditError::End(node.name.clone()));
        }
        let origin = node.origin.clone();
        let spot = self.spot_after(id);
        Ok(Cursor { graph: self, spot, origin })
    }

    /// The first place of the region that a parameter belongs to.
    fn start_of(&self, param: NodeId) -> Spot {
        let region = self.scope_of(param).unwrap_or(self.body());
        self.region(region).nodes.first().map_or(Spot::End(region), |&first| Spot::Before(first))
    }
}

impl Cursor<'_> {
    /// The graph.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// A call of an op, by its name in the op table or the method of tch that spells it.
    ///
    /// # Errors
    /// [`EditError::UnknownOp`] if there is none; those of [`Cursor::node`].
    pub fn call(&mut self, op: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Result<NodeId, EditError> {
        let unknown = || EditError::UnknownOp { op: op.to_owned(), nearest: nearest_op(op).map(Into::into) };
        let id = OpId::lookup(op).ok_or_else(unknown)?;
        let name = id.name().split('.').next().unwrap_or_default();
        self.node(Op::Call(id), args, name, id.result_type())
    }

    /// The forward of the module of type `kind` that lies at `path` of the live model.
    ///
    /// # Errors
    /// Those of [`Cursor::node`].
    pub fn call_module(
        &mut self,
        path: &str,
        kind: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
    ) -> Result<NodeId, EditError> {
        let args = std::iter::once(Arg::Str(path.to_owned())).chain(args.into_iter().map(Into::into));
        self.node(Op::CallModule(ModuleKind(kind.to_owned())), args, &path.replace('.', "_"), Type::TENSOR)
    }

    /// The parameter or buffer that lies at `path` of the live model.
    ///
    /// # Errors
    /// Those of [`Cursor::node`].
    pub fn get_attr(&mut self, path: &str) -> Result<NodeId, EditError> {
        self.node(Op::GetAttr(path.to_owned()), std::iter::empty::<Arg>(), &path.replace('.', "_"), Type::TENSOR)
    }

    /// A call of a function of the user's by its path. It may do anything, so that no pass leaves it out.
    ///
    /// # Errors
    /// Those of [`Cursor::node`].
    pub fn call_function(
        &mut self,
        path: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
    ) -> Result<NodeId, EditError> {
        let name = path.rsplit("::").next().unwrap_or_default();
        let op = Host::with_effect(HostOp::Call(path.to_owned()), Effect::Io);
        self.node(Op::Host(op), args, name, Type::Unknown)
    }

    /// A node with any operation.
    ///
    /// # Errors
    /// [`EditError::Order`] if an argument is not computed before this place; those of [`Graph::try_node`] for the
    /// arguments.
    pub fn node(
        &mut self,
        op: Op,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        name: &str,
        ty: Type,
    ) -> Result<NodeId, EditError> {
        let args: Vec<Arg> = args.into_iter().map(Into::into).collect();
        args.iter().flat_map(Arg::nodes).try_for_each(|input| self.graph.try_node(input).map(drop))?;
        let id = self.graph.create(op, args, name, ty, self.origin.clone());
        self.placed(id)
    }

    /// A copy of a node of another graph, or of this one, with its regions, types and notes; `map` says what stands here
    /// for what it reads, and learns the copy.
    ///
    /// # Errors
    /// [`EditError::OtherGraph`] if it reads what `map` does not know, [`EditError::Order`] as of [`Cursor::node`].
    pub fn node_copy(
        &mut self,
        source: &Graph,
        id: NodeId,
        map: &mut BTreeMap<NodeId, Arg>,
    ) -> Result<NodeId, EditError> {
        source.try_node(id)?;
        let copy = self.graph.node_copy(source, id, map, self.spot);
        let checked = self.graph.check_all_reads(copy);
        if checked.is_err() {
            map.remove(&id);
            self.graph.erase_forced(copy);
        }
        checked.map(|()| copy)
    }

    fn placed(&mut self, id: NodeId) -> Result<NodeId, EditError> {
        self.graph.place(id, self.spot);
        let checked = self.graph.check_reads(id);
        if checked.is_err() {
            self.graph.erase_forced(id);
        }
        checked.map(|()| id)
    }
}

impl From<i64> for Arg {
    fn from(value: i64) -> Arg {
        Arg::Int(value)
    }
}

impl From<i32> for Arg {
    fn from(value: i32) -> Arg {
        Arg::Int(i64::from(value))
    }
}

impl From<f64> for Arg {
    fn from(value: f64) -> Arg {
        Arg::Float(value)
    }
}

impl From<bool> for Arg {
    fn from(value: bool) -> Arg {
        Arg::Bool(value)
    }
}

impl From<&str> for Arg {
    fn from(value: &str) -> Arg {
        Arg::Str(value.to_owned())
    }
}
