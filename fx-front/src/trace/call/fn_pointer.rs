//! Calls of functions that are values: `(self.activation)(&xs)`.
//!
//! Which function a field of the model points to is known when the model is frozen, and which it can be when it is built:
//! those of its type whose names the crate uses as values. So the call is a `match` with an arm for each, traced in place,
//! and the call of the pointer as the last. What the `match` asks is the pointer itself. That is sound though addresses of
//! functions are not unique: where one function has two, or the pointer is to none of them, the last arm runs, which is
//! what the user wrote; where two functions have one, rustc has found that their code is the same.
//!
//! Where the value comes from branches that name a function each, those are asked again, and no address.

use fx_ir::{Arg, Code, Effect, HostOp, NodeId, Op, Pattern};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::builder::{self, OwnClosure};
use crate::index::{Known, Name, Resolved};
use crate::syntax::{path_text, peeled};
use crate::trace::types::ty::is_copy;
use crate::trace::{
    OnError, Result, Tracer, Ty, Val, call::closure_call::refuse_looked_at, opaque::template::called_with, unsupported,
};

/// So many functions of one type are told apart; each is an arm, with the layers that are fused with it.
const MOST: usize = 16;

/// How to tell which function a value is.
enum Choice {
    /// The branches that it comes from, and the function that each names.
    Branches(NodeId, Vec<String>),
    /// By its address, among these: each with the path by which generated code names it.
    Pointer(Vec<(Known, String)>),
}

/// A call with its arguments traced, which stand in variables of these names.
struct Called {
    args: Vec<Val>,
    /// The call of a function on these, to be put before the arguments.
    exprs: Vec<syn::Expr>,
    span: Span,
}

