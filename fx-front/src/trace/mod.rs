//! One `#[traceable]` item to one graph, with the traceable items that it calls inlined.
//!
//! The tracer walks the user's syntax once and keeps a [value](value::Val) for every variable. What it understands
//! becomes ops, layer calls and regions; what it does not becomes a node of Rust code with the variables it mentions
//! as arguments, as small a piece as the code allows. Nothing is lost and nothing is guessed: an expression that fails
//! halfway is taken back whole before it is kept as opaque code.

mod asked;
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
mod tracer;
mod types;
mod value;
mod value_facts;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fx_ir::{AliasAnalysis, Effect, Graph, Op, Place, Type, Writers};
use proc_macro2::Span;

use self::{
    env::Env,
    opaque::state_copies::{StateAccess, conflict},
    place::state_cell::Fields,
    tracer::{Frame, OnError, Tracer, Unwritten, application},
    value::{RefKind, RefKinds, Val},
};
use crate::{
    diag::Diagnostics,
    frozen::Left,
    index::{Index, Ty},
};

pub use self::entry::signature::{ModeFlag, Output, Param, Signature};
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
    /// The pieces of code that are opaque.
    pub opaque: Vec<OpaquePiece>,
    /// The functions of parts that are called by their own frozen types, by position in [`Index::fns`], once a call.
    pub parts: Vec<usize>,
    /// Whether code that is kept as opaque code has a copy of a part of the model with fields that calls may write to.
    pub copies_state: bool,
    /// The functions that were inlined or tried to be, by position in [`Index::fns`].
    pub inlined: BTreeSet<usize>,
}

/// A piece of code that is kept as opaque code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaquePiece {
    /// The place of what is not understood.
    pub place: Place,
    /// The reason why it is not.
    pub reason: String,
    /// The operations that the piece runs: its calls, and those of the crate's functions and chains of layers that it calls.
    pub operations: usize,
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
    all(index, &[item], diags, Manner::inlined(&Outlined::new())).remove(0)
}

/// Traces functions of one type that are frozen together: what one of them writes to is state for all of them.
pub fn items(index: &Index, items: &[usize], diags: &Diagnostics) -> Vec<Traced> {
    all(index, items, diags, Manner::inlined(&Outlined::new()))
}

/// The same, with calls of the frozen types of parts in place of the parts' own nodes, wherever that can be.
pub fn items_outlined(index: &Index, items: &[usize], diags: &Diagnostics, outlined: &Outlined) -> Vec<Traced> {
    all(index, items, diags, Manner::inlined(outlined))
}

/// The functions in training: their mode is `true`. Calls of parts are as with [`items_outlined`]. What is wrong with the
/// source is not told once more.
pub fn items_in_training(index: &Index, items: &[usize], outlined: &Outlined) -> Vec<Traced> {
    all(index, items, &Diagnostics::new(), Manner { training: true, ..Manner::inlined(outlined) })
}

/// Each of the functions as one call of the user's own, because of `reason`.
pub fn carried(index: &Index, items: &[usize], diags: &Diagnostics, reason: &str) -> Vec<Traced> {
    all(index, items, diags, Manner { opaque_because: Some(reason), ..Manner::inlined(&Outlined::new()) })
}

/// The functions of parts that are called by their frozen types, by position in [`Index::fns`].
pub type Outlined = BTreeMap<usize, PartCall>;

/// How the function of a part is called.
#[derive(Clone, Copy, Debug)]
pub struct PartCall {
    /// The effect of a call beside its results.
    pub effect: Effect,
    /// Whether it is called as well where it is known which of its options are there.
    pub takes_any_option: bool,
}

/// What is asked of a trace beside the function's graph.
#[derive(Clone, Copy)]
struct Manner<'a> {
    /// Why the function is not looked into, if that is so.
    opaque_because: Option<&'a str>,
    /// The parts that are not inlined.
    outlined: &'a Outlined,
    /// The mode of the forward.
    training: bool,
}

