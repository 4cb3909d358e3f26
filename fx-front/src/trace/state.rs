//! Places that outlive a call: written fields of the model, and what a `&mut` parameter of the entry lends.
//!
//! A place is a way from where it is rooted, through fields, elements and options, and no value: to read it is a node,
//! to write it another, and both stay in their order. A written field is rooted in its cell ([`super::kept`]); what is
//! lent is reached through the parameter itself, so that the caller finds in it what the user's code would have left
//! there, also where a call ends in an error.

use std::{fmt::Write as _, rc::Rc};

use fx_ir::{Arg, Code, Effect, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use super::{
    Form, Result, Tracer, Ty, Val,
    capture::{Capture, bound_names},
    expr::is_copy,
    kept::{is_chain, peeled},
    operator,
    signature::is_vec,
    unknown, writes,
};

/// What a place is rooted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// A written field of the model; is it made of tensors, numbers and text alone?
    Cell { is_plain: bool },
    /// A parameter that lends it.
    Lent,
    /// A parameter that may lend it: `Option<&mut Cache>`.
    Maybe,
}

/// A part of the state.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The node of the cell, or of the parameter.
    pub(super) root: Val,
    pub(super) kind: Root,
    /// The way from the root: `.layers[$1].key`.
    pub(super) part: String,
    /// What `$1` and those behind it stand for.
    pub(super) indices: Vec<Arg>,
    pub(super) ty: Ty,
    /// Is it a list of a length of its own?
    pub(super) is_vec: bool,
}

impl Place {
    /// The arguments of a node on the place, those of its own first.
    pub(super) fn args(&self) -> Vec<Arg> {
        self.root.arg().into_iter().chain(self.indices.iter().cloned()).collect()
    }

    /// The place in generated code.
    pub(super) fn target(&self) -> String {
        if self.part.ends_with("()") {
            // A reference to it.
            return format!("(*{})", self.object());
        }
        if self.is_cell() && self.part.is_empty() { "*$0.lock()".to_owned() } else { self.object() }
    }

    /// Is it the option itself that a parameter is, and nothing that lies anywhere?
    pub(super) fn may_lend(&self) -> bool {
        self.kind == Root::Maybe && self.part.is_empty()
    }

    /// The same as what a method is called on.
    pub(super) fn object(&self) -> String {
        match (self.is_cell(), self.part.as_str()) {
            (true, part) => format!("$0.lock(){part}"),
            (false, "") if self.may_lend() => "$0".to_owned(),
            (false, "") => "(*$0)".to_owned(),
            (false, part) => format!("$0{part}"),
        }
    }

    pub(super) fn is_cell(&self) -> bool {
        matches!(self.kind, Root::Cell { .. })
    }

    pub(super) fn same(&self, other: &Place) -> bool {
        self.root.same(&other.root) && self.part == other.part && self.indices == other.indices
    }

    /// The place as a parameter of that type has it: a list as a slice.
    pub(super) fn handed_as(&self, ty: &syn::Type) -> Place {
        let is_slice = matches!(ty, syn::Type::Reference(lent) if matches!(*lent.elem, syn::Type::Slice(_)));
        if is_slice && self.is_vec { self.within(".as_mut_slice()", None, self.ty.clone()) } else { self.clone() }
    }

    /// What the option at the place holds.
    pub(super) fn held(&self, held: Ty) -> Place {
        let way = if self.may_lend() { "as_deref_mut" } else { "as_mut" };
        Place { part: format!("{}.{way}().unwrap()", self.part), ty: held, is_vec: false, ..self.clone() }
    }

    /// A part of it that generated code reaches by `way`, in which `$` stands for `at`.
    pub(super) fn within(&self, way: &str, at: Option<Arg>, ty: Ty) -> Place {
        let mut inner = self.clone();
        let way = way.replace('$', &format!("${}", inner.indices.len() + 1));
        inner.part.push_str(&way);
        inner.indices.extend(at);
        Place { ty, is_vec: false, ..inner }
    }

    /// The element of the list at a number.
    pub(super) fn item(&self, at: &Val, element: Ty, span: Span) -> Result<Place> {
        match (at.arg(), operator::is_number(at)) {
            (Some(Arg::Int(at)), _) if at >= 0 => Ok(self.within(&format!("[{at}]"), None, element)),
            (Some(at @ Arg::Node(_)), true) => Ok(self.within("[$]", Some(at), element)),
            _ => unknown(span, "an index of this form"),
        }
    }
}

/// Carried code with the place where it is mentioned: two parts of it may be written to at once.
pub(super) fn with_place(code: &str, placeholder: &str, target: &str) -> String {
    let parts = [" .", " ["]
        .iter()
        .fold(code.to_owned(), |code, way| code.replace(&format!("{placeholder}{way}"), &format!("({target}){way}")));
    parts.replace(placeholder, &format!("(&mut {target})"))
}

