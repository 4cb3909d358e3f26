//! A node: what it does, on what, of which type, and where in the user's source it comes from.

use crate::host::{Expr, HostOp};
use crate::{Effect, Meta, ModuleScope, NodeId, Op, Origin, RegionId, Type};

/// The option of a call of a layer that is its mode.
pub(crate) const MODE: &str = "train";

/// One step of a graph; it stands for the value that it yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its operation.
    pub op: Op,
    /// Its arguments, in the order of the op's schema.
    pub args: Vec<Arg>,
    /// Its options by name; absent means the default.
    pub kwargs: Vec<(String, Arg)>,
    /// The regions of control flow, in order.
    pub regions: Vec<RegionId>,
    /// The type of its value.
    pub ty: Type,
    /// Its name: the user's variable or the op's, unique in the graph.
    pub name: String,
    /// Its origin.
    pub origin: Origin,
    /// What the user notes on it.
    pub meta: Meta,
}

/// An argument: another node's value, or a literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// The value of a node.
    Node(NodeId),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(String),
    /// Rust's `None`.
    None,
    /// A Rust path or constant expression that needs no value: `Kind::Float`, `crate::EPS`.
    Path(String),
    /// A list: `[1, 2]`, `&[a, b]`.
    List(Vec<Arg>),
    /// A host operation on arguments, evaluated where it is read. Only host nodes and opaque code have such.
    Expr(Box<Expr>),
}

impl Node {
    /// The nodes it reads, in order, repeats included; what its regions read is not among them.
    pub fn inputs(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.args.iter().chain(self.kwargs.iter().map(|(_, arg)| arg)).flat_map(Arg::nodes)
    }

    /// What it does beside yielding a value; control flow answers for its regions elsewhere.
    ///
    /// A module of a live model does what it does in training, unless the mode that it is called in says otherwise; one of
    /// the user's may do anything.
    pub fn effect(&self) -> Effect {
        match (&self.op, self.args.as_slice()) {
            (Op::CallModule(kind), [Arg::Str(_), ..]) if kind.row().is_some() && self.mode() == Some(false) => {
                Effect::Pure
            }
            (Op::CallModule(kind), [Arg::Str(_), ..]) => kind.row().map_or(Effect::Io, |row| row.training),
            _ => self.op.effect(),
        }
    }

    /// The mode in which the call of a layer runs it, where the code says one: `layer.forward_t(xs, false)`. Without one
    /// the layer follows the mode that it keeps.
    pub fn mode(&self) -> Option<bool> {
        let mode = self.kwargs.iter().find(|(name, _)| matches!(self.op, Op::CallModule(_)) && name == MODE);
        mode.and_then(|(_, mode)| if let Arg::Bool(train) = mode { Some(*train) } else { None })
    }

    /// Has the call of a layer run it in this mode.
    pub fn set_mode(&mut self, train: bool) {
        self.clear_mode();
        self.kwargs.push((MODE.to_owned(), Arg::Bool(train)));
    }

    /// Has the call of a layer follow the mode that the layer keeps.
    pub fn clear_mode(&mut self) {
        self.kwargs.retain(|(name, _)| name != MODE);
    }

    /// Whether it panics where an option is empty, by itself or in its arguments.
    pub fn unwraps(&self) -> bool {
        self.does_on_host(&|op| {
            matches!(op, HostOp::Unwrap(_) | HostOp::UnwrapRef(_) | HostOp::UnwrapLoan(_) | HostOp::UnwrapMut(_))
        })
    }

    /// Whether the host operation that it is, or one in its arguments, passes the test.
    pub fn does_on_host(&self, test: &dyn Fn(&HostOp) -> bool) -> bool {
        fn within(arg: &Arg, test: &dyn Fn(&HostOp) -> bool) -> bool {
            match arg {
                Arg::Expr(expr) => test(&expr.op) || expr.args.iter().any(|arg| within(arg, test)),
                Arg::List(items) => items.iter().any(|item| within(item, test)),
                _ => false,
            }
        }
        self.op.host().is_some_and(test) || self.args.iter().any(|arg| within(arg, test))
    }

    /// The modules in whose forwards it stands, outermost first: `ResNet`, `layer1`, `layer1.0`. Of a fused node these
    /// are the modules of all its parts.
    pub fn nn_module_stack(&self) -> &[ModuleScope] {
        &self.origin.nn_module_stack
    }

    /// The option of that name.
    pub fn kwarg(&self, name: &str) -> Option<&Arg> {
        self.kwargs.iter().find(|(key, _)| key == name).map(|(_, arg)| arg)
    }

    /// The node that is the argument of that position, if it is one.
    pub fn input(&self, position: usize) -> Option<NodeId> {
        self.args.get(position).and_then(Arg::node)
    }

    /// Every argument, positional and named, to be rewritten in place.
    pub fn args_mut(&mut self) -> impl Iterator<Item = &mut Arg> {
        self.args.iter_mut().chain(self.kwargs.iter_mut().map(|(_, arg)| arg))
    }
}

impl Arg {
    /// A list of integers.
    pub fn ints(numbers: &[i64]) -> Arg {
        Arg::List(numbers.iter().copied().map(Arg::Int).collect())
    }

    /// A list of these arguments.
    pub fn list(items: &[&Arg]) -> Arg {
        Arg::List(items.iter().copied().cloned().collect())
    }

    /// The node, if it is one.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Arg::Node(id) => Some(*id),
            _ => None,
        }
    }

    /// Replaces every mention of `old` by `new`, in lists too.
    pub fn replace(&mut self, old: NodeId, new: &Arg) {
        match self {
            Arg::Node(id) if *id == old => *self = new.clone(),
            Arg::List(items) => items.iter_mut().for_each(|item| item.replace(old, new)),
            Arg::Expr(expr) => expr.args.iter_mut().for_each(|arg| arg.replace(old, new)),
            _ => {}
        }
    }

    /// Every node mentioned, in lists too.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        Nodes { rest: std::slice::from_ref(self).iter(), outer: Vec::new() }
    }

    /// The same argument with every node renamed by `map`.
    #[must_use]
    pub fn map_nodes(&self, map: &mut impl FnMut(NodeId) -> Arg) -> Arg {
        match self {
            Arg::Node(id) => map(*id),
            Arg::List(items) => Arg::List(items.iter().map(|item| item.map_nodes(map)).collect()),
            Arg::Expr(expr) => expr.op.clone().of(expr.args.iter().map(|arg| arg.map_nodes(map))),
            other => other.clone(),
        }
    }
}

/// A walk through an argument and the lists in it.
struct Nodes<'a> {
    rest: std::slice::Iter<'a, Arg>,
    /// What is left of the lists around.
    outer: Vec<std::slice::Iter<'a, Arg>>,
}

impl Iterator for Nodes<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        loop {
            match self.rest.next() {
                Some(Arg::Node(id)) => return Some(*id),
                Some(Arg::List(items)) => self.outer.push(std::mem::replace(&mut self.rest, items.iter())),
                Some(Arg::Expr(expr)) => self.outer.push(std::mem::replace(&mut self.rest, expr.args.iter())),
                Some(_) => {}
                None => self.rest = self.outer.pop()?,
            }
        }
    }
}

impl From<NodeId> for Arg {
    fn from(id: NodeId) -> Arg {
        Arg::Node(id)
    }
}
