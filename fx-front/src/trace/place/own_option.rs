//! Options in variables that the forward writes to where what they hold lies: `state.as_mut().unwrap().key = k`,
//! `if let Some(sum) = &mut sum { *sum += ys }`.
//!
//! Such a variable is a place in a variable of the generated code's own, from where it is declared. To name the whole is to
//! move it, as in the user's code, which leaves nothing there; what only looks at it gets second handles on what it holds.

use std::rc::Rc;

use fx_ir::{Effect, HostOp};
use proc_macro2::Span;
use syn::{spanned::Spanned, visit::Visit};

use crate::syntax::{effects::is_mutator, peeled};
use crate::trace::types::ty::is_settled_within;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val, application,
    place::{Place, Root, is_plain},
    unsupported,
};

impl Tracer<'_> {
    /// The place that a variable is from where it is declared, if the function writes to parts of what it holds.
    pub(in crate::trace) fn own_option(&mut self, pat: &syn::Pat, value: Val, span: Span) -> Result<Val> {
        let syn::Pat::Ident(name) = pat else { return Ok(value) };
        let ty = value.ty();
        let is_written = |writes: Writes| writes_parts(&self.function().block, &name.ident, writes);
        let is_place = match &ty {
            Ty::Option(held) if name.mutability.is_some() => self.written_by(held).is_some_and(is_written),
            _ => false,
        };
        if !is_place {
            return Ok(value);
        }
        let operand = match &value {
            Val::Lit(fx_ir::Arg::None, Ty::Option(held)) => match self.spelling(held) {
                Some(held) => HostOp::NoneOf(held).of([]),
                None => return Ok(value),
            },
            Val::Node(id, Ty::Option(held), RefKind::Value) if self.is_own(&value) && !is_plain(held) => {
                HostOp::Use.on(*id)
            }
            Val::Node(_, _, RefKind::Value) if self.is_own(&value) => self.exact_operand(&value, span)?,
            Val::Some(_) => self.exact_operand(&value, span)?,
            _ => return Ok(value),
        };
        let (op, args) = application(operand);
        let root = self.host_node_with(Effect::Io, op, args, &name.ident.to_string(), ty.clone(), span);
        let place = Place { root, kind: Root::Own, projection: Vec::new(), ty, is_vec: false };
        Ok(Val::Place(Rc::new(place)))
    }

    /// What has to be done to an option of that type for its variable to be a place; `None` where it never is one.
    fn written_by(&self, held: &Ty) -> Option<Writes> {
        match held {
            Ty::Struct(_) if !self.is_module(held) => Some(Writes::InAnyWay),
            Ty::List(element) if is_nested(element) && !self.holds_module(element) => Some(Writes::InAnyWay),
            Ty::Tensor => Some(Writes::WhereMatched),
            Ty::Tuple(_) if is_plain(held) => Some(Writes::WhereMatched),
            _ => None,
        }
    }

    fn holds_module(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Option(inner) | Ty::List(inner) => self.holds_module(inner),
            Ty::Tuple(parts) => parts.iter().any(|part| self.holds_module(part)),
            other => self.is_module(other),
        }
    }

    /// The place that a variable is whose option the expression names as a whole.
    fn named_option(&self, expr: &syn::Expr) -> Option<Rc<Place>> {
        let syn::Expr::Path(path) = peeled(expr) else { return None };
        self.assigned_option(&path.path.get_ident()?.to_string())
    }

    /// `&option`: a second value, made of second handles; `None` for what is no such variable.
    pub(in crate::trace) fn borrowed_option(&mut self, expr: &syn::Expr) -> Result<Option<Val>> {
        let Some(place) = self.named_option(expr) else { return Ok(None) };
        let span = expr.span();
        let Some(copy) = self.copy_of(&place.ty, &place.object()) else {
            return unsupported(span, "a reference to an option that the forward writes to");
        };
        let (op, args) = application(copy);
        let value = self.on_place(&place, op, args, "looked_at", place.ty.clone(), span);
        Ok(Some(value.with_ref_kind(RefKind::Ref)))
    }

    /// A method that such a variable is not moved by; `None` for one that takes it by value, or is no method of one.
    pub(in crate::trace) fn looking_method(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        if self.named_option(&call.receiver).is_none() {
            return Ok(None);
        }
        match call.method.to_string().as_str() {
            "as_ref" | "as_deref" | "borrow" => self.borrowed_option(&call.receiver),
            "is_some" | "is_none" => Ok(None),
            name if takes_option(name) || is_mutator(name) => Ok(None),
            name => unsupported(call.span(), format!("the method `{name}` of an option that the forward writes to")),
        }
    }

    /// The whole of such a variable, which is moved out of it; `None` for any other place.
    pub(in crate::trace) fn moved_option(&mut self, place: &Place, name: &str, span: Span) -> Option<Val> {
        if !place.is_own_option() {
            return None;
        }
        let args = vec![HostOp::RefMut.on(place.target())];
        Some(self.on_place(place, HostOp::Exchange("take".to_owned()), args, name, place.ty.clone(), span))
    }

    /// The place that a variable of that name is, where an assignment to the variable writes to it.
    pub(in crate::trace) fn assigned_option(&self, name: &str) -> Option<Rc<Place>> {
        match self.env.read(name) {
            Some(Val::Place(place)) if place.is_own_option() => Some(Rc::clone(place)),
            _ => None,
        }
    }
}

