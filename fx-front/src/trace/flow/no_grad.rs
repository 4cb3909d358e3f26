//! What is computed without gradients, by `tch::no_grad` or behind a guard: what leaves it has no history.
//!
//! A frozen model computes no gradients, and leaves these nodes out; the graph of a live one may be trained.

use std::collections::BTreeSet;

use fx_ir::{NodeId, Op, ops};
use proc_macro2::Span;
use quote::ToTokens;

use crate::index::Resolved;
use crate::syntax::{is_path_to, path_text};
use crate::trace::{RefKind, Result, Tracer, Ty, Val};

impl Tracer<'_> {
    /// Traces code that computes no gradients: the tensors that it hands over or assigns are taken out of their history.
    pub(in crate::trace) fn without_gradients(
        &mut self,
        span: Span,
        traced: impl FnOnce(&mut Self) -> Result<Val>,
    ) -> Result<Val> {
        let (before, older) = (self.env.clone(), self.graph.nodes().into_iter().collect());
        let value = traced(self)?;
        if self.env.is_unreachable() {
            return Ok(value);
        }
        for name in self.env.changed_since(&before) {
            if let Some(assigned) = self.env.read(&name).cloned() {
                let detached = self.detached(assigned, &older, span);
                self.env.assign(&name, detached);
            }
        }
        Ok(self.detached(value, &older, span))
    }

    /// Returns whether gradients are off behind the statement, to the end of its block: `let _guard = tch::no_grad_guard();`.
    pub(in crate::trace) fn turns_gradients_off(&self, stmt: &syn::Stmt, rest: &[syn::Stmt]) -> bool {
        let syn::Stmt::Local(syn::Local { pat: syn::Pat::Ident(guard), init: Some(init), .. }) = stmt else {
            return false;
        };
        let syn::Expr::Call(call) = &*init.expr else { return false };
        let syn::Expr::Path(path) = &*call.func else { return false };
        let full = match self.index.resolve(self.module(), &path_text(&path.path)) {
            Resolved::External(full) => full,
            Resolved::Item(..) => return false,
        };
        let is_dropped = rest.iter().any(|stmt| match stmt {
            syn::Stmt::Expr(syn::Expr::Call(call), _) => {
                call.args.len() == 1 && guard.ident == call.args[0].to_token_stream().to_string()
            }
            _ => false,
        });
        is_path_to(&full, "tch::no_grad_guard") && !is_dropped
    }

    /// The value without the history of what is not `older`.
    fn detached(&mut self, mut value: Val, older: &BTreeSet<NodeId>, span: Span) -> Val {
        for part in value.parts_mut() {
            *part = self.detached(part.clone(), older, span);
        }
        match value {
            Val::Node(id, Ty::Tensor, RefKind::Value) if !older.contains(&id) && self.has_history(id) => {
                self.push(Op::Call(ops::DETACH), vec![id.into()], "detach", Ty::Tensor, span)
            }
            value => value,
        }
    }

    /// Whether the tensor is computed by the node, and is no second handle of another one.
    fn has_history(&self, id: NodeId) -> bool {
        match &self.graph.node(id).op {
            Op::Call(ops::SHALLOW_CLONE | ops::DETACH) => false,
            Op::Call(_) | Op::CallModule(_) => true,
            op => op.is_control_flow() && !self.graph.chooses_among_outer(id),
        }
    }
}
