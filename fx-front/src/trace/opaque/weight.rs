//! How many operations opaque code runs: the calls that stand in it, and those of the crate's functions that it calls.
//!
//! A call of `self.stage.forward(xs)` is as heavy as the body of that `forward`, and a chain of layers as what its
//! constructor adds, so that a share of operations says how much of a model's work is understood. Types are read off
//! declarations; of a call whose receiver's type is not known the call alone counts. What stands under
//! `#[cfg(debug_assertions)]` is no work of the model's, and not counted.

use std::collections::BTreeMap;

use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;

use crate::builder::{self, Layer};
use crate::cfg;
use crate::index::{Index, Name, Resolved, Ty};
use crate::pattern::bound;
use crate::syntax::{path_text, peeled};
use crate::trace::Tracer;

/// What opaque code runs. It is counted when the trace is at its end: most code that is tried as opaque code is not kept.
#[derive(Debug)]
pub(in crate::trace) struct Operations {
    /// The calls that stand in the code.
    own: usize,
    below: Below,
    /// The function that the code stands in.
    function: usize,
}

/// What is run beyond the code itself.
#[derive(Debug)]
enum Below {
    /// What an expression calls, with the types of its variables.
    Expr(Box<syn::Expr>, BTreeMap<String, Ty>),
    /// A function's body.
    Function(usize),
    /// Layers of a chain.
    Chain(Vec<Layer>),
    Nothing,
}

impl Operations {
    pub(in crate::trace) fn count(&self, index: &Index) -> usize {
        let mut weight = Weight::within(index, self.function, vec![self.function]);
        match &self.below {
            Below::Expr(expr, types) => {
                weight.types.extend(types.clone());
                let mut expr = expr.clone();
                cfg::StripDebug.visit_expr_mut(&mut expr);
                weight.visit_expr(&expr);
                self.own + weight.below
            }
            Below::Function(function) => of_function(index, *function, &[]),
            Below::Chain(layers) => weight.of_chain(layers).max(1),
            Below::Nothing => self.own,
        }
    }
}

impl Tracer<'_> {
    /// The operations of code whose text is known.
    pub(in crate::trace) fn operations(&self, expr: &syn::Expr, text: &str) -> Operations {
        let types = self.env.all().map(|(name, value)| (name.to_owned(), held(value.ty()))).collect();
        let calls = calls_of(text).saturating_sub(calls_of_debug_builds(expr));
        self.counted(calls.max(1), Below::Expr(Box::new(expr.clone()), types))
    }

    /// The operations of a function's body.
    pub(in crate::trace) fn operations_of(&self, function: usize) -> Operations {
        self.counted(1, Below::Function(function))
    }

    /// The operations of a chain of layers; one where they are not known.
    pub(in crate::trace) fn operations_of_chain(&self, layers: Option<Vec<Layer>>) -> Operations {
        self.counted(1, layers.map_or(Below::Nothing, Below::Chain))
    }

    /// The operations of code that is there in debug builds alone: none of the model's.
    pub(in crate::trace) fn no_operations(&self) -> Operations {
        self.counted(0, Below::Nothing)
    }

    /// A single operation.
    pub(in crate::trace) fn one_operation(&self) -> Operations {
        self.counted(1, Below::Nothing)
    }

    fn counted(&self, own: usize, below: Below) -> Operations {
        let function = self.frames.last().map_or(0, |frame| frame.function);
        Operations { own, below, function }
    }
}

/// The calls in a text of Rust, by their parentheses.
fn calls_of(text: &str) -> usize {
    text.matches('(').count()
}

/// The calls in the statements of the code that are there in debug builds alone.
fn calls_of_debug_builds(expr: &syn::Expr) -> usize {
    let calls = |expr: &syn::Expr| calls_of(&expr.to_token_stream().to_string());
    let mut others = expr.clone();
    cfg::StripDebug.visit_expr_mut(&mut others);
    calls(expr).saturating_sub(calls(&others))
}

/// Whether the statement is there in debug builds alone.
pub(in crate::trace) fn is_of_debug_builds(stmt: &syn::Stmt) -> bool {
    cfg::attributes(&mut stmt.clone()).is_some_and(|attrs| cfg::is_debug_only(attrs))
}

/// The operations of a function's body; one within itself.
fn of_function(index: &Index, function: usize, within: &[usize]) -> usize {
    if within.contains(&function) {
        return 1;
    }
    index.operations_of(function, || {
        let mut weight = Weight::within(index, function, [within, &[function]].concat());
        let mut block = index.fns[function].block.clone();
        cfg::StripDebug.visit_block_mut(&mut block);
        weight.visit_block(&block);
        (weight.calls + weight.below).max(1)
    })
}

/// What is inside options and lists.
fn held(ty: Ty) -> Ty {
    match ty {
        Ty::Option(inner) | Ty::List(inner) | Ty::Result(inner) => held(*inner),
        other => other,
    }
}

/// What is counted on the way through the code of one function.
struct Weight<'a> {
    index: &'a Index,
    function: usize,
    /// The functions that the code stands in.
    within: Vec<usize>,
    /// Of variables, what they hold.
    types: BTreeMap<String, Ty>,
    /// Calls in the code itself.
    calls: usize,
    /// What these run beyond one operation each.
    below: usize,
}

