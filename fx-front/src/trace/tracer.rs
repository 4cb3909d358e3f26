//! The state of one trace, and how nodes are appended to its graph.

use std::collections::BTreeSet;

use fx_ir::{Arg, Effect, Graph, Host, HostOp, ModuleScope, Node, NodeId, Op, Origin, RegionId};
use proc_macro2::Span;

use crate::trace::{
    Outlined,
    env::Env,
    place::state_cell::Fields,
    report::Reported,
    types::expectation::Expectations,
    value::{RefKind, Val},
    value_facts::ValueFacts,
};
use crate::{
    diag::Diagnostics,
    frozen::Left,
    index::{Function, Index, Ty},
};

/// The state of one trace.
pub(in crate::trace) struct Tracer<'a> {
    pub(in crate::trace) index: &'a Index,
    pub(in crate::trace) diags: &'a Diagnostics,
    pub(in crate::trace) graph: Graph,
    /// Where new nodes go.
    pub(in crate::trace) region: RegionId,
    pub(in crate::trace) env: Env,
    /// The variables of the functions around the one being inlined, outermost first.
    pub(in crate::trace) outer: Vec<Env>,
    /// The functions being inlined, outermost first.
    pub(in crate::trace) frames: Vec<Frame>,
    /// What is known of values beside their types.
    pub(in crate::trace) facts: ValueFacts,
    /// The nodes that were edited, each as it was before, oldest first.
    pub(in crate::trace) edits: Vec<(NodeId, Node)>,
    /// Whether a loop is being traced for the types alone of what it carries.
    pub(in crate::trace) types_only: bool,
    /// How many operands of opaque code are being traced, each of which is given up where it is not understood whole.
    pub(in crate::trace) trials: u32,
    /// What the call that is next inlined puts in for constant parameters.
    pub(in crate::trace) constants: Vec<(String, Val)>,
    /// Whether what is being traced is gathered into a `Vec`, where a `let` says it.
    pub(in crate::trace) expects_vec: Option<bool>,
    /// The types that the code around an expression says it has.
    pub(in crate::trace) expects: Expectations,
    /// How many closures are being traced, whose `return` is not the entry's.
    pub(in crate::trace) closures: u32,
    /// How many lists of iterators have names of their own.
    pub(in crate::trace) sources: usize,
    /// How often what is traced is written, where it stands behind conditions with `let`.
    pub(in crate::trace) copies: usize,
    /// What is told of the code that is kept as opaque code so far.
    pub(in crate::trace) opaque: Vec<Reported>,
    /// The functions of parts that are called by their own frozen types, since they cannot be inlined.
    pub(in crate::trace) parts: Vec<usize>,
    /// The functions that were looked into, whatever became of it.
    pub(in crate::trace) inlined: BTreeSet<usize>,
    /// The fields that the forward is known to write to.
    pub(in crate::trace) kept: Fields,
    /// Those of which only this trace has found out.
    pub(in crate::trace) found: Fields,
    /// The parts that are called instead of inlined.
    pub(in crate::trace) outlined: Option<&'a Outlined>,
    /// Whether layers may be called in training, which no frozen type can do.
    pub(in crate::trace) training: bool,
    /// Why the item gets no frozen type, if that is so.
    pub(in crate::trace) left: Option<Left>,
    /// What becomes of structs that generated code cannot make.
    pub(in crate::trace) unwritten: Unwritten,
    /// Whether the function is one call of the user's own.
    pub(in crate::trace) is_whole: bool,
}

/// What becomes of a struct that an inlined function makes and generated code cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Unwritten {
    /// It is opaque code, as it is written.
    Opaque,
    /// It is known by its parts, as long as nobody needs the whole.
    ByParts {
        /// Whether there is such a struct.
        is_used: bool,
    },
}

/// One function on the way down.
#[derive(Clone, Debug)]
pub(in crate::trace) struct Frame {
    pub(in crate::trace) function: usize,
    /// What `self` is.
    pub(in crate::trace) receiver: Option<Val>,
    /// The modules in whose functions it stands, outermost first, its own at the end.
    pub(in crate::trace) modules: Vec<ModuleScope>,
    pub(in crate::trace) errors: OnError,
}

/// Where the errors go that a function returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::trace) enum OnError {
    /// To code around the call, which may look at them.
    #[default]
    Return,
    /// Out of the frozen model: behind every call up to the entry stands `?`, or behind one `unwrap`.
    Propagate,
}

/// The operation and the arguments that an operand is made of.
pub(in crate::trace) fn application(operand: Arg) -> (HostOp, Vec<Arg>) {
    match operand {
        Arg::Expr(expr) => (expr.op, expr.args),
        other => (HostOp::Use, vec![other]),
    }
}

