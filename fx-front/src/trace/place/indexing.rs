//! `list[i]` and `list[a..b]`.

use fx_ir::{Arg, Host, HostOp, NodeId, Op};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::trace::types::label::element_path;
use crate::trace::types::ty::is_copy;
use crate::trace::{RefKind, RefKinds, Result, Tracer, Ty, Val, asked::base, unsupported};

impl Tracer<'_> {
    /// `list[a..b]`, which is borrowed; `list[..]` is the list.
    fn slice(&mut self, list: &Val, range: &syn::ExprRange, span: Span) -> Result<Val> {
        if range.start.is_none() && range.end.is_none() {
            return Ok(list.clone().with_ref_kind(RefKind::Value));
        }
        let mut args = vec![self.operand(list, span)?];
        for end in [&range.start, &range.end] {
            args.push(match end {
                Some(end) => {
                    let value = self.expr(end)?;
                    self.operand(&value, span)?
                }
                None => Arg::None,
            });
        }
        let op = HostOp::Slice(range.limits.to_token_stream().to_string());
        // A place, which the user's code borrows before it is a value.
        let name = op.name();
        Ok(self.host_node(op, args, name, list.ty(), span).with_ref_kind(RefKind::Value))
    }

    /// Numbers behind a pointer, `Box<[i64]>` or `Cow<[i64]>`, as the slice that they are; anything else as it is.
    pub(in crate::trace) fn unboxed(&mut self, list: Val, span: Span) -> Val {
        let Val::Node(id, ty, _) = &list else { return list };
        let is_carried = matches!(&self.graph.node(*id).op, Op::Rust(code) if code.opaque.is_some());
        let is_vec = self.is_vec(*id) || (self.is_spilled(&list) && !is_carried);
        let element = match ty {
            Ty::List(element) if is_copy(element) && !is_vec => (**element).clone(),
            _ => return list,
        };
        let op = HostOp::Slice("..".to_owned());
        let name = op.name();
        self.host_node(op, vec![(*id).into()], name, Ty::List(Box::new(element)), span)
    }

    pub(in crate::trace) fn index_expr(&mut self, index: &syn::ExprIndex) -> Result<Val> {
        if let Some(value) = self.read_part(&syn::Expr::Index(index.clone()), "item")? {
            return Ok(value);
        }
        let list = self.expr(base(&index.expr))?.behind();
        if let syn::Expr::Range(range) = &*index.index {
            return match &list {
                Val::List(_) => self.part_of_list(&list, range),
                _ => self.slice(&list, range, index.span()),
            };
        }
        if let Ty::Map { .. } = list.ty() {
            return self.map_item(&list, &index.index, index.span());
        }
        let at = self.expr(&index.index)?;
        if let (Val::List(items), Val::Lit(Arg::Int(at), _)) = (&list, &at) {
            let item = usize::try_from(*at).ok().and_then(|at| items.get(at));
            return item.map_or_else(|| unsupported(index.span(), "an index past the end"), |item| Ok(item.clone()));
        }
        if let Some(value) = self.own_index(index, &list, &at) {
            return value;
        }
        let element = match list.ty() {
            Ty::List(element) => *element,
            other => return unsupported(index.span(), format!("indexing a value {}", self.index.of_type(&other))),
        };
        let path = self.path_of(&list).map(|path| match &at {
            Val::Lit(Arg::Int(at), _) => element_path(&path, &at.to_string()),
            _ => element_path(&path, "*"),
        });
        let args = vec![self.operand(&list, index.span())?, self.operand(&at, index.span())?];
        // An element that is no plain number can only be borrowed.
        let is_copy = is_copy(&element);
        let (op, form) = if is_copy { (HostOp::Item, RefKind::Value) } else { (HostOp::ItemRef, RefKind::Ref) };
        let (op, label) = (Op::Host(Host::pure(op)), path.clone().unwrap_or_else(|| "item".to_owned()));
        let value = self.push_labelled(op, args, "item", &label, element, index.span()).with_ref_kind(form);
        if let (Some(id), Some(path)) = (value.node(), path) {
            self.facts.set_path(id, path);
        }
        self.with_kinds_of(&list, value, index.span())
    }

    /// The element of a list of tuples by its parts, where it is known how those are held.
    fn with_kinds_of(&mut self, list: &Val, element: Val, span: Span) -> Result<Val> {
        let ty = element.ty();
        let Ty::Tuple(types) = &ty else { return Ok(element) };
        let kinds: Vec<RefKind> = match list {
            Val::List(items) => {
                let is_flat = |item: &Val| item.parts().iter().all(|part| matches!(part, Val::Node(..) | Val::Lit(..)));
                if !items.iter().all(|item| matches!(item, Val::Tuple(_)) && is_flat(item)) {
                    return Ok(element);
                }
                let of_items = |at: usize| items.iter().filter_map(move |item| item.parts().get(at)?.ref_kind());
                (0..types.len()).map(|at| RefKind::common(of_items(at))).collect()
            }
            list => match list.node().map(|id| self.kinds_in(id, &ty)) {
                Some(kinds @ RefKinds::Each(_)) => (0..types.len()).map(|at| kinds.at(at).one()).collect(),
                _ => return Ok(element),
            },
        };
        let part = |(at, kind): (usize, RefKind)| Ok(self.tuple_part(&element, at, span)?.with_ref_kind(kind));
        kinds.into_iter().enumerate().map(part).collect::<Result<Vec<Val>>>().map(Val::Tuple)
    }

    /// An element of a list that is taken by value, which is a copy; of tensors and what is made of them, generated code
    /// goes on with a reference to it.
    pub(in crate::trace) fn copied_element(&mut self, expr: &syn::Expr, value: Val) -> Val {
        let is_element = matches!(expr, syn::Expr::Index(index) if !matches!(*index.index, syn::Expr::Range(_)));
        match value {
            Val::Node(id, ty @ (Ty::Unknown | Ty::Struct(_)), RefKind::Ref) if is_element && self.is_item_ref(id) => {
                self.host_node(HostOp::Copied, vec![id.into()], "item", ty, expr.span())
            }
            value => value,
        }
    }

    /// Whether generated code has a reference to the element, and not the element of a list of references itself.
    fn is_item_ref(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        node.op.host() == Some(&HostOp::ItemRef) && !node.args.first().is_some_and(Arg::lists_references)
    }

    /// `items[1..]` of a list that is written out.
    fn part_of_list(&mut self, list: &Val, range: &syn::ExprRange) -> Result<Val> {
        let mut end = |end: &Option<Box<syn::Expr>>, open: usize| match end.as_ref().map(|end| self.expr(end)) {
            None => Ok(open),
            Some(Ok(Val::Lit(Arg::Int(at), _))) => Ok(usize::try_from(at).unwrap_or(usize::MAX)),
            Some(_) => unsupported(range.span(), "a part of a list"),
        };
        let Val::List(items) = list else { return unsupported(range.span(), "a part of a list") };
        let (from, to) = (end(&range.start, 0)?, end(&range.end, items.len())?);
        let half_open = matches!(range.limits, syn::RangeLimits::HalfOpen(_));
        match items.get(from..to).filter(|_| half_open) {
            Some(part) => Ok(Val::List(part.to_vec())),
            None => unsupported(range.span(), "a part of a list"),
        }
    }
}
