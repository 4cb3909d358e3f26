//! The entry's own function: its parameters, and what it hands over.

pub(in crate::trace) mod signature;

use fx_ir::{Arg, Op, Origin, Type};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::frozen::Left;
use crate::trace::{ModeFlag, RefKind, Result, Signature, Tracer, Ty, Unsupported, Val, are_interior, unsupported};

impl Tracer<'_> {
    pub(in crate::trace) fn entry(&mut self, signature: &Signature, owner: &Ty, carried: Option<&str>) {
        let body = self.graph.body();
        if signature.has_receiver {
            let ty = self.index.ir_type(owner);
            let id = self.graph.add_param(body, "self", ty, Origin::default());
            self.facts.set_path(id, String::new());
            let receiver = Val::Node(id, owner.clone(), RefKind::Ref);
            let modules = self.modules_within(Some(&receiver));
            if let Some(frame) = self.frames.last_mut() {
                (frame.receiver, frame.modules) = (Some(receiver), modules);
            }
        }
        for param in &signature.params {
            let value = if let Some(known) = &param.fixed {
                Val::Lit(known.clone(), if param.mode == Some(ModeFlag::OfModel) { Ty::Mode } else { param.ty.clone() })
            } else {
                let ty = self.index.ir_type(&param.ty);
                let id = self.graph.add_param(body, &param.name, ty, Origin::default());
                Val::Node(
                    id,
                    param.ty.clone(),
                    if param.is_ref || param.borrows { RefKind::Ref } else { RefKind::Value },
                )
            };
            self.env.declare(&param.name, value);
        }
        let block = self.function().block.clone();
        let mark = self.checkpoint();
        let traced = if let Some(reason) = carried {
            unsupported(block.brace_token.span.open(), reason)
        } else {
            let body = self.bind_inputs(signature).and_then(|()| self.body(&block));
            body.and_then(|value| self.entry_result(value, &block))
        };
        let value = match traced {
            Ok(args) => args,
            Err(fault) => {
                self.rollback(mark);
                vec![self.whole_or_left(signature, &block, fault)]
            }
        };
        self.opaque.iter().for_each(|one| self.diags.push(one.diagnostic.clone()));
        let origin = self.origin(block.brace_token.span.close(), "output");
        self.graph.push(body, Op::Yield, value, "output", Type::Unknown, origin);
    }

    /// Binds the parameters that are patterns.
    fn bind_inputs(&mut self, signature: &Signature) -> Result<()> {
        let inputs = self.function().sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Receiver(_) => None,
            syn::FnArg::Typed(typed) => Some(typed),
        });
        for (typed, param) in inputs.zip(&signature.params) {
            if param.is_mut() || param.may_borrow_state() {
                let root = self.env.read(&param.name).cloned().unwrap_or(Val::Never);
                let borrowed = self.borrowed_parameter(root, &typed.ty, typed.ty.span())?;
                self.bind(&typed.pat, borrowed)?;
                continue;
            }
            let Some(value) = self.env.read(&param.name).cloned() else { continue };
            if matches!(&*typed.pat, syn::Pat::Ident(_)) {
                let value = self.own_option(&typed.pat, value, typed.ty.span())?;
                self.env.declare(&param.name, value);
            } else {
                self.bind(&typed.pat, value)?;
            }
        }
        Ok(())
    }

    /// What the entry hands over: one argument for every part of its result.
    fn entry_result(&mut self, value: Val, block: &syn::Block) -> Result<Vec<Arg>> {
        let value = self.unwrapped(value, block.brace_token.span.join())?;
        let span = block.brace_token.span.close();
        let written = signature::value_type(&self.function().sig.output);
        match &value {
            Val::Unit => Ok(Vec::new()),
            // What does not come to its end hands over what leaves it, its last node.
            Val::Never => {
                Ok(self.graph.region(self.region).nodes.last().map(|&id| Arg::Node(id)).into_iter().collect())
            }
            Val::Tuple(parts) => {
                let ty = |at: usize| written.and_then(|ty| signature::part_type(ty, at));
                parts.iter().enumerate().map(|(at, part)| self.result_part(part, ty(at), span)).collect()
            }
            one => Ok(vec![self.result_part(one, written, span)?]),
        }
    }

    /// A part of the result, which is of this type.
    fn result_part(&mut self, value: &Val, ty: Option<&syn::Type>, span: Span) -> Result<Arg> {
        match value {
            Val::Tuple(parts) => {
                let ty = |at: usize| ty.and_then(|ty| signature::part_type(ty, at));
                let parts = parts.iter().enumerate().map(|(at, part)| self.result_part(part, ty(at), span));
                Ok(Arg::List(parts.collect::<Result<Vec<Arg>>>()?))
            }
            Val::List(items) => self.result_list(items, ty, span),
            Val::Some(_) | Val::Fields(..) => {
                let operand = self.exact_operand(value, span)?;
                let whole = self.materialize(operand, "some", value.ty(), span);
                whole
                    .arg()
                    .map_or_else(|| unsupported(span, "the result is built in a form that is not understood"), Ok)
            }
            Val::Node(id, _, RefKind::Value) if self.is_loan(*id) => {
                let own = self.own_copy(value, span);
                own.and_then(|own| own.arg()).map_or_else(|| unsupported(span, "a result of this form"), Ok)
            }
            Val::Node(..) | Val::Lit(..) => value.arg().map_or_else(|| unsupported(span, "a result of this form"), Ok),
            _ => unsupported(span, "the result is built in a form that is not understood"),
        }
    }

    /// The whole function as one call of the user's own; where that would be of a copy of the model, which has a state
    /// of its own, its body as it is, or no frozen type.
    fn whole_or_left(&mut self, signature: &Signature, block: &syn::Block, fault: Unsupported) -> Arg {
        self.refuse_gradients(block, fault.span);
        if !self.is_stateful() || !signature.is_mut && are_interior(self.index, &self.kept) {
            return self.whole(signature, &fault);
        }
        self.opaque_body(signature, block, &fault).unwrap_or_else(|last| {
            let Unsupported { span, reason } = fault;
            let reasons = if last.reason == reason { reason } else { format!("{reason}; {}", last.reason) };
            self.left.get_or_insert(Left::state(span, signature, &reasons));
            Arg::None
        })
    }
}
