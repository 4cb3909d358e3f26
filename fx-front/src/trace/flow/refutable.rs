//! Refutable patterns: what `match`, `if let` and `while let` ask for, as text in which `%n` is the n-th variable.

use quote::ToTokens;
use syn::spanned::Spanned;

use crate::index::Variant;
use crate::syntax::is_item;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    flow::pattern::{Binding, RefKinds},
    unsupported,
};

impl Tracer<'_> {
    /// A refutable pattern as text, with `%n` for the n-th variable that it binds; `part` is where in the matched value it
    /// stands.
    pub(in crate::trace) fn refutable(
        &mut self,
        pat: &syn::Pat,
        ty: &Ty,
        part: &str,
        forms: &RefKinds,
        bound: &mut Vec<Binding>,
    ) -> Result<String> {
        match pat {
            syn::Pat::Wild(_) => Ok("_".to_owned()),
            syn::Pat::Rest(_) => Ok("..".to_owned()),
            syn::Pat::Paren(inner) => self.refutable(&inner.pat, ty, part, forms, bound),
            syn::Pat::Reference(inner) => self.refutable(&inner.pat, ty, part, &RefKinds::All(RefKind::Value), bound),
            syn::Pat::Ident(ident) if ident.ident == "None" => Ok("None".to_owned()),
            syn::Pat::Ident(ident) if ident.subpat.is_none() && !is_item(&ident.ident.to_string()) => {
                named(ident, ty, part, forms, bound)
            }
            syn::Pat::Ident(ident) if ident.subpat.is_none() => self.variant_path(ty, &ident.ident.clone().into()),
            syn::Pat::Lit(_) | syn::Pat::Range(_) => Ok(pat.to_token_stream().to_string()),
            syn::Pat::Path(path) if path.qself.is_none() => self.variant_path(ty, &path.path),
            syn::Pat::Or(or) => {
                let cases: Result<Vec<String>> =
                    or.cases.iter().map(|case| self.refutable(case, ty, part, forms, bound)).collect();
                Ok(format!("({})", cases?.join(" | ")))
            }
            syn::Pat::Tuple(tuple) => {
                let parts = self.elements_of(tuple, ty, part, forms, bound)?;
                Ok(format!("({},)", parts.join(", ")))
            }
            syn::Pat::TupleStruct(inner) => self.variant(inner, ty, part, forms, bound),
            syn::Pat::Struct(inner) => self.struct_variant(inner, ty, part, forms, bound),
            syn::Pat::Slice(slice) => {
                let Ty::List(element) = ty else { return unsupported(slice.span(), "a pattern of this form") };
                let copied = is_copy(element) && forms.one() == RefKind::Value;
                let forms = RefKinds::All(if copied { RefKind::Value } else { RefKind::Ref });
                let parts: Result<Vec<String>> =
                    slice.elems.iter().map(|elem| self.refutable(elem, element, part, &forms, bound)).collect();
                Ok(format!("[{}]", parts?.join(", ")))
            }
            other => unsupported(other.span(), "a pattern of this form"),
        }
    }

    /// The elements of a tuple's pattern.
    fn elements_of(
        &mut self,
        tuple: &syn::PatTuple,
        ty: &Ty,
        part: &str,
        forms: &RefKinds,
        bound: &mut Vec<Binding>,
    ) -> Result<Vec<String>> {
        let types = if let Ty::Tuple(types) = ty { types.as_slice() } else { &[] };
        let mut parts = Vec::new();
        for (position, elem) in positions(&tuple.elems, types.len()) {
            let ty = types.get(position).cloned().unwrap_or(Ty::Unknown);
            parts.push(self.refutable(elem, &ty, &format!("{part}.{position}"), &forms.at(position), bound)?);
        }
        Ok(parts)
    }

    fn variant(
        &mut self,
        pat: &syn::PatTupleStruct,
        ty: &Ty,
        part: &str,
        forms: &RefKinds,
        bound: &mut Vec<Binding>,
    ) -> Result<String> {
        let name = pat.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let types = match ty {
            Ty::Option(inner) if name == "Some" => vec![(**inner).clone()],
            _ if matches!(name.as_str(), "Some" | "Ok" | "Err") => {
                return unsupported(pat.span(), format!("the pattern `{name}`"));
            }
            _ => self.variant_fields(ty, &name).into_iter().map(|(_, ty)| ty).collect(),
        };
        let mut parts = Vec::new();
        for (position, elem) in positions(&pat.elems, types.len()) {
            let ty = types.get(position).cloned().unwrap_or(Ty::Unknown);
            parts.push(self.refutable(elem, &ty, part, forms, bound)?);
        }
        let path = if name == "Some" { name } else { self.variant_path(ty, &pat.path)? };
        Ok(format!("{path}({})", parts.join(", ")))
    }

    /// `Mode::Scaled { factor, .. }`.
    fn struct_variant(
        &mut self,
        pat: &syn::PatStruct,
        ty: &Ty,
        part: &str,
        forms: &RefKinds,
        bound: &mut Vec<Binding>,
    ) -> Result<String> {
        let name = pat.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let types = self.variant_fields(ty, &name);
        let mut parts = Vec::new();
        for field in &pat.fields {
            let member = field.member.to_token_stream().to_string();
            let known = types.iter().find(|(name, _)| *name == member);
            let ty = known.map_or(Ty::Unknown, |(_, ty)| ty.clone());
            let place = if matches!(ty, Ty::Struct(_)) { format!("{part}.{member}") } else { part.to_owned() };
            parts.push(format!("{member}: {}", self.refutable(&field.pat, &ty, &place, forms, bound)?));
        }
        if pat.rest.is_some() {
            parts.push("..".to_owned());
        }
        Ok(format!("{} {{ {} }}", self.variant_path(ty, &pat.path)?, parts.join(", ")))
    }

    /// The path of a variant, also where a `use` makes its name stand alone.
    fn variant_path(&self, ty: &Ty, path: &syn::Path) -> Result<String> {
        if let (Some(name), Ty::Rust(of)) = (path.get_ident(), ty)
            && self.variants(ty).iter().any(|variant| *name == variant.name)
        {
            return self.qualified(&syn::parse_str(&format!("{of}::{name}")).unwrap_or_else(|_| path.clone()));
        }
        self.qualified(path)
    }

    /// The variants of an enum of the crate.
    pub(in crate::trace) fn variants(&self, ty: &Ty) -> &[Variant] {
        self.index.variants(ty).unwrap_or_default()
    }

    /// The fields of an enum's variant, or of the struct itself.
    fn variant_fields(&self, ty: &Ty, variant: &str) -> Vec<(String, Ty)> {
        if let Ty::Struct(id) = ty {
            let fields = self.index.structs[*id].fields.iter();
            return fields.map(|field| (field.name.clone(), self.index.field_ty(*id, field))).collect();
        }
        let module = match ty {
            Ty::Rust(spelling) => spelling.rsplit_once("::").map_or("", |(module, _)| module),
            _ => "",
        };
        let of = self.variants(ty).iter().find(|known| known.name == variant);
        let fields = of.into_iter().flat_map(|variant| &variant.fields);
        fields.map(|(name, field)| (name.clone(), self.index.ty(module, None, field))).collect()
    }

    /// Declares what a refutable pattern bound as parameters of the current region.
    pub(in crate::trace) fn declare_bound(
        &mut self,
        bound: Vec<Binding>,
        subject: Option<&str>,
        span: proc_macro2::Span,
    ) {
        for Binding { name, ty, part, form } in bound {
            let ir = self.index.ir_type(&ty);
            let path = subject.map(|subject| format!("{subject}{part}"));
            let origin = self.origin(span, path.as_deref().unwrap_or(&name));
            let id = self.graph.add_param(self.region, &name, ir, origin);
            if let Some(path) = path {
                self.facts.set_path(id, path);
            }
            self.env.declare(&name, Val::Node(id, ty, form));
        }
    }
}

