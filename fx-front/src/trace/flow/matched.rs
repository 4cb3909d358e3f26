//! Decisions about values: an `if` on a truth value, a `match` on what has forms. What each arm does is handed in.

use std::cell::RefCell;

use fx_ir::{Arg, HostOp, NodeId, Op, Pattern};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::matches_all;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, RefKinds, Result, Tracer, Ty, Val,
    asked::base,
    desugar::slice_pattern::{SliceTest, by_length, names_part},
    flow::join::Branch,
    unsupported,
};

/// What happens in an arm.
pub(in crate::trace) type Continuation<'c, 'a> = &'c mut dyn FnMut(&mut Tracer<'a>) -> Result<Val>;

impl<'a> Tracer<'a> {
    /// `if value { then } else { otherwise }`; one of them alone where the value is known.
    pub(in crate::trace) fn if_value(
        &mut self,
        value: &Val,
        (at, span): (Span, Span),
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        if let Val::Lit(Arg::Bool(known), _) = value {
            return if *known { then(self) } else { otherwise(self) };
        }
        let Some(value) = value.arg() else { return unsupported(at, "a condition of this form") };
        let owner = self.owner(Op::If, vec![value], "branch", span);
        let then = self.in_region(owner, then)?;
        let otherwise = self.in_region(owner, otherwise)?;
        self.join_branches(owner, &[then, otherwise], span)
    }

    pub(in crate::trace) fn owner(&mut self, op: Op, args: Vec<Arg>, name: &str, span: Span) -> NodeId {
        let origin = self.origin(span, name);
        let owner = self.graph.push(self.region, op, args, name, fx_ir::Type::Unknown, origin);
        self.expects.expect_of(owner);
        owner
    }

    /// `if let pat = subject { then } else { otherwise }`.
    pub(in crate::trace) fn if_matches(
        &mut self,
        subject: Val,
        pat: &syn::Pat,
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        match (&subject, pat) {
            (Val::Lit(Arg::None, _), syn::Pat::TupleStruct(_)) => return otherwise(self),
            (Val::Some(inner), syn::Pat::TupleStruct(pat)) if pat.elems.len() == 1 => {
                self.env.open();
                let value = self.bind(&pat.elems[0], (**inner).clone()).and_then(|()| then(self));
                self.env.close();
                return value;
            }
            // A name for what the pattern takes, of which there is a copy.
            (_, syn::Pat::Ident(syn::PatIdent { ident, by_ref: None, subpat: Some((_, inner)), .. }))
                if is_copy(&subject.ty()) && subject.ref_kind() == Some(RefKind::Value) =>
            {
                let (name, named) = (ident.to_string(), subject.clone());
                let then = &mut |tracer: &mut Self| {
                    tracer.env.declare(&name, named.clone());
                    then(tracer)
                };
                return self.if_matches(subject, inner, span, then, otherwise);
            }
            _ => {}
        }
        let forms = self.ref_kinds_of(&subject);
        let subject = self.slice_subject(subject, &[pat], span)?;
        let (owner, path, ty) = self.subject(&subject, "branch", span)?;
        let then = self.arm(owner, pat, &ty, (path.as_deref(), &forms), then)?;
        // What is left of an option is `None` where every `Some` is taken.
        let rest = match &then.0 {
            Pattern::Some(held) if held.takes_all() => Pattern::None,
            _ => Pattern::Wild,
        };
        let other = self.in_region(owner, otherwise)?;
        self.edit_node(owner).op = Op::Match(vec![then.0, rest]);
        self.join_branches(owner, &[then.1, other], span)
    }

    /// A `match` on a slice of which a pattern names a part, as decisions by the length of a list; `None` for any other.
    pub(in crate::trace) fn decided_by_length(
        &mut self,
        choice: &syn::ExprMatch,
        subject: &Val,
    ) -> Option<((String, Val), syn::Expr)> {
        if !is_slice(subject) || !choice.arms.iter().any(|arm| names_part(&arm.pat)) {
            return None;
        }
        let name = self.fresh_name("list", choice.match_token.span);
        let decision = by_length(choice, &name)?;
        Some(((name.to_string(), subject.clone()), decision))
    }

    /// `if let [first, rest @ ..] = subject { then } else { otherwise }`.
    pub(in crate::trace) fn if_parts(
        &mut self,
        subject: Val,
        pat: &syn::Pat,
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let name = self.fresh_name("list", span);
        let Some(SliceTest { test, bound }) = SliceTest::of(pat, &name) else {
            return unsupported(pat.span(), "a pattern of this form");
        };
        self.with_variables(&[(name.to_string(), subject)], |tracer| {
            let flag = tracer.expr(base(&test))?;
            let then = &mut |tracer: &mut Self| {
                for (pat, part) in &bound {
                    let part = tracer.expr(part)?;
                    tracer.bind(pat, part)?;
                }
                then(tracer)
            };
            tracer.if_value(&flag, (pat.span(), span), then, otherwise)
        })
    }

