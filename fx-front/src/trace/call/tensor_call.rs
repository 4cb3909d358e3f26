//! Method calls on tensors: of ops, of layers that are applied, and of traits of the crate.

use fx_ir::{OpId, ops};
use syn::spanned::Spanned;

use crate::syntax::{is_chain, peeled};
use crate::trace::tensor::operator_trait::operator_of_method;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, tensor::op_type::host_type, unsupported};

impl Tracer<'_> {
    /// A method call on a tensor.
    pub(in crate::trace) fn tensor_method(&mut self, receiver: Val, call: &syn::ExprMethodCall) -> Result<Val> {
        let name = call.method.to_string();
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        match (name.strip_prefix("f_").unwrap_or(&name), args.as_slice()) {
            (plain, [])
                if ops::SHALLOW_CLONE.is_spelled(plain)
                    || matches!(plain, "as_ref" | "borrow" | "to_owned" | "clone" | "deref") =>
            {
                if let Some(id) = receiver.node().filter(|_| is_chain(peeled(&call.receiver))) {
                    self.facts.set_shared(id);
                }
                return Ok(receiver.with_ref_kind(RefKind::Value));
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
            ("apply_opt", [module]) => return self.apply_opt(receiver, module, None),
            ("apply_opt_t", [module, train]) => return self.apply_opt(receiver, module, Some(train)),
            ("unwrap" | "expect", _) => return Ok(receiver),
            _ => {}
        }
        if let Some(ty) = host_type(&name) {
            let args = self.all(&call.args)?;
            return self.host_query(&name, &receiver, (&args, ty), call);
        }
        if let Some(op) = OpId::of_method(&name) {
            return self.op_call(op, &name, Some(&receiver), &args, call.span());
        }
        match self.function_of(&Ty::Tensor, &name, &args) {
            Some(id) => {
                let receiver = self.receiver_of(id, receiver, call)?;
                let args = args.iter().map(|arg| self.handed_on(arg)).collect::<Result<Vec<Val>>>()?;
                self.inline(id, Some(receiver), args, call.span())
            }
            None if name == "i" && args.len() == 1 => self.indexed(&receiver, args[0], call.span()),
            None if ops::NEG.is_spelled(&name) && args.is_empty() => self.tensor_op(ops::NEG, &[receiver], call.span()),
            None => match (operator_of_method(&name), args.as_slice()) {
                (Some(op), [other]) => {
                    let other = self.expr(other)?.behind();
                    self.arithmetic(&op, receiver, other, call.span())
                }
                _ => unsupported(call.method.span(), format!("the method `{name}` of a tensor")),
            },
        }
    }

    fn apply_opt(&mut self, xs: Val, module: &syn::Expr, train: Option<&&syn::Expr>) -> Result<Val> {
        let arms = match train {
            Some(train) => {
                let train = *train;
                syn::parse_quote!(match #module { Some(layer) => xs.apply_t(layer, #train), None => xs.shallow_clone() })
            }
            None => syn::parse_quote!(match #module { Some(layer) => xs.apply(layer), None => xs.shallow_clone() }),
        };
        self.with_variables(&[("xs".to_owned(), xs)], |tracer| tracer.choice(&arms, false))
    }
}
