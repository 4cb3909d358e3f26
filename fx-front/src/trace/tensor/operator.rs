//! Operators: tensor arithmetic becomes ops, everything else plain Rust over known values.

use fx_ir::{Arg, HostOp, Op, OpId, ops, scalar, scalar::is_of_tch};
use proc_macro2::Span;
use syn::{BinOp, spanned::Spanned};

use crate::syntax::yields_bool;
use crate::trace::std_model::method_type::is_text;
use crate::trace::types::ty::{NUMBER, is_copy, is_untyped};
use crate::trace::{RefKind, Result, Tracer, Ty, Val, tensor::const_fold, unsupported};

impl Tracer<'_> {
    pub(in crate::trace) fn unary(&mut self, unary: &syn::ExprUnary, value: Val) -> Result<Val> {
        match unary.op {
            syn::UnOp::Deref(_) if matches!(value, Val::MutRef(..)) => Ok(value.behind()),
            syn::UnOp::Deref(_) if matches!(value, Val::Place(_)) => self.read_variable(&value, "held", unary.span()),
            syn::UnOp::Deref(_) if value.ty() == Ty::Unknown && value.node().is_some() => {
                unsupported(unary.span(), "what is behind a value of a type that is not known")
            }
            syn::UnOp::Deref(_) => {
                let form = value.ref_kind().map_or(RefKind::Value, RefKind::behind);
                Ok(value.with_ref_kind(form))
            }
            syn::UnOp::Neg(_) => match value {
                Val::Lit(Arg::Int(number), ty) => Ok(Val::Lit(Arg::Int(-number), ty)),
                Val::Lit(Arg::Float(number), ty) => Ok(Val::Lit(Arg::Float(-number), ty)),
                value if value.is_tensor() => self.tensor_op(ops::NEG, &[value], unary.span()),
                value => self.host_unary(HostOp::Neg, &value, unary.span()),
            },
            syn::UnOp::Not(_) => match value {
                Val::Lit(Arg::Bool(known), ty) => Ok(Val::Lit(Arg::Bool(!known), ty)),
                value => self.host_unary(HostOp::Not, &value, unary.span()),
            },
            _ => unsupported(unary.span(), "an operator of this form"),
        }
    }

    fn host_unary(&mut self, op: HostOp, value: &Val, span: Span) -> Result<Val> {
        let args = vec![self.operand(value, span)?];
        Ok(self.host_node(op, args, "number", value.ty(), span))
    }

    pub(in crate::trace) fn arithmetic(&mut self, op: &BinOp, left: Val, right: Val, span: Span) -> Result<Val> {
        match (left.is_tensor(), right.is_tensor()) {
            (true, true) => match tensor_ops(op) {
                Some([op, _]) => self.tensor_op(op, &[left, right], span),
                None => unsupported(span, "an operator of this form on tensors"),
            },
            (true, false) => match (tensor_ops(op), is_number(&right) || is_tch_scalar(&right)) {
                (Some([_, op]), true) => {
                    let right = self.scalar(right, span)?;
                    self.tensor_op(op, &[left, right], span)
                }
                _ => unsupported(span, "a tensor and a value that is not known to be a number"),
            },
            (false, true) => self.number_first(op, left, right, span),
            (false, false) => self.host_binary(op, &left, &right, span),
        }
    }

    /// A number as tch's operators take it: widened, where it is a short one.
    pub(in crate::trace) fn scalar(&mut self, value: Val, span: Span) -> Result<Val> {
        let wide = match (&value, value.ty()) {
            (Val::Node(..), Ty::Rust(name)) if name == "f32" => "f64",
            (Val::Node(..), Ty::Rust(name)) if name == "i32" => "i64",
            _ => return Ok(value),
        };
        let args = vec![self.operand(&value, span)?];
        Ok(self.host_node(HostOp::From(wide.to_owned()), args, "number", Ty::Rust(wide.to_owned()), span))
    }

    /// `2 * x`, `1 - x` and `2 / x`.
    fn number_first(&mut self, op: &BinOp, left: Val, right: Val, span: Span) -> Result<Val> {
        if !is_number(&left) {
            return unsupported(span, "a tensor and a value that is not known to be a number");
        }
        let left = self.scalar(left, span)?;
        match op {
            BinOp::Add(_) => self.tensor_op(ops::ADD_SCALAR, &[right, left], span),
            BinOp::Mul(_) => self.tensor_op(ops::MUL_SCALAR, &[right, left], span),
            BinOp::Sub(_) => {
                let negated = self.tensor_op(ops::NEG, &[right], span)?;
                self.tensor_op(ops::ADD_SCALAR, &[negated, left], span)
            }
            // What tch computes: the power of minus one of the quotient.
            BinOp::Div(_) => {
                let divided = self.tensor_op(ops::DIV_SCALAR, &[right, left], span)?;
                self.tensor_op(ops::RECIPROCAL, &[divided], span)
            }
            _ => unsupported(span, "an operator of this form on a number and a tensor"),
        }
    }

    fn host_binary(&mut self, op: &BinOp, left: &Val, right: &Val, span: Span) -> Result<Val> {
        let sign = quote::ToTokens::to_token_stream(op).to_string();
        if let (Val::Lit(Arg::Int(a), ty), Val::Lit(Arg::Int(b), _)) = (left, right)
            && let Some(folded) = scalar::fold(&sign, *a, *b)
        {
            return Ok(match folded {
                Arg::Bool(_) => Val::Lit(folded, Ty::Rust("bool".to_owned())),
                _ => Val::Lit(folded, if is_untyped(ty) { right.ty() } else { ty.clone() }),
            });
        }
        if let Some(known) = const_fold::folded(&sign, left, right) {
            return Ok(known);
        }
        if matches!(op, BinOp::Eq(_) | BinOp::Ne(_)) && (self.is_variant(left, right) || self.is_variant(right, left)) {
            return self.host_compare(op, left, right, span);
        }
        if matches!(op, BinOp::Eq(_) | BinOp::Ne(_)) && is_list_of_numbers(left) && is_list_of_numbers(right) {
            return self.compare_lists(sign, [left, right], span);
        }
        if matches!(op, BinOp::Eq(_) | BinOp::Ne(_)) && is_text(&left.ty()) && is_text(&right.ty()) {
            return self.compare_texts(sign, [left, right], span);
        }
        let are_options = matches!(op, BinOp::Eq(_) | BinOp::Ne(_)) && may_hold_number(left) && may_hold_number(right);
        if !are_options && (!is_plain(left) || !is_plain(right)) {
            return unsupported(span, "an operator on values of types that are not known");
        }
        let left = &self.of_used_type(left.clone(), &right.ty());
        let right = &self.of_used_type(right.clone(), &left.ty());
        let args = vec![self.operand(left, span)?, self.operand(right, span)?];
        let compares = yields_bool(op);
        let shifts = matches!(op, BinOp::Shl(_) | BinOp::Shr(_));
        let number = if is_untyped(&left.ty()) && !shifts { right.ty() } else { left.ty() };
        let ty = if compares { Ty::Rust("bool".to_owned()) } else { number };
        Ok(self.host_node(HostOp::Binary(sign), args, if compares { "test" } else { "number" }, ty, span))
    }

    /// `xs.size() == [2, 3]`, of lists of whatever kind, as slices.
    fn compare_lists(&mut self, sign: String, lists: [&Val; 2], span: Span) -> Result<Val> {
        let mut args = Vec::new();
        for list in lists {
            args.push(HostOp::Slice("..".to_owned()).on(self.operand(list, span)?));
        }
        Ok(self.host_node(HostOp::Binary(sign), args, "test", Ty::Rust("bool".to_owned()), span))
    }

    /// `self.name == "relu"`, whether generated code has a `String`, a `&str` or a reference to one.
    fn compare_texts(&mut self, sign: String, texts: [&Val; 2], span: Span) -> Result<Val> {
        let mut args = Vec::new();
        for text in texts {
            let operand = self.operand(text, span)?;
            let is_literal = matches!(operand, Arg::Str(_));
            args.push(if is_literal { operand } else { HostOp::Slice("..".to_owned()).on(operand) });
        }
        Ok(self.host_node(HostOp::Binary(sign), args, "test", Ty::Rust("bool".to_owned()), span))
    }

    /// Whether the one is a value of an enum of the crate, and the other a path or another such value.
    fn is_variant(&self, value: &Val, other: &Val) -> bool {
        let Ty::Rust(spelling) = value.ty() else { return false };
        let is_enum = spelling.rsplit_once("::").is_some_and(|(module, name)| {
            let names = self.index.modules.get(module).map(|module| &module.names);
            matches!(names.and_then(|names| names.get(name)), Some(crate::index::Name::Enum(_)))
        });
        let is_alike = match other {
            Val::Lit(Arg::Path(_), _) => true,
            Val::Node(_, Ty::Rust(of), _) => *of == spelling || (is_of_tch(of) && is_of_tch(&spelling)),
            _ => false,
        };
        (is_enum || is_of_tch(&spelling)) && is_alike && matches!(value, Val::Node(..))
    }

    /// `xs.kind() != Kind::Float` and `self.mode == Mode::Plain`, whether generated code has the value itself or a reference to it.
    fn host_compare(&mut self, op: &BinOp, left: &Val, right: &Val, span: Span) -> Result<Val> {
        let mut side = |value: &Val| {
            let operand = self.operand(value, span)?;
            Ok(if value.node().is_some() { HostOp::Copied.on(operand) } else { operand })
        };
        let args = vec![side(left)?, side(right)?];
        let sign = quote::ToTokens::to_token_stream(op).to_string();
        Ok(self.host_node(HostOp::Binary(sign), args, "test", Ty::Rust("bool".to_owned()), span))
    }

    /// Was the tensor just made, with one variable and no node that reads it? Then writing to it is seen by nobody.
    pub(in crate::trace) fn is_fresh(&self, value: &Val) -> bool {
        let Val::Node(id, Ty::Tensor, _) = value else { return false };
        let made = self.graph.node(*id).op.makes_own_tensor();
        let names: usize = self.outer.iter().chain([&self.env]).map(|env| env.handles(value)).sum();
        let is_shared = names > 1 || self.graph.has_users(*id) || self.facts.is_shared(*id);
        made && self.runs_once_since(*id) && !is_shared
    }

    /// Whether no loop is entered between the node and here.
    fn runs_once_since(&self, id: fx_ir::NodeId) -> bool {
        let home = self.graph.region_of(id);
        let mut region = self.region;
        while Some(region) != home {
            let Some(owner) = self.graph.owner_of(region) else { return false };
            let outer = self.graph.scope_of(owner);
            match (&self.graph.node(owner).op, outer) {
                (Op::If | Op::Match(_), Some(outer)) => region = outer,
                _ => return false,
            }
        }
        true
    }

    /// An op of the table on these values.
    pub(in crate::trace) fn tensor_op(&mut self, op: OpId, operands: &[Val], span: Span) -> Result<Val> {
        let name = op.name();
        let args: Option<Vec<Arg>> = operands.iter().map(Val::arg).collect();
        match args {
            Some(args) => Ok(self.push(Op::Call(op), args, name.split('.').next().unwrap_or(name), Ty::Tensor, span)),
            None => unsupported(span, "an operand of this form"),
        }
    }
}