impl Place {
    /// Whether it is an option in a variable of its own, as a whole.
    pub(in crate::trace) fn is_own_option(&self) -> bool {
        self.kind == Root::Own && self.projection.is_empty() && matches!(self.ty, Ty::Option(_))
    }
}

/// How code has to write to an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    /// By a `&mut` of any kind.
    InAnyWay,
    /// By the `&mut` that an `if let`, a `match` or an `unwrap` reaches through.
    WhereMatched,
}

/// Whether it is made of other lists, options, tuples or structs.
fn is_nested(element: &Ty) -> bool {
    matches!(element, Ty::Option(_) | Ty::List(_) | Ty::Tuple(_) | Ty::Struct(_)) && is_settled_within(element)
}

/// Whether the method takes an option by value.
fn takes_option(name: &str) -> bool {
    #[rustfmt::skip]
    let taking = [
        "unwrap", "expect", "map", "and_then", "filter", "or", "or_else", "and", "xor", "zip", "flatten", "ok_or",
        "ok_or_else", "is_some_and", "is_none_or", "into_iter",
    ];
    taking.contains(&name) || name.starts_with("unwrap_or") || name.starts_with("map_or")
}

/// Whether the code takes the option of that name by value, and does not only look at it or write to it where it lies.
pub(in crate::trace) fn moves_option(code: &syn::Expr, name: &str) -> bool {
    let mut find = Moves { name, found: false };
    find.visit_expr(code);
    find.found
}

/// Returns whether the expression is the variable of that name.
fn is_named<N: ?Sized>(name: &N, expr: &syn::Expr) -> bool
where
    syn::Ident: PartialEq<N>,
{
    matches!(peeled(expr), syn::Expr::Path(path) if path.path.is_ident(name))
}

struct Moves<'n> {
    name: &'n str,
    found: bool,
}

impl<'ast> Visit<'ast> for Moves<'_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Reference(borrowed) if is_named(self.name, &borrowed.expr) => {}
            syn::Expr::MethodCall(call) if is_named(self.name, &call.receiver) => {
                self.found |= takes_option(&call.method.to_string());
                call.args.iter().for_each(|arg| self.visit_expr(arg));
            }
            other => {
                self.found |= is_named(self.name, other);
                syn::visit::visit_expr(self, other);
            }
        }
    }
}

/// Whether the code borrows what the variable holds to write to it.
fn writes_parts(block: &syn::Block, name: &syn::Ident, writes: Writes) -> bool {
    let mut find = Find { name, writes, found: false };
    find.visit_block(block);
    find.found
}

struct Find<'n> {
    name: &'n syn::Ident,
    writes: Writes,
    found: bool,
}

impl Find<'_> {
    /// Notes what is matched, or unwrapped: `&mut option` and `option.as_mut()`, also in a tuple.
    fn matched(&mut self, subject: &syn::Expr) {
        if let syn::Expr::Tuple(parts) = peeled(subject) {
            return parts.elems.iter().for_each(|part| self.matched(part));
        }
        self.found |= match peeled(subject) {
            syn::Expr::Reference(borrowed) => borrowed.mutability.is_some() && is_named(self.name, &borrowed.expr),
            syn::Expr::MethodCall(call) => {
                let borrows = ["as_mut", "as_deref_mut", "borrow_mut"].iter().any(|name| call.method == name);
                borrows && is_named(self.name, &call.receiver)
            }
            _ => false,
        };
    }
}

impl<'ast> Visit<'ast> for Find<'_> {
    fn visit_expr_let(&mut self, condition: &'ast syn::ExprLet) {
        self.matched(&condition.expr);
        syn::visit::visit_expr_let(self, condition);
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        self.matched(&choice.expr);
        syn::visit::visit_expr_match(self, choice);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        match method.as_str() {
            "unwrap" | "expect" => self.matched(&call.receiver),
            "as_mut" | "as_deref_mut" | "borrow_mut" | "get_or_insert_with" | "get_or_insert" => {
                self.found |= self.writes == Writes::InAnyWay && is_named(self.name, &call.receiver);
            }
            _ => {}
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_reference(&mut self, borrowed: &'ast syn::ExprReference) {
        let is_written = self.writes == Writes::InAnyWay && borrowed.mutability.is_some();
        self.found |= is_written && is_named(self.name, &borrowed.expr);
        syn::visit::visit_expr_reference(self, borrowed);
    }
}
