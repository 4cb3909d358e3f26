//! One `#[traceable]` item to one graph, with the traceable items that it calls inlined.
//!
//! The tracer walks the user's syntax once and keeps a [value](value::Val) for every variable. What it understands
//! becomes ops, layer calls and regions; what it does not becomes a node of Rust code with the variables it mentions
//! as arguments, as small a piece as the code allows. Nothing is lost and nothing is guessed: an expression that fails
//! halfway is taken back whole before it is carried along.

mod block;
mod call;
mod capture;
mod control;
mod env;
mod exact;
mod expr;
mod form;
mod guess;
mod indexing;
mod inline;
mod iterate;
mod iterators;
mod jumps;
mod labels;
mod leaf_call;
mod lists;
mod loops;
mod macros;
mod merge;
mod method;
mod opaque;
pub(crate) mod operator;
mod option;
mod pattern;
mod place;
mod refutable;
mod returns;
mod sequential;
mod signature;
mod spell;
mod tensor;
mod unroll;
mod value;
mod writes;

use std::collections::{HashMap, HashSet};

use fx_ir::{Arg, Graph, NodeId, Op, Origin, RegionId, Type};
use proc_macro2::Span;
use syn::spanned::Spanned;

use self::{
    env::Env,
    value::{Form, Val},
};
use crate::{
    diag::{Code, Diagnostic, Diagnostics, Severity},
    index::{Function, Index, Ty},
};

pub use self::signature::{Output, Param, Signature};

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
}

/// Why a piece of code is not understood; the piece is carried along then.
#[derive(Debug)]
struct Unknown {
    span: Span,
    reason: String,
}

type Result<T> = std::result::Result<T, Unknown>;

fn unknown<T>(span: Span, reason: impl Into<String>) -> Result<T> {
    Err(Unknown { span, reason: reason.into() })
}

/// Traces the item. Faults go to `diags`; the graph is whole in any case.
pub fn item(index: &Index, item: usize, diags: &Diagnostics) -> Traced {
    start(index, item, diags, None)
}

/// The item as one call of the user's own function, because of `reason`.
pub fn carried(index: &Index, item: usize, diags: &Diagnostics, reason: &str) -> Traced {
    start(index, item, diags, Some(reason))
}

fn start(index: &Index, item: usize, diags: &Diagnostics, carried: Option<&str>) -> Traced {
    let function = &index.fns[item];
    let owner = function.owner.as_ref().map(|owner| index.ty(&function.module, None, owner));
    let model = match owner {
        Some(Ty::Struct(id)) => Some(id),
        _ => None,
    };
    let name = model.map_or_else(|| function.sig.ident.to_string(), |id| index.structs[id].name.clone());
    let signature = Signature::of(index, function);
    let mut tracer = Tracer::new(index, diags, item, Graph::new(name));
    tracer.entry(&signature, owner.unwrap_or(Ty::Unknown), carried);
    Traced { graph: tracer.graph, signature, model, item }
}

/// The state of one trace.
struct Tracer<'a> {
    index: &'a Index,
    diags: &'a Diagnostics,
    graph: Graph,
    /// Where new nodes go.
    region: RegionId,
    env: Env,
    /// The functions being inlined, outermost first.
    frames: Vec<Frame>,
    /// What the user would call a module value: `layer1[*].conv1`.
    paths: HashMap<NodeId, String>,
    /// Carried code whose value is still a `Result`.
    results: HashSet<NodeId>,
    /// Is what is being traced known to be gathered into a `Vec`?
    wants_vec: bool,
    /// How many closures are being traced, whose `return` is not the entry's.
    closures: u32,
    /// What is told of the code that is carried along so far.
    opaque: Vec<Diagnostic>,
}

/// One function on the way down.
#[derive(Clone, Debug)]
struct Frame {
    function: usize,
    /// What `self` is.
    receiver: Option<Val>,
}