impl Called {
    fn of(&self, path: &str) -> Option<syn::ExprCall> {
        let func: syn::ExprPath = syn::LitStr::new(path, self.span).parse().ok()?;
        let args = &self.exprs;
        Some(syn::parse_quote_spanned!(self.span=> #func(#(#args),*)))
    }
}

impl Tracer<'_> {
    /// A call of an expression that is no path.
    pub(in crate::trace) fn call_value(&mut self, call: &syn::ExprCall, errors: OnError) -> Result<Val> {
        if let Some(closure) = self.closure_in_field(&call.func) {
            let args = call.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
            return self.call_own_closure(&closure, args);
        }
        match self.expr(&call.func)? {
            Val::Closure(closure, home) => {
                refuse_looked_at(&closure, errors)?;
                let args = self.closure_args(&call.args)?;
                self.call_closure_of(&closure, &home, args)
            }
            Val::Chosen(chosen) => self.call_chosen(&chosen, call, OnError::Return),
            value => self.call_function(&value, call, OnError::Return),
        }
    }

    /// The closure that a field of the model holds, where its constructors say which one.
    fn closure_in_field(&self, func: &syn::Expr) -> Option<OwnClosure> {
        let syn::Expr::Field(field) = peeled(func) else { return None };
        let Ty::Struct(owner) = self.chain_ty(&field.base) else { return None };
        builder::closure_of(self.index, owner, &field.member.to_token_stream().to_string())
    }

    /// A call of a value that stands for a function: a name of one, or a pointer.
    pub(in crate::trace) fn call_function(
        &mut self,
        value: &Val,
        call: &syn::ExprCall,
        errors: OnError,
    ) -> Result<Val> {
        if let Val::Lit(Arg::Path(text), _) = value {
            return self.call_named(text, call, errors);
        }
        if let Some(closure) = self.held_closure(value) {
            let args = self.all(&call.args)?;
            return self.call_own_closure(&closure, args);
        }
        let Some(choice) = self.choice_of(value) else { return self.call_opaque(value, call) };
        let args = self.all(&call.args)?;
        self.env.open();
        let mut exprs = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            let name = format!("argument_{at}");
            self.env.declare(&name, arg.clone());
            let name = syn::Ident::new(&name, call.span());
            exprs.push(syn::parse_quote!(#name));
        }
        let called = Called { args, exprs, span: call.span() };
        let result = match choice {
            Choice::Branches(of, names) => self.by_branch(of, names, &called),
            Choice::Pointer(known) => self.by_pointer(value, &known, &called),
        };
        self.env.close();
        result
    }

    /// How to tell which function the value is, if one of a few.
    fn choice_of(&self, value: &Val) -> Option<Choice> {
        let ty = Some(value.ty()).filter(Ty::is_function)?;
        let named = |known: &Known| Some((known.clone(), self.index.function_from(self.home(), known)?));
        self.branches(value).or_else(|| {
            let known: Vec<(Known, String)> = self.index.pointed(&ty).filter_map(named).collect();
            (1..=MOST).contains(&known.len()).then_some(Choice::Pointer(known))
        })
    }

    /// A call of a variable that stands for a function: `f(xs)` where `Tensor::sigmoid` was handed over as `f`.
    fn call_named(&mut self, text: &str, call: &syn::ExprCall, errors: OnError) -> Result<Val> {
        let means_the_same = |path: &syn::Path| path.leading_colon.is_some() || path.segments[0].ident == "crate";
        if let Ok(path) = syn::parse_str::<syn::Path>(text)
            && (self.is_home() || means_the_same(&path))
        {
            return self.call_path(&path, &path_text(&path), call, errors);
        }
        unsupported(call.func.span(), "a call of a value")
    }

    /// The `match` or `if` each of whose branches names the function that the value is.
    fn branches(&self, value: &Val) -> Option<Choice> {
        let id = value.node()?;
        let node = self.graph.node(id);
        if !matches!(node.op, Op::If | Op::Match(_)) || self.graph.is_impure(id) {
            return None;
        }
        let named = node.regions.iter().map(|&region| {
            let end = self.graph.node(self.graph.yield_of(region)?);
            end.args.first()?.node().and_then(|function| self.facts.named.get(&function).cloned())
        });
        Some(Choice::Branches(id, named.collect::<Option<Vec<String>>>()?))
    }

    /// The call in the same branches again.
    fn by_branch(&mut self, of: NodeId, names: Vec<String>, called: &Called) -> Result<Val> {
        let node = self.graph.node(of).clone();
        let owner = self.owner(node.op, node.args, "called", called.span);
        let mut branches = Vec::new();
        for (region, name) in node.regions.into_iter().zip(names) {
            let params = self.graph.region(region).params.clone();
            branches.push(self.in_region(owner, &mut |tracer| {
                for &param in &params {
                    let param = tracer.graph.node(param).clone();
                    tracer.graph.add_param(tracer.region, &param.name, param.ty, param.origin);
                }
                let call = called.of(&name);
                call.map_or_else(
                    || unsupported(called.span, "a call of a value"),
                    |call| tracer.call_named(&name, &call, OnError::Return),
                )
            })?);
        }
        self.join_branches(owner, &branches, called.span)
    }

    /// An arm for each function that the pointer may be to, and one for any other.
    fn by_pointer(&mut self, value: &Val, known: &[(Known, String)], called: &Called) -> Result<Val> {
        let ty = &value.ty();
        let Some(written) = self.spelling(ty) else { return unsupported(called.span, "a call of a value") };
        let span = called.span;
        let place = self.operand(value, span)?;
        let names = labels(known);
        let pair = |(name, (_, path)): (&String, &(Known, String))| {
            HostOp::Tuple.of([Arg::Str(name.clone()), Arg::Path(path.clone())])
        };
        let pairs = HostOp::Array.of(names.iter().zip(known).map(pair));
        let ty = Ty::Rust("Option<&'static str>".to_owned());
        let test = self.host_node(HostOp::Known(written.clone()), vec![place, pairs], "known", ty, span);
        let owner = self.owner(Op::Match(Vec::new()), test.arg().into_iter().collect(), "called", span);
        let (mut patterns, mut branches) = (Vec::new(), Vec::new());
        for (name, (function, _)) in names.iter().zip(known) {
            patterns.push(Pattern::some(Pattern::text(name)));
            let path = format!("{}::{}", function.of, function.name);
            branches.push(self.in_region(owner, &mut |tracer| {
                let mark = tracer.checkpoint();
                let traced = match called.of(&path) {
                    Some(call) => tracer.call_named(&path, &call, OnError::Return),
                    None => unsupported(span, "a call of a value"),
                };
                traced.or_else(|fault| {
                    tracer.rollback(mark);
                    tracer.call_through(value, &written, called, Some(&fault.reason))
                })
            })?);
        }
        patterns.push(Pattern::Wild);
        branches.push(self.in_region(owner, &mut |tracer| tracer.call_through(value, &written, called, None))?);
        self.edit_node(owner).op = Op::Match(patterns);
        self.join_branches(owner, &branches, span)
    }

    /// The call of the pointer itself, whatever it points to.
    fn call_through(&mut self, value: &Val, written: &str, called: &Called, fault: Option<&str>) -> Result<Val> {
        let span = called.span;
        let Ok(signature) = syn::parse_str::<syn::TypeBareFn>(written) else {
            return unsupported(span, "a call of a value");
        };
        let place = vec![self.operand(value, span)?];
        let kept = format!("::fx_runtime::frozen::Pointer<{written}>");
        let pointer = self.host_node(HostOp::Pointer(written.to_owned()), place, "function", Ty::Rust(kept), span);
        let mut operands = vec![self.operand(&pointer, span)?];
        for (param, value) in signature.inputs.iter().zip(&called.args) {
            operands.push(self.argument(value, &param.ty, span)?);
        }
        let output = match &signature.output {
            syn::ReturnType::Type(_, ty) => self.index.ty("crate", None, ty),
            syn::ReturnType::Default => Ty::Tuple(Vec::new()),
        };
        let Some(reason) = fault else {
            return Ok(self.host_node_with(Effect::Io, HostOp::CallPointer, operands, "called", output, span));
        };
        self.report_opaque(span, reason, self.one_operation());
        let code = Code::opaque(called_with("($0.get())", 1, operands.len()), reason);
        Ok(self.push(Op::Rust(code), operands, "called", output, span))
    }

    /// A function of which nothing is known, on arguments that are understood.
    fn call_opaque(&mut self, value: &Val, call: &syn::ExprCall) -> Result<Val> {
        let reason = "a call of a value";
        let ty = self.yielded(&call.func);
        if ty != Ty::Tensor && !is_copy(&ty) {
            return unsupported(call.func.span(), reason);
        }
        let args = vec![self.operand(value, call.func.span())?];
        let values = self.all(&call.args)?;
        let args = self.operands_of_call(args, &call.args, &values)?;
        self.report_opaque(call.func.span(), reason, self.one_operation());
        let code = Op::Rust(Code::opaque(called_with("($0)", 1, args.len()), reason.to_owned()));
        Ok(self.push(code, args, "called", ty, call.span()))
    }

    /// What the function yields that the expression stands for, where a type says so.
    fn yielded(&self, func: &syn::Expr) -> Ty {
        match func {
            syn::Expr::Paren(inner) => self.yielded(&inner.expr),
            syn::Expr::Reference(inner) => self.yielded(&inner.expr),
            syn::Expr::Unary(inner) => self.yielded(&inner.expr),
            syn::Expr::MethodCall(call) => {
                let method = self.index.method(&self.chain_ty(&call.receiver), &call.method.to_string());
                let Some(callee) = method.map(|id| &self.index.fns[id]) else { return Ty::Unknown };
                match &callee.sig.output {
                    syn::ReturnType::Type(_, ty) => self.index.yielded(&callee.module, ty),
                    syn::ReturnType::Default => Ty::Unknown,
                }
            }
            syn::Expr::Field(field) => {
                let Ty::Struct(owner) = self.chain_ty(&field.base) else { return Ty::Unknown };
                self.yielded_by(owner, &field.member.to_token_stream().to_string())
            }
            syn::Expr::Path(path) => {
                let Some(id) = self.env.read(&path_text(&path.path)).and_then(Val::node) else { return Ty::Unknown };
                match (self.field_at(id), self.entry_type(id)) {
                    (Some((owner, field)), _) => self.yielded_by(owner, &field),
                    (None, Some(written)) => self.index.yielded(self.home(), &written),
                    (None, None) => Ty::Unknown,
                }
            }
            _ => Ty::Unknown,
        }
    }

    /// The same of the function in a field.
    fn yielded_by(&self, owner: usize, field: &str) -> Ty {
        let module = &self.index.structs[owner].module;
        self.index.field(owner, field).map_or(Ty::Unknown, |field| self.index.yielded(module, &field.ty))
    }

    /// Whether it is the type of pointers to functions.
    pub(in crate::trace) fn is_function_type(&self, ty: &syn::Type) -> bool {
        matches!(ty, syn::Type::BareFn(_))
            || self.index.ty(self.module(), self.function().owner.as_ref(), ty).is_function()
    }

    /// The type of an item that a path names: of a constant that is a number, or of a function; or nothing is known.
    pub(in crate::trace) fn item_ty(&self, path: &syn::Path) -> Ty {
        if let Resolved::Item(module, _, Name::Const(_, ty)) = self.index.resolve(self.module(), &path_text(path)) {
            return Some(self.index.ty(&module, None, &ty)).filter(is_copy).unwrap_or(Ty::Unknown);
        }
        if let Some(number) = number_with_limit(path) {
            return Ty::Rust(number);
        }
        self.index.named_function(self.function(), path).map_or(Ty::Unknown, |(_, ty)| Ty::Rust(ty))
    }
}

/// The type of `i64::MAX` and its like.
fn number_with_limit(path: &syn::Path) -> Option<String> {
    let [number, limit] = &path.segments.iter().map(|part| part.ident.to_string()).collect::<Vec<_>>()[..] else {
        return None;
    };
    let is_limit =
        ["MAX", "MIN", "INFINITY", "NEG_INFINITY", "NAN", "EPSILON", "MIN_POSITIVE"].contains(&limit.as_str());
    Some(number.clone()).filter(|number| is_limit && fx_ir::scalar::is_scalar(number))
}

/// A name for each of the functions: its own, or its path where two have that.
fn labels(known: &[(Known, String)]) -> Vec<String> {
    let alone = |name: &str| known.iter().filter(|(function, _)| function.name == name).count() == 1;
    let label = |(function, path): &(Known, String)| match &function.name {
        name if alone(name) => name.clone(),
        _ => path.clone(),
    };
    known.iter().map(label).collect()
}
