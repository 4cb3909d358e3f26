//! `ys += x`, on variables, on what is behind a `&mut`, and on parts of structs and tuples.

use fx_ir::{Arg, HostOp, Op, OpId};
use proc_macro2::Span;
use quote::ToTokens;
use syn::{BinOp, spanned::Spanned};

use crate::syntax::path_text;
use crate::trace::{
    Result, Tracer, Ty, Val,
    place::local_place::LocalPlace,
    tensor::operator::{self, tensor_ops},
    types::ty::is_copy,
    unsupported,
};

impl Tracer<'_> {
    /// `ys += x`: on a tensor that nobody else can see it is `ys = ys + x`.
    pub(in crate::trace) fn compound(&mut self, binary: &syn::ExprBinary) -> Result<Val> {
        if let Some(value) = self.own_compound(binary, &plain_operator(&binary.op))? {
            return Ok(value);
        }
        let left = match &*binary.left {
            // `*ys += x` behind a `&mut`.
            syn::Expr::Unary(inner) if matches!(inner.op, syn::UnOp::Deref(_)) => &inner.expr,
            _ => &binary.left,
        };
        let syn::Expr::Path(path) = &**left else {
            if let Some(place) = self.local_place(left) {
                return self.compound_local(binary, left, &place);
            }
            let known = self.compound_field(binary)?;
            return known.map_or_else(
                || unsupported(binary.left.span(), "an assignment to something other than a variable"),
                Ok,
            );
        };
        let name = path_text(&path.path);
        let Some(held) = self.env.read(&name).cloned() else {
            return unsupported(binary.left.span(), "an unknown variable");
        };
        if matches!(held, Val::Place(_)) {
            let known = self.compound_field(binary)?;
            return known.map_or_else(|| unsupported(binary.left.span(), "an assignment to a place of this form"), Ok);
        }
        let is_lent = matches!(held, Val::MutRef(..));
        let old = held.behind();
        if matches!(*binary.left, syn::Expr::Unary(_)) && !is_lent && !old.is_tensor() {
            return unsupported(binary.left.span(), "an assignment to something other than a variable");
        }
        let right = self.expr(&binary.right)?;
        let plain = plain_operator(&binary.op);
        if old.is_tensor() && !self.is_fresh(&old) {
            return self.compound_in_place(&binary.op, &old, &right, binary.span());
        }
        let value = self.arithmetic(&plain, old, right, binary.span())?;
        self.name_after(&name, &value);
        self.env.assign(&name, value);
        Ok(Val::Unit)
    }

    /// `state.step += 1`: the part is a number, or a tensor that others may see.
    fn compound_local(&mut self, binary: &syn::ExprBinary, left: &syn::Expr, place: &LocalPlace) -> Result<Val> {
        let (old, right) = (self.expr(left)?.behind(), self.expr(&binary.right)?);
        if old.is_tensor() {
            return self.compound_in_place(&binary.op, &old, &right, binary.span());
        }
        let value = self.arithmetic(&plain_operator(&binary.op), old, right, binary.span())?;
        self.set_local(place, value, binary.span()).map(|()| Val::Unit)
    }

    /// `ys += x` on a tensor that others may see.
    pub(in crate::trace) fn compound_in_place(
        &mut self,
        op: &BinOp,
        old: &Val,
        right: &Val,
        span: Span,
    ) -> Result<Val> {
        let Some([op, _]) = tensor_ops(&plain_operator(op)) else {
            return unsupported(span, "an operator of this form on tensors");
        };
        if right.ty() == Ty::Unknown {
            return unsupported(span, "an operand of a type that is not known");
        }
        let in_place = if right.is_tensor() { format!("g_{op}_") } else { format!("g_{op}_scalar_") };
        let Some(op) = OpId::of_method(&in_place) else {
            return unsupported(span, "an in-place operator of this form");
        };
        let right = self.scalar(right.clone(), span)?;
        let args: Option<Vec<Arg>> = [old, &right].into_iter().map(Val::arg).collect();
        let Some(args) = args else { return unsupported(span, "an operand of this form") };
        self.push(Op::Call(op), args, &in_place, Ty::Tensor, span);
        Ok(Val::Unit)
    }

    /// `self.step += 1`, on a number; `None` where the left side is none.
    pub(in crate::trace) fn compound_field(&mut self, binary: &syn::ExprBinary) -> Result<Option<Val>> {
        let right = self.expr(&binary.right)?;
        let Some(place) = self.place(&binary.left, true)? else { return Ok(None) };
        let span = binary.span();
        if place.ty == Ty::Tensor {
            let old = self.read_place(&place, "kept", span)?;
            return self.compound_in_place(&binary.op, &old, &right, span).map(Some);
        }
        if !is_copy(&place.ty) || !operator::is_number(&right) {
            return unsupported(span, "an operator on values of types that are not known");
        }
        let args = vec![place.target(), self.operand(&right, span)?];
        let op = HostOp::AssignOp(binary.op.to_token_stream().to_string());
        Ok(Some(self.on_place(&place, op, args, "kept", Ty::Tuple(Vec::new()), span)))
    }
}

fn plain_operator(op: &BinOp) -> BinOp {
    match op {
        BinOp::AddAssign(_) => BinOp::Add(syn::token::Plus::default()),
        BinOp::SubAssign(_) => BinOp::Sub(syn::token::Minus::default()),
        BinOp::MulAssign(_) => BinOp::Mul(syn::token::Star::default()),
        BinOp::DivAssign(_) => BinOp::Div(syn::token::Slash::default()),
        BinOp::RemAssign(_) => BinOp::Rem(syn::token::Percent::default()),
        BinOp::BitAndAssign(_) => BinOp::BitAnd(syn::token::And::default()),
        BinOp::BitOrAssign(_) => BinOp::BitOr(syn::token::Or::default()),
        BinOp::BitXorAssign(_) => BinOp::BitXor(syn::token::Caret::default()),
        BinOp::ShlAssign(_) => BinOp::Shl(syn::token::Shl::default()),
        BinOp::ShrAssign(_) => BinOp::Shr(syn::token::Shr::default()),
        other => *other,
    }
}
