//! Calls of modules: of layers of `nn`, of chains of them, and of what the crate declares.

use fx_ir::{Arg, LayerRow, ModuleKind, Op, layers};
use proc_macro2::Span;

use crate::diag::{Code, Severity};
use crate::trace::types::label::identifier;
use crate::trace::{Result, Tracer, Ty, Val, layer::sequential::Callee, unsupported};

impl Tracer<'_> {
    /// The forward of a module on these arguments.
    pub(in crate::trace) fn forward(&mut self, module: &Val, args: Vec<Val>, span: Span) -> Result<Val> {
        if args.iter().any(|arg| matches!(arg, Val::Never)) {
            return Ok(Val::Never);
        }
        match module.ty() {
            Ty::Leaf(kind) if LayerRow::of_type(kind).is_some_and(|row| row.is_chain) => {
                self.sequential(module, &args, span, &|tracer, callee, args| match callee {
                    Callee::Layer(layer) => tracer.forward(layer, args, span),
                    Callee::Closure(closure) => tracer.call_closure(closure, args),
                })
            }
            Ty::Leaf(kind) => self.leaf(module, kind, &args, span),
            ty @ (Ty::Struct(_) | Ty::Rust(_)) => {
                let entry = ["forward", "forward_t"].into_iter().find_map(|name| self.index.method(&ty, name));
                let Some(entry) = entry else { return unsupported(span, "a module whose forward is not known") };
                let expected = self.index.fns[entry].sig.inputs.len() - 1;
                let mut args = args;
                args.truncate(expected);
                if args.len() < expected {
                    args.push(Val::Lit(Arg::Bool(false), Ty::Rust("bool".to_owned())));
                }
                if let Some(fx) = self.leaf_field(module) {
                    return self.leaf_call(entry, fx, Some(module), &args, span);
                }
                self.inline(entry, Some(module.clone()), args, span)
            }
            _ => match module {
                Val::Closure(closure, home) => self.call_closure_of(closure, home, args),
                _ => unsupported(span, "a module whose type is not known"),
            },
        }
    }

    /// One layer of `nn`; in inference its `train` flag means nothing.
    pub(in crate::trace) fn leaf(&mut self, module: &Val, kind: &str, args: &[Val], span: Span) -> Result<Val> {
        if args.is_empty() || args.len() > 2 {
            let message = format!("a layer takes its input and at most a `train` flag, not {} arguments", args.len());
            self.report(Code::WrongArity, Severity::Error, span, message.clone(), "");
            return unsupported(span, message);
        }
        let (Some(id), Some(Val::Node(input, ..))) = (module.node(), args.first()) else {
            return unsupported(span, "a layer called on a value of this form");
        };
        if let Some(train) = args.get(1)
            && !matches!(train, Val::Lit(Arg::Bool(false), _))
        {
            return unsupported(span, "a layer in training");
        }
        if kind == layers::CLOSURE.name {
            self.report_opaque(
                span,
                "a closure that captures values of the function that makes it",
                self.one_operation(),
            );
        }
        let label = self.label_of(module, &kind.to_lowercase());
        let name = identifier(&label);
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        Ok(self.push_labelled(op, vec![id.into(), (*input).into()], &name, &label, Ty::Tensor, span))
    }
}
