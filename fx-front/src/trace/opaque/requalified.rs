//! Opaque code of a function that is inlined from another module: its paths are spelled so that they mean the same where the
//! generated code stands, and the traits whose methods it calls are brought there.
//!
//! Code that names what only its own module sees is refused, so that a call around it is kept instead.

mod members;
mod traits;

use std::borrow::Cow;
use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};

use crate::index::{Field, Resolved, is_of_prelude, is_visible};
use crate::syntax::{bound_names, is_compound, path_text};
use crate::trace::{Result, Tracer, Ty, Unsupported, unsupported};

/// Opaque code, and the `use` lines that it needs.
pub(in crate::trace) struct Requalified<'e> {
    pub(in crate::trace) expr: Cow<'e, syn::Expr>,
    pub(in crate::trace) uses: Vec<String>,
}

impl Tracer<'_> {
    /// The code with paths that mean the same where the generated code stands.
    pub(in crate::trace) fn requalified<'e>(&self, expr: &'e syn::Expr) -> Result<Requalified<'e>> {
        let own = self.function().uses();
        if self.is_home() {
            return Ok(Requalified { expr: Cow::Borrowed(expr), uses: own });
        }
        if !own.is_empty() {
            return unsupported(expr.span(), "code of another module that a `use` of the function's own stands above");
        }
        let mut visitor = Requalify::new(self, bound_names(expr));
        let mut expr = expr.clone();
        visitor.visit_expr_mut(&mut expr);
        let Requalify { fault, uses, .. } = visitor;
        fault.map_or_else(|| Ok(Requalified { expr: Cow::Owned(expr), uses: uses.into_iter().collect() }), Err)
    }

    /// The type with paths that mean the same where the generated code stands.
    pub(in crate::trace) fn requalified_type(&self, ty: &syn::Type) -> Result<syn::Type> {
        let mut ty = ty.clone();
        if self.is_home() {
            return Ok(ty);
        }
        let mut visitor = Requalify::new(self, BTreeSet::new());
        visitor.visit_type_mut(&mut ty);
        visitor.fault.map_or(Ok(ty), Err)
    }
}

struct Requalify<'t, 'a> {
    tracer: &'t Tracer<'a>,
    /// The names that the code declares itself.
    bound: BTreeSet<String>,
    uses: BTreeSet<String>,
    fault: Option<Unsupported>,
    /// Whether what is visited is written to.
    is_written: bool,
}

impl<'t, 'a> Requalify<'t, 'a> {
    fn new(tracer: &'t Tracer<'a>, bound: BTreeSet<String>) -> Self {
        Self { tracer, bound, uses: BTreeSet::new(), fault: None, is_written: false }
    }

    fn refuse(&mut self, span: Span, reason: impl Into<String>) {
        let reason = reason.into();
        self.fault.get_or_insert(Unsupported { span, reason });
    }

    fn is_variable(&self, name: &str) -> bool {
        let is_own = name == "self" || self.bound.contains(name) || self.tracer.is_generic(name);
        is_own || self.tracer.env.read(name).is_some()
    }

    /// The path as generated code writes it, without generic arguments; `None` where it stays as it is.
    fn spelled(&self, path: &syn::Path) -> Result<Option<String>> {
        let (text, module) = (path_text(path), self.tracer.module());
        if path.leading_colon.is_some() || path.get_ident().is_some_and(|name| self.is_variable(&name.to_string())) {
            return Ok(None);
        }
        self.check_tail(path, &text)?;
        match self.tracer.index.resolve(module, &text) {
            Resolved::Item(at, name, _) => match self.tracer.index.path_from(self.tracer.home(), &at, &name) {
                Some(path) => Ok(Some(path)),
                None => unsupported(path.span(), format!("`{text}` is private to its module")),
            },
            Resolved::External(full) if full == text && self.is_of_prelude(path) => Ok(None),
            Resolved::External(_) => {
                let mut bare = path.clone();
                bare.segments.iter_mut().for_each(|segment| segment.arguments = syn::PathArguments::None);
                self.tracer.qualified(&bare).map(Some)
            }
        }
    }

    /// Whether the name, which its module does not declare, is of the language or its prelude in both modules.
    fn is_of_prelude(&self, path: &syn::Path) -> bool {
        let first = path.segments[0].ident.to_string();
        let index = self.tracer.index;
        let means_itself =
            |module: &str| matches!(index.resolve(module, &first), Resolved::External(full) if full == first);
        let is_open = index.modules.get(self.tracer.module()).is_none_or(|module| {
            module.globs.iter().any(|glob| !["std", "core"].iter().any(|std| glob.path.starts_with(std)))
        });
        let is_given = is_of_prelude(&first) || fx_ir::scalar::is_scalar(&first);
        (is_given || !is_open) && means_itself(self.tracer.home()) && means_itself(self.tracer.module())
    }

    /// Refuses a function of a type that is private to the type's module.
    fn check_tail(&self, path: &syn::Path, text: &str) -> Result<()> {
        let Some((owner, name)) = self.tracer.owner_of(text) else { return Ok(()) };
        let index = self.tracer.index;
        let hidden = index.method(&owner, name).filter(|&id| !index.fns[id].is_visible_from(self.tracer.home()));
        if hidden.is_some() {
            return unsupported(path.span(), format!("`{text}` is private to its module"));
        }
        // Functions that are not found are derived ones, which everybody sees.
        let is_constant = name.starts_with(|c: char| c.is_uppercase()) && !self.tracer.is_variant_of(&owner, name);
        let is_own = matches!(owner, Ty::Struct(_)) || index.is_enum(&owner);
        if is_constant && is_own && self.tracer.associated_constant(path).is_none() {
            return unsupported(path.span(), format!("`{text}`, of which nothing is known"));
        }
        Ok(())
    }

