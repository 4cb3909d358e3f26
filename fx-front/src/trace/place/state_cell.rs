//! State: fields of the model that a `&mut self` forward writes to.
//!
//! Such a field is a cell of the frozen model (`frozen::StateCell`), made when it is frozen; to read the field is a node that
//! reads the cell, to write it one that writes, and both stay in their order. Which fields those are is found by tracing:
//! where a write comes to light, the trace begins anew and knows of it.

use std::collections::BTreeSet;

use fx_ir::{Arg, Graph, Host, HostOp, NodeId, Op};
use proc_macro2::Span;
use quote::ToTokens;

use crate::index::Function;
use crate::trace::types::label::join_path;
use crate::trace::types::ty::{is_copy, is_store};
use crate::trace::{
    Result, Tracer, Ty, Val,
    place::{Place, Root},
    unsupported,
};

/// Fields that are written: each by its struct, as a position in the index, and its name.
pub(in crate::trace) type Fields = BTreeSet<(usize, String)>;

impl Tracer<'_> {
    /// The cell of a field of the model.
    pub(in crate::trace) fn cell(&mut self, base: &Val, name: &str, span: Span) -> Result<Place> {
        let Val::Node(id, Ty::Struct(owner), _) = base else { return unsupported(span, "a field of a literal") };
        if depends_on_input(&self.graph, *id) {
            return unsupported(span, format!("`{name}`, which is written to, of a part that an input chooses"));
        }
        let (item, Some(field)) = (&self.index.structs[*owner], self.index.field(*owner, name)) else {
            return unsupported(span, format!("the field `{name}`"));
        };
        let ty = self.index.field_ty(*owner, field);
        if self.is_module(&ty) {
            return unsupported(span, format!("the forward writes to `{name}`, which is a layer or holds one"));
        }
        let home = self.home();
        let Some(spelled) = self.index.spelled(home, &item.module, &field.ty) else {
            let written = field.ty.to_token_stream().to_string().replace(' ', "");
            return unsupported(
                span,
                format!("`{written}`, the type of `{name}`, has no path that means the same everywhere"),
            );
        };
        if !self.index.can_read(home, *owner, field) {
            return unsupported(span, format!("the field `{name}` of `{}` is private to its module", item.name));
        }
        let label = self.path_of(base).map_or_else(|| name.to_owned(), |path| join_path(&path, name));
        let (text, is_plain, is_vec) = (spelled.text, spelled.is_plain, spelled.is_vec);
        let store = if is_plain { "" } else { ", ::fx_runtime::frozen::Foreign" };
        let kept = format!("::fx_runtime::frozen::StateCell<{text}{store}>");
        let op = if is_plain { HostOp::Cell(text) } else { HostOp::ForeignCell((text, label.clone())) };
        let attr = self.push_labelled(Op::GetAttr(name.to_owned()), vec![(*id).into()], name, &label, ty.clone(), span);
        let args = attr.arg().into_iter().collect();
        let cell = self.push_labelled(Op::Host(Host::pure(op)), args, name, &label, Ty::Rust(kept), span);
        self.found.extend(Some((*owner, name.to_owned())).filter(|key| !self.kept.contains(key)));
        Ok(Place { root: cell, kind: Root::Cell { is_plain }, projection: Vec::new(), ty, is_vec })
    }

    /// The place of a field that opaque code mentions, if the code may write to it.
    pub(in crate::trace) fn mentioned(
        &mut self,
        receiver: &Val,
        name: &str,
        written: bool,
        span: Span,
    ) -> Result<Option<Val>> {
        let Val::Node(_, Ty::Struct(owner), _) = receiver else { return Ok(None) };
        let field = self.index.field(*owner, name);
        let ty = field.map_or(Ty::Unknown, |field| self.index.field_ty(*owner, field));
        let is_interior = matches!(ty, Ty::Interior(..));
        if !(self.is_stateful() || is_interior) || self.path_of(receiver).is_none() {
            return Ok(None);
        }
        // What writes to a value of the standard library's is known by name; what a type of the crate's own does is not.
        let module = &self.index.structs[*owner].module;
        let spelled = field.and_then(|field| self.index.spelled(self.home(), module, &field.ty));
        let is_plain = is_copy(&ty) || spelled.is_some_and(|spelled| spelled.is_plain);
        // What writes to a variable store is known by name, too.
        let only_read = self.is_module(&ty) || is_plain || is_store(&ty) || self.only_looks(&ty);
        if !written && !self.is_kept(*owner, name) && !is_interior && only_read {
            return Ok(None);
        }
        self.cell(receiver, name, span).map(|place| Some(place.root))
    }

    /// Whether it is an enum of the crate, no method of which writes to it, or holds only such and layers.
    fn only_looks(&self, ty: &Ty) -> bool {
        if let Ty::Option(inner) | Ty::List(inner) = ty {
            return self.is_module(inner) || self.only_looks(inner);
        }
        let is_its = |function: &Function| {
            let owner = function.owner.as_ref();
            owner.is_some_and(|owner| self.index.ty(&function.module, None, owner) == *ty)
        };
        let mut methods = self.index.fns.iter().filter(|function| is_its(function));
        self.index.is_enum(ty) && !methods.any(Function::writes_self)
    }
}

/// Whether an input decides which part of the model the value is: a cell is made of a field when the model is frozen.
fn depends_on_input(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let from = |id: NodeId| depends_on_input(graph, id);
    let (Op::Placeholder, Some(region)) = (&node.op, graph.scope_of(id)) else { return node.inputs().any(from) };
    let params = &graph.region(region).params;
    let position = params.iter().position(|&param| param == id).unwrap_or_default();
    let Some(owner) = graph.owner_of(region).map(|owner| graph.node(owner)) else { return position > 0 };
    // What a pattern binds is of what is looked at; what a loop carries stands behind that.
    let carried = if matches!(owner.op, Op::For(_)) { owner.args.len().saturating_sub(1) } else { 0 };
    let is_carried = position + carried >= params.len() && carried > 0 || owner.op == Op::While;
    let read = if is_carried { &owner.args[..] } else { &owner.args[..owner.args.len().min(1)] };
    read.iter().flat_map(Arg::nodes).any(from)
}
