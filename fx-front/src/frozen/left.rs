//! Why an item gets no frozen type.

use fx_ir::{Binding, Bindings, Effect, Graph, NodeId, Op, Place, Type, scalar};
use proc_macro2::Span;
use quote::ToTokens;

use crate::{
    diag::{Code, Diagnostic, Severity},
    index::{Function, Index, Struct},
    trace::Signature,
};

/// Why an item gets no frozen type.
#[derive(Debug)]
pub struct Left {
    code: Code,
    span: Span,
    reason: String,
    help: String,
}

impl Left {
    pub(super) fn new(code: Code, span: Span, reason: impl Into<String>, help: &str) -> Left {
        Left { code, span, reason: reason.into(), help: help.to_owned() }
    }

    /// Opaque code reads what the model, or a part of it, borrows: a frozen type holds it for good.
    pub(crate) fn borrows(index: &Index, graph: &Graph, function: &Function) -> Option<Left> {
        let lends = |item: &&Struct| item.generics.lifetimes().next().is_some();
        let of = |id: NodeId| match &graph.node(id).ty {
            Type::Module(name) | Type::Rust(name) => index.struct_at(name).map(|id| &index.structs[id]).filter(lends),
            _ => None,
        };
        // A text, or a field whose type has no path, is reached through what holds it.
        let has_path = |ty: &Type| match ty {
            Type::Rust(name) => scalar::is_scalar(name) || name.starts_with("crate::"),
            ty => *ty != Type::Unknown,
        };
        let borrows = |id: NodeId| match graph.node(id) {
            node if matches!(&node.op, Op::GetAttr(_)) && !has_path(&node.ty) => node.input(0).and_then(of),
            _ => of(id),
        };
        let is_carried = |id: &NodeId| match &graph.node(*id).op {
            Op::Rust(code) => code.opaque.is_some() || code.effect == Effect::Io,
            _ => false,
        };
        // What a call is given, or makes, is read in that call.
        let times = Bindings::of(graph, function.sig.receiver().is_some());
        let read = graph.nodes().into_iter().filter(is_carried).flat_map(|id| graph.node(id).inputs());
        let read = read.filter(|&id| times.get(id) != Binding::Call);
        let lent = read.filter_map(borrows).find(|item| item.generics.lifetimes().next().is_some())?;
        let reason = format!("code that is not understood reads `{}`, which borrows what it holds", lent.name);
        let help = "let it own that (`String` for `&str`, an `Arc` for a reference), or write the code with ops that are known";
        Some(Left::new(Code::Signature, function.sig.ident.span(), reason, help))
    }

    /// The copies of state that opaque code has are shared by all that have them, on whichever thread they are.
    pub(crate) fn stays(index: &Index, model: Option<usize>, function: &Function) -> Option<Left> {
        let stays = model.and_then(|id| index.unsendable(id))?;
        let reason = format!(
            "code that is not understood has a copy of state that calls write to, and `{stays}` cannot go to another thread"
        );
        let help =
            "hold it by value or in an `Arc` of what is `Send + Sync`, or write the code with ops that are known";
        Some(Left::new(Code::Receiver, function.sig.ident.span(), reason, help))
    }

    /// A frozen model computes without gradients.
    pub(crate) fn gradients(function: &Function, place: &Place) -> Left {
        let reason = format!("it computes gradients ({place}), of which a frozen model has none");
        let help = "put `#[traceable]` on the forward alone, and compute gradients where it is called";
        Left::new(Code::Signature, function.sig.ident.span(), reason, help)
    }

    /// What the forward writes to, or reads of what another entry writes to, cannot be followed.
    pub(crate) fn state(span: Span, signature: &Signature, reason: &str) -> Left {
        let what = if signature.is_mut {
            "takes `&mut self`, and its writes"
        } else {
            "reads what another entry writes to, and its reads"
        };
        let reason = format!("`{}` {what} cannot be followed: {reason}", signature.name);
        let help = "assign to the fields themselves (`self.cache = Some(kv)`), or hand the state in and out of a `&self` forward";
        Left::new(Code::Receiver, span, reason, help)
    }

    /// It as a warning, or, where the item says `strict`, as an error.
    pub fn diagnostic(self, function: &Function) -> Diagnostic {
        let is_strict = function.traceable.as_ref().is_some_and(|options| options.strict);
        let name = function.owner.as_ref().map_or_else(
            || function.sig.ident.to_string(),
            |owner| owner.to_token_stream().to_string().replace(' ', ""),
        );
        Diagnostic {
            code: self.code,
            severity: if is_strict { Severity::Error } else { Severity::Warning },
            span: self.span,
            place: function.place(self.span),
            home: function.key.as_ref().map(ToString::to_string),
            message: format!("`{name}` gets no frozen type and stays as it is: {}", self.reason),
            help: self.help,
        }
    }
}
