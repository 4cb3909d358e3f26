//! Refutable patterns: what `match`, `if let` and `while let` ask for, and what a `for` takes apart.

use fx_ir::Pattern;
use fx_ir::host::eval::{FloatType, IntType};
use fx_ir::pattern::{Elements, Literal, RangePattern, StructPattern};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

use crate::index::Variant;
use crate::syntax::is_item;
use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, RefKinds, Result, Tracer, Ty, Val, flow::pattern::Binding, unsupported};

/// What is matched: a value of a type, at a place of the whole, whose parts are bound in these ways.
struct Subject<'s> {
    ty: &'s Ty,
    part: &'s str,
    forms: &'s RefKinds,
}

impl Tracer<'_> {
    /// A pattern on a value of that type, whose parts are bound in these ways, and what it binds.
    pub(in crate::trace) fn refutable(
        &mut self,
        pat: &syn::Pat,
        ty: &Ty,
        forms: &RefKinds,
    ) -> Result<(Pattern, Vec<Binding>)> {
        let mut bound = Vec::new();
        // A text is matched as what it derefs to.
        let text = Ty::Rust("str".to_owned());
        let ty = if matches!(ty, Ty::Rust(name) if name == "String") { &text } else { ty };
        let pattern = self.pattern(pat, &Subject { ty, part: "", forms }, &mut bound)?;
        Ok((pattern, bound))
    }

    fn pattern(&mut self, pat: &syn::Pat, of: &Subject<'_>, bound: &mut Vec<Binding>) -> Result<Pattern> {
        Ok(match pat {
            syn::Pat::Wild(_) => Pattern::Wild,
            syn::Pat::Paren(inner) => self.pattern(&inner.pat, of, bound)?,
            syn::Pat::Reference(inner) => {
                let forms = &RefKinds::All(of.forms.one().behind());
                self.pattern(&inner.pat, &Subject { forms, ..*of }, bound)?
            }
            syn::Pat::Ident(ident) if ident.ident == "None" => Pattern::None,
            syn::Pat::Ident(ident) if ident.subpat.is_none() && !is_item(&ident.ident.to_string()) => {
                named(ident, of, bound)?
            }
            syn::Pat::Ident(ident) if ident.subpat.is_none() => {
                Pattern::Literal(Literal::Path(self.variant_path(of.ty, &ident.ident.clone().into())?))
            }
            syn::Pat::Lit(literal) => Pattern::Literal(literal_of(&literal.lit, false)?),
            syn::Pat::Range(range) => {
                let end = |end: &Option<Box<syn::Expr>>| end.as_ref().map(|end| self.constant_of(end)).transpose();
                let (start, end) = (end(&range.start)?, end(&range.end)?);
                let inclusive = !matches!(range.limits, syn::RangeLimits::HalfOpen(_));
                Pattern::Range(Box::new(RangePattern { start, end, inclusive }))
            }
            syn::Pat::Path(path) if path.qself.is_none() => {
                let is_none = path.path.segments.last().is_some_and(|last| last.ident == "None");
                if is_none && matches!(of.ty, Ty::Option(_)) {
                    return Ok(Pattern::None);
                }
                Pattern::Literal(Literal::Path(self.variant_path(of.ty, &path.path)?))
            }
            syn::Pat::Or(or) => {
                Pattern::Or(or.cases.iter().map(|case| self.pattern(case, of, bound)).collect::<Result<_>>()?)
            }
            syn::Pat::Tuple(tuple) => {
                let types = if let Ty::Tuple(types) = of.ty { types.as_slice() } else { &[] };
                let part = |position: usize| (format!("{}.{position}", of.part), of.forms.at(position));
                Pattern::Tuple(self.elements_of(&tuple.elems, types, &part, bound)?)
            }
            syn::Pat::TupleStruct(inner) => self.variant(inner, of, bound)?,
            syn::Pat::Struct(inner) => self.struct_variant(inner, of, bound)?,
            syn::Pat::Slice(slice) => {
                let Ty::List(element) = of.ty else { return unsupported(slice.span(), "a pattern of this form") };
                let copied = is_copy(element) && of.forms.one() == RefKind::Value;
                let forms = RefKinds::All(if copied { RefKind::Value } else { RefKind::Ref });
                let types = vec![(**element).clone(); slice.elems.len()];
                let part = |_| (of.part.to_owned(), forms.clone());
                Pattern::Slice(self.elements_of(&slice.elems, &types, &part, bound)?)
            }
            other => return unsupported(other.span(), "a pattern of this form"),
        })
    }

    /// The patterns of elements of these types; `part` is the place of an element, and how its parts are bound.
    fn elements_of(
        &mut self,
        elems: &Punctuated<syn::Pat, syn::Token![,]>,
        types: &[Ty],
        part: &dyn Fn(usize) -> (String, RefKinds),
        bound: &mut Vec<Binding>,
    ) -> Result<Elements> {
        let mut elements = Elements::default();
        for (written, elem) in elems.iter().enumerate() {
            if matches!(elem, syn::Pat::Rest(_)) {
                elements.rest = Some(written);
                continue;
            }
            // Those behind `..` are counted from the end.
            let behind = elements.rest.is_some();
            let position = if behind { (types.len() + written).saturating_sub(elems.len()) } else { written };
            let ty = types.get(position).unwrap_or(&Ty::Unknown);
            let (part, forms) = part(position);
            elements.items.push(self.pattern(elem, &Subject { ty, part: &part, forms: &forms }, bound)?);
        }
        Ok(elements)
    }

    fn variant(&mut self, pat: &syn::PatTupleStruct, of: &Subject<'_>, bound: &mut Vec<Binding>) -> Result<Pattern> {
        let name = pat.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let types = match of.ty {
            Ty::Option(inner) if name == "Some" => vec![(**inner).clone()],
            _ if matches!(name.as_str(), "Some" | "Ok" | "Err") => {
                return unsupported(pat.span(), format!("the pattern `{name}`"));
            }
            _ => self.variant_fields(of.ty, &name).into_iter().map(|(_, ty)| ty).collect(),
        };
        let part = |_| (of.part.to_owned(), of.forms.clone());
        let mut elements = self.elements_of(&pat.elems, &types, &part, bound)?;
        if name == "Some" {
            return Ok(Pattern::some(elements.items.pop().unwrap_or(Pattern::Wild)));
        }
        Ok(Pattern::TupleStruct(self.variant_path(of.ty, &pat.path)?, elements))
    }

    /// `Mode::Scaled { factor, .. }`.
    fn struct_variant(&mut self, pat: &syn::PatStruct, of: &Subject<'_>, bound: &mut Vec<Binding>) -> Result<Pattern> {
        let name = pat.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let types = self.variant_fields(of.ty, &name);
        let mut fields = Vec::new();
        for field in &pat.fields {
            let member = field.member.to_token_stream().to_string();
            let known = types.iter().find(|(name, _)| *name == member);
            let ty = known.map_or(&Ty::Unknown, |(_, ty)| ty);
            let inner = format!("{}.{member}", of.part);
            let part = if matches!(ty, Ty::Struct(_)) { &inner } else { of.part };
            fields.push((member, self.pattern(&field.pat, &Subject { ty, part, ..*of }, bound)?));
        }
        let path = self.variant_path(of.ty, &pat.path)?;
        Ok(Pattern::Struct(StructPattern { path, fields, rest: pat.rest.is_some() }))
    }

    /// An end of a range.
    fn constant_of(&self, expr: &syn::Expr) -> Result<Literal> {
        match expr {
            syn::Expr::Lit(literal) => literal_of(&literal.lit, false),
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => match &**expr {
                syn::Expr::Lit(literal) => literal_of(&literal.lit, true),
                other => unsupported(other.span(), "a pattern of this form"),
            },
            syn::Expr::Path(path) if path.qself.is_none() => Ok(Literal::Path(self.qualified(&path.path)?)),
            other => unsupported(other.span(), "a pattern of this form"),
        }
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

/// A literal, or what `-` makes of it.
fn literal_of(literal: &syn::Lit, is_negated: bool) -> Result<Literal> {
    let known = match literal {
        syn::Lit::Bool(value) => Some(Literal::Bool(value.value)),
        syn::Lit::Char(value) => Some(Literal::Char(value.value())),
        syn::Lit::Str(text) => Some(Literal::Str(text.value())),
        syn::Lit::Byte(byte) => Some(Literal::Int(byte.value().into(), IntType::U8)),
        syn::Lit::Int(number) => match FloatType::parse(number.suffix()) {
            Some(ty) => number.base10_digits().parse().ok().map(|number| float(number, ty, is_negated)),
            None => int_of(number, is_negated),
        },
        syn::Lit::Float(number) => {
            let ty = FloatType::parse(number.suffix()).unwrap_or(FloatType::Untyped);
            number
                .base10_parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .map(|number| float(number, ty, is_negated))
        }
        _ => None,
    };
    known.map_or_else(|| unsupported(literal.span(), "a pattern of this form"), Ok)
}

fn int_of(number: &syn::LitInt, is_negated: bool) -> Option<Literal> {
    let ty = if number.suffix().is_empty() { IntType::Untyped } else { IntType::parse(number.suffix())? };
    let value: i128 = number.base10_digits().parse().ok()?;
    Some(Literal::Int(if is_negated { -value } else { value }, ty))
}

fn float(number: f64, ty: FloatType, is_negated: bool) -> Literal {
    Literal::float(if is_negated { -number } else { number }, ty)
}

/// A variable: a new one, or in another case of `a | b` the same again.
fn named(ident: &syn::PatIdent, of: &Subject<'_>, bound: &mut Vec<Binding>) -> Result<Pattern> {
    if ident.by_ref.is_some() && ident.mutability.is_some() {
        return unsupported(ident.span(), "a `ref mut` pattern");
    }
    let name = ident.ident.to_string();
    if let Some(known) = bound.iter().position(|one| one.name == name) {
        return Ok(Pattern::Bind(known));
    }
    let form = if ident.by_ref.is_some() { RefKind::Ref } else { of.forms.one() };
    bound.push(Binding { name, ty: of.ty.clone(), part: of.part.to_owned(), form });
    Ok(Pattern::Bind(bound.len() - 1))
}
