//! The type of a path through fields and elements, and what the crate's methods that are called on one write to.

use fx_ir::Arg;
use quote::ToTokens;

use crate::syntax::{
    effects::{is_mutator, written},
    path_text, peeled,
};
use crate::trace::types::ty::{is_store, only_looks_at_store};
use crate::trace::{Tracer, Ty, Val};

impl Tracer<'_> {
    /// The type of a path through fields and elements.
    pub(in crate::trace) fn chain_ty(&self, expr: &syn::Expr) -> Ty {
        match peeled(expr) {
            syn::Expr::Path(path) if path.path.is_ident("self") => {
                let receiver = self.frames.last().and_then(|frame| frame.receiver.as_ref());
                receiver.map_or(Ty::Unknown, Val::ty)
            }
            syn::Expr::Path(path) => {
                self.env.read(&path_text(&path.path)).map_or(Ty::Unknown, |value| value.clone().behind().ty())
            }
            syn::Expr::Field(field) => match self.chain_ty(&field.base) {
                Ty::Struct(owner) => {
                    let name = field.member.to_token_stream().to_string();
                    let field = self.index.field(owner, &name);
                    field.map_or(Ty::Unknown, |field| self.index.field_ty(owner, field))
                }
                _ => Ty::Unknown,
            },
            syn::Expr::Index(index) => match self.chain_ty(&index.expr) {
                Ty::List(element) => *element,
                _ => Ty::Unknown,
            },
            _ => Ty::Unknown,
        }
    }

    /// Whether the call, of a method of the crate, may write to what it is called on.
    pub(in crate::trace) fn writes_by(&self, call: &syn::ExprMethodCall) -> bool {
        let name = call.method.to_string();
        match self.chain_ty(&call.receiver) {
            Ty::Unknown => self.index.fns.iter().any(|function| function.sig.ident == name && function.writes_self()),
            ty if is_store(&ty) => !only_looks_at_store(&name),
            Ty::Rust(owner) if owner.starts_with("::") => self.index.extern_writes(&owner, &name),
            ty => self.index.method(&ty, &name).is_some_and(|id| self.index.fns[id].writes_self()),
        }
    }

    /// Whether the method changes what it is called on, as far as is known.
    pub(in crate::trace) fn mutates(&self, call: &syn::ExprMethodCall) -> bool {
        is_mutator(&call.method.to_string()) || self.writes_by(call)
    }

    /// Whether the method may change what it is called on, or the tensor that it is called on, as names tell.
    pub(in crate::trace) fn may_write(&self, call: &syn::ExprMethodCall) -> bool {
        self.mutates(call) || call.method.to_string().ends_with('_')
    }

    /// The variables that the expression writes to.
    pub(in crate::trace) fn writes(&self, expr: &syn::Expr) -> Vec<String> {
        let mut names = written(expr, &|call| self.mutates(call) && !self.asks_known_option(call));
        // What is borrowed stays where it is, whatever is written there.
        names.retain(|name| match self.env.read(name) {
            Some(Val::Place(place)) => place.may_borrow_state() && takes(expr, name),
            _ => true,
        });
        names
    }

    /// Whether the call borrows what an option holds of which it is known that it holds nothing, or a place.
    fn asks_known_option(&self, call: &syn::ExprMethodCall) -> bool {
        let syn::Expr::Path(path) = peeled(&call.receiver) else { return false };
        let held = path.path.get_ident().and_then(|name| self.env.read(&name.to_string()));
        let is_known = match held {
            Some(Val::Lit(Arg::None, _)) => true,
            Some(Val::Some(held)) => matches!(**held, Val::Place(_)),
            _ => false,
        };
        is_known && (call.method == "as_mut" || call.method == "as_deref_mut")
    }
}

/// Whether the code takes what the variable of that name holds out of it.
fn takes(code: &syn::Expr, name: &str) -> bool {
    let is_take = |call: &syn::ExprMethodCall| call.method == "take";
    written(code, &is_take).iter().any(|written| written == name)
}
