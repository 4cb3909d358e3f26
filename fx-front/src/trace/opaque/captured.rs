//! The template of opaque code: what stands in it for the variables and fields that it mentions.

use std::collections::BTreeSet;

use fx_ir::{Arg, CodeForm, CodeScope, CodeVariable, template::escaped};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;

use crate::closure_conversion::captures::never_captured;
use crate::syntax::{begins_with_block, bound_names, lifetimes::ElideLifetimes};
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    opaque::{
        borrowed::only_borrows,
        capture::{Capture, Mention},
        capture_place::looks_behind,
        failing::FailingCode,
        kept::refuse_writing_closure,
        moved::{moved_parts, with_handles},
        requalified::Requalified,
        template::{WritingCode, hole},
    },
    tensor::operator_trait::is_operator_method,
    unsupported,
};

/// Code that is kept as opaque code.
pub(in crate::trace) struct OpaqueCode {
    /// The expression.
    pub(in crate::trace) template: String,
    pub(in crate::trace) form: CodeForm,
    pub(in crate::trace) args: Vec<Arg>,
    /// With the variables that it writes to, which the template hands over in a tuple after the value.
    pub(in crate::trace) writing: Option<WritingCode>,
    /// Whether it holds state of the model, into which its value could be a reference.
    pub(in crate::trace) holds: bool,
}

/// Code and what it mentions.
struct Captured<'c> {
    expr: &'c syn::Expr,
    capture: &'c Capture,
    /// The names that it declares itself.
    inner: &'c BTreeSet<String>,
    /// The variables that it writes to.
    writes: &'c [String],
}

