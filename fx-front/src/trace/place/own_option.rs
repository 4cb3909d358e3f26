//! Options of structs in variables that the forward writes to in parts: `state.as_mut().unwrap().key = k`.
//!
//! Such a variable is a place in a variable of the generated code's own, from where it is declared. To name the whole is to
//! move it, as in the user's code, which leaves nothing there.

use std::rc::Rc;

use fx_ir::{Effect, HostOp};
use proc_macro2::Span;
use syn::visit::Visit;

use crate::syntax::peeled;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val, application,
    place::{Place, Root},
};

impl Tracer<'_> {
    /// The place that a variable is from where it is declared, if the function writes to parts of what it holds.
    pub(in crate::trace) fn own_option(&mut self, pat: &syn::Pat, value: Val, span: Span) -> Result<Val> {
        let syn::Pat::Ident(name) = pat else { return Ok(value) };
        let ty = value.ty();
        let is_of_struct = matches!(&ty, Ty::Option(held) if matches!(**held, Ty::Struct(_)) && !self.is_module(held));
        if !is_of_struct || name.mutability.is_none() || !writes_parts(&self.function().block, &name.ident) {
            return Ok(value);
        }
        let operand = match &value {
            Val::Lit(fx_ir::Arg::None, Ty::Option(held)) => match self.spelling(held) {
                Some(held) => HostOp::NoneOf(held).of([]),
                None => return Ok(value),
            },
            Val::Node(id, _, RefKind::Value) if self.is_own(&value) => HostOp::Use.on(*id),
            Val::Some(_) => self.exact_operand(&value, span)?,
            _ => return Ok(value),
        };
        let (op, args) = application(operand);
        let root = self.host_node_with(Effect::Io, op, args, &name.ident.to_string(), ty.clone(), span);
        let place = Place { root, kind: Root::Own, projection: Vec::new(), ty, is_vec: false };
        Ok(Val::Place(Rc::new(place)))
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
    fn is_own_option(&self) -> bool {
        self.kind == Root::Own && self.projection.is_empty() && matches!(self.ty, Ty::Option(_))
    }
}

/// Whether the code borrows what the variable holds to write to it.
fn writes_parts(block: &syn::Block, name: &syn::Ident) -> bool {
    struct Find<'n>(&'n syn::Ident, bool);
    impl Find<'_> {
        fn names_option(&self, expr: &syn::Expr) -> bool {
            matches!(peeled(expr), syn::Expr::Path(path) if path.path.is_ident(self.0))
        }
    }
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            let method = call.method.to_string();
            let borrows = matches!(method.as_str(), "as_mut" | "as_deref_mut" | "get_or_insert_with" | "get_or_insert");
            self.1 |= borrows && self.names_option(&call.receiver);
            syn::visit::visit_expr_method_call(self, call);
        }
        fn visit_expr_reference(&mut self, borrowed: &'ast syn::ExprReference) {
            self.1 |= borrowed.mutability.is_some() && self.names_option(&borrowed.expr);
            syn::visit::visit_expr_reference(self, borrowed);
        }
    }
    let mut find = Find(name, false);
    find.visit_block(block);
    find.1
}
