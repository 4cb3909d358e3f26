//! Calls of modules: of layers of `nn`, of chains of them, and of what the crate declares.

use fx_ir::{Arg, LayerRow};
use proc_macro2::Span;

use crate::builder::{self, OwnClosure};
use crate::trace::{Result, Tracer, Ty, Val, layer::sequential::Callee, unsupported};

impl Tracer<'_> {
    /// The forward of a module on these arguments.
    pub(in crate::trace) fn forward(&mut self, module: &Val, args: Vec<Val>, span: Span) -> Result<Val> {
        match module.ty() {
            Ty::Leaf(kind) if LayerRow::of_type(kind).is_some_and(|row| row.is_chain) => {
                self.sequential(module, &args, span, &|tracer, callee, args| match callee {
                    Callee::Layer(layer, Some(why)) => tracer.capturing_closure(layer, &args, why, span),
                    Callee::Layer(layer, None) => tracer.forward(layer, args, span),
                    Callee::Closure(closure) => tracer.call_own_closure(closure, args),
                })
            }
            Ty::Leaf(kind) => self.leaf(module, kind, &args, span),
            ty @ (Ty::Struct(_) | Ty::Rust(_)) => {
                let Some(entry) = self.index.entry_of_module(&ty) else {
                    return self.closure_module(module, args, span);
                };
                let args = with_mode(args, self.index.fns[entry].sig.inputs.len() - 1);
                if let Some(fx) = self.leaf_field(module) {
                    return self.leaf_call(entry, fx, Some(module), &args, span);
                }
                self.inline(entry, Some(module.clone()), args, span)
            }
            _ => match module {
                Val::Closure(closure, home) => self.call_closure_of(closure, home, args),
                Val::Chosen(chosen) => {
                    self.with_chosen(chosen, span, &mut |tracer, module| tracer.forward(&module, args.clone(), span))
                }
                _ => unsupported(span, "a module whose type is not known"),
            },
        }
    }

    /// The closure that the value is, where it is a field, or what a field holds if it is there, and constructors say so.
    pub(in crate::trace) fn held_closure(&self, value: &Val) -> Option<OwnClosure> {
        let (owner, name) = self.field_at(self.field_behind(value.node()?))?;
        builder::closure_of(self.index, owner, &name)
    }

    /// The call of a field that is an `nn::Func` or an `nn::FuncT`, of a closure that its constructors say.
    fn closure_module(&mut self, module: &Val, args: Vec<Val>, span: Span) -> Result<Val> {
        match self.held_closure(module) {
            Some(closure) => self.call_own_closure(&closure, with_mode(args, closure.code.inputs.len())),
            None => unsupported(span, "a module whose forward is not known"),
        }
    }
}

/// So many arguments, of which the mode may be missing or be one too many.
fn with_mode(mut args: Vec<Val>, expected: usize) -> Vec<Val> {
    args.truncate(expected);
    if args.len() < expected {
        args.push(Val::Lit(Arg::Bool(false), Ty::Mode));
    }
    args
}
