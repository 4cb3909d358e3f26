//! `#[traceable(unroll)]`: a loop whose length the source tells becomes its iterations, one after the other.

use fx_ir::{Arg, Host, HostOp, Op, Type};
use proc_macro2::Span;

use crate::index::{Name, Resolved};
use crate::syntax::path_text;
use crate::trace::types::label::{element_path, identifier};
use crate::trace::{RefKind, Tracer, Ty, Val};

/// More iterations than this stay a loop.
const LIMIT: i64 = 256;

impl Tracer<'_> {
    /// Whether the item asks for it.
    pub(in crate::trace) fn unrolls(&self) -> bool {
        let item = self.frames.first().map(|frame| &self.index.fns[frame.function]);
        item.and_then(|item| item.traceable.as_ref()).is_some_and(|options| options.unroll)
    }

    /// The numbers of a range whose ends are known.
    pub(in crate::trace) fn numbers(&self, range: &syn::ExprRange, start: &Val, end: &Val) -> Option<Vec<Val>> {
        let (first, ty) = self.known(start)?;
        let (last, other) = self.known(end)?;
        let last = if matches!(range.limits, syn::RangeLimits::Closed(_)) { last.checked_add(1)? } else { last };
        let ty = if ty == Ty::Rust("integer".to_owned()) { other } else { ty };
        let turns = first..last;
        (last.checked_sub(first)? <= LIMIT).then(|| turns.map(|at| Val::Lit(Arg::Int(at), ty.clone())).collect())
    }

    fn known(&self, value: &Val) -> Option<(i64, Ty)> {
        match value {
            Val::Lit(Arg::Int(number), ty) => Some((*number, ty.clone())),
            Val::Lit(Arg::Path(path), ty) => match self.index.resolve(self.module(), path) {
                Resolved::Item(_, _, Name::Const(Some(Arg::Int(number)), _)) => Some((number, ty.clone())),
                _ => None,
            },
            _ => None,
        }
    }

    /// The elements of a field that is an array.
    pub(in crate::trace) fn elements(&mut self, list: &Val, element: &Ty, span: Span) -> Option<Vec<Val>> {
        let id = list.node()?;
        let length = self.array_length(id)?;
        let path = self.path_of(list);
        let items = (0..length).map(|at| {
            let path = path.as_deref().map(|path| element_path(path, &at.to_string()));
            let label = path.clone().unwrap_or_else(|| "item".to_owned());
            let op = Op::Host(Host::pure(HostOp::ItemRef));
            let name = identifier(&label);
            let value = self.push_labelled(op, vec![id.into(), Arg::Int(at)], &name, &label, element.clone(), span);
            if let (Some(node), Some(path)) = (value.node(), path) {
                self.facts.set_path(node, path);
            }
            value.with_ref_kind(RefKind::Ref)
        });
        Some(items.collect())
    }

    fn array_length(&self, list: fx_ir::NodeId) -> Option<i64> {
        let node = self.graph.node(list);
        let Op::GetAttr(field) = &node.op else { return None };
        let Type::Module(owner) = &self.graph.node(node.input(0)?).ty else { return None };
        let owner = self.index.struct_at(owner)?;
        let syn::Type::Array(array) = &self.index.field(owner, field)?.ty else { return None };
        let length = match &array.len {
            syn::Expr::Path(path) => {
                match self.index.resolve(&self.index.structs[owner].module, &path_text(&path.path)) {
                    Resolved::Item(_, _, Name::Const(Some(Arg::Int(number)), _)) => Some(number),
                    _ => None,
                }
            }
            other => crate::syntax::integer_literal(other),
        };
        length.filter(|&length| length <= LIMIT)
    }
}
