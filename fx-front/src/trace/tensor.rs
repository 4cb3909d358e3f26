//! Calls of ops: by method, by function, and in place.

use fx_ir::{Arg, Effect, Op, OpId, catalog};
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::{Result, Tracer, Ty, Val, unknown};
use crate::diag::{Code, Severity};

impl Tracer<'_> {
    /// A method call on a tensor.
    pub(super) fn tensor_method(&mut self, receiver: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let name = call.method.to_string();
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        match (name.strip_prefix("f_").unwrap_or(&name), args.as_slice()) {
            ("shallow_clone" | "as_ref" | "borrow" | "to_owned" | "clone" | "deref", []) => {
                return Ok(receiver.with_form(super::Form::Owned));
            }
            ("apply", [module]) => {
                let module = self.expr(module)?;
                return self.forward(&module, vec![receiver], call.span());
            }
            ("apply_t", [module, _]) => {
                let module = self.expr(module)?;
                let train = self.expr(args[1])?;
                return self.forward(&module, vec![receiver, train], call.span());
            }
            ("apply_opt", [module]) => return self.apply_opt(receiver, module, None, call.span()),
            ("apply_opt_t", [module, train]) => return self.apply_opt(receiver, module, Some(train), call.span()),
            _ => {}
        }
        if let Some(ty) = host_type(&name) {
            return self.host_query(&name, &receiver, &args, ty, call);
        }
        if let Some(op) = OpId::of_method(&name) {
            return self.op_call(op, &name, Some(receiver), &args, call.span());
        }
        match self.index.method(&Ty::Tensor, &name) {
            Some(id) => {
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
                self.inline(id, Some(receiver), args, call.span())
            }
            None if name == "i" => {
                let value = self.method_template(&receiver, call, Effect::Pure, "")?;
                Ok(self.retyped(value, Ty::Tensor))
            }
            None => self.method_template(&receiver, call, Effect::Io, &format!("the method `{name}` of a tensor")),
        }
    }

    /// `xs.size()`, `xs.dim()`, ...: what a tensor says of itself.
    fn host_query(&mut self, name: &str, receiver: &Val, exprs: &[&syn::Expr], ty: Ty, call: &syn::ExprMethodCall) -> Result<Val> {
        let Some(id) = receiver.node() else { return unknown(call.span(), "a tensor of this form") };
        let (ty, fallible) = match ty {
            Ty::Result(ty) => (*ty, true),
            ty => (ty, false),
        };
        let (text, args) = self.template_call(format!("$0.{name}"), vec![id.into()], exprs.iter().copied(), call.span())?;
        let value = self.host(&text, args, name, ty, call.span());
        if let (Some(node), true) = (value.node(), fallible)
            && let Op::Rust(code) = &mut self.graph.node_mut(node).op
        {
            code.fallible = true;
        }
        Ok(value)
    }

    fn retyped(&mut self, value: Val, ty: Ty) -> Val {
        match value {
            Val::Node(id, _, form) => {
                self.graph.node_mut(id).ty = self.index.ir_type(&ty);
                Val::Node(id, ty, form)
            }
            other => other,
        }
    }

    /// A call of an op with its arguments checked against the catalog.
    pub(super) fn op_call(&mut self, op: OpId, name: &str, receiver: Option<Val>, exprs: &[&syn::Expr], span: Span) -> Result<Val> {
        let Some(entry) = catalog::lookup(name).or_else(|| catalog::lookup(name.trim_start_matches("f_"))) else {
            return unknown(span, format!("the op `{name}`"));
        };
        if entry.params.len() != exprs.len() {
            let message = format!("`{name}` takes {} arguments, not {}", entry.params.len(), exprs.len());
            let names: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
            let help = if names.is_empty() { String::new() } else { format!("they are: {}", names.join(", ")) };
            self.report(Code::WrongArity, Severity::Error, span, message.clone(), &help);
            return unknown(span, message);
        }
        let mut args = Vec::new();
        if let Some(receiver) = &receiver {
            let Some(arg) = receiver.arg() else { return unknown(span, "a tensor of this form") };
            args.push(arg);
        }
        for expr in exprs {
            let value = self.expr(expr)?;
            match value.arg() {
                Some(arg) => args.push(arg),
                None => {
                    let mut parts = Vec::new();
                    let text = self.spell(&value, &mut parts, expr.span())?;
                    let made = self.host(&text, parts, "argument", value.ty(), expr.span());
                    args.extend(made.arg());
                }
            }
        }
        if let (Effect::InPlace(0), Some(receiver)) = (op.effect(), &receiver) {
            return self.in_place(op, receiver, args, span);
        }
        let base = op.name().split('.').next().unwrap_or(name);
        Ok(self.push(Op::Call(op), args, base, result_type(entry), span))
    }

    /// On a tensor that nobody else can see, an in-place op is the op itself, and its variable the result.
    fn in_place(&mut self, op: OpId, receiver: &Val, args: Vec<Arg>, span: Span) -> Result<Val> {
        let functional = op.row().and_then(|row| row.functional).and_then(OpId::lookup);
        match functional {
            Some(functional) if self.is_fresh(receiver) => {
                let value = self.push(Op::Call(functional), args, functional.name(), Ty::Tensor, span);
                self.env.replace(receiver, &value);
                Ok(value)
            }
            _ => {
                self.push(Op::Call(op), args, op.name(), Ty::Tensor, span);
                Ok(receiver.clone())
            }
        }
    }

    fn apply_opt(&mut self, xs: Val, module: &syn::Expr, train: Option<&&syn::Expr>, span: Span) -> Result<Val> {
        let arms = match train {
            Some(train) => {
                let train = *train;
                syn::parse_quote!(match #module { Some(layer) => xs.apply_t(layer, #train), None => xs.shallow_clone() })
            }
            None => syn::parse_quote!(match #module { Some(layer) => xs.apply(layer), None => xs.shallow_clone() }),
        };
        let _ = span;
        self.env.open();
        self.env.declare("xs", xs);
        let value = self.choice(&arms, false);
        self.env.close();
        value
    }
}

/// The type of what a tensor says of itself; a `Result` where the method yields one.
fn host_type(name: &str) -> Option<Ty> {
    let int = || Ty::Rust("i64".to_owned());
    let tuple = |count| Ty::Result(Box::new(Ty::Tuple(vec![Ty::Rust("i64".to_owned()); count])));
    Some(match name {
        "size" => Ty::List(Box::new(int())),
        "stride" => Ty::List(Box::new(int())),
        "size1" => Ty::Result(Box::new(int())),
        "size2" => tuple(2),
        "size3" => tuple(3),
        "size4" => tuple(4),
        "size5" => tuple(5),
        "size6" => tuple(6),
        "dim" | "numel" => Ty::Rust("usize".to_owned()),
        "kind" => Ty::Rust("::fx_runtime::Kind".to_owned()),
        "device" => Ty::Rust("::fx_runtime::Device".to_owned()),
        "requires_grad" | "defined" | "is_contiguous" => Ty::Rust("bool".to_owned()),
        "double_value" => Ty::Rust("f64".to_owned()),
        "int64_value" => int(),
        _ => return None,
    })
}

fn result_type(entry: &catalog::Entry) -> Ty {
    use catalog::Results;
    match entry.results {
        Results::Tensor => Ty::Tensor,
        Results::Tensors(count) => Ty::Tuple(vec![Ty::Tensor; usize::from(count)]),
        Results::TensorList => Ty::List(Box::new(Ty::Tensor)),
        Results::Int => Ty::Rust("i64".to_owned()),
        Results::Usize => Ty::Rust("usize".to_owned()),
        Results::IntList => Ty::List(Box::new(Ty::Rust("i64".to_owned()))),
        Results::Float => Ty::Rust("f64".to_owned()),
        Results::Bool => Ty::Rust("bool".to_owned()),
        Results::Unit => Ty::Tuple(Vec::new()),
        _ => Ty::Unknown,
    }
}