    /// A path with a type in front, or a plain one, in place of the path.
    fn replace(&mut self, (qself, path): (&mut Option<syn::QSelf>, &mut syn::Path), takes_type: bool) {
        if qself.is_some() {
            return self.refuse(path.span(), format!("`<..>::{}` in code of another module", path_text(path)));
        }
        visit_mut::visit_path_mut(self, path);
        let spelled = match self.spelled(path) {
            Ok(Some(spelled)) => spelled,
            Ok(None) => return,
            Err(fault) => return self.refuse(fault.span, fault.reason),
        };
        let Ok(mut new) = syn::parse_str::<syn::ExprPath>(&spelled) else {
            return self.refuse(path.span(), format!("`{}`, which generated code cannot name", path_text(path)));
        };
        if new.qself.is_some() && !takes_type {
            return self.refuse(path.span(), "a pattern or a literal of a generic type of another module");
        }
        for (segment, old) in new.path.segments.iter_mut().rev().zip(path.segments.iter().rev()) {
            if !old.arguments.is_none() {
                segment.arguments = old.arguments.clone();
            }
        }
        (*qself, *path) = (new.qself, new.path);
    }

    /// Whether all fields of the struct that the path names are visible where generated code stands.
    fn check_fields(&mut self, path: &syn::Path) {
        let (index, home) = (self.tracer.index, self.tracer.home());
        let ty = syn::Type::Path(syn::TypePath { qself: None, path: path.clone() });
        let owner = index.ty(self.tracer.module(), self.tracer.function().owner.as_ref(), &ty);
        let Ty::Struct(id) = owner else { return };
        let is_hidden = |field: &Field| !is_visible(field.scope.as_ref(), home);
        if index.structs[id].fields.iter().any(is_hidden) {
            self.refuse(path.span(), format!("`{}` has fields that are private to its module", path_text(path)));
        }
    }

    /// Visits what is written to, if `is_written`.
    fn visit_target_mut(&mut self, target: &mut syn::Expr, is_written: bool) {
        let around = self.is_written;
        self.is_written |= is_written;
        self.visit_expr_mut(target);
        self.is_written = around;
    }
}

impl VisitMut for Requalify<'_, '_> {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        match expr {
            syn::Expr::Path(path) => return self.replace((&mut path.qself, &mut path.path), true),
            syn::Expr::Struct(literal) => self.check_fields(&literal.path),
            syn::Expr::Call(call) => {
                if let syn::Expr::Path(path) = &*call.func {
                    self.check_fields(&path.path);
                }
            }
            syn::Expr::MethodCall(call) => {
                self.method(call);
                let is_written = self.tracer.may_write(call);
                self.visit_target_mut(&mut call.receiver, is_written);
                call.turbofish.iter_mut().for_each(|given| self.visit_angle_bracketed_generic_arguments_mut(given));
                return call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
            }
            syn::Expr::Field(field) if !matches!(&*field.base, syn::Expr::Path(base) if base.path.is_ident("self")) => {
                let accessor = self.field(field);
                visit_mut::visit_expr_mut(self, expr);
                if let Some(accessor) = accessor {
                    *expr = accessor;
                }
                return;
            }
            syn::Expr::Assign(assign) => {
                self.visit_target_mut(&mut assign.left, true);
                return self.visit_expr_mut(&mut assign.right);
            }
            syn::Expr::Binary(binary) if is_compound(&binary.op) => {
                self.visit_target_mut(&mut binary.left, true);
                return self.visit_expr_mut(&mut binary.right);
            }
            syn::Expr::Reference(borrowed) if borrowed.mutability.is_some() => {
                return self.visit_target_mut(&mut borrowed.expr, true);
            }
            _ => {}
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_struct_mut(&mut self, literal: &mut syn::ExprStruct) {
        self.replace((&mut literal.qself, &mut literal.path), false);
        literal.fields.iter_mut().for_each(|field| self.visit_expr_mut(&mut field.expr));
        literal.rest.iter_mut().for_each(|rest| self.visit_expr_mut(rest));
    }

    fn visit_type_path_mut(&mut self, ty: &mut syn::TypePath) {
        self.replace((&mut ty.qself, &mut ty.path), true);
    }

    fn visit_pat_mut(&mut self, pat: &mut syn::Pat) {
        match pat {
            syn::Pat::TupleStruct(pattern) => {
                self.check_fields(&pattern.path);
                self.replace((&mut pattern.qself, &mut pattern.path), false);
                pattern.elems.iter_mut().for_each(|inner| self.visit_pat_mut(inner));
            }
            syn::Pat::Struct(pattern) => {
                self.check_fields(&pattern.path);
                self.replace((&mut pattern.qself, &mut pattern.path), false);
                pattern.fields.iter_mut().for_each(|field| self.visit_pat_mut(&mut field.pat));
            }
            syn::Pat::Path(path) => self.replace((&mut path.qself, &mut path.path), true),
            syn::Pat::Ident(name) if name.ident.to_string().starts_with(|c: char| c.is_uppercase()) => {
                let mut path = syn::ExprPath { attrs: Vec::new(), qself: None, path: name.ident.clone().into() };
                self.replace((&mut path.qself, &mut path.path), true);
                if path.path.get_ident().is_none() {
                    *pat = syn::Pat::Path(path);
                }
            }
            _ => visit_mut::visit_pat_mut(self, pat),
        }
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut syn::TraitBound) {
        self.replace((&mut None, &mut bound.path), false);
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        self.macro_operands(mac);
    }

    fn visit_item_mut(&mut self, item: &mut syn::Item) {
        self.refuse(item.span(), "an item in code of another module");
    }

    fn visit_attribute_mut(&mut self, _: &mut syn::Attribute) {}
}