impl<'a> Tracer<'a> {
    pub(in crate::trace) fn new(
        index: &'a Index,
        diags: &'a Diagnostics,
        item: usize,
        graph: Graph,
        kept: Fields,
    ) -> Tracer<'a> {
        let region = graph.body();
        let frames = vec![Frame { function: item, receiver: None, modules: Vec::new(), errors: OnError::Propagate }];
        Tracer {
            index,
            diags,
            graph,
            region,
            env: Env::new(),
            outer: Vec::new(),
            frames,
            facts: ValueFacts::default(),
            edits: Vec::new(),
            types_only: false,
            expects_vec: None,
            sources: 0,
            copies: 1,
            expects: Expectations::default(),
            closures: 0,
            opaque: Vec::new(),
            parts: Vec::new(),
            inlined: BTreeSet::new(),
            kept,
            found: Fields::new(),
            outlined: None,
            training: false,
            left: None,
            unwritten: Unwritten::ByParts { is_used: false },
            is_whole: false,
            trials: 0,
            constants: Vec::new(),
        }
    }

    /// Whether it is the entry's own body that is being traced.
    pub(in crate::trace) fn is_entry(&self) -> bool {
        self.frames.len() == 1 && self.closures == 0
    }

    /// Whether an error of the function that is being traced leaves the frozen model.
    pub(in crate::trace) fn errors_propagate(&self) -> bool {
        self.closures == 0 && self.frames.last().is_some_and(|frame| frame.errors == OnError::Propagate)
    }

    pub(in crate::trace) fn function(&self) -> &'a Function {
        let item = self.frames.last().map_or(0, |frame| frame.function);
        &self.index.fns[item]
    }

    pub(in crate::trace) fn module(&self) -> &'a str {
        &self.function().module
    }

    /// The module that the code generated for the entry is included in.
    pub(in crate::trace) fn home(&self) -> &'a str {
        self.frames.first().map_or("crate", |frame| &self.index.fns[frame.function].module)
    }

    pub(in crate::trace) fn origin(&self, span: Span, label: impl Into<String>) -> Origin {
        let nn_module_stack = self.modules().to_vec();
        Origin { nn_module_stack, ..Origin::user(self.function().place(span), label) }
    }

    /// Appends a node that yields a value of type `ty`.
    pub(in crate::trace) fn push(&mut self, op: Op, args: Vec<Arg>, name: &str, ty: Ty, span: Span) -> Val {
        let label = name.to_owned();
        self.push_labelled(op, args, name, &label, ty, span)
    }

    pub(in crate::trace) fn push_labelled(
        &mut self,
        op: Op,
        args: Vec<Arg>,
        name: &str,
        label: &str,
        ty: Ty,
        span: Span,
    ) -> Val {
        let origin = self.origin(span, label);
        let ir = self.index.ir_type(&ty);
        let id = self.graph.push(self.region, op, args, name, ir, origin);
        Val::Node(id, ty, RefKind::Value)
    }

    /// A host operation without an effect.
    pub(in crate::trace) fn host_node(&mut self, op: HostOp, args: Vec<Arg>, name: &str, ty: Ty, span: Span) -> Val {
        self.push(Op::Host(Host::pure(op)), args, name, ty, span)
    }

    /// A host operation with that effect.
    pub(in crate::trace) fn host_node_with(
        &mut self,
        effect: Effect,
        op: HostOp,
        args: Vec<Arg>,
        name: &str,
        ty: Ty,
        span: Span,
    ) -> Val {
        self.push(Op::Host(Host::with_effect(op, effect)), args, name, ty, span)
    }

    /// A node to be changed in place; a rollback gives it back as it is now.
    pub(in crate::trace) fn edit_node(&mut self, id: NodeId) -> &mut Node {
        self.edits.push((id, self.graph.node(id).clone()));
        self.graph.node_mut(id)
    }

    /// An operand as a node of its own.
    pub(in crate::trace) fn materialize(&mut self, operand: Arg, name: &str, ty: Ty, span: Span) -> Val {
        let (op, args) = application(operand);
        self.host_node(op, args, name, ty, span)
    }

    /// Goes on with other variables, those of a function that is called.
    pub(in crate::trace) fn enter(&mut self, env: Env) {
        let outer = std::mem::replace(&mut self.env, env);
        self.outer.push(outer);
    }

    /// Goes back to the variables of the caller; yields those of the function.
    pub(in crate::trace) fn leave_env(&mut self) -> Env {
        let outer = self.outer.pop().unwrap_or_default();
        std::mem::replace(&mut self.env, outer)
    }
}

impl Tracer<'_> {
    /// Lets a fresh node bear the name of the variable it is bound to.
    pub(in crate::trace) fn name_after(&mut self, name: &str, value: &Val) {
        let Val::Node(id, ..) = value else { return };
        let fresh = self.env.count(value) == 0 && !matches!(self.graph.node(*id).op, Op::Placeholder | Op::GetAttr(_));
        if fresh {
            self.edit_node(*id);
            self.graph.rename(*id, name.trim_start_matches('_'));
        }
    }
}
