//! The value of a chain of iterator adaptors: what the loop that it stands for leaves in variables.

use crate::trace::desugar::iterator_chain::Reduction;
use fx_ir::{Arg, Effect, HostOp, host::Adaptor};
use syn::{Expr, ExprMethodCall, spanned::Spanned};

use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val, application,
    asked::base,
    desugar::iterator_chain::{Accumulation, Chain, Start, ended_chain, gathered, gathered_copies},
    flow::iterator_next::ForLoops,
    unsupported,
};

impl<'a> Tracer<'a> {
    /// The value of a call that ends a chain of adaptors; `None` if it is none.
    pub(in crate::trace) fn chain_value(
        &mut self,
        call: &ExprMethodCall,
        trace_for: ForLoops<'_, 'a>,
    ) -> Option<Result<Val>> {
        match ended_chain(call, self)? {
            Chain::Picked(chain) => Some(self.picked(&chain, trace_for)),
            Chain::Whole(list) => self.whole_list(&list),
            Chain::Loop(accumulation) => Some(self.accumulated(&accumulation, trace_for)),
            Chain::Reduction(reduction) => self.reduced(call, reduction, trace_for),
        }
    }

    /// What the loop leaves in the variables, or its own value where there are none.
    fn accumulated(&mut self, accumulation: &Accumulation, trace_for: ForLoops<'_, 'a>) -> Result<Val> {
        let Accumulation { variables, each } = accumulation;
        if variables.is_empty() {
            return trace_for(self, each);
        }
        let mut starts = Vec::new();
        for (name, start) in variables {
            let value = match start {
                Start::EmptyList => Val::List(Vec::new()),
                Start::Bool(flag) => Val::Lit(Arg::Bool(*flag), Ty::Rust("bool".to_owned())),
                Start::Value(value) => self.expr(value)?,
            };
            starts.push((name.to_string(), value));
        }
        let done = self.gathered_in(&starts, each, trace_for);
        match done {
            Err(fault) if starts.iter().any(|(_, value)| matches!(value, Val::List(items) if items.is_empty())) => {
                // What an iteration adds may hang on a list of which it is not known how long it is, so that there are no
                // iterations to write out.
                if !self.spill_read(&each.expr)? {
                    return Err(fault);
                }
                self.gathered_in(&starts, each, trace_for)
            }
            done => done,
        }
    }

    /// What the loop leaves in the variables that begin so.
    fn gathered_in(
        &mut self,
        starts: &[(String, Val)],
        each: &syn::ExprForLoop,
        trace_for: ForLoops<'_, 'a>,
    ) -> Result<Val> {
        let mark = self.checkpoint();
        self.env.open();
        for (name, value) in starts {
            self.env.declare(name, value.clone());
        }
        let done = trace_for(self, each);
        let read = |(name, _): &(String, Val)| self.env.read(name).cloned().unwrap_or(Val::Unit);
        let mut values: Vec<Val> = starts.iter().map(read).collect();
        self.env.close();
        if let Err(fault) = done {
            self.rollback(mark);
            return Err(fault);
        }
        Ok(if values.len() > 1 { Val::Tuple(values) } else { values.pop().unwrap_or(Val::Unit) })
    }

    /// The numbers of a range or of a list, gathered; other elements as the loop over them gathers them.
    fn picked(&mut self, chain: &Expr, trace_for: ForLoops<'_, 'a>) -> Result<Val> {
        let mark = self.checkpoint();
        let (over, items) = self.iterable(chain)?;
        if let Some(items) = items {
            return Ok(Val::List(items));
        }
        let ty = Ty::List(Box::new(over.item.clone()));
        let mut adaptors = over.adaptors;
        let is_list = adaptors.first() == Some(&Adaptor::Iter);
        if is_list && !is_copy(&over.item) {
            self.rollback(mark);
            return self.accumulated(&gathered(chain), trace_for);
        }
        if is_untyped(&over.item) || !is_copy(&over.item) {
            return unsupported(chain.span(), "numbers of a type that is not known");
        }
        if is_list && over.forms.one() != RefKind::Value {
            return unsupported(chain.span(), "a list of references to numbers");
        }
        adaptors.extend(Some(Adaptor::Copied).filter(|_| is_list));
        let is_changed = self.is_spilled(&Val::Node(over.source, ty.clone(), RefKind::Value));
        let effect = if is_list && is_changed { Effect::Io } else { Effect::Pure };
        let op = HostOp::Collect(adaptors);
        Ok(self.host_node_with(effect, op, vec![over.source.into()], "numbers", ty, chain.span()))
    }

