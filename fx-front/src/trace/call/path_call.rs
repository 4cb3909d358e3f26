//! Calls by path: `Tensor::cat(..)`, free functions, constructors of `Option` and `Result`.

use fx_ir::host::methods::{Gives, Receiver, method};
use fx_ir::{Arg, Code, Effect, HostOp, Op, OpId};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::index::{Name, Resolved};
use crate::syntax::{is_path_to, path_text, written_types::typed_params};
use crate::trace::std_model::convert::is_whole;
use crate::trace::types::ty::is_untyped;
use crate::trace::{
    OnError, Result, Tracer, Ty, Val,
    call::closure_call::refuse_looked_at,
    layer::recurrent::state_made_by,
    tensor::{operator, operator_trait::operator_of_method},
    unsupported,
};

impl Tracer<'_> {
    pub(in crate::trace) fn call(&mut self, call: &syn::ExprCall, errors: OnError) -> Result<Val> {
        let syn::Expr::Path(path) = &*call.func else {
            return self.call_value(call, errors);
        };
        let text = path_text(&path.path);
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        match (text.as_str(), args.as_slice()) {
            ("Ok", [value]) => return self.expr(value),
            ("Err", _) => return unsupported(call.span(), "`Err` here"),
            ("Vec::new", []) | ("Vec::with_capacity", [_]) => return Ok(Val::List(Vec::new())),
            ("Some", [value]) => {
                return self.moved_into(value).map(|value| Val::Some(Box::new(value)));
            }
            _ => {}
        }
        if let Some(Val::Closure(closure, home)) = self.env.read(&text).cloned() {
            refuse_looked_at(&closure, errors)?;
            let args = self.closure_args(&call.args)?;
            return self.call_closure_of(&closure, &home, args);
        }
        if let Some(Val::Chosen(chosen)) = self.env.read(&text).cloned() {
            return self.call_chosen(&chosen, call, errors);
        }
        if let Some(function) = self.env.read(&text).cloned() {
            return self.call_function(&function, call, errors);
        }
        self.call_path(&path.path, &text, call, errors)
    }

    pub(in crate::trace) fn call_path(
        &mut self,
        path: &syn::Path,
        text: &str,
        call: &syn::ExprCall,
        errors: OnError,
    ) -> Result<Val> {
        if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(self.module(), text) {
            return self.call_fn(id, call, errors);
        }
        if let Some(literal) = self.tuple_struct(path, text, call) {
            return self.structure(&literal);
        }
        if let Some(id) = self.function_of_trait(call) {
            return self.call_fn(id, call, errors);
        }
        if let Some((owner, name)) = self.enum_of(text) {
            let values = self.all(&call.args)?;
            return self.variant_made((owner, name), path, call, values);
        }
        if let Some(value) = self.known_call(text, call) {
            return value;
        }
        let (head, name) = text.rsplit_once("::").unwrap_or(("", text));
        if head.is_empty() {
            return self.foreign_call(path, call);
        }
        let owner: Option<Ty> = match head {
            "Self" => self.function().owner.as_ref().map(|owner| self.index.ty(self.module(), None, owner)),
            _ => syn::parse_str::<syn::Type>(head).ok().map(|ty| self.index.ty(self.module(), None, &ty)),
        };
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        match owner {
            Some(Ty::Tensor) if OpId::of_method(name).is_none() => match self.function_of(&Ty::Tensor, name, &args) {
                Some(id) => self.call_fn(id, call, errors),
                None => self.tensor_function(name, call),
            },
            Some(Ty::Tensor) => self.tensor_function(name, call),
            Some(ty @ (Ty::Struct(_) | Ty::Rust(_))) => match self.function_of(&ty, name, &args) {
                Some(id) => self.call_fn(id, call, errors),
                None => self.foreign_call(path, call),
            },
            _ => self.foreign_call(path, call),
        }
    }

    /// Calls that mean something to the tracer: a method by the path of its trait, and what says that no gradient is
    /// wanted, which in a frozen model none is.
    fn known_call(&mut self, text: &str, call: &syn::ExprCall) -> Option<Result<Val>> {
        let full = match self.index.resolve(self.module(), text) {
            Resolved::External(full) => full,
            Resolved::Item(..) => return None,
        };
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        if let Some(value) = self.exchange(&full, &args, call.span()).transpose() {
            return Some(value);
        }
        if let ([name], true) = (args.as_slice(), is_drop(&full)) {
            match self.is_done_with(name) {
                Ok(true) => return Some(Ok(Val::Unit)),
                Ok(false) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
        if let Some(value) = self.number_of_tensor(&full, call, &args).transpose() {
            return Some(value);
        }
        if let (Some(of), [number]) = (full.strip_suffix("::try_from"), args.as_slice())
            && let Some(value) = self.converted(of, number).transpose()
        {
            return Some(value);
        }
        if let (Some(state), [whole]) = (state_made_by(&full), args.as_slice()) {
            let value = self.expr(whole);
            return Some(value.and_then(|value| self.state_of_tensors(state, &value, call.span())));
        }
        if let Some(value) = self.gradient_call(&full, &args, call.span()) {
            return Some(value);
        }
        let ends = |path: &str| is_path_to(&full, path);
        match args.as_slice() {
            [left, right] if operator_of(&full).is_some() => {
                let op = operator_of(&full)?;
                let binary: syn::Expr = syn::parse_quote_spanned!(call.span()=> (#left) #op (#right));
                Some(self.expr(&binary))
            }
            [value] if ends("ops::Neg::neg") => {
                let negated: syn::Expr = syn::parse_quote_spanned!(call.span()=> -(#value));
                Some(self.expr(&negated))
            }
            [seed] if ends("tch::manual_seed") => Some(self.seeded(seed)),
            [number] if ends("tch::Scalar::int") => Some(self.scalar_by("Int", number)),
            [number] if ends("tch::Scalar::float") => Some(self.scalar_by("Float", number)),
            [number] if ends("tch::Scalar::from") => Some(self.scalar_by("from", number)),
            [module, rest @ ..] if ends("Module::forward") || ends("ModuleT::forward_t") => {
                Some(self.expr(module).and_then(|module| {
                    let rest = rest.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
                    self.forward(&module, rest, call.span())
                }))
            }
            [receiver, rest @ ..] if rnn_method(&full).is_some() => {
                let method = syn::Ident::new(rnn_method(&full)?, call.span());
                let call: syn::Expr = syn::parse_quote_spanned!(call.span()=> (#receiver).#method(#(#rest),*));
                Some(self.expr(&call))
            }
            _ => None,
        }
    }

    /// A call of tch's that turns gradients off: for a closure, or as long as the guard lives.
    fn gradient_call(&mut self, full: &str, args: &[&syn::Expr], span: Span) -> Option<Result<Val>> {
        match args {
            [] if is_path_to(full, "tch::no_grad_guard") => Some(Ok(Val::Unit)),
            [syn::Expr::Closure(closure)] if is_path_to(full, "tch::no_grad") => {
                Some(self.without_gradients(span, |tracer| tracer.call_closure(closure, Vec::new())))
            }
            _ => None,
        }
    }

    /// `tch::manual_seed(seed)`, which decides what is drawn behind it.
    fn seeded(&mut self, seed: &syn::Expr) -> Result<Val> {
        let value = self.expr(seed)?.behind();
        if !operator::is_number(&value) {
            return unsupported(seed.span(), "the function `tch::manual_seed`");
        }
        let args = vec![self.operand(&value, seed.span())?];
        let code = Code { effect: Effect::Io, ..Code::pure("::fx_runtime::tch::manual_seed($0)") };
        self.push(Op::Rust(code), args, "effect", Ty::Tuple(Vec::new()), seed.span());
        Ok(Val::Unit)
    }

    /// `i64::try_from(n)` of a whole number, a `Result`; `None` for any other call.
    fn converted(&mut self, of: &str, number: &syn::Expr) -> Result<Option<Val>> {
        let Some(value) = self.whole_number(of, number)? else { return Ok(None) };
        let args = vec![self.operand(&value, number.span())?];
        let ty = Ty::Result(Box::new(Ty::Rust(of.to_owned())));
        Ok(Some(self.host_node(HostOp::Convert(of.to_owned()), args, "converted", ty, number.span())))
    }

    /// `i64::try_from(n).unwrap_or(other)` of whole numbers; `None` for any other call.
    pub(in crate::trace) fn converted_or(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let (syn::Expr::Call(inner), "unwrap_or") = (&*call.receiver, call.method.to_string().as_str()) else {
            return Ok(None);
        };
        let (syn::Expr::Path(path), Some(number), Some(other)) = (&*inner.func, inner.args.first(), call.args.first())
        else {
            return Ok(None);
        };
        let [of, function] = path.path.segments.iter().map(|segment| &segment.ident).collect::<Vec<_>>()[..] else {
            return Ok(None);
        };
        let of = of.to_string();
        if function != "try_from" {
            return Ok(None);
        }
        let Some(value) = self.whole_number(&of, number)? else { return Ok(None) };
        let other = self.expr(other)?;
        let args = vec![self.operand(&value, number.span())?, self.operand(&other, call.span())?];
        let ty = Ty::Rust(of.clone());
        Ok(Some(self.host_node(HostOp::ConvertOr(of), args, "converted", ty, call.span())))
    }

    /// The number, if it is a whole one and so is the type; what else it is, nothing has been traced of.
    fn whole_number(&mut self, of: &str, number: &syn::Expr) -> Result<Option<Val>> {
        if !fx_ir::scalar::is_integer(of) {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let value = self.expr(number)?.behind();
        if is_whole(&value) {
            return Ok(Some(value));
        }
        self.rollback(mark);
        Ok(None)
    }

    /// `Tensor::cat(&[a, b], 1)`, and `Tensor::relu(&x)` for `x.relu()`.
    fn tensor_function(&mut self, name: &str, call: &syn::ExprCall) -> Result<Val> {
        let exprs: Vec<&syn::Expr> = call.args.iter().collect();
        if let ("from", [number]) = (name, exprs.as_slice())
            && let Some(tensor) = self.tensor_of_number(number)?
        {
            return Ok(tensor);
        }
        let Some(op) = OpId::of_method(name) else {
            return unsupported(call.span(), format!("`Tensor::{name}` is not known"));
        };
        if let ("from_slice", [data]) = (name, exprs.as_slice())
            && let Some(tensor) = self.tensor_of_numbers(data)?
        {
            return Ok(tensor);
        }
        let takes_self = op.entry().is_some_and(|entry| entry.receiver != fx_ir::catalog::Receiver::Free);
        match exprs.as_slice() {
            [receiver, rest @ ..] if takes_self => {
                let receiver = self.expr(receiver)?;
                self.op_call(op, name, Some(&receiver), rest, call.span())
            }
            all => self.op_call(op, name, None, all, call.span()),
        }
    }

    fn call_fn(&mut self, id: usize, call: &syn::ExprCall, errors: OnError) -> Result<Val> {
        let callee = &self.index.fns[id];
        let own = usize::from(callee.sig.receiver().is_some());
        let param = |at: usize| typed_params(&callee.sig).nth(at.checked_sub(own)?).map(|param| &*param.ty);
        let args = call.args.iter().enumerate();
        let args = args.map(|(at, arg)| self.gathering(param(at), |tracer| tracer.handed_on(arg)));
        let mut args = args.collect::<Result<Vec<Val>>>()?;
        let receiver = if callee.sig.receiver().is_some() && !args.is_empty() { Some(args.remove(0)) } else { None };
        self.constants = self.constant_arguments(callee, &call.func);
        self.inline_with(id, receiver, args, errors, call.span())
    }

    /// A call of a function of another crate: one of those that only compute, on plain numbers.
    fn foreign_call(&mut self, path: &syn::Path, call: &syn::ExprCall) -> Result<Val> {
        if let Some(function) = self.behind_box(path, call) {
            return Ok(function);
        }
        let head = self.qualified(path)?;
        let bare = head.trim_start_matches("::");
        // The primitive types' own functions: `::core::f64::sqrt` is `f64::sqrt`.
        let of_std = ["std::", "core::"].iter().find_map(|krate| bare.strip_prefix(krate));
        let is_primitive = |rest: &&str| rest.split_once("::").is_some_and(|(ty, _)| fx_ir::scalar::is_scalar(ty));
        let head = of_std.filter(is_primitive).map_or(head.clone(), str::to_owned);
        let Some(pure) = pure_function(&head) else {
            return unsupported(call.span(), format!("the function `{head}`"));
        };
        let values = call.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
        let ty = match pure {
            Pure::Yields(ty) => Some(Ty::Rust(ty.to_owned())),
            Pure::AsArgument => values.iter().map(Val::ty).find(|ty| !is_untyped(ty)),
        };
        if !values.iter().all(operator::is_number) {
            return unsupported(call.span(), format!("the function `{head}`"));
        }
        let args = values.iter().map(|value| self.operand(value, call.span())).collect::<Result<Vec<Arg>>>()?;
        let name = head.rsplit("::").next().unwrap_or(&head).to_owned();
        let op = match head.rsplit_once("::") {
            Some((ty, "from")) => HostOp::From(ty.to_owned()),
            _ => HostOp::Function(head),
        };
        Ok(self.host_node(op, args, &name, ty.unwrap_or(Ty::Unknown), call.span()))
    }
}

/// The operator that a function of the standard library's traits stands for: `std::ops::Mul::mul`.
fn operator_of(full: &str) -> Option<syn::BinOp> {
    let (_, name) = full.split_once("ops::").filter(|(of, _)| matches!(*of, "std::" | "core::" | ""))?;
    let (of, method) = name.split_once("::")?;
    operator_of_method(method).filter(|_| of.eq_ignore_ascii_case(method))
}

/// What a function of the standard library yields that only computes.
enum Pure<'p> {
    /// A value of this type.
    Yields(&'p str),
    /// A value of the type of its arguments.
    AsArgument,
}

fn pure_function(path: &str) -> Option<Pure<'_>> {
    let (ty, name) = path.rsplit_once("::")?;
    if ty.ends_with("cmp") {
        return is_of_numbers(name, Receiver::Int).then_some(Pure::AsArgument);
    }
    let known = match ty {
        "f64" => name == "from" || is_of_numbers(name, Receiver::Float),
        "f32" => is_of_numbers(name, Receiver::Float),
        "i64" | "usize" | "i32" => name == "from" || is_of_numbers(name, Receiver::Int),
        _ => false,
    };
    known.then_some(Pure::Yields(ty))
}

/// Whether a method of numbers makes a number of the same type.
fn is_of_numbers(name: &str, receiver: Receiver) -> bool {
    method(name, receiver).is_some_and(|row| row.receiver == receiver && row.gives == Gives::Receiver)
}

/// The method of tch's trait of recurrent layers that the path names.
fn rnn_method(full: &str) -> Option<&str> {
    full.rsplit_once("nn::RNN::").map(|(_, method)| method)
}

/// Whether the path is that of `drop`.
fn is_drop(full: &str) -> bool {
    ["drop", "std::mem::drop", "core::mem::drop"].contains(&full)
}
