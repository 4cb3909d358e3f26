//! What a trace knows of the code around an expression that is rewritten.

use proc_macro2::{Ident, Span};
use syn::{Block, Expr, Pat};

use crate::index::Resolved;
use crate::syntax::counters::indexes;
use crate::syntax::path_text;
use crate::trace::{Tracer, Ty, Val, desugar::Surroundings, types::expectation::gathers_vec};

impl Surroundings for Tracer<'_> {
    fn element_ty(&mut self, over: &Expr) -> Option<Ty> {
        let mark = self.checkpoint();
        let element = self.iterable(over).map(|(over, items)| match items {
            Some(items) => common_ty(&items),
            None => over.item,
        });
        self.rollback(mark);
        element.ok()
    }

    fn place_ty(&self, place: &Expr) -> Ty {
        self.chain_ty(place)
    }

    fn is_of_model(&self, list: &Expr) -> bool {
        match list {
            Expr::Field(field) => self.is_of_model(&field.base),
            Expr::Reference(inner) => self.is_of_model(&inner.expr),
            Expr::Path(path) if path.path.is_ident("self") => true,
            Expr::Path(path) => path
                .path
                .get_ident()
                .and_then(|name| self.env.read(&name.to_string()))
                .is_some_and(|value| self.path_of(value).is_some()),
            _ => false,
        }
    }

    fn may_mutate(&self, call: &syn::ExprMethodCall) -> bool {
        self.mutates(call)
    }

    fn error_leaves(&self) -> bool {
        self.errors_propagate()
    }

    fn collects_vec(&self) -> bool {
        self.expects_vec.unwrap_or_else(|| match &self.function().sig.output {
            syn::ReturnType::Type(_, ty) => gathers_vec(ty).unwrap_or(true),
            syn::ReturnType::Default => false,
        })
    }

    fn number_ty(&self, start: &Expr, pat: &Pat, body: &Block) -> Option<syn::Type> {
        let ty = match (start, pat) {
            (Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }), _) if !number.suffix().is_empty() => {
                number.suffix().to_owned()
            }
            (Expr::Lit(_), Pat::Ident(name)) if indexes(body, &name.ident) => "usize".to_owned(),
            (Expr::Lit(_), Pat::Ident(name)) => match self.counter_ty(body, &name.ident)? {
                Ty::Rust(ty) => ty,
                _ => return None,
            },
            (start, _) => match self.infer_ty(start) {
                Ty::Rust(ty) => ty,
                _ => return None,
            },
        };
        // A position is a number of each of these, however long the list is.
        let is_wide = matches!(ty.as_str(), "usize" | "i64" | "u64" | "isize" | "i32" | "u32");
        syn::parse_str(&ty).ok().filter(|_| is_wide)
    }

    fn external(&self, path: &syn::Path) -> Option<String> {
        match self.index.resolve(self.module(), &path_text(path)) {
            Resolved::External(full) => Some(full),
            Resolved::Item(..) => None,
        }
    }

    fn new_name(&mut self, what: &str, span: Span) -> Ident {
        self.fresh_name(what, span)
    }
}

/// The type of values that are all of one.
fn common_ty(values: &[Val]) -> Ty {
    let first = values.first().map_or(Ty::Unknown, Val::ty);
    if values.iter().all(|value| value.ty() == first) { first } else { Ty::Unknown }
}