impl Tracer<'_> {
    /// The template, its arguments, and the variables that the code writes to, which the template hands over in a
    /// tuple after the value.
    pub(in crate::trace) fn captured_with_writes(
        &mut self,
        expr: &syn::Expr,
        span: Span,
        (is_shared, failing): (bool, Option<FailingCode>),
    ) -> Result<OpaqueCode> {
        if self.index.names_body_item(expr) {
            return unsupported(span, "an item inside a function body");
        }
        let Requalified { expr, uses } = self.requalified(expr)?;
        let expr = &*expr;
        let writes = self.writes(expr);
        self.refuse_assigned_arrays(expr)?;
        self.spill_variables(&writes, span)?;
        let inner = bound_names(expr);
        let handed_back = writes.iter().flat_map(|name| self.tensors_of(name)).collect();
        let expr = &self.without_lifetimes(with_handles(expr, handed_back), ElideLifetimes::visit_expr_mut);
        self.keeps_parts(expr, &writes, span)?;
        refuse_writing_closure(expr, &writes)?;
        let mut capture = Capture::default();
        let owner = self.function().owner.as_ref().map(ToTokens::to_token_stream);
        let own = never_captured(expr, &inner);
        let tokens = capture.rewrite(expr, owner, &|name| match self.env.read(name) {
            Some(_) if own.contains(name) => Mention::None,
            Some(value) if self.held_option_of(value, (expr, name), &writes).is_some() => Mention::Variable,
            Some(value) if is_place(value) && !self.is_converted(value) => Mention::Place,
            Some(value) if self.is_borrowed(value, (expr, name), &inner, &writes) => Mention::Place,
            Some(_) => Mention::Variable,
            None if self.is_generic(name) => Mention::Place,
            None => Mention::None,
        });
        let mut args = Vec::new();
        let mut scope = CodeScope { uses, variables: Vec::new() };
        for name in &capture.variables {
            let Some(value) = self.env.read(name).cloned() else { continue };
            self.refuse_kept((&value, name), expr, &writes)?;
            scope.variables.push(self.variable_of((&value, name), expr, &writes, &mut args)?);
        }
        let mut code = escaped(&tokens.to_string());
        let of = Captured { expr, capture: &capture, inner: &inner, writes: &writes };
        let mut holds = self.capture_places(&of, (&mut code, &mut scope), &mut args)?;
        let locks = self.capture_receiver(expr, &capture, &mut scope, &mut args)?;
        holds |= locks;
        self.refuse_locked(locks, &capture.places, &writes, span)?;
        let is_handed_back = |name: &String| capture.variables.contains(name) && !self.moves_away(expr, name);
        let written: Vec<String> = writes.into_iter().filter(is_handed_back).collect();
        // At the end of a block it would be read as a statement, and what is behind it as another.
        let code = if begins_with_block(expr) { format!("({code})") } else { code };
        let is_handed_on = is_shared && written.is_empty();
        let code = if is_handed_on { format!("({code}).shallow_clone()") } else { code };
        let form = form_of(expr, scope, is_handed_on || failing.is_some());
        if let (Some(failing), []) = (&failing, written.as_slice()) {
            return Ok(OpaqueCode { template: failing.closure(&code), form, args, writing: None, holds });
        }
        let writing = (!written.is_empty()).then(|| WritingCode { code: code.clone(), written, failing });
        let template = writing.as_ref().map_or(code, |writing| writing.template(None));
        Ok(OpaqueCode { template, form, args, writing, holds })
    }

    /// The variable that the code has for one of the user's.
    fn variable_of(
        &mut self,
        (value, name): (&Val, &str),
        expr: &syn::Expr,
        writes: &[String],
        args: &mut Vec<Arg>,
    ) -> Result<CodeVariable> {
        if let Some(held) = self.held_option_of(value, (expr, name), writes) {
            return self.option_variable((value, name), held, args, expr.span());
        }
        let operand = match value {
            // A macro prints it; other code may ask of what type it is.
            Val::List(items)
                if matches!(expr, syn::Expr::Macro(_))
                    && !items.is_empty()
                    && writes.is_empty()
                    && self.is_vec_variable(name) =>
            {
                let items = self.exact_elements(items, expr.span())?;
                self.vec_of(items, &value.ty().element())
            }
            value => self.exact_operand(value, expr.span())?,
        };
        let mut spelled = hole(args, operand);
        if self.is_bound_reference(value) {
            spelled = format!("{{ let typed: &::fx_runtime::Tensor = {spelled}; typed }}");
        }
        let is_written = writes.iter().any(|written| written == name);
        let is_behind = looks_behind(expr, name, value) || self.loses_reference(name, value);
        let borrow = if !is_written && is_behind { "&" } else { "" };
        Ok(CodeVariable::mutable(name, format!("{borrow}{spelled}")))
    }

    /// Puts the operands in for what the code reaches where it is; says whether one of them is held for as long as it runs.
    fn capture_places(
        &mut self,
        of: &Captured<'_>,
        (code, scope): (&mut String, &mut CodeScope),
        args: &mut Vec<Arg>,
    ) -> Result<bool> {
        let Captured { expr, capture, inner, writes } = *of;
        let (span, mut holds) = (expr.span(), false);
        for (position, name) in capture.places.iter().enumerate() {
            let value = self.env.read(name).cloned().unwrap_or(Val::Never);
            if let Val::Place(place) = &value {
                let mentioned = (expr, capture, position);
                self.capture_place(place, mentioned, (code, scope), args)?;
                holds = true;
                continue;
            }
            let is_written = writes.contains(name);
            let is_lent = !is_written && self.is_lent_option(name, &value);
            let is_there = is_lent || value.is_tensor() || self.is_exact(&value);
            if inner.contains(name) || (is_written && !self.is_spilled(&value)) || !is_there {
                return unsupported(span, format!("code that mentions `{name}`"));
            }
            let spelled = hole(args, self.operand(&value, span)?);
            let is_ref = matches!(value, Val::Node(_, _, RefKind::Ref)) && !is_lent;
            let place = match (is_lent, is_ref) {
                _ if value.node().is_some_and(|id| value.is_tensor() && self.graph.may_be_reference(id)) => {
                    format!("(*::fx_runtime::frozen::lent(&{spelled}))")
                }
                (true, _) => format!("({spelled}.as_ref())"),
                // A slice of the user's is a `Vec` here, which no slice pattern matches.
                (_, true) if self.is_sliced_vec((name, &value), expr) => format!("(&{spelled}[..])"),
                (_, true) => format!("(&{spelled})"),
                _ => spelled,
            };
            let placeholder = Capture::placeholder(position);
            // A function in a field is called through brackets.
            *code = with_borrows(code, &placeholder)
                .replace(&format!("{placeholder} ("), &format!("({place}) ("))
                .replace(&placeholder, &place);
            if capture.formatted.contains(name) {
                let borrow = if is_ref || is_lent { "" } else { "&" };
                scope.variables.push(CodeVariable::new(name, format!("{borrow}{place}")));
            }
        }
        Ok(holds)
    }

    /// Whether it is a tensor that the code only borrows: it needs no handle of its own, and what the code makes of it may
    /// hold references to it.
    fn is_borrowed(
        &self,
        value: &Val,
        (expr, name): (&syn::Expr, &str),
        inner: &BTreeSet<String>,
        writes: &[String],
    ) -> bool {
        let takes = |method: &str| {
            let own = self.index.fns.iter().filter(|function| function.sig.ident == method);
            let mut receivers = own.filter_map(|function| function.sig.receiver());
            takes_by_name(method)
                || receivers.any(|receiver| receiver.reference.is_none() || receiver.mutability.is_some())
        };
        matches!(value, Val::Node(_, Ty::Tensor, RefKind::Value))
            && !inner.contains(name)
            && !writes.iter().any(|written| written == name)
            && only_borrows(expr, name, &takes)
    }

    /// Whether the code gets a variable of its own that holds what the user's does.
    fn is_converted(&self, value: &Val) -> bool {
        value.node().is_some_and(|id| self.holds_handles(id))
    }

    /// Refuses code that moves a part of a tuple that it hands back, unless a second handle takes the part's place.
    fn keeps_parts(&self, expr: &syn::Expr, writes: &[String], span: Span) -> Result<()> {
        for (name, position) in moved_parts(expr, writes) {
            let Some(value) = self.env.read(&name) else { continue };
            let stays = match value.ty() {
                Ty::Tuple(parts) => parts.get(position).is_some_and(is_copy),
                _ => false,
            };
            let is_shared = self.tensors_of(&name).contains(&format!("{name}.{position}"));
            if !stays && !is_shared && !bound_names(expr).contains(&name) {
                return unsupported(span, format!("code that moves a part of `{name}`, which it changes"));
            }
        }
        Ok(())
    }

    /// The variable if it is a tensor, and the parts of a tuple that are: `x.0`.
    fn tensors_of(&self, name: &str) -> Vec<String> {
        match self.env.read(name) {
            Some(Val::Node(_, Ty::Tensor, RefKind::Value)) => vec![name.to_owned()],
            Some(Val::Node(_, Ty::Tuple(parts), RefKind::Value)) => {
                let tensors = parts.iter().enumerate().filter(|(_, ty)| **ty == Ty::Tensor);
                tensors.map(|(position, _)| format!("{name}.{position}")).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Opaque code with the `&` in front of a whole place beside it: where the place is a reference in generated code, it is not
/// borrowed once more.
fn with_borrows(code: &str, placeholder: &str) -> String {
    let mut parts = code.split(placeholder);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for behind in parts {
        let is_whole = !behind.trim_start().starts_with(['.', '[', '(', '?']);
        if is_whole && out.ends_with("& ") {
            out.pop();
        }
        out.extend([placeholder, behind]);
    }
    out
}

/// Whether a method of that name takes what it is called on, or changes it, as far as names tell.
fn takes_by_name(method: &str) -> bool {
    is_operator_method(method) || method.starts_with("into") || method.starts_with("try_into") || method.ends_with('_')
}

/// What opaque code is: a second handle of it is a value.
fn form_of(expr: &syn::Expr, scope: CodeScope, is_handed_on: bool) -> CodeForm {
    let is_open = !scope.uses.is_empty() || !scope.variables.is_empty();
    match expr {
        _ if is_open => CodeForm::Block(scope),
        syn::Expr::Block(_) if !is_handed_on => CodeForm::Block(scope),
        syn::Expr::Reference(_) if !is_handed_on => CodeForm::Reference,
        _ => CodeForm::Value,
    }
}

/// A value that opaque code reaches where it is, rather than through a variable of its own: what can neither be copied
/// nor shared.
fn is_place(value: &Val) -> bool {
    match value {
        Val::Node(_, ty, _) => *ty != Ty::Tensor && !is_copy(ty),
        Val::Place(_) => true,
        _ => false,
    }
}
