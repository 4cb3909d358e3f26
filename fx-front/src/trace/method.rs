//! Method calls: on layers and structs of the crate, on options and lists, on what is not known.

use fx_ir::{Arg, Effect, ModuleKind, Op};
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::{Form, Result, Tracer, Ty, Val, place, unknown};
use crate::{
    diag::{Code, Severity},
    leaf,
};

/// Methods that only wrap or unwrap, and change nothing that is traced.
const TRANSPARENT: &[&str] = &["unwrap", "expect", "as_ref", "as_deref", "borrow", "to_owned", "clone", "as_slice", "to_vec", "into", "context"];

/// Methods of numbers, lists and options that only compute.
const PURE: &[&str] = &[
    "len", "is_empty", "is_some", "is_none", "abs", "min", "max", "pow", "powi", "powf", "sqrt", "ceil", "floor", "round", "first",
    "last", "get", "contains", "copied", "cloned", "unwrap_or", "unwrap_or_default", "iter", "clamp", "rem_euclid", "div_euclid",
];

impl Tracer<'_> {
    pub(super) fn method_call(&mut self, call: &syn::ExprMethodCall) -> Result<Val> {
        let receiver = self.expr(&call.receiver)?;
        let name = call.method.to_string();
        match receiver.ty() {
            Ty::Tensor => return self.tensor_method(receiver, call),
            Ty::Leaf(_) if matches!(name.as_str(), "forward" | "forward_t") => {
                let args = call.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
                return self.forward(&receiver, args, call.span());
            }
            Ty::Struct(_) => return self.struct_method(receiver, call),
            _ => {}
        }
        let is_result_of_op = matches!(receiver, Val::Tuple(_)) || self.is_unwrapped(&receiver);
        match name.as_str() {
            "unwrap" | "expect" if is_result_of_op => return Ok(receiver),
            "unwrap" | "expect" => {
                if let Val::Some(inner) = receiver {
                    return Ok(*inner);
                }
                if let (Val::Node(id, ..), Ty::Option(inner)) = (&receiver, receiver.ty()) {
                    return Ok(self.unwrapped(*id, *inner, call, &receiver));
                }
            }
            "iter" | "as_ref" | "as_deref" | "borrow" | "as_slice" => return Ok(receiver.with_form(Form::Ref)),
            _ => {}
        }
        self.host_method(&receiver, &name, call)
    }

    /// Tuples and the like that an op yields: the `Result` around them is already taken off.
    fn is_unwrapped(&self, value: &Val) -> bool {
        let Val::Node(id, ty, _) = value else { return false };
        let from_op = match &self.graph.node(*id).op {
            Op::Call(_) => true,
            Op::Rust(code) => code.fallible,
            _ => false,
        };
        from_op && !matches!(ty, Ty::Option(_))
    }

    fn unwrapped(&mut self, id: fx_ir::NodeId, inner: Ty, call: &syn::ExprMethodCall, receiver: &Val) -> Val {
        let message = match call.args.first() {
            Some(syn::Expr::Lit(lit)) => format!("expect({})", quote::ToTokens::to_token_stream(lit)),
            _ => "unwrap()".to_owned(),
        };
        let path = self.path_of(receiver);
        let value = self.host(&format!("$0.as_ref().{message}"), vec![id.into()], "inner", inner, call.span());
        if let (Some(node), Some(path)) = (value.node(), path) {
            self.paths.insert(node, path);
        }
        value.with_form(Form::Ref)
    }

    fn struct_method(&mut self, receiver: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let name = call.method.to_string();
        if matches!(name.as_str(), "as_ref" | "borrow") {
            return Ok(receiver);
        }
        let Some(id) = self.index.method(&receiver.ty(), &name) else {
            return self.method_template(&receiver, call, Effect::Io, &format!("the method `{name}`"));
        };
        let mark = self.mark();
        let args = call.args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Val>>>()?;
        self.inline(id, Some(receiver.clone()), args, call.span()).or_else(|fault| {
            self.rollback(mark);
            let value = self.method_template(&receiver, call, Effect::Io, &fault.reason)?;
            Ok(self.with_return_type(value, id))
        })
    }

    fn host_method(&mut self, receiver: &Val, name: &str, call: &syn::ExprMethodCall) -> Result<Val> {
        let ty = match (name, receiver.ty()) {
            ("len", _) => Ty::Rust("usize".to_owned()),
            ("is_empty" | "is_some" | "is_none" | "contains", _) => Ty::Rust("bool".to_owned()),
            ("first" | "last" | "get", Ty::List(element)) => Ty::Option(element),
            ("sqrt" | "ceil" | "floor" | "round" | "powf" | "powi" | "abs" | "min" | "max" | "pow" | "clamp", ty) => ty,
            ("clone" | "to_vec" | "to_owned", ty) => ty,
            ("unwrap_or" | "unwrap_or_default", Ty::Option(inner)) => *inner,
            _ => Ty::Unknown,
        };
        let pure = PURE.contains(&name) || TRANSPARENT.contains(&name);
        let effect = if pure && receiver.ty() != Ty::Unknown { Effect::Pure } else { Effect::Io };
        let value = self.method_template(receiver, call, effect, &format!("the method `{name}`"))?;
        Ok(match value {
            Val::Node(id, _, form) => {
                self.graph.node_mut(id).ty = self.index.ir_type(&ty);
                Val::Node(id, ty, form)
            }
            other => other,
        })
    }

    /// The method call carried along, its receiver and arguments understood one by one.
    pub(super) fn method_template(&mut self, receiver: &Val, call: &syn::ExprMethodCall, effect: Effect, reason: &str) -> Result<Val> {
        let mut args = Vec::new();
        let object = self.spell(receiver, &mut args, call.span())?;
        let turbofish = call.turbofish.as_ref().map(|fish| quote::ToTokens::to_token_stream(fish).to_string()).unwrap_or_default();
        let head = format!("{object}.{}{turbofish}", call.method);
        let (template, args) = self.template_call(head, args, &call.args, call.span())?;
        Ok(self.carried_template(template, args, effect, reason, call.span()))
    }

    /// The forward of a module on these arguments.
    pub(super) fn forward(&mut self, module: &Val, args: Vec<Val>, span: Span) -> Result<Val> {
        match module.ty() {
            Ty::Leaf(kind) if leaf::is_sequential(kind) => self.sequential(module, args, span),
            Ty::Leaf(kind) => self.leaf(module, kind, args, span),
            ty @ Ty::Struct(_) => {
                let entry = ["forward", "forward_t"].into_iter().find_map(|name| self.index.method(&ty, name));
                let Some(entry) = entry else { return unknown(span, "a module whose forward is not known") };
                let wanted = self.index.fns[entry].sig.inputs.len() - 1;
                let mut args = args;
                args.truncate(wanted);
                if args.len() < wanted {
                    args.push(Val::Lit(Arg::Bool(false), Ty::Rust("bool".to_owned())));
                }
                self.inline(entry, Some(module.clone()), args, span)
            }
            _ => match module {
                Val::Closure(closure) => self.call_closure(&closure.clone(), args),
                _ => unknown(span, "a module whose type is not known"),
            },
        }
    }

    /// One layer of `nn`; in inference its `train` flag means nothing.
    pub(super) fn leaf(&mut self, module: &Val, kind: &str, args: Vec<Val>, span: Span) -> Result<Val> {
        if args.is_empty() || args.len() > 2 {
            let message = format!("a layer takes its input and at most a `train` flag, not {} arguments", args.len());
            self.report(Code::WrongArity, Severity::Error, span, message.clone(), "");
            return unknown(span, message);
        }
        let (Some(id), Some(Val::Node(input, ..))) = (module.node(), args.first()) else {
            return unknown(span, "a layer called on a value of this form");
        };
        if let Some(train) = args.get(1)
            && !matches!(train, Val::Lit(Arg::Bool(false), _))
        {
            return unknown(span, "a layer in training");
        }
        let label = self.label_of(module, kind);
        let name = place::identifier(&label);
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        Ok(self.push_labelled(op, vec![id.into(), (*input).into()], &name, &label, Ty::Tensor, span))
    }
}
