//! Values as operands of host operations: by value, as the user's code passes them on, and of the very type.

use fx_ir::{Arg, HostOp, NodeId, Op, host::ELEMENT, scalar};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::index::is_within;
use crate::trace::types::node_facts::is_option_of_reference;
use crate::trace::types::ty::{
    GRU_STATE, LSTM_STATE, NUMBER, TENSOR_REFERENCE, is_copy, is_settled_within, is_state, is_untyped,
};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    entry::signature::{holds_array, holds_reference, is_vec},
    unsupported,
};

impl Tracer<'_> {
    /// The value as an operand, by value.
    pub(in crate::trace) fn operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        match value {
            Val::Node(id, ..) => Ok(Arg::Node(*id)),
            Val::Lit(arg, ty) => Ok(typed_literal(arg, ty)),
            Val::Tuple(parts) => Ok(HostOp::Tuple.of(self.owned_operands(parts, span)?)),
            Val::List(items) => Ok(HostOp::Array.of(self.written_elements(items, span)?)),
            Val::Some(inner) => Ok(HostOp::Some.on(self.owned_operand(inner, span)?)),
            Val::Unit => Ok(HostOp::Unit.of([])),
            Val::Fields(..) => self.struct_operand(value, span),
            Val::Closure(..) | Val::Chosen(_) | Val::Iter(..) | Val::MutRef(..) | Val::Place(_) | Val::Never => {
                unsupported(span, "a value that cannot be written down")
            }
        }
    }

    /// The value as the user's code passes it on: a reference where it is one, else an own handle.
    pub(in crate::trace) fn owned_operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        let operand = self.operand(value, span)?;
        Ok(match value {
            Val::Node(id, _, RefKind::Value) if self.holds_handles(*id) => self.references_of(*id),
            Val::Node(id, _, RefKind::Ref) if self.holds_handles(*id) => HostOp::Ref.on(self.references_of(*id)),
            // Opaque code has made a tensor of it, or a reference to one.
            Val::Node(id, Ty::Tensor, RefKind::Ref) if self.graph.may_be_reference(*id) => {
                HostOp::BorrowTensor.on(operand)
            }
            Val::Node(_, _, RefKind::Ref | RefKind::RefRef) => HostOp::Ref.on(operand),
            Val::Node(_, Ty::Tensor, RefKind::Value) => HostOp::Handle.on(operand),
            Val::Node(_, ty @ Ty::List(element), RefKind::Value) if !is_copy(element) => {
                self.copy_of(ty, &operand).unwrap_or_else(|| HostOp::Clone.on(operand))
            }
            Val::Node(_, Ty::List(_), RefKind::Value) => HostOp::Clone.on(operand),
            _ => operand,
        })
    }

    fn owned_operands(&mut self, values: &[Val], span: Span) -> Result<Vec<Arg>> {
        values.iter().map(|value| self.owned_operand(value, span)).collect()
    }

    /// The elements of a list that is written out: beside a reference to a tensor, what opaque code yields is one too.
    fn written_elements(&mut self, items: &[Val], span: Span) -> Result<Vec<Arg>> {
        self.refuse_repeated_moves(items, span)?;
        let refers = refers(items);
        let element = |item: &Val| match item {
            Val::Node(id, Ty::Unknown, _) if refers => Ok(HostOp::BorrowTensor.on(Arg::Node(*id))),
            item => self.owned_operand(item, span),
        };
        let args = of_one_kind(items).iter().map(element).collect::<Result<_>>()?;
        Ok(with_one_suffix(args, items))
    }

    /// A loop does not move elements out of variables that it finds already there.
    fn refuse_repeated_moves(&self, items: &[Val], span: Span) -> Result<()> {
        let is_loop = |owner: NodeId| matches!(self.graph.node(owner).op, Op::For(_) | Op::While);
        let is_found = |id: NodeId| {
            let scope = self.graph.scope_of(id);
            let mut around = self.graph.scopes(self.region).take_while(|&region| Some(region) != scope);
            around.any(|region| self.graph.owner_of(region).is_some_and(is_loop))
        };
        let repeats = |item: &Val| self.is_moved(item) && item.node().is_some_and(is_found);
        if items.iter().any(repeats) { unsupported(span, "a list whose elements a loop would move") } else { Ok(()) }
    }

    /// The value of a field that opaque code borrows; a fault where it is a list that is written out of what would move.
    pub(in crate::trace) fn unmoved(&self, value: Val, name: &str, span: Span) -> Result<Val> {
        match &value {
            Val::List(items) if items.iter().any(|item| self.is_moved(item)) => {
                unsupported(span, format!("code that mentions the list `{name}`, whose elements it would move"))
            }
            _ => Ok(value),
        }
    }

    /// Whether generated code moves the value where it stands: one of a type of which it makes no second handle.
    fn is_moved(&self, value: &Val) -> bool {
        let Val::Node(id, ty, RefKind::Value) = value else { return false };
        let has_handles = is_copy(ty) || matches!(ty, Ty::Tensor | Ty::List(_) | Ty::Option(_) | Ty::Leaf(_));
        !has_handles && !self.facts.paths.contains_key(id)
    }

    /// The operands of a call, behind those in `operands`: each as the user's code hands it on.
    pub(in crate::trace) fn operands_of_call<'e>(
        &mut self,
        mut operands: Vec<Arg>,
        exprs: impl IntoIterator<Item = &'e syn::Expr>,
        values: &[Val],
    ) -> Result<Vec<Arg>> {
        for (expr, value) in exprs.into_iter().zip(values) {
            operands.push(match expr {
                syn::Expr::Reference(_) if value.node().is_none_or(|id| !self.holds_handles(id)) => {
                    HostOp::Ref.on(self.operand(value, expr.span())?)
                }
                _ => self.owned_operand(value, expr.span())?,
            });
        }
        Ok(operands)
    }

    /// A value as the user's variable holds it; a fault where that is not known.
    pub(in crate::trace) fn exact_operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        match value {
            Val::Node(_, _, RefKind::RefRef) => unsupported(span, "code that mentions a reference to a reference"),
            Val::Node(id, ..) if self.is_open_repeat(*id) || self.has_handles_for_parts(*id) => {
                unsupported(span, "code that mentions a value whose type is not known for sure")
            }
            Val::Node(id, ..) if self.holds_handles(*id) => self.owned_operand(value, span),
            Val::Node(_, ty, _) if *ty == Ty::Tensor || is_copy(ty) => self.owned_operand(value, span),
            Val::Node(id, ty, _) if is_state(ty, LSTM_STATE) || is_state(ty, GRU_STATE) => {
                Ok(self.copy_of(ty, &Arg::Node(*id)).unwrap_or(Arg::Node(*id)))
            }
            Val::Lit(arg, ty) if *arg != Arg::None && *ty != Ty::Unknown => self.owned_operand(value, span),
            Val::Node(_, Ty::Rust(name), _) if name == NUMBER => Ok(HostOp::Scalar.on(self.operand(value, span)?)),
            Val::Lit(Arg::Path(_), _) => self.owned_operand(value, span),
            Val::Lit(Arg::None, Ty::Option(held)) if is_said(held) => match self.spelling(held) {
                Some(held) => Ok(HostOp::NoneOf(held).of([])),
                None => unsupported(span, "code that mentions a value whose type is not known for sure"),
            },
            Val::Node(id, Ty::Option(_), RefKind::Value) if self.is_option_of_reference(*id) => Ok(Arg::Node(*id)),
            Val::Tuple(parts) => Ok(HostOp::Tuple.of(self.exact_operands(parts, span)?)),
            Val::Some(inner) => Ok(HostOp::Some.on(self.exact_operand(inner, span)?)),
            Val::Fields(..) => self.struct_operand(value, span),
            Val::Node(id, _, RefKind::Value) if self.is_own_variant(*id) => self.variant_operand(*id, span),
            Val::Node(id, Ty::List(element), _) if is_copy(element) && self.is_vec(*id) => Ok(HostOp::ToVec.on(*id)),
            Val::Node(id, ty, form) if self.is_made_field(*id) || (*form == RefKind::Value && self.is_held(value)) => {
                let copy = self.copy_of(ty, &Arg::Node(*id));
                copy.map_or_else(
                    || unsupported(span, "code that mentions a value whose type is not known for sure"),
                    Ok,
                )
            }
            _ => unsupported(span, "code that mentions a value whose type is not known for sure"),
        }
    }

    /// A value of an enum of the crate that the forward has made: made once more of what it holds, or what branches hand
    /// over, which nothing else reads.
    fn variant_operand(&mut self, id: NodeId, span: Span) -> Result<Arg> {
        let held = self.facts.variants.get(&id).map(|(_, held)| held.clone());
        match (self.graph.node(id).op.host().cloned(), held) {
            (Some(made @ (HostOp::Construct(_) | HostOp::Struct(_))), Some(held)) => {
                Ok(made.of(self.exact_operands(&held, span)?))
            }
            _ if !self.graph.has_users(id) => Ok(Arg::Node(id)),
            _ => unsupported(span, "code that mentions a value whose type is not known for sure"),
        }
    }

    /// The same of the elements of a list.
    pub(in crate::trace) fn exact_elements(&mut self, items: &[Val], span: Span) -> Result<Vec<Arg>> {
        Ok(with_one_suffix(self.exact_operands(&of_one_kind(items), span)?, items))
    }

    /// The same of several values.
    pub(in crate::trace) fn exact_operands(&mut self, values: &[Val], span: Span) -> Result<Vec<Arg>> {
        values.iter().map(|value| self.exact_operand(value, span)).collect()
    }

    /// A `Vec` of these operands; of an empty one the element's type says what it would hold, where that is known.
    pub(in crate::trace) fn vec_of(&self, operands: Vec<Arg>, element: &Ty) -> Arg {
        let is_said = operands.is_empty() && !is_untyped(element) && is_settled_within(element);
        match self.spelling(element).filter(|_| is_said) {
            Some(element) => HostOp::EmptyVec(element).of([]),
            None => HostOp::Vec.of(operands),
        }
    }

    /// What the user's list holds where the list of the graph holds handles: references.
    pub(in crate::trace) fn references_of(&self, list: NodeId) -> Arg {
        let referred = self.facts.handles_of(list).unwrap_or(list);
        HostOp::MapList.of([referred.into(), Arg::Path(ELEMENT.to_owned())])
    }

    /// A struct by its fields, as a literal.
    pub(in crate::trace) fn struct_operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        let Val::Fields(shape, parts) = value else { return unsupported(span, "a value that cannot be written down") };
        let ty = Ty::Struct(shape.owner);
        let fields = &self.index.structs[shape.owner].fields;
        let home = self.home();
        let is_read = fields.iter().all(|field| field.scope.as_ref().is_none_or(|scope| is_within(home, scope)));
        let Some(path) = self.spelling(&ty).filter(|path| is_read && !path.contains('<')) else {
            return unsupported(span, "a struct of the crate that cannot be made here");
        };
        let mut args = Vec::new();
        for (name, part) in shape.names.iter().zip(parts) {
            args.push(self.field_operand(part, &ty, name, span)?);
        }
        Ok(HostOp::Struct((path, shape.names.clone())).of(args))
    }

    /// The value of a field of a struct literal of type `owner`.
    pub(in crate::trace) fn field_operand(&mut self, value: &Val, owner: &Ty, member: &str, span: Span) -> Result<Arg> {
        let field = match owner {
            Ty::Struct(owner) => self.index.field(*owner, member),
            _ => None,
        };
        match value {
            Val::Lit(Arg::None, _) => Ok(Arg::None),
            // Generated code has a list in place of the array.
            Val::Node(_, Ty::List(_) | Ty::Option(_) | Ty::Tuple(_), _)
                if field.is_some_and(|field| holds_array(&field.ty)) =>
            {
                unsupported(span, format!("the array that the field `{member}` is given"))
            }
            Val::Node(_, Ty::Tensor, RefKind::Ref) if field.is_some_and(|field| owns(&field.ty)) => {
                Ok(HostOp::Handle.on(self.operand(value, span)?))
            }
            Val::List(items) if field.is_some_and(|field| is_vec(&field.ty)) => {
                let operands = self.exact_operands(items, span)?;
                let element = match (field, owner) {
                    (Some(field), Ty::Struct(owner)) if !holds_reference(&field.ty) => {
                        self.index.field_ty(*owner, field).element()
                    }
                    _ => Ty::Unknown,
                };
                Ok(self.vec_of(operands, &element))
            }
            value => self.operand_of_type(value, field.map(|field| &field.ty), span),
        }
    }

    /// The value where a type is written for it, which alone tells of what opaque code yields whether it is a reference.
    pub(in crate::trace) fn operand_of_type(&mut self, value: &Val, ty: Option<&syn::Type>, span: Span) -> Result<Arg> {
        match value {
            Val::Node(id, Ty::Tensor, RefKind::Value) if ty.is_some_and(|ty| !owns(ty)) => Ok(HostOp::Ref.on(*id)),
            Val::Node(id, Ty::Option(held), _)
                if **held == Ty::Tensor && ty.is_some_and(is_option_of_reference) && self.is_own_option(value) =>
            {
                Ok(HostOp::BorrowOption.on(*id))
            }
            _ => self.exact_operand(value, span),
        }
    }
}