impl<'a> Tracer<'a> {
    fn new(index: &'a Index, diags: &'a Diagnostics, item: usize, graph: Graph) -> Tracer<'a> {
        let region = graph.body();
        let frames = vec![Frame { function: item, receiver: None }];
        Tracer {
            index,
            diags,
            graph,
            region,
            env: Env::new(),
            frames,
            paths: HashMap::new(),
            results: HashSet::new(),
            wants_vec: false,
            closures: 0,
            opaque: Vec::new(),
        }
    }

    fn entry(&mut self, signature: &Signature, owner: Ty, carried: Option<&str>) {
        let body = self.graph.body();
        if signature.has_receiver {
            let ty = self.index.ir_type(&owner);
            let id = self.graph.add_param(body, "self", ty, Origin::default());
            self.paths.insert(id, String::new());
            if let Some(frame) = self.frames.last_mut() {
                frame.receiver = Some(Val::Node(id, owner, Form::Ref));
            }
        }
        for param in &signature.params {
            let value = if let Some(known) = &param.fixed {
                Val::Lit(known.clone(), param.ty.clone())
            } else {
                let ty = self.index.ir_type(&param.ty);
                let id = self.graph.add_param(body, &param.name, ty, Origin::default());
                Val::Node(id, param.ty.clone(), if param.is_ref || param.lends { Form::Ref } else { Form::Owned })
            };
            self.env.declare(&param.name, value);
        }
        let block = self.function().block.clone();
        let mark = self.mark();
        let traced = if let Some(reason) = carried {
            unknown(block.brace_token.span.open(), reason)
        } else {
            let body = self.bind_inputs(signature).and_then(|()| self.body(&block));
            body.and_then(|value| self.entry_result(value, &block))
        };
        let value = match traced {
            Ok(args) => args,
            Err(fault) => {
                self.rollback(mark);
                vec![self.whole(signature, &fault)]
            }
        };
        self.opaque.drain(..).for_each(|one| self.diags.push(one));
        let origin = self.origin(block.brace_token.span.close(), "output");
        self.graph.push(body, Op::Yield, value, "output", Type::Unknown, origin);
    }

    /// Binds the parameters that are patterns.
    fn bind_inputs(&mut self, signature: &Signature) -> Result<()> {
        let inputs = self.function().sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Receiver(_) => None,
            syn::FnArg::Typed(typed) => Some(typed),
        });
        for (typed, param) in inputs.zip(&signature.params) {
            if param.written.starts_with("& mut") || param.written.contains("& 'a mut") {
                return unknown(typed.ty.span(), "a parameter of type `&mut`");
            }
            if !matches!(&*typed.pat, syn::Pat::Ident(_))
                && let Some(value) = self.env.read(&param.name).cloned()
            {
                self.bind(&typed.pat, value)?;
            }
        }
        Ok(())
    }

    /// What the entry hands over: one argument for every part of its result.
    fn entry_result(&mut self, value: Val, block: &syn::Block) -> Result<Vec<Arg>> {
        let value = self.settled(value, block.brace_token.span.join())?;
        let span = block.brace_token.span.close();
        let written = signature::value_type(&self.function().sig.output);
        match &value {
            Val::Unit => Ok(Vec::new()),
            Val::Tuple(parts) => {
                let ty = |at: usize| written.and_then(|ty| signature::part_type(ty, at));
                parts.iter().enumerate().map(|(at, part)| self.result_part(part, ty(at), span)).collect()
            }
            one => Ok(vec![self.result_part(one, written, span)?]),
        }
    }

    /// A part of the result, which is of this type.
    fn result_part(&mut self, value: &Val, ty: Option<&syn::Type>, span: Span) -> Result<Arg> {
        match value {
            Val::Tuple(parts) => {
                let ty = |at: usize| ty.and_then(|ty| signature::part_type(ty, at));
                let parts = parts.iter().enumerate().map(|(at, part)| self.result_part(part, ty(at), span));
                Ok(Arg::List(parts.collect::<Result<Vec<Arg>>>()?))
            }
            Val::List(items) => self.result_list(items, ty, span),
            Val::Some(_) => {
                let mut args = Vec::new();
                let text = self.spell_exactly(value, &mut args, span)?;
                let whole = self.host(&text, args, "some", value.ty(), span);
                whole.arg().map_or_else(|| unknown(span, "the result is built in a form that is not understood"), Ok)
            }
            Val::Node(..) | Val::Lit(..) => value.arg().map_or_else(|| unknown(span, "a result of this form"), Ok),
            _ => unknown(span, "the result is built in a form that is not understood"),
        }
    }

    /// Is it the entry's own body that is being traced?
    fn is_entry(&self) -> bool {
        self.frames.len() == 1 && self.closures == 0
    }

    fn function(&self) -> &'a Function {
        let item = self.frames.last().map_or(0, |frame| frame.function);
        &self.index.fns[item]
    }

    fn module(&self) -> &'a str {
        &self.function().module
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
        Val::Node(id, ty, Form::Owned)
    }

    /// A host computation that is understood.
    fn host(&mut self, template: &str, args: Vec<Arg>, name: &str, ty: Ty, span: Span) -> Val {
        self.push(Op::Rust(fx_ir::Code::pure(template)), args, name, ty, span)
    }

    fn mark(&self) -> Mark {
        Mark {
            region: self.region,
            nodes: self.graph.region(self.region).nodes.len(),
            opaque: self.opaque.len(),
            env: self.env.clone(),
        }
    }

    /// Takes back every node that was appended, and every variable that was set, since `mark`.
    fn rollback(&mut self, mark: Mark) {
        self.region = mark.region;
        self.opaque.truncate(mark.opaque);
        self.graph.truncate(mark.region, mark.nodes);
        self.env = mark.env;
    }

    fn report(&self, code: Code, severity: Severity, span: Span, message: String, help: &str) {
        self.diags.push(self.diagnostic(code, severity, span, message, help));
    }

    fn diagnostic(&self, code: Code, severity: Severity, span: Span, message: String, help: &str) -> Diagnostic {
        let home = self.frames.first().and_then(|frame| self.index.fns[frame.function].key.as_ref());
        Diagnostic {
            code,
            severity,
            span,
            place: self.function().place(span),
            home: home.map(ToString::to_string),
            message,
            help: help.to_owned(),
        }
    }

    /// Notes that code is carried along; an error where the item says `strict`. It is told once the trace is at its end:
    /// until then what stands around the code may be carried along as well.
    fn report_opaque(&mut self, span: Span, reason: &str) {
        let strict = |frame: &Frame| self.index.fns[frame.function].traceable.as_ref().is_some_and(|one| one.strict);
        let severity = if self.frames.iter().any(strict) { Severity::Error } else { Severity::Note };
        let help = match severity {
            Severity::Error => "write it with ops that are known, or drop `strict` to have it carried along as it is",
            _ => "written with ops that are known it would be optimised with what stands around it",
        };
        let message = format!("carried along, not understood: {reason}");
        self.opaque.push(self.diagnostic(Code::Opaque, severity, span, message, help));
    }
}

/// A point to go back to.
struct Mark {
    region: RegionId,
    nodes: usize,
    opaque: usize,
    env: Env,
}
