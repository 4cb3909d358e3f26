//! Patterns: what `let`, `match`, `if let` and `for` bind.

use std::rc::Rc;

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

use crate::syntax::is_item;
use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, unsupported};

/// One variable that a pattern binds to a part of a value.
pub(in crate::trace) struct Binding {
    pub(in crate::trace) name: String,
    pub(in crate::trace) ty: Ty,
    /// The part of the matched value that it is: `.1` of a tuple.
    pub(in crate::trace) part: String,
    /// Whether the user's variable owns it.
    pub(in crate::trace) form: RefKind,
}

impl Tracer<'_> {
    /// Binds the variables of an irrefutable pattern.
    pub(in crate::trace) fn bind(&mut self, pat: &syn::Pat, value: Val) -> Result<()> {
        match pat {
            syn::Pat::Ident(ident) => {
                if ident.subpat.is_some() || is_item(&ident.ident.to_string()) {
                    return unsupported(ident.span(), "a pattern of this form");
                }
                let value = if ident.by_ref.is_some() { value.with_ref_kind(RefKind::Ref) } else { value };
                if matches!(value, Val::MutRef(..)) {
                    return unsupported(ident.span(), "a second name for what is written to");
                }
                let name = ident.ident.to_string();
                self.name_after(&name, &value);
                self.env.declare(&name, value);
                Ok(())
            }
            syn::Pat::Type(typed) => {
                let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &typed.ty);
                let value = match value {
                    Val::Node(id, Ty::Unknown, _) if ty == Ty::Tensor => Val::Node(id, ty, written_kind(&typed.ty)),
                    Val::Node(id, Ty::Unknown, form) => Val::Node(id, ty, form),
                    other => self.of_written_type(other, &ty),
                };
                self.bind(&typed.pat, value)
            }
            syn::Pat::Reference(inner) => {
                let value = self.read_variable(&value, "copied", inner.span())?;
                if matches!(value, Val::Place(_)) {
                    return unsupported(inner.span(), "a pattern that copies parts of what is lent");
                }
                let form = value.ref_kind().map_or(RefKind::Value, RefKind::behind);
                self.bind(&inner.pat, value.with_ref_kind(form))
            }
            syn::Pat::Paren(inner) => self.bind(&inner.pat, value),
            syn::Pat::Wild(_) => Ok(()),
            syn::Pat::Tuple(tuple) => self.bind_parts(tuple, &value),
            syn::Pat::Struct(fields) => self.bind_fields(fields, &value),
            syn::Pat::Slice(slice) => self.bind_items(slice, &value),
            syn::Pat::TupleStruct(parts) if matches!(value.ty(), Ty::Struct(_)) => {
                let count = match value.ty() {
                    Ty::Struct(id) => self.index.structs[id].fields.len(),
                    _ => 0,
                };
                for (position, pat) in placed(&parts.elems, count) {
                    let part = self.field_of(&value, &position.to_string(), pat.span())?;
                    self.bind(pat, borrowed_like(part, &value))?;
                }
                Ok(())
            }
            syn::Pat::TupleStruct(state) if state.elems.len() == 1 => {
                let Some(tensors) = self.tensors_of_state(&value, state.span()) else {
                    return unsupported(state.span(), "a pattern of this form");
                };
                self.bind(&state.elems[0], tensors)
            }
            other => unsupported(other.span(), "a pattern of this form"),
        }
    }

    /// `let [a, .., b] = list`: the elements of an array.
    fn bind_items(&mut self, slice: &syn::PatSlice, value: &Val) -> Result<()> {
        let rest = slice.elems.iter().position(is_rest);
        let known = if let Val::List(items) = value { Some(items.len()) } else { None };
        let count = known.unwrap_or(slice.elems.len());
        for (position, pat) in placed(&slice.elems, count) {
            let item = match rest {
                Some(rest) if known.is_none() && position > rest => {
                    self.item_from_end(value, slice.elems.len() - position, pat.span())?
                }
                _ => self.array_part(value, position, pat.span())?,
            };
            self.bind(pat, item)?;
        }
        Ok(())
    }

    /// The element of an array at so many places from its end.
    fn item_from_end(&mut self, list: &Val, left: usize, span: Span) -> Result<Val> {
        let Val::Node(_, Ty::List(element), _) = list else { return unsupported(span, "a pattern of this form") };
        let (name, left) = (self.fresh_name("list", span), proc_macro2::Literal::usize_unsuffixed(left));
        let item: syn::Expr = if is_copy(element) {
            syn::parse_quote_spanned!(span=> #name[#name.len() - #left])
        } else {
            syn::parse_quote_spanned!(span=> &#name[#name.len() - #left])
        };
        self.with_variables(&[(name.to_string(), list.clone())], |tracer| tracer.expr(&item))
    }

    fn bind_parts(&mut self, tuple: &syn::PatTuple, value: &Val) -> Result<()> {
        let count = match value.ty() {
            Ty::Tuple(parts) => parts.len(),
            _ if tuple.elems.iter().any(is_rest) => return unsupported(tuple.span(), "`..` in a tuple pattern"),
            _ => tuple.elems.len(),
        };
        for (position, pat) in placed(&tuple.elems, count) {
            let part = self.tuple_part(value, position, pat.span())?;
            self.bind(pat, borrowed_like(part, value))?;
        }
        Ok(())
    }

    fn bind_fields(&mut self, pat: &syn::PatStruct, value: &Val) -> Result<()> {
        for field in &pat.fields {
            let syn::Member::Named(name) = &field.member else {
                return unsupported(field.span(), "a pattern of this form");
            };
            let part = self.field_of(value, &name.to_string(), name.span())?;
            self.bind(&field.pat, borrowed_like(part, value))?;
        }
        Ok(())
    }

    /// A field as a pattern binds it: of what is borrowed it is borrowed too.
    fn field_of(&mut self, whole: &Val, name: &str, span: Span) -> Result<Val> {
        match whole {
            Val::Place(place) => Ok(Val::Place(Rc::new(self.part_of(place, name, span)?))),
            whole => self.field(whole, name, span),
        }
    }
}

fn is_rest(pat: &syn::Pat) -> bool {
    matches!(pat, syn::Pat::Rest(_))
}

/// What a pattern of so many parts binds, each with its position: behind `..` it is counted from the end.
fn placed(pats: &Punctuated<syn::Pat, syn::Token![,]>, count: usize) -> impl Iterator<Item = (usize, &syn::Pat)> {
    let rest = pats.iter().position(is_rest);
    let shift = move |at: usize| match rest {
        // A `..` that stands for nothing takes a place of the pattern all the same.
        Some(rest) if at > rest => (at + count).saturating_sub(pats.len()),
        _ => at,
    };
    pats.iter()
        .enumerate()
        .filter(|(_, pat)| !is_rest(pat) && !matches!(pat, syn::Pat::Wild(_)))
        .map(move |(at, pat)| (shift(at), pat))
}

/// How a variable of the type holds a tensor.
fn written_kind(ty: &syn::Type) -> RefKind {
    match ty {
        syn::Type::Reference(reference) => written_kind(&reference.elem).borrowed(),
        syn::Type::Paren(inner) => written_kind(&inner.elem),
        _ => RefKind::Value,
    }
}

/// A part of what is behind a reference is bound by reference.
fn borrowed_like(part: Val, whole: &Val) -> Val {
    if matches!(whole, Val::Node(_, _, RefKind::Ref)) { part.with_ref_kind(RefKind::Ref) } else { part }
}
