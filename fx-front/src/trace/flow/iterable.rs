//! What a loop runs over: a list, a range, and what adaptors make of them.

use fx_ir::{Arg, HostOp, NodeId, host::Adaptor};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::integer_literal;
use crate::trace::types::label::element_path;
use crate::trace::{RefKind, RefKinds, Result, Tracer, Ty, Val, unsupported};

/// What a loop runs over.
pub(in crate::trace) struct Over {
    /// The node whose elements are taken.
    pub(in crate::trace) source: NodeId,
    /// How they are taken: `iter().enumerate()`.
    pub(in crate::trace) adaptors: Vec<Adaptor>,
    /// The type of what is taken.
    pub(in crate::trace) item: Ty,
    /// What the user would call an element.
    pub(in crate::trace) path: Option<String>,
    /// How it is held by what the user's pattern binds.
    pub(in crate::trace) forms: RefKinds,
    /// Whether each element comes with its number.
    pub(in crate::trace) is_numbered: bool,
    /// How it is held that is taken by value.
    element: RefKinds,
}

impl Tracer<'_> {
    /// What a loop runs over; the elements themselves where they are written out.
    pub(in crate::trace) fn iterable(&mut self, expr: &syn::Expr) -> Result<(Over, Option<Vec<Val>>)> {
        match expr {
            syn::Expr::Paren(inner) => self.iterable(&inner.expr),
            syn::Expr::Range(range) => self.range(range),
            syn::Expr::MethodCall(call) if is_adaptor(call) => {
                let (over, items) = self.iterable(&call.receiver)?;
                if call.method == "iter_mut" && !self.is_module(&over.item) {
                    return unsupported(call.method.span(), "a loop that writes to the elements of a list");
                }
                Ok(adapted(call, over, items))
            }
            syn::Expr::MethodCall(call) if picks(call) => {
                let Some(count) = call.args.first().and_then(integer_literal) else {
                    return self.counted_by_value(call);
                };
                if call.method == "step_by" && count == 0 {
                    return unsupported(call.span(), "a step of zero");
                }
                let (over, items) = self.iterable(&call.receiver)?;
                Ok(counted(call, count, over, items))
            }
            other => {
                let list = self.expr(other)?;
                if let Val::List(items) = list {
                    let is_borrowed = matches!(other, syn::Expr::Reference(_));
                    let items = if is_borrowed { items.into_iter().map(Val::borrowed).collect() } else { items };
                    let source = self.placeholder_node(other.span());
                    return Ok((source, Some(items)));
                }
                let (Some(source), Ty::List(item)) = (list.node(), list.ty()) else {
                    return unsupported(other.span(), "a loop over a value that is not known to be a list");
                };
                let items = if self.unrolls() { self.elements(&list, &item, other.span()) } else { None };
                let path = self.path_of(&list).map(|path| element_path(&path, "*"));
                let element = self.kinds_in(source, &item);
                let forms = match RefKinds::of(&list) {
                    RefKinds::All(RefKind::Value) => element.clone(),
                    RefKinds::All(RefKind::Ref) => element.borrowed(),
                    forms => forms,
                };
                let adaptors = vec![Adaptor::Iter];
                Ok((Over { source, adaptors, item: *item, path, forms, is_numbered: false, element }, items))
            }
        }
    }

    /// The list without so many of its first elements, or those alone, where the code computes how many.
    fn counted_by_value(&mut self, call: &syn::ExprMethodCall) -> Result<(Over, Option<Vec<Val>>)> {
        let reason = "a loop over a number of elements that the source does not tell";
        let (over, items) = self.iterable(&call.receiver)?;
        let is_whole = items.is_none() && over.adaptors == [Adaptor::Iter] && call.method != "step_by";
        let Some(count) = call.args.first().filter(|_| is_whole) else {
            return unsupported(call.span(), reason);
        };
        let count = self.expr(count)?;
        if !matches!(count.ty(), Ty::Rust(ty) if ty == "usize") {
            return unsupported(call.span(), reason);
        }
        let list = Arg::Node(over.source);
        let method = |name: &str| HostOp::Method(name.to_owned());
        let end = method("min").of([self.operand(&count, call.span())?, method("len").on(over.source)]);
        let args = if call.method == "skip" { vec![list, end, Arg::None] } else { vec![list, Arg::None, end] };
        let ty = Ty::List(Box::new(over.item.clone()));
        let rest = self.host_node(HostOp::Slice("..".to_owned()), args, "rest", ty, call.span());
        let source = rest.node().unwrap_or(over.source);
        Ok((Over { source, ..over }, None))
    }

    fn placeholder_node(&mut self, span: Span) -> Over {
        let node = self.host_node(HostOp::Unit, Vec::new(), "unit", Ty::Tuple(Vec::new()), span);
        let source = node.node().unwrap_or_else(|| self.graph.region(self.graph.body()).params[0]);
        Over {
            source,
            adaptors: Vec::new(),
            item: Ty::Unknown,
            path: None,
            forms: RefKinds::All(RefKind::Value),
            is_numbered: false,
            element: RefKinds::All(RefKind::Value),
        }
    }

    fn range(&mut self, range: &syn::ExprRange) -> Result<(Over, Option<Vec<Val>>)> {
        let (Some(start), Some(end)) = (&range.start, &range.end) else {
            return unsupported(range.span(), "a range without an end");
        };
        let start = self.expr(start)?;
        let end = self.expr(end)?;
        if let Some(items) = Some(()).filter(|()| self.unrolls()).and_then(|()| self.numbers(range, &start, &end)) {
            return Ok((self.placeholder_node(range.span()), Some(items)));
        }
        let dots = if matches!(range.limits, syn::RangeLimits::Closed(_)) { "..=" } else { ".." };
        let args = vec![self.operand(&start, range.span())?, self.operand(&end, range.span())?];
        // Where one end is a bare number the other says the type.
        let item = if matches!(end.ty(), Ty::Rust(ref ty) if ty == "integer") { start.ty() } else { end.ty() };
        let node = self.host_node(HostOp::Range(dots.to_owned()), args, "range", Ty::Unknown, range.span());
        let Some(source) = node.node() else { return unsupported(range.span(), "a range of this form") };
        Ok((
            Over {
                source,
                adaptors: vec![Adaptor::Clone],
                item,
                path: None,
                forms: RefKinds::All(RefKind::Value),
                is_numbered: false,
                element: RefKinds::All(RefKind::Value),
            },
            None,
        ))
    }
}