    /// A list that is matched against patterns of its elements, as the slice that it has to be.
    pub(in crate::trace) fn slice_subject(&mut self, subject: Val, patterns: &[&syn::Pat], span: Span) -> Result<Val> {
        if let Val::Tuple(parts) = subject {
            let parts = parts.into_iter().enumerate().map(|(at, part)| {
                let of_part = patterns.iter().filter_map(|pat| match pat {
                    syn::Pat::Tuple(tuple) => tuple.elems.get(at),
                    _ => None,
                });
                self.slice_subject(part, &of_part.collect::<Vec<_>>(), span)
            });
            return parts.collect::<Result<Vec<Val>>>().map(Val::Tuple);
        }
        let is_slice = |pat: &syn::Pat| match pat {
            syn::Pat::Slice(_) => true,
            syn::Pat::Reference(inner) => matches!(&*inner.pat, syn::Pat::Slice(_)),
            _ => false,
        };
        if !patterns.iter().any(|pat| is_slice(pat)) || !matches!(subject.ty(), Ty::List(_)) {
            return Ok(subject);
        }
        let Val::Node(_, _, form) = subject else { return Ok(subject) };
        let args = vec![self.operand(&subject, span)?];
        let op = HostOp::Slice("..".to_owned());
        let name = op.name();
        Ok(self.host_node(op, args, name, subject.ty(), span).with_ref_kind(form))
    }

    /// How a pattern binds the parts of the value: `Option<&T>` holds references itself.
    pub(in crate::trace) fn ref_kinds_of(&self, subject: &Val) -> RefKinds {
        match subject {
            Val::Tuple(parts) => RefKinds::Each(parts.iter().map(|part| self.ref_kinds_of(part)).collect()),
            Val::Node(id, Ty::Option(_), _) if self.holds_references(*id) => RefKinds::All(RefKind::Ref),
            Val::Node(id, Ty::Option(held), RefKind::Value) if matches!(**held, Ty::Tuple(_)) => {
                let node = self.graph.node(*id);
                let list = node.input(0).filter(|_| matches!(node.op.host(), Some(HostOp::Mutate(_))));
                self.kinds_in(list.unwrap_or(*id), held)
            }
            other => RefKinds::of(other),
        }
    }

    /// The node of a `match` on the value, what the user calls that value, and its type.
    pub(in crate::trace) fn subject(
        &mut self,
        subject: &Val,
        name: &str,
        span: Span,
    ) -> Result<(NodeId, Option<String>, Ty)> {
        let ty = subject.ty();
        let path = self.path_of(subject);
        let arg = match subject {
            // To match on what is written out moves nothing into it.
            Val::Tuple(_) | Val::List(_) if !is_copy(&ty.element()) => {
                let operand = self.borrowed_operand(subject, span)?;
                self.materialize(operand, "subject", ty.clone(), span).arg()
            }
            other => other.arg(),
        };
        let Some(arg) = arg.filter(|_| ty != Ty::Unknown && !matches!(ty, Ty::Result(_))) else {
            return unsupported(span, "a `match` on a value of this form");
        };
        Ok((self.owner(Op::Match(Vec::new()), vec![arg], name, span), path, ty))
    }

    /// A tuple or a list of references and numbers, as `match (&a, n)` has it.
    fn borrowed_operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        let (of_parts, parts) = match value {
            Val::Tuple(parts) => (HostOp::Tuple, parts),
            Val::List(items) => (HostOp::Array, items),
            _ => {
                let operand = self.operand(value, span)?;
                return Ok(if is_copy(&value.ty()) { operand } else { HostOp::Ref.on(operand) });
            }
        };
        let parts: Result<Vec<Arg>> = parts.iter().map(|part| self.borrowed_operand(part, span)).collect();
        Ok(of_parts.of(parts?))
    }

    pub(in crate::trace) fn arm(
        &mut self,
        owner: NodeId,
        pat: &syn::Pat,
        ty: &Ty,
        (path, forms): (Option<&str>, &RefKinds),
        body: Continuation<'_, 'a>,
    ) -> Result<(Pattern, Branch)> {
        let mut pattern = Pattern::Wild;
        let branch = self.in_region(owner, &mut |tracer| {
            let bound;
            (pattern, bound) = tracer.refutable(pat, ty, forms)?;
            // What a value is that the arm binds, is asked while the arm is traced.
            if let Op::Match(patterns) = &mut tracer.edit_node(owner).op {
                patterns.push(pattern.clone());
            }
            tracer.declare_bound(bound, path, pat.span());
            body(tracer)
        })?;
        Ok((pattern, branch))
    }

    /// `if let (Some(a), Some(b)) = (a, b)` as one `if let` in the other.
    pub(in crate::trace) fn if_all(
        &mut self,
        test: &[(Val, syn::Pat)],
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let Some(((value, pat), rest)) = test.split_first() else { return then(self) };
        if matches_all(pat) {
            self.env.open();
            let bound = self.bind(pat, value.clone());
            let value = bound.and_then(|()| self.if_all(rest, span, then, otherwise));
            self.env.close();
            return value;
        }
        // Either runs once the other has ended.
        let otherwise = RefCell::new(otherwise);
        let then =
            &mut |tracer: &mut Self| tracer.if_all(rest, span, then, &mut |tracer| otherwise.borrow_mut()(tracer));
        self.if_matches(value.clone(), pat, span, then, &mut |tracer| otherwise.borrow_mut()(tracer))
    }
}

/// Whether it is a list by whose length it can be decided what becomes of it.
pub(in crate::trace) fn is_slice(subject: &Val) -> bool {
    matches!(subject.ty(), Ty::List(_)) && matches!(subject, Val::Node(..) | Val::List(_))
}