/// The patterns of a tuple's elements, each with the place of its element; those behind `..` are counted from the end.
fn positions(
    elems: &syn::punctuated::Punctuated<syn::Pat, syn::Token![,]>,
    count: usize,
) -> impl Iterator<Item = (usize, &syn::Pat)> {
    let rest = elems.iter().position(|elem| matches!(elem, syn::Pat::Rest(_)));
    elems.iter().enumerate().map(move |(written, elem)| match rest {
        Some(rest) if written > rest => ((count + written).saturating_sub(elems.len()), elem),
        _ => (written, elem),
    })
}

/// A variable: a new one, or in another case of `a | b` the same again.
fn named(ident: &syn::PatIdent, ty: &Ty, part: &str, forms: &RefKinds, bound: &mut Vec<Binding>) -> Result<String> {
    if ident.by_ref.is_some() && ident.mutability.is_some() {
        return unsupported(ident.span(), "a `ref mut` pattern");
    }
    let name = ident.ident.to_string();
    if let Some(known) = bound.iter().position(|one| one.name == name) {
        return Ok(format!("%{known}"));
    }
    let form = if ident.by_ref.is_some() { RefKind::Ref } else { forms.one() };
    bound.push(Binding { name, ty: ty.clone(), part: part.to_owned(), form });
    Ok(format!("%{}", bound.len() - 1))
}
