//! Closures: what they see, and what becomes of them where they are called.
//!
//! A closure sees the variables of the place where it is written: not what has taken their names since, nor what bears
//! them in the function that it is handed to or comes out of. One that writes to a variable is called where it stands,
//! since it is the variable of now that it writes to; no other variable may have taken its name.

use std::{collections::BTreeSet, rc::Rc};

use quote::ToTokens;
use syn::spanned::Spanned;

use crate::builder::OwnClosure;
use crate::index::{Name, Resolved};
use crate::syntax::{add_words, any, bound_names, makes_result, names_of};
use crate::trace::desugar::closure_form::{is_plain_closure, plain};
use crate::trace::std_model::method_type::is_text;
use crate::trace::{
    Env, Frame, OnError, Result, Tracer, Ty, Val, entry::signature::holds_reference, unsupported, value::ClosureEnv,
};

/// Why a closure is not called, and a variable is not declared, beside the other.
const HIDDEN: &str = "a variable by the name of another that a closure writes to";

/// Refuses a call of a closure that yields a `Result` where its error does not leave the function: the code around it may
/// look at what it yields, which is not what the `Result` holds.
pub(in crate::trace) fn refuse_looked_at(closure: &syn::ExprClosure, errors: OnError) -> Result<()> {
    let is_said = match &closure.output {
        syn::ReturnType::Type(_, ty) => matches!(&**ty, syn::Type::Path(path)
            if path.path.segments.last().is_some_and(|last| last.ident.to_string().ends_with("Result"))),
        syn::ReturnType::Default => false,
    };
    let asks = |expr: &syn::Expr| matches!(expr, syn::Expr::Try(_));
    let is_result = is_said || makes_result(&closure.body) || any(&closure.body, asks);
    if is_result && errors != OnError::Propagate {
        return unsupported(closure.span(), "a closure whose error the code around its call may look at");
    }
    Ok(())
}

