//! Calls of modules: of layers of `nn`, of chains of them, and of what the crate declares.

use fx_ir::{Arg, LayerRow};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::index::Resolved;
use crate::trace::{OnError, Result, Tracer, Ty, Val, layer::sequential::Callee, unsupported};

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
                    args.push(Val::Lit(Arg::Bool(false), Ty::Mode));
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

    /// A method of a layer: its forward, one of a trait of the crate, one of a recurrent layer; `None` for any other.
    pub(in crate::trace) fn layer_method(
        &mut self,
        layer: &Val,
        ty: &Ty,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Result<Option<Val>> {
        let name = call.method.to_string();
        let is_forward = matches!(name.as_str(), "forward" | "forward_t");
        if self.index.method(ty, &name).is_some_and(|id| !is_forward || self.has_trait_of(id)) {
            if is_forward {
                // The layer's own trait may be in scope as well.
                return unsupported(call.method.span(), format!("`{name}` of a layer by a trait of the crate"));
            }
            return self.struct_method(layer.clone(), call, errors).map(Some);
        }
        let is_recurrent =
            matches!(ty, Ty::Leaf(kind) if LayerRow::of_type(kind).is_some_and(|row| row.state.is_some()));
        if !is_forward && !is_recurrent {
            return Ok(None);
        }
        let args = self.each_value(&call.args)?;
        if is_forward { self.forward(layer, args, call.span()) } else { self.recurrent(layer, &name, call, &args) }
            .map(Some)
    }

    /// Whether the trait that a method is of has a name in the module.
    fn has_trait_of(&self, method: usize) -> bool {
        let name = self.index.fns[method].of_trait.as_ref();
        name.is_some_and(|name| matches!(self.index.resolve(self.module(), name), Resolved::Item(..)))
    }
}
