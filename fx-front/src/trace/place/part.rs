//! Parts of values: of a tuple, whether its parts are known one by one or not, and of a list.

use std::rc::Rc;

use fx_ir::{Arg, Host, HostOp, Op};
use proc_macro2::Span;

use crate::trace::types::label::{element_path, identifier, join_path};
use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, unsupported};

impl Tracer<'_> {
    /// The part of a tuple, whether its parts are known one by one or not.
    pub(in crate::trace) fn tuple_part(&mut self, value: &Val, position: usize, span: Span) -> Result<Val> {
        match value {
            Val::MutRef(_, inner) => self.tuple_part(inner, position, span),
            Val::Place(place) => Ok(Val::Place(Rc::new(self.part_of(place, &position.to_string(), span)?))),
            Val::Tuple(parts) if position < parts.len() => Ok(parts[position].clone()),
            Val::Node(id, Ty::Tuple(parts), _) if position < parts.len() => {
                let name = format!("{}_{position}", self.graph.node(*id).name);
                let path = self.path_of(value).map(|path| join_path(&path, &position.to_string()));
                let label = path.clone().unwrap_or_else(|| name.clone());
                let args = vec![(*id).into()];
                let part =
                    self.push_labelled(Op::TupleGet(position), args, &name, &label, parts[position].clone(), span);
                if let (Some(id), Some(path)) = (part.node(), path) {
                    self.facts.set_path(id, path);
                }
                Ok(part)
            }
            state => match self.tensors_of_state(state, span).filter(|_| position == 0) {
                Some(tensors) => Ok(tensors),
                None => unsupported(span, "a tuple whose parts are not known"),
            },
        }
    }

    /// The element of an array at a known position, as a pattern has it.
    pub(in crate::trace) fn array_part(&mut self, value: &Val, position: usize, span: Span) -> Result<Val> {
        let item = match value {
            Val::List(items) => items.get(position).cloned(),
            Val::Node(_, Ty::List(element), _) => Some(self.item_at(value, element, position, span)?),
            _ => None,
        };
        item.map_or_else(|| unsupported(span, "a pattern of this form"), Ok)
    }

    /// The element of a list at a known position.
    pub(in crate::trace) fn item_at(&mut self, list: &Val, element: &Ty, position: usize, span: Span) -> Result<Val> {
        let position_arg = Arg::Int(i64::try_from(position).unwrap_or(i64::MAX));
        let args = vec![self.operand(list, span)?, position_arg];
        let is_copy = is_copy(element);
        let (op, form) = if is_copy { (HostOp::Item, RefKind::Value) } else { (HostOp::ItemRef, RefKind::Ref) };
        let path = self.path_of(list).map(|path| element_path(&path, &position.to_string()));
        let label = path.clone().unwrap_or_else(|| "item".to_owned());
        let name = identifier(&label);
        let value = self
            .push_labelled(Op::Host(Host::pure(op)), args, &name, &label, element.clone(), span)
            .with_ref_kind(form);
        if let (Some(id), Some(path)) = (value.node(), path) {
            self.facts.set_path(id, path);
        }
        Ok(value)
    }
}
