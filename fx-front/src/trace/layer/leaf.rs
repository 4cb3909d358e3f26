//! Calls of one layer of `nn`.

use fx_ir::{Arg, Effect, LayerRow, ModuleKind, NodeId, Op, layers};
use proc_macro2::Span;

use crate::diag::{Code, Severity};
use crate::trace::types::label::identifier;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, unsupported};

const CAPTURES: &str = "a closure that captures values of the function that makes it";

impl Tracer<'_> {
    /// One layer of `nn`; in inference its `train` flag means nothing.
    pub(in crate::trace) fn leaf(&mut self, module: &Val, kind: &str, args: &[Val], span: Span) -> Result<Val> {
        let advice =
            format!("{CAPTURES}; `#[traceable]` on that function, or on the impl that it is in, makes a layer of it");
        self.leaf_or_closure(module, kind, args, &advice, span)
    }

    /// A closure that captures variables and of which no layer was made because of `why`.
    pub(in crate::trace) fn capturing_closure(
        &mut self,
        module: &Val,
        args: &[Val],
        why: &str,
        span: Span,
    ) -> Result<Val> {
        let reason = format!("{CAPTURES}, and of which no layer is made: {why}");
        self.leaf_or_closure(module, layers::CLOSURE.name, args, &reason, span)
    }

    /// One layer, or a closure, which is opaque because of `why`.
    fn leaf_or_closure(&mut self, module: &Val, kind: &str, args: &[Val], why: &str, span: Span) -> Result<Val> {
        if args.is_empty() || args.len() > 2 {
            let message = format!("a layer takes its input and at most a `train` flag, not {} arguments", args.len());
            self.report(Code::WrongArity, Severity::Error, span, message.clone(), "");
            return unsupported(span, message);
        }
        let (Some(id), Some(Val::Node(input, ..))) = (module.node(), args.first()) else {
            return unsupported(span, "a layer called on a value of this form");
        };
        if let Some(train) = args.get(1).filter(|train| Self::is_undecided(kind, train)) {
            return self.in_either_mode(module, &args[0], train, span);
        }
        let mode = self.mode_of(kind, args.get(1), span)?;
        if kind == layers::CLOSURE.name {
            self.report_opaque(span, why, self.one_operation());
        }
        let label = self.label_of(module, &kind.to_lowercase());
        let name = identifier(&label);
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        Ok(self.layer_call(op, [id, *input], (&name, &label), mode, span))
    }

    /// Whether the layer differs in training, and its mode is a value that the source does not tell.
    fn is_undecided(kind: &str, train: &Val) -> bool {
        let differs = LayerRow::of_type(kind).is_some_and(|row| row.training != Effect::Pure);
        differs && !matches!(train, Val::Lit(..))
    }

    /// A layer whose mode is a value, as a field has it: two calls, of which one is chosen.
    fn in_either_mode(&mut self, layer: &Val, xs: &Val, train: &Val, span: Span) -> Result<Val> {
        let called: syn::Expr =
            syn::parse_quote_spanned!(span=> if train { xs.apply_t(layer, true) } else { xs.apply_t(layer, false) });
        // Code that is kept as it is borrows the layer.
        let layer = layer.clone().with_ref_kind(RefKind::Ref);
        let variables = [("layer", &layer), ("xs", xs), ("train", train)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.clone()));
        self.with_variables(&variables, |tracer| tracer.expr(&called))
    }

    /// The mode that a call of a layer says by itself, beside the one that the layer keeps; none where that decides, or
    /// where the layer does the same in both.
    pub(in crate::trace) fn mode_of(&self, kind: &str, train: Option<&Val>, span: Span) -> Result<Option<bool>> {
        let is_pure = LayerRow::of_type(kind).is_some_and(|row| row.training == Effect::Pure);
        match train {
            None | Some(Val::Lit(Arg::Bool(false), Ty::Mode)) => Ok(None),
            Some(Val::Lit(Arg::Bool(known), _)) if !known || self.training => Ok(Some(*known).filter(|_| !is_pure)),
            Some(_) if is_pure => Ok(None),
            Some(Val::Lit(Arg::Bool(true), _)) => unsupported(span, "a layer in training"),
            Some(_) => unsupported(span, "a layer whose mode is a value that is known at run time alone"),
        }
    }

    /// The call of a layer on its input.
    pub(in crate::trace) fn layer_call(
        &mut self,
        op: Op,
        [layer, input]: [NodeId; 2],
        (name, label): (&str, &str),
        mode: Option<bool>,
        span: Span,
    ) -> Val {
        let value = self.push_labelled(op, vec![layer.into(), input.into()], name, label, Ty::Tensor, span);
        if let (Some(call), Some(mode)) = (value.node(), mode) {
            self.graph.node_mut(call).set_mode(mode);
        }
        value
    }
}
