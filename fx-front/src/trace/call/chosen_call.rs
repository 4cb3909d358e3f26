//! Calls of what branches choose: `act(&xs)` of a closure that a condition decides, and `block.forward(&xs)` of a reference
//! to one of several parts of the model.

use quote::format_ident;
use syn::{punctuated::Punctuated, spanned::Spanned};

use crate::index::Resolved;
use crate::syntax::{is_path_to, path_text, peeled};

use crate::trace::{OnError, Result, Tracer, Ty, Val, unsupported, value::Chosen};
use fx_ir::Arg;

/// What a pointer to a function or to an object hands out of it: itself.
const ITSELF: [&str; 5] = ["clone", "as_ref", "borrow", "deref", "by_ref"];

/// The arguments of a call, comma by comma.
type Args = Punctuated<syn::Expr, syn::Token![,]>;

impl Tracer<'_> {
    /// The call of the function that branches choose.
    pub(in crate::trace) fn call_chosen(
        &mut self,
        chosen: &Chosen,
        call: &syn::ExprCall,
        errors: OnError,
    ) -> Result<Val> {
        let span = call.span();
        self.on_chosen(chosen, &call.args, span, &mut |tracer, name, args| {
            let call = syn::ExprCall { func: syn::parse_quote_spanned!(span=> #name), args, ..call.clone() };
            tracer.call(&call, errors)
        })
    }

    /// The method of the part that branches choose.
    pub(in crate::trace) fn method_of_chosen(
        &mut self,
        chosen: &Chosen,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Result<Val> {
        let (span, name) = (call.span(), call.method.to_string());
        if !chosen.arms.iter().flatten().all(|arm| self.is_of_trait(arm, &name)) {
            return unsupported(call.method.span(), format!("the method `{name}` of one of several types"));
        }
        self.on_chosen(chosen, &call.args, span, &mut |tracer, receiver, args| {
            let receiver = syn::parse_quote_spanned!(span=> #receiver);
            tracer.method_call(&syn::ExprMethodCall { receiver, args, ..call.clone() }, errors)
        })
    }

    /// The function behind the `Box`, `Rc` or `Arc` that the call makes of it; `None` of anything but a function.
    pub(in crate::trace) fn behind_box(&mut self, path: &syn::Path, call: &syn::ExprCall) -> Option<Val> {
        let Resolved::External(full) = self.index.resolve(self.module(), &path_text(path)) else { return None };
        let is_box = ["Box::new", "Rc::new", "Arc::new"].iter().any(|new| is_path_to(&full, new));
        let called = call.args.first().filter(|_| is_box)?;
        let mark = self.checkpoint();
        let value = match (self.expr(called), peeled(called)) {
            (Ok(value @ (Val::Closure(..) | Val::Chosen(_))), _) => Some(value),
            // The name is a value of another type than the box is.
            (Ok(Val::Lit(Arg::Path(_), _)), syn::Expr::Path(path)) => self.function_as_closure(&path.path),
            _ => None,
        };
        if value.is_none() {
            self.rollback(mark);
        }
        value
    }

    /// The closure that calls the function of that path, of the crate or of a tensor alone; `None` of anything else.
    pub(in crate::trace) fn function_as_closure(&self, path: &syn::Path) -> Option<Val> {
        let inputs = match (self.function_of_path(&path_text(path)), self.index.named_function(self.function(), path)) {
            (Some(id), _) => self.index.fns[id].sig.inputs.len(),
            (None, Some((_, pointer))) => syn::parse_str::<syn::TypeBareFn>(&pointer).ok()?.inputs.len(),
            (None, None) => return None,
        };
        let names = (0..inputs).map(|at| format_ident!("fx_argument_{at}", span = path.span()));
        let names: Vec<syn::Ident> = names.collect();
        Some(self.closure(&syn::parse_quote_spanned!(path.span()=> |#(#names),*| #path(#(#names),*))))
    }

    /// A method of a closure, of what branches choose, or of a field that is a closure; `None` of anything else.
    pub(in crate::trace) fn method_of_callable(
        &mut self,
        receiver: &Val,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Result<Option<Val>> {
        let (name, is_itself) = (call.method.to_string(), call.args.is_empty());
        match receiver {
            // What a pointer to it hands out is the value itself.
            Val::Closure(..) | Val::Chosen(_) if is_itself && ITSELF.contains(&name.as_str()) => {
                Ok(Some(receiver.clone()))
            }
            Val::Chosen(chosen) => self.method_of_chosen(chosen, call, errors).map(Some),
            value if matches!(name.as_str(), "forward" | "forward_t") => {
                let ty = value.ty();
                let is_field = matches!(ty, Ty::Rust(_)) && self.held_closure(value).is_some();
                if !is_field || self.has_method(&ty, &name) || self.is_module_of_crate(&ty, &name) {
                    return Ok(None);
                }
                let args = self.all(&call.args)?;
                self.forward(value, args, call.span()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether the method of the value is the one that a trait object has which the value is behind.
    fn is_of_trait(&self, value: &Val, name: &str) -> bool {
        let ty = value.ty();
        match value {
            Val::Chosen(inner) => inner.arms.iter().flatten().all(|arm| self.is_of_trait(arm, name)),
            Val::Node(_, Ty::Leaf(_), _) => {
                matches!(name, "forward" | "forward_t") || self.index.method(&ty, name).is_some()
            }
            Val::Node(..) => {
                let is_it = |one: &&crate::index::Function| {
                    let owner = one.owner.as_ref().filter(|_| one.sig.ident == name);
                    owner.is_some_and(|owner| self.index.ty(&one.module, None, owner) == ty)
                };
                let all: Vec<_> = self.index.fns.iter().filter(is_it).collect();
                matches!(all.as_slice(), [only] if only.of_trait.is_some())
            }
            _ => false,
        }
    }

    /// Traces the arguments, and the call in each of the branches, on variables that stand for what is called and for these.
    fn on_chosen(
        &mut self,
        chosen: &Chosen,
        args: &Args,
        span: proc_macro2::Span,
        call: &mut dyn FnMut(&mut Self, &syn::Ident, Args) -> Result<Val>,
    ) -> Result<Val> {
        let (mut variables, mut handed) = (Vec::new(), Args::new());
        for arg in args {
            if self.stays_in_call(arg) {
                handed.push(arg.clone());
                continue;
            }
            let value = self.handed_on(arg)?;
            if matches!(value, Val::Never) {
                return Ok(value);
            }
            let name = self.fresh_name("argument", arg.span());
            variables.push((name.to_string(), value));
            handed.push(syn::parse_quote_spanned!(arg.span()=> #name));
        }
        let name = self.fresh_name("called", span);
        self.with_variables(&variables, |tracer| {
            tracer.with_chosen(chosen, span, &mut |tracer, value| {
                let called = [(name.to_string(), value)];
                tracer.with_variables(&called, |tracer| call(tracer, &name, handed.clone()))
            })
        })
    }

    /// Whether an argument is what only its place in the call says: what is borrowed to be written to, or a closure.
    fn stays_in_call(&self, arg: &syn::Expr) -> bool {
        match arg {
            syn::Expr::Reference(borrowed) => borrowed.mutability.is_some() || self.stays_in_call(&borrowed.expr),
            syn::Expr::Path(path) => {
                let value = path.path.get_ident().and_then(|name| self.env.read(&name.to_string()));
                value.is_some_and(|value| {
                    matches!(value, Val::MutRef(..) | Val::Place(_) | Val::Iter(..) | Val::Closure(..) | Val::Chosen(_))
                })
            }
            syn::Expr::Closure(_) => true,
            _ => false,
        }
    }
}