/// What an adaptor makes of a loop's list, or of its elements where they are written out.
fn adapted(call: &syn::ExprMethodCall, over: Over, items: Option<Vec<Val>>) -> (Over, Option<Vec<Val>>) {
    let name = call.method.to_string();
    let index =
        |position: usize| Val::Lit(Arg::Int(i64::try_from(position).unwrap_or(0)), Ty::Rust("usize".to_owned()));
    if let Some(mut items) = items {
        match name.as_str() {
            "enumerate" => {
                items = items.into_iter().enumerate().map(|(at, item)| Val::Tuple(vec![index(at), item])).collect();
            }
            "rev" => items.reverse(),
            "iter" => items = items.into_iter().map(Val::borrowed).collect(),
            _ => {}
        }
        return (over, Some(items));
    }
    (
        match name.as_str() {
            "enumerate" => Over {
                adaptors: with(&over.adaptors, Adaptor::Enumerate),
                item: Ty::Tuple(vec![Ty::Rust("usize".to_owned()), over.item]),
                forms: RefKinds::Each(vec![RefKinds::All(RefKind::Value), over.forms.clone()]),
                is_numbered: true,
                ..over
            },
            "rev" => Over { adaptors: with(&over.adaptors, Adaptor::Rev), ..over },
            "iter" | "iter_mut" => Over { forms: over.element.borrowed(), ..over },
            _ => over,
        },
        None,
    )
}

/// Returns whether the method leaves elements out by their numbers.
fn picks(call: &syn::ExprMethodCall) -> bool {
    ["skip", "take", "step_by"].iter().any(|name| call.method == name)
}

/// The list without its first elements, or the first ones alone, or every so many of them.
fn counted(call: &syn::ExprMethodCall, count: i64, over: Over, items: Option<Vec<Val>>) -> (Over, Option<Vec<Val>>) {
    let number = usize::try_from(count).unwrap_or(0);
    let (adaptor, items): (_, Option<Vec<Val>>) = match call.method.to_string().as_str() {
        "skip" => (Adaptor::Skip(count), items.map(|items| items.into_iter().skip(number).collect())),
        "take" => (Adaptor::Take(count), items.map(|items| items.into_iter().take(number).collect())),
        _ => (Adaptor::StepBy(count), items.map(|items| items.into_iter().step_by(number.max(1)).collect())),
    };
    (Over { adaptors: with(&over.adaptors, adaptor), ..over }, items)
}

fn with(adaptors: &[Adaptor], last: Adaptor) -> Vec<Adaptor> {
    adaptors.iter().copied().chain([last]).collect()
}

fn is_adaptor(call: &syn::ExprMethodCall) -> bool {
    call.args.is_empty() && ["iter", "iter_mut", "into_iter", "enumerate", "rev"].iter().any(|name| call.method == name)
}