/// The op of two tensors, and that of a tensor and a number.
pub(in crate::trace) fn tensor_ops(op: &BinOp) -> Option<[OpId; 2]> {
    Some(match op {
        BinOp::Add(_) => [ops::ADD, ops::ADD_SCALAR],
        BinOp::Sub(_) => [ops::SUB, ops::SUB_SCALAR],
        BinOp::Mul(_) => [ops::MUL, ops::MUL_SCALAR],
        BinOp::Div(_) => [ops::DIV, ops::DIV_SCALAR],
        _ => return None,
    })
}

/// Whether it is a list of numbers of one type, which is known.
fn is_list_of_numbers(value: &Val) -> bool {
    let is_known = match value {
        Val::Node(..) => true,
        Val::List(items) => !items.is_empty(),
        _ => false,
    };
    is_known && matches!(value.ty(), Ty::List(inner) if is_copy(&inner))
}

/// Whether it is of a type on which Rust's operators have no effect.
fn is_plain(value: &Val) -> bool {
    is_copy(&value.ty()) || matches!(value, Val::Lit(..))
}

/// Whether it is an option of a number.
fn may_hold_number(value: &Val) -> bool {
    match value {
        Val::Some(held) => is_plain(held),
        Val::Lit(Arg::None, _) => true,
        other => matches!(other.ty(), Ty::Option(held) if is_copy(&held)),
    }
}

/// Whether it is tch's `Scalar`, a number that it has no operators for itself.
fn is_tch_scalar(value: &Val) -> bool {
    matches!(value, Val::Node(_, Ty::Rust(name), _) if name == NUMBER)
}

/// Whether it is a number, as far as is known.
pub(in crate::trace) fn is_number(value: &Val) -> bool {
    matches!(value, Val::Lit(Arg::Int(_) | Arg::Float(_) | Arg::Path(_), _)) || is_copy(&value.ty())
}