/// Is it a number to which the user's code has a reference, as carried code tells that looks behind it?
pub(super) fn looks_behind(code: &syn::Expr, name: &str, value: &Val) -> bool {
    is_copy(&value.ty()) && value.form() != Some(Form::Ref) && writes::derefs(code, name)
}

/// Is it made of tensors and numbers alone, so that there can be a copy that holds second handles?
pub(super) fn is_plain(ty: &Ty) -> bool {
    match ty {
        Ty::Tensor => true,
        Ty::Option(inner) | Ty::List(inner) => is_plain(inner),
        Ty::Tuple(parts) => !parts.is_empty() && parts.iter().all(is_plain),
        ty => is_copy(ty),
    }
}

impl Tracer<'_> {
    /// What the entry's parameter of that type lends, as a place.
    pub(super) fn lent_parameter(&self, root: Val, written: &syn::Type, span: Span) -> Result<Val> {
        let (kind, is_vec) = match written {
            syn::Type::Reference(reference) => (Root::Lent, is_vec(&reference.elem)),
            _ => (Root::Maybe, false),
        };
        let ty = root.ty();
        let lent = if let (Ty::Option(held), Root::Maybe) = (&ty, kind) { held } else { &ty };
        if self.is_module(lent) || matches!(lent, Ty::Unknown) {
            return unknown(span, "a parameter of type `&mut`");
        }
        let place = Place { root, kind, part: String::new(), indices: Vec::new(), ty, is_vec };
        Ok(Val::Place(Rc::new(place)))
    }

    /// Is a variable in scope a place that a caller lends?
    pub(super) fn has_places(&self) -> bool {
        self.env.any(|value| matches!(value, Val::Place(_)))
    }

    /// The part of the state that the expression names; `None` if it is none. With `writes` a field of the model
    /// becomes one.
    pub(super) fn place(&mut self, expr: &syn::Expr, writes: bool) -> Result<Option<Place>> {
        match peeled(expr) {
            syn::Expr::Path(path) => Ok(path.path.get_ident().and_then(|name| self.named_place(&name.to_string()))),
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => self.place(expr, writes),
            syn::Expr::Field(field) => self.field_place(field, writes),
            syn::Expr::Index(index) if !matches!(*index.index, syn::Expr::Range(_)) => self.item_place(index, writes),
            syn::Expr::MethodCall(call) if matches!(call.method.to_string().as_str(), "unwrap" | "expect") => {
                Ok(self.asked_place(&call.receiver)?.map(|asked| asked.held))
            }
            _ => Ok(None),
        }
    }

    /// What a variable holds that is a reference to a part of the state: to name it is to hand the reference on.
    pub(super) fn handed_reference(&self, expr: &syn::Expr) -> Option<Val> {
        let syn::Expr::Path(path) = peeled(expr) else { return None };
        self.named_place(&path.path.get_ident()?.to_string()).map(|place| Val::Place(Rc::new(place)))
    }

    fn named_place(&self, name: &str) -> Option<Place> {
        match self.env.read(name) {
            Some(Val::Place(place)) => Some((**place).clone()),
            _ => None,
        }
    }

    fn field_place(&mut self, field: &syn::ExprField, writes: bool) -> Result<Option<Place>> {
        let name = field.member.to_token_stream().to_string();
        if let Some(outer) = self.place(&field.base, false)? {
            return self.part_of(&outer, &name, field.span()).map(Some);
        }
        if !self.is_stateful() || !is_chain(&field.base) {
            return Ok(None);
        }
        let mark = self.mark();
        let base = self.expr(&field.base)?;
        if let (Val::Node(_, Ty::Struct(owner), _), Some(_)) = (&base, self.path_of(&base))
            && (writes || self.is_kept(*owner, &name))
        {
            return self.cell(&base, &name, field.span()).map(Some);
        }
        self.rollback(mark);
        Ok(None)
    }

    fn item_place(&mut self, index: &syn::ExprIndex, writes: bool) -> Result<Option<Place>> {
        let Some(list) = self.place(&index.expr, writes)? else { return Ok(None) };
        let Ty::List(element) = list.ty.clone() else {
            return unknown(index.span(), format!("indexing a value {}", self.index.of_type(&list.ty)));
        };
        let at = self.expr(&index.index)?;
        list.item(&at, *element, index.span()).map(Some)
    }

    /// A field of a struct, or a part of a tuple.
    pub(super) fn part_of(&self, outer: &Place, name: &str, span: Span) -> Result<Place> {
        let (ty, is_vec) = match &outer.ty {
            Ty::Struct(owner) => match self.index.field(*owner, name) {
                Some(field) if self.index.can_read(self.home(), *owner, field) => {
                    (self.index.field_ty(*owner, field), is_vec(&field.ty))
                }
                Some(_) => {
                    let owner = &self.index.structs[*owner].name;
                    return unknown(span, format!("the field `{name}` of `{owner}` is private to its module"));
                }
                None => return unknown(span, format!("the field `{name}` of what the forward writes to")),
            },
            Ty::Tuple(parts) => match name.parse::<usize>().ok().and_then(|at| parts.get(at).cloned()) {
                Some(part) => (part, false),
                None => return unknown(span, "a tuple whose parts are not known"),
            },
            _ => return unknown(span, format!("the field `{name}` of what the forward writes to")),
        };
        Ok(Place { is_vec, ..outer.within(&format!(".{name}"), None, ty) })
    }

    /// What the place holds, where that is a value that can be copied; else the place.
    pub(super) fn value_of(&mut self, place: Place, name: &str, span: Span) -> Result<Val> {
        if (is_plain(&place.ty) || place.is_cell()) && !place.may_lend() {
            return self.read_place(&place, name, span);
        }
        Ok(Val::Place(Rc::new(place)))
    }

    /// Reads the place: a copy of a number, a second handle on a tensor.
    pub(super) fn read_place(&mut self, place: &Place, name: &str, span: Span) -> Result<Val> {
        let object = place.object();
        if place.may_lend() {
            return unknown(span, format!("`{name}`, which may lend what the forward writes to"));
        }
        let (template, fallible) = match &place.ty {
            ty if is_copy(ty) => (place.target(), false),
            _ if place.part.is_empty() && place.kind == (Root::Cell { is_plain: true }) => {
                ("$0.value()".to_owned(), true)
            }
            Ty::Tensor => (format!("{object}.shallow_clone()"), false),
            Ty::Option(inner) if **inner == Ty::Tensor => {
                (format!("{object}.as_ref().map(|one| one.shallow_clone())"), false)
            }
            Ty::List(inner) if **inner == Ty::Tensor => {
                (format!("{object}.iter().map(|one| one.shallow_clone()).collect::<Vec<_>>()"), false)
            }
            Ty::List(inner) if is_copy(inner) => (format!("{object}.iter().copied().collect::<Vec<_>>()"), false),
            Ty::List(_) if is_plain(&place.ty) => {
                let each = "::fx_runtime::frozen::handles";
                (format!("{object}.iter().map({each}).collect::<::fx_runtime::Result<Vec<_>>>()"), true)
            }
            ty if is_plain(ty) => (format!("::fx_runtime::frozen::handles(&{})", place.target()), true),
            _ => {
                return unknown(
                    span,
                    format!("`{name}`, which the forward writes to and whose type is the crate's own"),
                );
            }
        };
        Ok(self.on_place(place, (template, fallible), place.args(), name, place.ty.clone(), span))
    }

    /// A node that reads or writes the place; `args` begin with the place's own.
    pub(super) fn on_place(
        &mut self,
        place: &Place,
        (template, fallible): (String, bool),
        args: Vec<Arg>,
        name: &str,
        ty: Ty,
        span: Span,
    ) -> Val {
        debug_assert!(args.starts_with(&place.args()), "a place is reached through its own arguments");
        let code = Code { template, effect: Effect::State, fallible, opaque: None };
        self.push(Op::Rust(code), args, name, ty, span)
    }

    /// A part of the state, as a value; `None` if the expression is none.
    pub(super) fn read_part(&mut self, expr: &syn::Expr, name: &str) -> Result<Option<Val>> {
        match self.place(expr, false)? {
            Some(place) => self.value_of(place, name, expr.span()).map(Some),
            None => Ok(None),
        }
    }

    /// A place that carried code mentions, and whether the code may have a name for it: where it mentions no other part
    /// of what that is rooted in.
    pub(super) fn carried_place(
        &self,
        place: &Place,
        name: &str,
        (code, capture): (&syn::Expr, &Capture),
        args: &mut Vec<Arg>,
    ) -> Result<(String, bool)> {
        let span = code.span();
        if writes::gives(code, name) {
            return unknown(span, format!("code that gives `{name}` another place"));
        }
        let places = capture.places.iter().filter_map(|name| self.env.read(name));
        let roots = places.filter(|value| matches!(value, Val::Place(other) if other.root.same(&place.root)));
        let is_only = roots.count() == 1;
        if !is_only && (bound_names(code).contains(name) || capture.formatted.contains(name)) {
            return unknown(span, format!("code that mentions `{name}`"));
        }
        Ok((Self::spell_place(place, args, span)?, is_only))
    }

    /// A place in carried code, to which the code may write.
    pub(super) fn spell_place(place: &Place, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        if place.is_cell() || place.may_lend() {
            return unknown(span, "code that mentions what the forward writes to");
        }
        let first = args.len();
        args.extend(place.args());
        let target = place.target();
        let mut pieces = target.split('$');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let way = piece.trim_start_matches(|c: char| c.is_ascii_digit());
            let at: usize = piece[..piece.len() - way.len()].parse().unwrap_or_default();
            let _ = write!(text, "${}{way}", at + first);
        }
        Ok(text)
    }
}