impl<'a> Manner<'a> {
    /// All but these parts inlined, for inference.
    fn inlined(outlined: &'a Outlined) -> Manner<'a> {
        Manner { opaque_because: None, outlined, training: false }
    }
}

fn all(index: &Index, items: &[usize], diags: &Diagnostics, manner: Manner<'_>) -> Vec<Traced> {
    let mut kept = Fields::new();
    loop {
        let (told, known) = (Diagnostics::new(), kept.len());
        let (mut traced, accesses): (Vec<Traced>, Vec<_>) =
            items.iter().map(|&item| one_or_opaque(index, item, &told, manner, &mut kept)).unzip();
        if items.len() > 1 {
            kept.extend(traced.iter().flat_map(|traced| written_tensors(index, &traced.graph)));
            if kept.len() > known {
                continue;
            }
        }
        if let Some(reason) = conflict(&accesses).filter(|_| manner.opaque_because.is_none()) {
            if are_interior(index, &kept) && traced.iter().all(|traced| !traced.signature.is_mut) {
                return all(index, items, diags, Manner { opaque_because: Some(&reason), ..manner });
            }
            for traced in traced.iter_mut().filter(|traced| traced.left.is_none()) {
                let span = index.fns[traced.item].block.brace_token.span.open();
                traced.left = Some(Left::state(span, &traced.signature, &reason));
            }
        }
        told.into_sorted().into_iter().for_each(|one| diags.push(one));
        return traced;
    }
}

/// The fields with tensors that an op writes to, by views of them as well.
fn written_tensors(index: &Index, graph: &Graph) -> Fields {
    let written = AliasAnalysis::of(graph).written(Writers::Ops);
    let fields = written.iter().filter_map(|id| {
        let node = graph.node(id);
        let (Op::GetAttr(name), Type::Module(owner)) = (&node.op, &graph.node(node.input(0)?).ty) else { return None };
        let owner = index.struct_at(owner)?;
        let is_tensor = index.field_ty(owner, index.field(owner, name)?) == Ty::Tensor;
        is_tensor.then(|| (owner, name.clone()))
    });
    fields.collect()
}

/// Whether the fields are written to behind a shared reference alone.
fn are_interior(index: &Index, fields: &Fields) -> bool {
    fields.iter().all(|(owner, name)| {
        let field = index.field(*owner, name);
        field.is_some_and(|field| matches!(index.field_ty(*owner, field), Ty::Interior(..)))
    })
}

/// Traces the item; where that panics, which is a bug of fx, it is one call of the user's own.
fn one_or_opaque(
    index: &Index,
    item: usize,
    diags: &Diagnostics,
    manner: Manner<'_>,
    kept: &mut Fields,
) -> (Traced, Vec<StateAccess>) {
    let before = kept.clone();
    // What is wrong with the item is told once it is traced.
    match catch_unwind(AssertUnwindSafe(|| one(index, item, diags, manner, kept))) {
        Ok(traced) => traced,
        Err(panic) if manner.opaque_because.is_some() => resume_unwind(panic),
        Err(panic) => {
            *kept = before;
            let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let reason = format!("a bug of fx, which panics on it: {}", said.unwrap_or("it does not say why"));
            one(index, item, diags, Manner { opaque_because: Some(&reason), ..manner }, kept)
        }
    }
}

/// Traces the item, where fields that functions write to may be known; those that it writes to come to these.
fn one(
    index: &Index,
    item: usize,
    diags: &Diagnostics,
    manner: Manner<'_>,
    kept: &mut Fields,
) -> (Traced, Vec<StateAccess>) {
    let function = &index.fns[item];
    let owner = function.owner.as_ref().map(|owner| index.ty(&function.module, None, owner));
    let model = match owner {
        Some(Ty::Struct(id)) => Some(id),
        _ => None,
    };
    let name = model.map_or_else(|| function.sig.ident.to_string(), |id| index.structs[id].name.clone());
    let signature = Signature::of(index, function, manner.training);
    let owner = owner.unwrap_or(Ty::Unknown);
    let mut unwritten = Unwritten::ByParts { is_used: false };
    loop {
        let told = Diagnostics::new();
        let mut tracer = Tracer::new(index, &told, item, Graph::new(name.clone()), kept.clone());
        (tracer.outlined, tracer.training, tracer.unwritten) = (Some(manner.outlined), manner.training, unwritten);
        tracer.entry(&signature, &owner, manner.opaque_because);
        if tracer.is_whole && tracer.unwritten == (Unwritten::ByParts { is_used: true }) {
            // Where the whole of such a struct is needed, it is better opaque than the function is.
            unwritten = Unwritten::Opaque;
            continue;
        }
        if tracer.found.is_empty() {
            let (opaque, accesses) = (tracer.opaque_pieces(), tracer.state_accesses());
            let copies_state = accesses.iter().any(StateAccess::is_copy);
            let left = tracer.left.or_else(|| Left::borrows(index, &tracer.graph, function));
            let left = left.or_else(|| Left::stays(index, model.filter(|_| copies_state), function));
            let (graph, parts, inlined) = (tracer.graph, tracer.parts, tracer.inlined);
            told.into_sorted().into_iter().for_each(|one| diags.push(one));
            let traced = Traced { graph, signature, model, item, left, opaque, parts, copies_state, inlined };
            return (traced, accesses);
        }
        // What was read of such a field before its first write has to be read anew.
        kept.append(&mut tracer.found);
    }
}
