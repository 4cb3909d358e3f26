//! Chains that code puts other layers into when their struct is made already.

use quote::ToTokens;
use syn::visit::Visit;

use super::{extended::in_one, read::Reader, unread::Unread};
use crate::index::{Function, Index, Ty};
use crate::syntax::effects::is_mutator;
use fx_ir::catalog::ChainMethod;

/// The first code of the crate that may write to the field of such a struct, behind the literal that makes the struct.
pub(super) fn written(index: &Index, owner: usize, field: &str) -> Option<Unread> {
    (0..index.fns.len()).find_map(|id| {
        let function = &index.fns[id];
        let mut find = Find { index, id, owner, field, lends: lends(function), found: None };
        let is_made = |path: &syn::Path| super::type_of(index, super::Impl::of(function), path) == Ty::Struct(owner);
        find.visit_block(&in_one(&function.block, field, &is_made));
        find.found.map(|(code, span)| Unread::Code(code, function.place(span)))
    })
}

/// Whether the function is lent something that it may write to.
fn lends(function: &Function) -> bool {
    function.sig.inputs.iter().any(|input| match input {
        syn::FnArg::Receiver(receiver) => receiver.mutability.is_some(),
        syn::FnArg::Typed(typed) => {
            matches!(&*typed.ty, syn::Type::Reference(reference) if reference.mutability.is_some())
        }
    })
}

struct Find<'a> {
    index: &'a Index,
    id: usize,
    owner: usize,
    field: &'a str,
    /// Whether what it takes apart may be lent to it.
    lends: bool,
    found: Option<(String, proc_macro2::Span)>,
}

impl Find<'_> {
    fn note(&mut self, code: &impl ToTokens, span: proc_macro2::Span) {
        let text = code.to_token_stream().to_string().replace(" . ", ".").replace("& mut", "&mut");
        self.found.get_or_insert_with(|| (format!("`{text}`"), span));
    }

    /// Whether the place is the field, or in it, of what may be such a struct.
    fn is_field(&self, place: &syn::Expr) -> bool {
        match place {
            syn::Expr::Paren(inner) => self.is_field(&inner.expr),
            syn::Expr::Unary(inner) => self.is_field(&inner.expr),
            syn::Expr::Index(item) => self.is_field(&item.expr),
            syn::Expr::Reference(inner) => self.is_field(&inner.expr),
            syn::Expr::MethodCall(call) => is_mutator(&call.method.to_string()) && self.is_field(&call.receiver),
            syn::Expr::Field(field) if field.member.to_token_stream().to_string() == self.field => {
                let base = Reader::of(self.index, self.id, &[]).struct_of(&field.base);
                // A part of a tuple has such a name too.
                let is_name = self.field.starts_with(|first: char| !first.is_ascii_digit());
                base.map_or(is_name, |base| base == Ty::Struct(self.owner))
            }
            syn::Expr::Field(field) => self.is_field(&field.base),
            _ => false,
        }
    }
}

impl<'ast> Visit<'ast> for Find<'_> {
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        if self.is_field(&assign.left) {
            self.note(&assign.left, assign.eq_token.span);
        }
        syn::visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        if reference.mutability.is_some() && self.is_field(&reference.expr) {
            self.note(reference, reference.and_token.span);
        }
        syn::visit::visit_expr_reference(self, reference);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if (is_mutator(&name) || ChainMethod::of_name(&name).is_some()) && self.is_field(&call.receiver) {
            self.found.get_or_insert_with(|| (format!("`.{name}(..)`"), call.method.span()));
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    /// `let Net { seq, .. } = self;` binds a reference to the field, where `self` is one.
    fn visit_pat_struct(&mut self, pat: &'ast syn::PatStruct) {
        let function = &self.index.fns[self.id];
        let binds = |field: &syn::FieldPat| field.member.to_token_stream().to_string() == self.field;
        let is_owner = || super::type_of(self.index, super::Impl::of(function), &pat.path) == Ty::Struct(self.owner);
        if let Some(field) = pat.fields.iter().find(|field| self.lends && binds(field) && is_owner()) {
            self.note(&field.pat, pat.brace_token.span.open());
        }
        syn::visit::visit_pat_struct(self, pat);
    }
}
