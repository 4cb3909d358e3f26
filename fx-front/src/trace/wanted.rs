//! What the code around an expression says of its type: the type of a `let`, and what a function hands over.
//!
//! It goes down to where the value comes from: through blocks, the arms of an `if` or a `match`, `Ok`, `Some` and the
//! parts of a tuple. A value that says nothing of its own type, as an empty list does, has this one.

use std::collections::HashMap;

use fx_ir::{Arg, HostOp, NodeId};
use proc_macro2::Span;
use quote::ToTokens;

use super::{
    Result, Tracer, Ty, Val,
    expr::is_copy,
    merge::is_settled,
    signature::{holds_reference, is_vec, part_type, value_type},
};

/// A type that is written in the user's code.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    written: syn::Type,
    /// The function that it is written in.
    function: usize,
}

/// What is asked of the values that are traced.
#[derive(Debug, Default)]
pub(super) struct Wants {
    /// Of what is traced next.
    pub(super) next: Option<Wanted>,
    /// Of what the branches of a node hand over.
    of: HashMap<NodeId, Wanted>,
}

impl Wants {
    /// What is asked of what is traced next is asked of the branches of `owner`.
    pub(super) fn hand_to(&mut self, owner: NodeId) {
        match self.next.take() {
            Some(wanted) => self.of.insert(owner, wanted),
            None => self.of.remove(&owner),
        };
    }

    pub(super) fn of(&self, owner: NodeId) -> Option<Wanted> {
        self.of.get(&owner).cloned()
    }
}

impl Wanted {
    /// Of a part of a tuple.
    pub(super) fn part(&self, at: usize) -> Option<Wanted> {
        part_type(&self.written, at).map(|written| Wanted { written: written.clone(), function: self.function })
    }

    /// Of what is in an option.
    pub(super) fn held(&self) -> Option<Wanted> {
        let syn::Type::Path(path) = &self.written else { return None };
        let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
        let syn::PathArguments::AngleBracketed(list) = &last.arguments else { return None };
        let Some(syn::GenericArgument::Type(written)) = list.args.first() else { return None };
        Some(Wanted { written: written.clone(), function: self.function })
    }
}

impl Tracer<'_> {
    /// The type as it is written in the function that is being traced; none where it lends something.
    pub(super) fn written(&self, ty: &syn::Type) -> Option<Wanted> {
        let function = self.frames.last()?.function;
        (!holds_reference(ty)).then(|| Wanted { written: ty.clone(), function })
    }

    /// What the function that is being traced hands over.
    pub(super) fn wanted_of_function(&self) -> Option<Wanted> {
        let ty = value_type(&self.function().sig.output).filter(|_| self.closures == 0)?;
        self.written(ty)
    }

    pub(super) fn wanted_ty(&self, wanted: &Wanted) -> Ty {
        let function = &self.index.fns[wanted.function];
        self.index.ty(&function.module, function.owner.as_ref(), &wanted.written)
    }

    /// The type, where it is a number or a truth value.
    pub(super) fn wanted_number(&self, wanted: Option<&Wanted>) -> Option<Ty> {
        wanted.map(|wanted| self.wanted_ty(wanted)).filter(is_copy)
    }

    /// `Some(vec![a, b])`, where the code around it says that it is a `Vec`, and of what.
    pub(super) fn wanted_vec(&mut self, some: &Val, wanted: Option<&Wanted>) -> Result<Option<(Arg, Ty)>> {
        let Val::Some(inner) = some else { return Ok(None) };
        let held = wanted.and_then(Wanted::held).filter(|held| is_vec(&held.written));
        let (Val::List(items), Some(held)) = (&**inner, held) else { return Ok(None) };
        let ty = self.wanted_ty(&held);
        let Ty::List(element) = &ty else { return Ok(None) };
        let mut operands = Vec::new();
        for item in items {
            let item = self.of_written_type(item.clone(), element);
            operands.push(self.exact_operand(&item, Span::call_site())?);
        }
        let list = match self.spelling(element).filter(|_| is_settled(element)) {
            Some(element) if items.is_empty() => HostOp::EmptyVec(element).of([]),
            _ => HostOp::Vec.of(operands),
        };
        Ok(Some((HostOp::Some.on(list), Ty::Option(Box::new(ty)))))
    }

    /// What is asked of an expression, for the expressions in it that its value comes from.
    pub(super) fn hand_down(&mut self, expr: &syn::Expr, wanted: Option<&Wanted>) {
        self.wants.next = match expr {
            syn::Expr::If(_)
            | syn::Expr::Match(_)
            | syn::Expr::Block(_)
            | syn::Expr::Paren(_)
            | syn::Expr::Group(_)
            | syn::Expr::Tuple(_)
            | syn::Expr::Macro(_) => wanted.cloned(),
            syn::Expr::MethodCall(call) if call.method == "collect" => wanted.cloned(),
            syn::Expr::Call(call) if call.args.len() == 1 => match call.func.to_token_stream().to_string().as_str() {
                "Ok" => wanted.cloned(),
                "Some" => wanted.and_then(Wanted::held),
                _ => None,
            },
            _ => None,
        };
    }

    /// An expression on the way to the one that something is asked of.
    pub(super) fn expr_before(&mut self, expr: &syn::Expr) -> Result<Val> {
        let wanted = self.wants.next.take();
        let value = self.expr(expr);
        self.wants.next = wanted;
        value
    }

    /// The parts of a tuple, of each of which is asked what is asked of it there.
    pub(super) fn tuple_parts(&mut self, tuple: &syn::ExprTuple) -> Result<Vec<Val>> {
        let wanted = self.wants.next.take();
        let mut values = Vec::new();
        for (at, part) in tuple.elems.iter().enumerate() {
            self.wants.next = wanted.as_ref().and_then(|wanted| wanted.part(at));
            values.push(self.expr(part)?);
            if matches!(values.last(), Some(Val::Never)) {
                break;
            }
        }
        Ok(values)
    }
}