impl Tracer<'_> {
    /// A closure with all that it sees.
    pub(in crate::trace) fn closure(&self, closure: &syn::ExprClosure) -> Val {
        let home = ClosureEnv { env: self.env.clone(), frames: self.frames.clone(), escaped: false };
        Val::Closure(Rc::new(closure.clone()), Rc::new(home))
    }

    /// Calls a closure that a variable holds, or that a function has made.
    pub(in crate::trace) fn call_closure_of(
        &mut self,
        closure: &syn::ExprClosure,
        home: &ClosureEnv,
        args: Vec<Val>,
    ) -> Result<Val> {
        if !home.escaped && self.writes_to_hidden(closure, home) {
            return unsupported(closure.span(), HIDDEN);
        }
        if !home.escaped && !self.hides(closure, home) {
            return self.call_closure(closure, args);
        }
        self.enter(home.env.clone());
        let frames = std::mem::replace(&mut self.frames, home.frames.clone());
        let called = self.closure_body(closure, args);
        self.frames = frames;
        let after = self.leave_env();
        if !after.changed_since(&home.env).is_empty() {
            return unsupported(closure.span(), "a closure that writes to its surroundings");
        }
        let (value, left) = called?;
        self.give_back(left, closure.span()).map(|()| value)
    }

    /// The arguments of a call of a closure, which may write to what is borrowed to it.
    pub(in crate::trace) fn closure_args<'e>(
        &mut self,
        args: impl IntoIterator<Item = &'e syn::Expr>,
    ) -> Result<Vec<Val>> {
        let arg = |arg: &'e syn::Expr| match self.mut_ref_to_local(arg)? {
            Some(place) => Ok(place),
            None => self.expr(arg),
        };
        args.into_iter().map(arg).collect()
    }

    /// Calls a closure that a constructor adds to a chain, or puts into a field: its names mean what they mean there.
    pub(in crate::trace) fn call_own_closure(&mut self, closure: &OwnClosure, args: Vec<Val>) -> Result<Val> {
        let (function, modules) = (closure.function, self.modules().to_vec());
        self.enter(Env::new());
        self.frames.push(Frame { function, receiver: None, modules, errors: OnError::Return });
        let value = self.call_closure(&closure.code, args);
        self.frames.pop();
        self.leave_env();
        value
    }

    /// Whether a scope that was opened since has a variable of the name of one that the closure writes to.
    fn writes_to_hidden(&self, closure: &syn::ExprClosure, home: &ClosureEnv) -> bool {
        self.written_outside(closure).iter().any(|name| self.env.declares_above(home.env.depth(), name))
    }

    /// No `let` takes the name of a variable that a closure of the same block writes to.
    pub(in crate::trace) fn refuse_hiding(&self, pat: &syn::Pat) -> Result<()> {
        let depth = self.env.depth();
        let written: BTreeSet<String> = self
            .env
            .all()
            .filter_map(|(_, value)| match value {
                Val::Closure(closure, home) if !home.escaped && home.env.depth() == depth => Some(closure),
                _ => None,
            })
            .flat_map(|closure| self.written_outside(closure))
            .collect();
        if written.is_empty() || written.is_disjoint(&names_of(pat)) {
            return Ok(());
        }
        unsupported(pat.span(), HIDDEN)
    }

    /// Whether the name is that of a function of the crate, or of a variable that holds a closure, which is called in
    /// place.
    pub(in crate::trace) fn is_callable(&self, name: &syn::Ident) -> bool {
        let name = name.to_string();
        match self.env.read(&name) {
            Some(value) => matches!(value, Val::Closure(..) | Val::Chosen(_)),
            None => matches!(self.index.resolve(self.module(), &name), Resolved::Item(_, _, Name::Fn(_))),
        }
    }

    /// Whether a variable that the closure reads is another one by now.
    fn hides(&self, closure: &syn::ExprClosure, home: &ClosureEnv) -> bool {
        let whole = syn::Expr::Closure(closure.clone());
        let (own, written) = (bound_names(&whole), self.writes(&closure.body));
        let mut mentioned = BTreeSet::new();
        add_words(closure.body.to_token_stream(), &mut mentioned);
        mentioned.iter().filter(|&name| !own.contains(name) && !written.contains(name)).any(|name| {
            let (then, now) = (home.env.read(name), self.env.read(name));
            then.is_some_and(|then| !now.is_some_and(|now| now.same(then)))
        })
    }

    /// Calls a closure that the user wrote in place.
    pub(in crate::trace) fn call_closure(&mut self, closure: &syn::ExprClosure, args: Vec<Val>) -> Result<Val> {
        let (value, left) = self.closure_body(closure, args)?;
        self.give_back(left, closure.span()).map(|()| value)
    }

    /// What the closure yields, and what it leaves in what was borrowed to it.
    fn closure_body(&mut self, closure: &syn::ExprClosure, args: Vec<Val>) -> Result<(Val, Vec<Val>)> {
        if closure.inputs.len() != args.len() {
            return unsupported(closure.span(), "a closure called with another number of arguments");
        }
        self.env.open();
        let mut value = Ok(Val::Unit);
        let mut lent = Vec::new();
        for (pat, arg) in closure.inputs.iter().zip(args) {
            if let (Val::MutRef(..), syn::Pat::Ident(name)) = (&arg, plain(pat)) {
                lent.push(name.ident.to_string());
            }
            value = value.and_then(|_| self.bind_argument(pat, arg).map(|()| Val::Unit));
        }
        self.closures += 1;
        let value = value.and_then(|_| match &*closure.body {
            syn::Expr::Block(block) => self.block(&block.block, true),
            body => self.expr(body),
        });
        self.closures -= 1;
        let left = lent.iter().filter_map(|name| self.env.read(name).cloned()).collect();
        self.env.close();
        let value = value?;
        let syn::ReturnType::Type(_, written) = &closure.output else { return Ok((value, left)) };
        let ty = self.index.ty(self.module(), self.function().owner.as_ref(), written);
        if value.ty() != Ty::Unknown || matches!(ty, Ty::Result(_)) {
            return Ok((value, left));
        }
        self.annotate_output(&value, &closure.output)?;
        Ok((value.with_ty(ty), left))
    }

    /// A parameter of a closure, with what it is called with.
    fn bind_argument(&mut self, pat: &syn::Pat, arg: Val) -> Result<()> {
        match (pat, arg) {
            (syn::Pat::Type(typed), Val::MutRef(place, inner)) => self.declare_lent(typed, place, *inner),
            (syn::Pat::Ident(name), lent @ Val::MutRef(..)) if name.by_ref.is_none() && name.subpat.is_none() => {
                self.env.declare(&name.ident.to_string(), lent);
                Ok(())
            }
            (syn::Pat::Type(typed), Val::Place(place)) => {
                self.bind(&typed.pat, Val::Place(Rc::new(place.handed_as(&typed.ty))))
            }
            (pat, arg) => self.bind(pat, arg),
        }
    }

    /// Code that is kept as opaque code and that a function hands over is of the type that the function says.
    pub(in crate::trace) fn annotate_output(&mut self, value: &Val, output: &syn::ReturnType) -> Result<()> {
        let syn::ReturnType::Type(_, written) = output else { return Ok(()) };
        self.annotate_as(value, written)
    }

    /// The same with a type of the function's output.
    pub(in crate::trace) fn annotate_as(&mut self, value: &Val, written: &syn::Type) -> Result<()> {
        let mut mentioned = BTreeSet::new();
        add_words(written.to_token_stream(), &mut mentioned);
        let generics = &self.function().generics.params;
        let is_param = |name: &String| {
            self.is_generic(name)
                || generics.iter().any(|param| matches!(param, syn::GenericParam::Type(param) if param.ident == name))
        };
        let is_open = mentioned.iter().any(|name| matches!(name.as_str(), "impl" | "Self" | "_") || is_param(name));
        let is_text = matches!(self.index.ty(self.module(), None, written), Ty::List(held) if is_text(&held));
        if is_open || holds_reference(written) && !is_text { Ok(()) } else { self.annotate(value, written) }
    }

    /// `[a, b].map(|item| ..)`: no other list has such a method.
    pub(in crate::trace) fn array_map(&mut self, array: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let unknown = || unsupported(call.method.span(), "the method `map`");
        let (Some(arg), Val::List(items)) = (call.args.first(), array) else { return unknown() };
        let mut mapped = Vec::with_capacity(items.len());
        for item in items {
            let value = match arg {
                syn::Expr::Closure(closure) if is_plain_closure(closure, 1) => {
                    self.call_closure(closure, vec![item])?
                }
                syn::Expr::Path(path) => {
                    match path.path.get_ident().and_then(|name| self.env.read(&name.to_string())) {
                        Some(Val::Closure(closure, home)) if is_plain_closure(closure, 1) => {
                            let (closure, home) = (closure.clone(), home.clone());
                            self.call_closure_of(&closure, &home, vec![item])?
                        }
                        _ => return unknown(),
                    }
                }
                _ => return unknown(),
            };
            if matches!(value, Val::Never) {
                return Ok(value);
            }
            mapped.push(value);
        }
        Ok(Val::List(mapped))
    }
}