    /// References to the elements of a list of tensors, as a list of handles; `None` of anything else.
    fn whole_list(&mut self, list: &Expr) -> Option<Result<Val>> {
        let mark = self.checkpoint();
        match self.expr(list).map(Val::behind) {
            Ok(Val::List(items)) if items.first().is_some_and(Val::is_tensor) => {
                return Some(Ok(Val::List(items.into_iter().map(Val::borrowed).collect())));
            }
            Ok(value @ Val::Node(id, ..)) if value.ty().element() == Ty::Tensor => {
                if let Some(copy) = self.copy_of(&value.ty(), &Arg::Node(id)) {
                    let (op, args) = application(copy);
                    let effect = if self.is_spilled(&value) { Effect::Io } else { Effect::Pure };
                    let items = self.host_node_with(effect, op, args, "items", value.ty(), list.span());
                    if self.lists_references(id) {
                        return Some(Ok(items.with_ref_kind(RefKind::RefRef)));
                    }
                    if let Some(items) = items.node() {
                        self.facts.set_handles(items, id);
                    }
                    return Some(Ok(items));
                }
            }
            _ => {}
        }
        self.rollback(mark);
        None
    }

    /// The sum of numbers or tensors, and the like, of the list that they are gathered in.
    fn reduced(
        &mut self,
        call: &ExprMethodCall,
        reduction: Reduction,
        trace_for: ForLoops<'_, 'a>,
    ) -> Option<Result<Val>> {
        let mut mark = self.checkpoint();
        let mut list = self.items_of(&call.receiver, trace_for);
        let element = match list.as_ref().map(Val::ty) {
            Ok(Ty::List(element)) => *element,
            _ => Ty::Unknown,
        };
        // What a list's iterator yields are references, which numbers are read from.
        if let Some(copies) = gathered_copies(&call.receiver).filter(|_| is_copy(&element)) {
            self.rollback(mark);
            mark = self.checkpoint();
            list = self.accumulated(&copies, trace_for);
        }
        let name = call.method.to_string();
        let known = match reduction {
            Reduction::Sum | Reduction::Product => {
                (is_copy(&element) && !is_untyped(&element)) || (element == Ty::Tensor && reduction == Reduction::Sum)
            }
            Reduction::Count => element != Ty::Unknown,
            Reduction::Extremum => matches!(&element, Ty::Rust(ty) if ty == "i64" || ty == "usize"),
        };
        let spelled = self.spelling(&element).filter(|_| known);
        let (Some(spelled), Ok(list)) = (spelled, list) else {
            self.rollback(mark);
            return None;
        };
        let (op, ty) = match reduction {
            Reduction::Sum => (HostOp::Sum(spelled), element),
            Reduction::Product => (HostOp::Product(spelled), element),
            Reduction::Count => (HostOp::Method("len".to_owned()), Ty::Rust("usize".to_owned())),
            Reduction::Extremum => (HostOp::Extremum(name.clone()), Ty::Option(Box::new(element))),
        };
        let list = self.operand(&list, call.span());
        Some(list.map(|list| self.host_node(op, vec![list], &name, ty, call.method.span())))
    }

    /// The list itself that a chain begins with and does nothing to, or what the chain yields as a list of its own.
    fn items_of(&mut self, chain: &Expr, trace_for: ForLoops<'_, 'a>) -> Result<Val> {
        match chain {
            Expr::MethodCall(call) if call.args.is_empty() && (call.method == "iter" || call.method == "into_iter") => {
                self.expr(base(&call.receiver))
            }
            chain => self.accumulated(&gathered(chain), trace_for),
        }
    }
}
