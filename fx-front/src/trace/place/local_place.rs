//! Places of the forward's own: variables, and parts of the tuples and structs in them.
//!
//! What is written to such a place is another value of the variable from there on. A `&mut` borrows one: what the function
//! that it is handed to leaves in its parameter is written back where the call stands.

use std::{collections::BTreeSet, rc::Rc};

use fx_ir::{Arg, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::syntax::targets::each_target;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, unsupported, value::Shape};

/// A variable, or a part of one.
#[derive(Clone, Debug)]
pub(in crate::trace) struct LocalPlace {
    /// The variable.
    pub(in crate::trace) root: String,
    /// The way to the part: fields, by name or number.
    pub(in crate::trace) path: Vec<String>,
}

impl Tracer<'_> {
    /// The place that the expression names; `None` if it is none of the forward's own.
    pub(in crate::trace) fn local_place(&self, expr: &syn::Expr) -> Option<LocalPlace> {
        match expr {
            syn::Expr::Path(path) => {
                let root = path.path.get_ident()?.to_string();
                self.env.has(&root).then(|| LocalPlace { root, path: Vec::new() })
            }
            syn::Expr::Paren(inner) => self.local_place(&inner.expr),
            syn::Expr::Group(inner) => self.local_place(&inner.expr),
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => {
                let place = self.local_place(expr)?;
                matches!(self.held(&place)?, Val::MutRef(..)).then_some(place)
            }
            syn::Expr::Field(field) => {
                let mut place = self.local_place(&field.base)?;
                let whole = self.held(&place)?.clone().behind();
                place.path.push(field.member.to_token_stream().to_string());
                self.is_apart(&whole).then_some(place)
            }
            _ => None,
        }
    }

    /// Whether it is a struct or a tuple, not of the model's, that can be taken apart, or has been.
    pub(in crate::trace) fn is_apart(&self, whole: &Val) -> bool {
        let Val::Node(id, ty, RefKind::Value) = whole else { return matches!(whole, Val::Tuple(_) | Val::Fields(..)) };
        match ty {
            Ty::Tuple(_) => true,
            Ty::Struct(_) => !self.is_module(ty) && !self.facts.paths.contains_key(id),
            _ => false,
        }
    }

    /// What the place holds, as far as its way leads through parts that are known one by one.
    pub(in crate::trace) fn held(&self, place: &LocalPlace) -> Option<&Val> {
        place.path.iter().try_fold(self.env.read(&place.root)?, |whole, member| part(whole, member))
    }

    /// Lets the place hold another value.
    pub(in crate::trace) fn set_local(&mut self, place: &LocalPlace, value: Val, span: Span) -> Result<()> {
        let Some(whole) = self.env.read(&place.root).cloned() else { return unsupported(span, "an unknown variable") };
        if place.path.is_empty() {
            self.name_after(&place.root, &value);
        }
        let whole = self.with_part(whole, &place.path, value, span)?;
        self.env.assign(&place.root, whole);
        Ok(())
    }

    fn with_part(&mut self, whole: Val, path: &[String], value: Val, span: Span) -> Result<Val> {
        if let Val::MutRef(from, inner) = whole {
            return Ok(Val::MutRef(from, Box::new(self.with_part(*inner, path, value, span)?)));
        }
        let Some((first, rest)) = path.split_first() else { return Ok(value) };
        let mut whole = self.apart(whole, span)?;
        let ty = self.part_ty(&whole, first);
        let Some(old) = part(&whole, first).cloned() else {
            return unsupported(span, "an assignment to something other than a variable");
        };
        let value = if rest.is_empty() { self.of_field(value, &ty) } else { value };
        let new = self.with_part(old, rest, value, span)?;
        if let Some(slot) = part_mut(&mut whole, first) {
            *slot = new;
        }
        Ok(whole)
    }

    fn part_ty(&self, whole: &Val, member: &str) -> Ty {
        let Val::Fields(shape, _) = whole else { return Ty::Unknown };
        let field = self.index.field(shape.owner, member);
        field.map_or(Ty::Unknown, |field| self.index.field_ty(shape.owner, field))
    }

    /// A value as a field of that type has it: `None` knows of what it is one.
    pub(in crate::trace) fn of_field(&mut self, value: Val, ty: &Ty) -> Val {
        match (&value, ty) {
            (Val::Lit(Arg::None, _), Ty::Option(_)) => Val::Lit(Arg::None, ty.clone()),
            _ => self.of_written_type(value, ty),
        }
    }

    /// A struct or a tuple as its parts.
    pub(in crate::trace) fn apart(&mut self, whole: Val, span: Span) -> Result<Val> {
        match &whole {
            Val::Tuple(_) | Val::Fields(..) => Ok(whole),
            Val::Node(id, Ty::Tuple(types), _) => {
                let (id, types) = (*id, types.clone());
                let parts = types.into_iter().enumerate();
                Ok(Val::Tuple(
                    parts.map(|(at, ty)| self.push(Op::TupleGet(at), vec![id.into()], "part", ty, span)).collect(),
                ))
            }
            Val::Node(_, Ty::Struct(owner), _) if self.is_apart(&whole) => {
                let owner = *owner;
                let fields = &self.index.structs[owner].fields;
                let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
                let mut parts = Vec::new();
                for name in &names {
                    let value = self.field(&whole, name, span)?;
                    let ty = self.index.field(owner, name).map(|field| self.index.field_ty(owner, field));
                    parts.push(self.of_field(value, &ty.unwrap_or(Ty::Unknown)));
                }
                Ok(Val::Fields(Rc::new(Shape { owner, names }), parts))
            }
            _ => unsupported(span, "an assignment to something other than a variable"),
        }
    }

    /// Writes back what a function has left in what was borrowed to it.
    pub(in crate::trace) fn give_back(&mut self, left: Vec<Val>, span: Span) -> Result<()> {
        for value in left {
            let Val::MutRef(place, value) = value else { continue };
            let is_same = self.held(&place).is_some_and(|held| held.clone().behind().same(&value));
            if !is_same {
                self.set_local(&place, value.with_ref_kind(RefKind::Value), span)?;
            }
        }
        Ok(())
    }

    /// What a method is called on: the place itself, where the method writes to it and it is the forward's own.
    pub(in crate::trace) fn receiver_of(
        &mut self,
        method: usize,
        receiver: Val,
        call: &syn::ExprMethodCall,
    ) -> Result<Val> {
        let is_place = matches!(receiver, Val::Place(_));
        if is_place || !self.index.fns[method].writes_self() || self.may_write_to(Some(&receiver)) {
            return Ok(receiver);
        }
        let Some(place) = self.local_place(&call.receiver) else { return Ok(receiver) };
        let held = if receiver.is_tensor() { receiver } else { self.apart(receiver, call.span())? };
        Ok(Val::MutRef(Rc::new(place), Box::new(held)))
    }

    /// A method that takes something out of an option of the forward's own, or puts something in.
    pub(in crate::trace) fn option_method(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let (name, args) = (call.method.to_string(), call.args.iter().collect::<Vec<&syn::Expr>>());
        let is_known = matches!((name.as_str(), args.len()), ("take", 0) | ("replace", 1));
        let Some(place) = self.local_place(&call.receiver).filter(|_| is_known) else { return Ok(None) };
        let held = self.held(&place).map(|held| held.clone().behind());
        let old = match held {
            Some(old) => old,
            None => self.expr(&call.receiver)?.behind(),
        };
        let ty = old.ty();
        if !matches!(ty, Ty::Option(_)) || !matches!(old, Val::Lit(..) | Val::Some(_) | Val::Node(_, _, RefKind::Value))
        {
            return Ok(None);
        }
        let new = match args.first() {
            Some(arg) => Val::Some(Box::new(self.expr(arg)?)),
            None => Val::Lit(Arg::None, ty),
        };
        self.set_local(&place, new, call.span())?;
        Ok(Some(old))
    }

    /// The structs and tuples among the variables of whose parts the code writes to one, as their parts.
    pub(in crate::trace) fn take_apart(&mut self, code: &syn::Expr, span: Span) -> Result<()> {
        for name in self.written_in_parts(code) {
            let Some(whole) = self.env.read(&name).cloned() else { continue };
            if self.is_apart(&whole.clone().behind()) {
                let parts = self.apart(whole.behind(), span)?;
                self.env.assign(&name, parts);
            }
        }
        Ok(())
    }

    fn written_in_parts(&self, code: &syn::Expr) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mutates = |call: &syn::ExprMethodCall| self.mutates(call);
        each_target(code, &mutates, &mut |target| {
            let is_whole = matches!(target, syn::Expr::Path(_));
            let is_method = |name: &str| matches!(self.env.read(name), Some(Val::Node(_, Ty::Struct(_), _)));
            if let Some(root) = root(target).filter(|root| !is_whole || is_method(root)) {
                all.insert(root);
            }
        });
        all
    }
}

/// The variable that a path through fields begins with.
fn root(expr: &syn::Expr) -> Option<String> {
    match expr {
        syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        syn::Expr::Field(field) => root(&field.base),
        syn::Expr::Paren(inner) => root(&inner.expr),
        syn::Expr::Unary(inner) => root(&inner.expr),
        syn::Expr::Index(index) => root(&index.expr),
        _ => None,
    }
}

fn field_position(whole: &Val, member: &str) -> Option<usize> {
    match whole {
        Val::Tuple(parts) => member.parse().ok().filter(|&at: &usize| at < parts.len()),
        Val::Fields(shape, _) => shape.names.iter().position(|name| name == member),
        _ => None,
    }
}

fn part<'v>(whole: &'v Val, member: &str) -> Option<&'v Val> {
    match whole {
        Val::MutRef(_, inner) => part(inner, member),
        whole => whole.parts().get(field_position(whole, member)?),
    }
}

fn part_mut<'v>(whole: &'v mut Val, member: &str) -> Option<&'v mut Val> {
    let at = field_position(whole, member)?;
    whole.parts_mut().get_mut(at)
}
