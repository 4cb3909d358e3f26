//! One `#[traceable]` item to one graph, with the traceable items that it calls inlined.
//!
//! The tracer walks the user's syntax once and keeps a [value](value::Val) for every variable. What it understands
//! becomes ops, layer calls and regions; what it does not becomes a node of Rust code with the variables it mentions
//! as arguments, as small a piece as the code allows. Nothing is lost and nothing is guessed: an expression that fails
//! halfway is taken back whole before it is kept as opaque code.

mod call;
mod checkpoint;
mod desugar;
mod entry;
mod env;
mod expr;
mod flow;
mod layer;
mod opaque;
mod place;
mod report;
mod std_model;
pub(crate) mod tensor;
mod types;
mod value;

use std::collections::{HashMap, HashSet};

use fx_ir::{Arg, Effect, Graph, Host, HostOp, NodeId, Op, Origin, RegionId};
use proc_macro2::Span;

use self::{
    env::Env,
    place::state_cell::Fields,
    types::expectation::Expectations,
    value::{RefKind, Val},
};
use crate::{
    diag::{Diagnostic, Diagnostics},
    frozen::Left,
    index::{Function, Index, Ty},
};

pub use self::entry::signature::{Output, Param, Signature};
pub(crate) use self::entry::signature::{holds_reference, value_type};

/// What tracing an item yields.
#[derive(Debug)]
pub struct Traced {
    /// The graph; the first parameter is the model, if the item has one.
    pub graph: Graph,
    /// The signature that a frozen type has to mirror.
    pub signature: Signature,
    /// The struct that the graph's first parameter is; `None` for a free function.
    pub model: Option<usize>,
    /// The position of the item in [`Index::fns`].
    pub item: usize,
    /// Why the item gets no frozen type after all, if that is so.
    pub left: Option<Left>,
}

/// Why a piece of code is not understood; the piece is kept as opaque code then.
#[derive(Debug)]
struct Unsupported {
    span: Span,
    reason: String,
}

type Result<T> = std::result::Result<T, Unsupported>;

fn unsupported<T>(span: Span, reason: impl Into<String>) -> Result<T> {
    Err(Unsupported { span, reason: reason.into() })
}

/// Traces the item. Faults go to `diags`; the graph is whole in any case.
pub fn item(index: &Index, item: usize, diags: &Diagnostics) -> Traced {
    one(index, item, diags, None, &mut Fields::new())
}

/// Traces functions of one type that are frozen together: what one of them writes to is state for all of them.
pub fn items(index: &Index, items: &[usize], diags: &Diagnostics) -> Vec<Traced> {
    all(index, items, diags, None)
}

/// Each of the functions as one call of the user's own, because of `reason`.
pub fn carried(index: &Index, items: &[usize], diags: &Diagnostics, reason: &str) -> Vec<Traced> {
    all(index, items, diags, Some(reason))
}

fn all(index: &Index, items: &[usize], diags: &Diagnostics, carried: Option<&str>) -> Vec<Traced> {
    let mut kept = Fields::new();
    loop {
        let (told, known) = (Diagnostics::new(), kept.len());
        let traced: Vec<Traced> = items.iter().map(|&item| one(index, item, &told, carried, &mut kept)).collect();
        if kept.len() == known || items.len() == 1 {
            told.into_sorted().into_iter().for_each(|one| diags.push(one));
            return traced;
        }
    }
}

/// Traces the item, where fields that functions write to may be known; those that it writes to come to these.
fn one(index: &Index, item: usize, diags: &Diagnostics, carried: Option<&str>, kept: &mut Fields) -> Traced {
    let function = &index.fns[item];
    let owner = function.owner.as_ref().map(|owner| index.ty(&function.module, None, owner));
    let model = match owner {
        Some(Ty::Struct(id)) => Some(id),
        _ => None,
    };
    let name = model.map_or_else(|| function.sig.ident.to_string(), |id| index.structs[id].name.clone());
    let signature = Signature::of(index, function);
    let owner = owner.unwrap_or(Ty::Unknown);
    loop {
        let told = Diagnostics::new();
        let mut tracer = Tracer::new(index, &told, item, Graph::new(name.clone()), kept.clone());
        tracer.entry(&signature, &owner, carried);
        if tracer.found.is_empty() {
            let left = tracer.left.or_else(|| Left::borrows(index, &tracer.graph, function));
            let graph = tracer.graph;
            told.into_sorted().into_iter().for_each(|one| diags.push(one));
            return Traced { graph, signature, model, item, left };
        }
        // What was read of such a field before its first write has to be read anew.
        kept.append(&mut tracer.found);
    }
}