/// A literal as an operand: a number of a known type says of which.
pub(in crate::trace) fn typed_literal(arg: &Arg, ty: &Ty) -> Arg {
    match (arg, ty) {
        (Arg::Int(_), Ty::Rust(name)) if scalar::is_integer(name) => HostOp::Literal(name.clone()).on(arg.clone()),
        (Arg::Float(_), Ty::Rust(name)) if scalar::is_float(name) => HostOp::Literal(name.clone()).on(arg.clone()),
        _ => arg.clone(),
    }
}

/// The elements of a list of numbers, of which the first that has a type says it of all.
fn with_one_suffix(mut args: Vec<Arg>, items: &[Val]) -> Vec<Arg> {
    let is_typed = |item: &Val| matches!(item, Val::Node(_, ty, _) if is_copy(ty) && !is_untyped(ty));
    let mut is_said = items.iter().any(is_typed);
    for arg in &mut args {
        if let Arg::Expr(expr) = &*arg
            && let (HostOp::Literal(_), [number]) = (&expr.op, expr.args.as_slice())
            && std::mem::replace(&mut is_said, true)
        {
            *arg = number.clone();
        }
    }
    args
}

/// Whether the type of what a `None` does not hold can be said.
fn is_said(held: &Ty) -> bool {
    is_settled_within(held) && !is_untyped(held) || matches!(held, Ty::Rust(name) if name == TENSOR_REFERENCE)
}

/// Whether a value of the type is no reference.
fn owns(ty: &syn::Type) -> bool {
    !matches!(ty, syn::Type::Reference(_))
}

/// The elements of a list that is written out: beside a reference to a tensor, each tensor is one.
fn of_one_kind(items: &[Val]) -> Vec<Val> {
    let refers = refers(items);
    let element = |item: &Val| match item {
        Val::Node(_, Ty::Tensor, RefKind::Value) if refers => item.clone().with_ref_kind(RefKind::Ref),
        item => item.clone(),
    };
    items.iter().map(element).collect()
}

/// Whether the list holds a reference to a tensor, and so nothing else.
fn refers(items: &[Val]) -> bool {
    items.iter().any(|item| matches!(item, Val::Node(_, Ty::Tensor, RefKind::Ref)))
}
