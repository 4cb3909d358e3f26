//! Operators on types of the crate's: `a * b` is a call of the function that its `impl Mul` has.

use syn::{BinOp, Expr, UnOp, parse_quote_spanned, spanned::Spanned};

use crate::index::{Function, Resolved};
use crate::syntax::written_types::{is_reference_type, typed_params};
use crate::trace::types::ty::is_untyped;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    asked::base,
    tensor::operator_trait::{trait_of_operator, trait_of_unary},
};

/// An operand: what it is, and whether it is a reference, where its form tells.
pub(super) struct Operand {
    pub(super) ty: Ty,
    pub(super) is_reference: Option<bool>,
    pub(super) is_literal: bool,
}

impl Operand {
    pub(super) fn of(expr: &Expr, value: &Val) -> Operand {
        let ty = value.clone().behind().ty();
        Operand { ty, is_reference: is_reference(expr), is_literal: is_literal(expr) }
    }

    /// Whether it is of that type, which is or is not a reference.
    fn fits(&self, ty: &Ty, is_reference: bool) -> bool {
        let is_number = matches!((&self.ty, ty), (Ty::Rust(open), Ty::Rust(known))
            if open == "float" && known.starts_with('f') || open == "integer" && fx_ir::scalar::is_integer(known));
        (self.ty == *ty || is_untyped(&self.ty) && is_number)
            && self.is_reference.is_none_or(|known| known == is_reference)
    }
}

impl Tracer<'_> {
    /// `-value`, `!value` and `*value`.
    pub(in crate::trace) fn unary_expr(&mut self, unary: &syn::ExprUnary) -> Result<Val> {
        let value = self.expr(base(&unary.expr))?;
        if let UnOp::Deref(_) = unary.op {
            let is_own = value.ref_kind() == Some(RefKind::Value) && self.derefs(&value.ty());
            let behind = if is_own { self.dereferenced(&value, unary.span()) } else { None };
            return behind.unwrap_or_else(|| self.unary(unary, value));
        }
        let operand = Operand::of(&unary.expr, &value);
        match trait_of_unary(&unary.op).and_then(|name| self.operator_of(name, &operand, None)) {
            Some(id) => self.inline(id, Some(value), Vec::new(), unary.span()),
            None => self.unary(unary, value),
        }
    }

    /// `left + right`, where one of them is of a type of the crate's that has the operator; `None` for any other.
    pub(in crate::trace) fn own_binary(
        &mut self,
        binary: &syn::ExprBinary,
        left: &Val,
        right: &Val,
    ) -> Option<Result<Val>> {
        let (one, other) = (Operand::of(&binary.left, left), Operand::of(&binary.right, right));
        let id = self.operator_of(trait_of_operator(&binary.op)?, &one, Some(&other))?;
        let left = self.of_operand_type(id, left.clone());
        Some(self.inline(id, Some(left), vec![right.clone()], binary.span()))
    }

    /// `left += right`, where `left` is of a type of the crate's that has the operator; `None` for any other.
    pub(in crate::trace) fn own_compound(&mut self, binary: &syn::ExprBinary, plain: &BinOp) -> Result<Option<Val>> {
        let Some(name) = trait_of_operator(plain).map(|name| format!("{name}Assign")) else { return Ok(None) };
        let held = self.local_place(&binary.left).and_then(|place| self.held(&place).cloned());
        let ty = held.map_or_else(|| self.chain_ty(&binary.left), |held| held.behind().ty());
        if !matches!(ty, Ty::Struct(_)) {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let right = self.handed_on(&binary.right)?;
        // What is written to is no reference to the type, whatever leads to it.
        let written = Operand { ty, is_reference: Some(false), is_literal: false };
        let Some(id) = self.operator_of(&name, &written, Some(&Operand::of(&binary.right, &right))) else {
            self.rollback(mark);
            return Ok(None);
        };
        let (left, right_expr) = (&binary.left, &binary.right);
        let method = &self.index.fns[id].sig.ident;
        let call: syn::ExprMethodCall = parse_quote_spanned!(binary.span()=> (#left).#method(#right_expr));
        let left = self.expr(base(left))?.behind();
        let receiver = self.receiver_of(id, left, &call)?;
        self.inline(id, Some(receiver), vec![right], binary.span()).map(Some)
    }

    /// `value[at]`, where the value is of a type of the crate's that has the operator; `None` for any other.
    pub(in crate::trace) fn own_index(&mut self, index: &syn::ExprIndex, value: &Val, at: &Val) -> Option<Result<Val>> {
        let indexed = Operand { ty: value.ty(), is_reference: None, is_literal: false };
        let id = self.operator_of("Index", &indexed, Some(&Operand::of(&index.index, at)))?;
        Some(self.inline(id, Some(value.clone()), vec![at.clone()], index.span()))
    }

    /// The only function of the crate that the operator of such a trait may mean on these operands.
    fn operator_of(&self, name: &str, left: &Operand, right: Option<&Operand>) -> Option<usize> {
        if left.ty == Ty::Unknown || right.is_some_and(|right| right.ty == Ty::Unknown) {
            return None;
        }
        let fits = |function: &Function| {
            let own = function.owner.as_ref()?;
            let is_std = !matches!(self.index.resolve(&function.module, name), Resolved::Item(..));
            let takes = typed_params(&function.sig).next();
            let ty = |ty: &syn::Type| self.index.ty(&function.module, function.owner.as_ref(), ty);
            let is_left = left.fits(&ty(own), matches!(own, syn::Type::Reference(_)));
            let is_right = match (right, takes) {
                (Some(right), Some(param)) => right.fits(&ty(&param.ty), is_reference_type(&param.ty, own)),
                (right, takes) => right.is_none() && takes.is_none(),
            };
            (is_std && is_left && is_right).then_some(())
        };
        let of_trait = self.index.fns.iter().enumerate().filter(|(_, one)| one.of_trait.as_deref() == Some(name));
        let mut found = of_trait.filter(|(_, one)| fits(one).is_some()).map(|(id, _)| id);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// A literal in front of an operator as a number of the type that has the operator.
    fn of_operand_type(&mut self, id: usize, value: Val) -> Val {
        let function = &self.index.fns[id];
        match &function.owner {
            Some(owner) if is_untyped(&value.ty()) => {
                let ty = self.index.ty(&function.module, None, owner);
                self.of_written_type(value, &ty)
            }
            _ => value,
        }
    }
}

/// Whether the expression yields a reference; `None` where its form does not tell.
fn is_reference(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Paren(inner) => is_reference(&inner.expr),
        Expr::Reference(_) => Some(true),
        Expr::Binary(_) | Expr::Struct(_) | Expr::Lit(_) => Some(false),
        Expr::Unary(unary) => (!matches!(unary.op, UnOp::Deref(_))).then_some(false),
        _ => None,
    }
}

/// Whether it is a literal, with a sign or without.
fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(inner) => is_literal(&inner.expr),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_literal(&unary.expr),
        expr => matches!(expr, Expr::Lit(_)),
    }
}