/// The state of one trace.
struct Tracer<'a> {
    index: &'a Index,
    diags: &'a Diagnostics,
    graph: Graph,
    /// Where new nodes go.
    region: RegionId,
    env: Env,
    /// The variables of the functions around the one being inlined, outermost first.
    outer: Vec<Env>,
    /// The functions being inlined, outermost first.
    frames: Vec<Frame>,
    /// What the user would call a module value: `layer1[*].conv1`.
    paths: HashMap<NodeId, String>,
    /// The fields of the structs that the forward has made.
    made: HashMap<NodeId, Vec<(String, Val)>>,
    /// The variants of enums that the forward has made, with what they hold.
    variants: HashMap<NodeId, (String, Vec<Val>)>,
    /// The values that are a function which has a name.
    named: HashMap<NodeId, String>,
    /// Opaque code whose value is still a `Result`.
    results: HashSet<NodeId>,
    /// Functions traced in place whose `Result` is taken off: values of its type are what `Ok` held.
    unwrapped: HashSet<NodeId>,
    /// Where the errors of the call go that is traced next.
    errors: OnError,
    /// Is a loop being traced for the types alone of what it carries?
    types_only: bool,
    /// Is what is being traced known to be gathered into a `Vec`?
    expects_vec: bool,
    /// The types that the code around an expression says it has.
    expects: Expectations,
    /// How many closures are being traced, whose `return` is not the entry's.
    closures: u32,
    /// How many lists of iterators have names of their own.
    sources: usize,
    /// How often what is traced is written, where it stands behind conditions with `let`.
    copies: usize,
    /// What is told of the code that is kept as opaque code so far.
    opaque: Vec<Diagnostic>,
    /// The fields that the forward is known to write to.
    kept: Fields,
    /// Those of which only this trace has found out.
    found: Fields,
    /// Why the item gets no frozen type, if that is so.
    left: Option<Left>,
}

/// One function on the way down.
#[derive(Clone, Debug)]
struct Frame {
    function: usize,
    /// What `self` is.
    receiver: Option<Val>,
    errors: OnError,
}

/// Where the errors go that a function returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OnError {
    /// To code around the call, which may look at them.
    #[default]
    Return,
    /// Out of the frozen model: behind every call up to the entry stands `?`, or behind one `unwrap`.
    Propagate,
}

/// The operation and the arguments that an operand is made of.
fn application(operand: Arg) -> (HostOp, Vec<Arg>) {
    match operand {
        Arg::Expr(expr) => (expr.op, expr.args),
        other => (HostOp::Use, vec![other]),
    }
}

impl<'a> Tracer<'a> {
    fn new(index: &'a Index, diags: &'a Diagnostics, item: usize, graph: Graph, kept: Fields) -> Tracer<'a> {
        let region = graph.body();
        let frames = vec![Frame { function: item, receiver: None, errors: OnError::Propagate }];
        Tracer {
            index,
            diags,
            graph,
            region,
            env: Env::new(),
            outer: Vec::new(),
            frames,
            paths: HashMap::new(),
            made: HashMap::new(),
            variants: HashMap::new(),
            named: HashMap::new(),
            results: HashSet::new(),
            unwrapped: HashSet::new(),
            errors: OnError::Return,
            types_only: false,
            expects_vec: false,
            sources: 0,
            copies: 1,
            expects: Expectations::default(),
            closures: 0,
            opaque: Vec::new(),
            kept,
            found: Fields::new(),
            left: None,
        }
    }

    /// Is it the entry's own body that is being traced?
    fn is_entry(&self) -> bool {
        self.frames.len() == 1 && self.closures == 0
    }

    /// Does an error of the function that is being traced leave the frozen model?
    fn errors_propagate(&self) -> bool {
        self.closures == 0 && self.frames.last().is_some_and(|frame| frame.errors == OnError::Propagate)
    }

    fn function(&self) -> &'a Function {
        let item = self.frames.last().map_or(0, |frame| frame.function);
        &self.index.fns[item]
    }

    fn module(&self) -> &'a str {
        &self.function().module
    }

    /// The module that the code generated for the entry is included in.
    fn home(&self) -> &'a str {
        self.frames.first().map_or("crate", |frame| &self.index.fns[frame.function].module)
    }

    fn origin(&self, span: Span, label: impl Into<String>) -> Origin {
        Origin::user(self.function().place(span), label)
    }

    /// Appends a node that yields a value of type `ty`.
    fn push(&mut self, op: Op, args: Vec<Arg>, name: &str, ty: Ty, span: Span) -> Val {
        let label = name.to_owned();
        self.push_labelled(op, args, name, &label, ty, span)
    }

    fn push_labelled(&mut self, op: Op, args: Vec<Arg>, name: &str, label: &str, ty: Ty, span: Span) -> Val {
        let origin = self.origin(span, label);
        let ir = self.index.ir_type(&ty);
        let id = self.graph.push(self.region, op, args, name, ir, origin);
        Val::Node(id, ty, RefKind::Value)
    }

    /// A host operation without an effect.
    fn host(&mut self, op: HostOp, args: Vec<Arg>, name: &str, ty: Ty, span: Span) -> Val {
        self.push(Op::Host(Host::pure(op)), args, name, ty, span)
    }

    /// A host operation with that effect.
    fn host_with(&mut self, effect: Effect, op: HostOp, args: Vec<Arg>, name: &str, ty: Ty, span: Span) -> Val {
        self.push(Op::Host(Host::with_effect(op, effect)), args, name, ty, span)
    }

    /// An operand as a node of its own.
    fn materialize(&mut self, operand: Arg, name: &str, ty: Ty, span: Span) -> Val {
        let (op, args) = application(operand);
        self.host(op, args, name, ty, span)
    }

    /// Goes on with other variables, those of a function that is called.
    fn enter(&mut self, env: Env) {
        let outer = std::mem::replace(&mut self.env, env);
        self.outer.push(outer);
    }

    /// Goes back to the variables of the caller; yields those of the function.
    fn leave_env(&mut self) -> Env {
        let outer = self.outer.pop().unwrap_or_default();
        std::mem::replace(&mut self.env, outer)
    }
}