impl<'a> Weight<'a> {
    fn within(index: &'a Index, function: usize, within: Vec<usize>) -> Weight<'a> {
        let mut weight = Weight { index, function, within, types: BTreeMap::new(), calls: 0, below: 0 };
        let of = &index.fns[function];
        for input in &of.sig.inputs {
            if let syn::FnArg::Typed(typed) = input {
                let ty = held(index.ty(&of.module, of.owner.as_ref(), &typed.ty));
                weight.bind(&typed.pat, &ty);
            }
        }
        weight
    }

    fn bind(&mut self, pat: &syn::Pat, ty: &Ty) {
        self.types.extend(bound(pat).into_iter().map(|name| (name, ty.clone())));
    }

    /// What the value of an expression holds.
    fn ty(&self, expr: &syn::Expr) -> Ty {
        let of = &self.index.fns[self.function];
        match peeled(expr) {
            syn::Expr::Path(path) if path.path.is_ident("self") => {
                of.owner.as_ref().map_or(Ty::Unknown, |owner| self.index.ty(&of.module, None, owner))
            }
            syn::Expr::Path(path) => self.types.get(&path_text(&path.path)).cloned().unwrap_or(Ty::Unknown),
            syn::Expr::Field(field) => {
                let (Ty::Struct(owner), name) = (self.ty(&field.base), field.member.to_token_stream().to_string())
                else {
                    return Ty::Unknown;
                };
                let module = &self.index.structs[owner].module;
                let field = self.index.field(owner, &name);
                field.map_or(Ty::Unknown, |field| held(self.index.ty(module, None, &field.ty)))
            }
            syn::Expr::Index(index) => self.ty(&index.expr),
            syn::Expr::Unary(unary) => self.ty(&unary.expr),
            syn::Expr::Reference(borrowed) => self.ty(&borrowed.expr),
            syn::Expr::Try(inner) => self.ty(&inner.expr),
            syn::Expr::MethodCall(call) => self.ty(&call.receiver),
            _ => Ty::Unknown,
        }
    }

    /// A module is run.
    fn module(&mut self, expr: &syn::Expr, name: &str) {
        let ty = self.ty(expr);
        let names: &[&str] = if matches!(name, "forward" | "forward_t") { &["forward", "forward_t"] } else { &[name] };
        let called = names.iter().find_map(|name| self.index.some_method(&ty, name));
        let place = match peeled(expr) {
            syn::Expr::Reference(borrowed) => peeled(&borrowed.expr),
            other => other,
        };
        let operations = match (called, place) {
            (Some(function), _) => of_function(self.index, function, &self.within),
            (None, syn::Expr::Field(field)) if matches!(ty, Ty::Leaf(_)) => {
                let (Ty::Struct(owner), name) = (self.ty(&field.base), field.member.to_token_stream().to_string())
                else {
                    return;
                };
                builder::layers(self.index, owner, &name).map_or(1, |layers| self.of_chain(&layers))
            }
            _ => 1,
        };
        self.below += operations.max(1) - 1;
    }

    /// The operations of a chain of layers.
    fn of_chain(&self, layers: &[Layer]) -> usize {
        let one = |layer: &Layer| match layer {
            Layer::Module(ty, _) => {
                let called = ["forward", "forward_t"].iter().find_map(|name| self.index.some_method(ty, name));
                called.map_or(1, |function| of_function(self.index, function, &self.within))
            }
            Layer::Closure(closure, _) => {
                let mut inside = Weight::within(self.index, closure.function, self.within.clone());
                inside.visit_expr(&closure.code.body);
                (inside.calls + inside.below).max(1)
            }
            Layer::Chain(_, layers) | Layer::Repeat(layers) | Layer::Optional(layers) => self.of_chain(layers),
            Layer::Either(a, b) => self.of_chain(a).max(self.of_chain(b)),
        };
        layers.iter().map(one).sum()
    }

    /// The function that a path calls.
    fn named(&self, text: &str) -> Option<usize> {
        let of = &self.index.fns[self.function];
        if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(&of.module, text) {
            return Some(id);
        }
        let (head, name) = text.rsplit_once("::")?;
        let owner = syn::parse_str::<syn::Type>(head).ok()?;
        self.index.method(&self.index.ty(&of.module, of.owner.as_ref(), &owner), name)
    }
}

impl<'ast> Visit<'ast> for Weight<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.calls += 1;
        let receiver = self.ty(&call.receiver);
        match (call.method.to_string().as_str(), call.args.first()) {
            ("apply" | "apply_t", Some(module)) => self.module(module, "forward"),
            (name, _) => self.module(&call.receiver, name),
        }
        for arg in &call.args {
            if let syn::Expr::Closure(closure) = arg {
                closure.inputs.iter().for_each(|input| self.bind(input, &receiver));
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        self.calls += 1;
        if let syn::Expr::Path(path) = &*call.func
            && let Some(function) = self.named(&path_text(&path.path))
        {
            self.below += of_function(self.index, function, &self.within) - 1;
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
        let ty = self.ty(&each.expr);
        self.bind(&each.pat, &ty);
        visit::visit_expr_for_loop(self, each);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Some(init) = &local.init {
            let ty = self.ty(&init.expr);
            self.bind(&local.pat, &ty);
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_let(&mut self, test: &'ast syn::ExprLet) {
        let ty = self.ty(&test.expr);
        self.bind(&test.pat, &ty);
        visit::visit_expr_let(self, test);
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        let ty = self.ty(&choice.expr);
        choice.arms.iter().for_each(|arm| self.bind(&arm.pat, &ty));
        visit::visit_expr_match(self, choice);
    }
}
