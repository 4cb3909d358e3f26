//! Values where the user's code says their type.

use fx_ir::{Arg, HostOp, Op, scalar};
use proc_macro2::Span;

use crate::trace::types::ty::{is_untyped, rounded};
use crate::trace::{Result, Tracer, Ty, Val, entry::signature::is_vec, unsupported};

impl Tracer<'_> {
    /// The value where the user's code says of which type it is: a number without a suffix is of that type.
    pub(in crate::trace) fn of_written_type(&mut self, value: Val, ty: &Ty) -> Val {
        if let (Val::List(items), Ty::List(element)) = (&value, ty) {
            return Val::List(items.iter().map(|item| self.of_written_type(item.clone(), element)).collect());
        }
        let Ty::Rust(name) = ty else { return value };
        let is_float = scalar::is_float(name);
        if !is_untyped(&value.ty()) || !(is_float || scalar::is_integer(name)) {
            return value;
        }
        match value {
            Val::Lit(Arg::Float(number), _) if is_float => Val::Lit(Arg::Float(rounded(number, name)), ty.clone()),
            Val::Lit(arg @ Arg::Int(_), _) if !is_float => Val::Lit(arg, ty.clone()),
            Val::Node(id, _, form) => {
                let ir = self.index.ir_type(ty);
                let node = self.edit_node(id);
                match &mut node.op {
                    Op::Host(host) if !host.fallible => {
                        let op = std::mem::replace(&mut host.op, HostOp::Ascribe(name.clone()));
                        node.args = vec![op.of(std::mem::take(&mut node.args))];
                        node.ty = ir;
                    }
                    // The number of an iteration, which is of the type that its reader says.
                    Op::Placeholder => {
                        let op = HostOp::Ascribe(name.clone());
                        return self.host_node(op, vec![id.into()], "number", ty.clone(), Span::call_site());
                    }
                    _ => {}
                }
                Val::Node(id, ty.clone(), form)
            }
            other => other,
        }
    }

    /// What a list of the type holds, as it is written in the function; nothing where that is a reference.
    pub(in crate::trace) fn element_of(&self, list: &syn::Type) -> Ty {
        match self.written(list) {
            Some(expected) => self.expected_ty(&expected).element(),
            None => Ty::Unknown,
        }
    }

    /// A list that the function hands over, as its type asks for it.
    pub(in crate::trace) fn result_list(&mut self, items: &[Val], ty: Option<&syn::Type>, span: Span) -> Result<Arg> {
        let element = match ty {
            Some(syn::Type::Array(_)) => None,
            Some(ty) if is_vec(ty) => Some(self.element_of(ty)),
            _ => return unsupported(span, "the result is built in a form that is not understood"),
        };
        let mut args = Vec::new();
        for item in items {
            let operand = self.exact_operand(item, span)?;
            args.push(if item.is_tensor() { HostOp::Output.on(operand) } else { operand });
        }
        let list = match &element {
            Some(element) => self.vec_of(args, element),
            None => HostOp::Array.of(args),
        };
        let held = items.first().map_or(element.unwrap_or(Ty::Unknown), Val::ty);
        let whole = self.materialize(list, "list", Ty::List(Box::new(held)), span);
        whole.arg().map_or_else(|| unsupported(span, "a result of this form"), Ok)
    }
}
