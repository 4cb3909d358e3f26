//! Control flow: `if`, `match`, `if let`, `for` and `while` become nodes that own regions.

use std::borrow::Cow;

use fx_ir::{Arg, HostOp, NodeId, Op};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::effects::only_asks;
use crate::syntax::{matches_all, names_of};
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    desugar::{
        let_chains,
        match_guards::{GUARDED, without_guard, without_names},
        match_tuple,
    },
    flow::pattern::RefKinds,
    unsupported,
};

pub(in crate::trace) type Continuation<'c, 'a> = &'c mut dyn FnMut(&mut Tracer<'a>) -> Result<Val>;

impl<'a> Tracer<'a> {
    pub(in crate::trace) fn branch(&mut self, branch: &syn::ExprIf, tail: bool) -> Result<Val> {
        let other = branch.else_branch.as_ref().map(|(_, other)| other.as_ref());
        self.branch_with(branch, tail, &mut |tracer| match other {
            Some(other) => tracer.last_expr(other, tail),
            None => Ok(Val::Unit),
        })
    }

    /// An `if` whose other side is `otherwise`.
    pub(in crate::trace) fn branch_with(
        &mut self,
        branch: &syn::ExprIf,
        tail: bool,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        if let syn::Expr::Let(condition) = &*branch.cond {
            return self.if_let(condition, &branch.then_branch, tail, otherwise);
        }
        let then = &mut |tracer: &mut Self| tracer.block(&branch.then_branch, tail);
        if let_chains::has_let(&branch.cond) {
            return self.if_each(&branch.cond, branch.span(), then, otherwise);
        }
        self.if_true(&branch.cond, branch.span(), then, otherwise)
    }

    pub(in crate::trace) fn if_true(
        &mut self,
        condition: &syn::Expr,
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let value = self.expr_before(condition)?;
        if let Val::Lit(Arg::Bool(known), _) = value {
            return if known { then(self) } else { otherwise(self) };
        }
        let Some(value) = value.arg() else { return unsupported(condition.span(), "a condition of this form") };
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

    fn if_let(
        &mut self,
        condition: &syn::ExprLet,
        then: &syn::Block,
        tail: bool,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        if let Some((option, held)) = self.borrowed_list_option(condition) {
            return self.if_list(&option, &held, then, tail, otherwise);
        }
        self.if_pattern(condition, &mut |tracer| tracer.block(then, tail), otherwise)
    }

    pub(in crate::trace) fn if_pattern(
        &mut self,
        condition: &syn::ExprLet,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        if let Some(value) = self.if_held(&condition.expr, &condition.pat, then, otherwise)? {
            return Ok(value);
        }
        if let Some(value) = self.if_split(condition, then, otherwise)? {
            return Ok(value);
        }
        let (subject, span) = (self.expr_before(&condition.expr)?.behind(), condition.span());
        if let Val::Tuple(parts) = &subject
            && let Some(asks) = match_tuple::asks(&condition.pat, parts.len())
        {
            let test: Vec<(Val, syn::Pat)> = parts.iter().cloned().zip(asks).collect();
            return self.if_all(&test, span, then, otherwise);
        }
        self.if_matches(subject, &condition.pat, span, then, otherwise)
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
            _ => {}
        }
        let forms = self.ref_kinds_of(&subject);
        let subject = self.slice_subject(subject, [pat], span)?;
        let (owner, path, ty) = self.subject(&subject, "branch", span)?;
        let then = self.arm(owner, pat, &ty, (path.as_deref(), &forms), then)?;
        let rest = if matches!(ty, Ty::Option(_)) { "None" } else { "_" };
        let other = self.in_region(owner, otherwise)?;
        self.edit_node(owner).op = Op::Match(vec![then.0, rest.to_owned()]);
        self.join_branches(owner, &[then.1, other], span)
    }

    pub(in crate::trace) fn choice(&mut self, choice: &syn::ExprMatch, tail: bool) -> Result<Val> {
        if let Some(value) = self.choice_of_held(choice, tail)? {
            return Ok(value);
        }
        let subject = self.expr_before(&only_looked_at(choice))?.behind();
        let span = choice.match_token.span;
        if let Some(plain) = without_names(choice).or_else(|| without_guard(choice)) {
            self.env.open();
            self.env.declare(GUARDED, subject);
            let value = self.choice(&plain, tail);
            self.env.close();
            return value;
        }
        if let Val::Tuple(parts) = &subject
            && let Some(value) = self.choice_by_parts(choice, parts, tail)
        {
            return value;
        }
        if let Some(value) = self.choice_by_variant(choice, &subject, tail) {
            return value;
        }
        if let Some((arm, held)) = known_arm(choice, &subject) {
            self.env.open();
            let bound = held.map_or(Ok(()), |(pat, value)| self.bind(pat, value));
            let value = bound.and_then(|()| self.last_expr(&arm.body, tail));
            self.env.close();
            return value;
        }
        let forms = self.ref_kinds_of(&subject);
        let subject = self.slice_subject(subject, choice.arms.iter().map(|arm| &arm.pat), span)?;
        let (owner, path, ty) = self.subject(&subject, "choice", span)?;
        let mut patterns = Vec::new();
        let mut branches = Vec::new();
        for arm in &choice.arms {
            if let Some((_, guard)) = &arm.guard {
                return unsupported(guard.span(), "a guard of a `match` arm");
            }
            let (pattern, branch) = self.arm(owner, &arm.pat, &ty, (path.as_deref(), &forms), &mut |tracer| {
                tracer.last_expr(&arm.body, tail)
            })?;
            patterns.push(pattern);
            branches.push(branch);
        }
        self.edit_node(owner).op = Op::Match(patterns);
        self.join_branches(owner, &branches, span)
    }

    /// A list that is matched against patterns of its elements, as the slice that it has to be.
    fn slice_subject<'p>(
        &mut self,
        subject: Val,
        patterns: impl IntoIterator<Item = &'p syn::Pat>,
        span: Span,
    ) -> Result<Val> {
        let is_slice = |pat: &syn::Pat| match pat {
            syn::Pat::Slice(_) => true,
            syn::Pat::Reference(inner) => matches!(&*inner.pat, syn::Pat::Slice(_)),
            _ => false,
        };
        if !patterns.into_iter().any(is_slice) || !matches!(subject.ty(), Ty::List(_)) {
            return Ok(subject);
        }
        let Val::Node(_, _, form) = subject else { return Ok(subject) };
        let args = vec![self.operand(&subject, span)?];
        Ok(self.host_node(HostOp::Slice("..".to_owned()), args, "slice", subject.ty(), span).with_ref_kind(form))
    }

    /// How a pattern binds the parts of the value: `Option<&T>` holds references itself.
    fn ref_kinds_of(&self, subject: &Val) -> RefKinds {
        match subject {
            Val::Tuple(parts) => RefKinds::Each(parts.iter().map(|part| self.ref_kinds_of(part)).collect()),
            Val::Node(id, Ty::Option(_), _) if self.holds_references(*id) => RefKinds::All(RefKind::Ref),
            other => RefKinds::of(other),
        }
    }

    /// The node of a `match` on the value, what the user calls that value, and its type.
    fn subject(&mut self, subject: &Val, name: &str, span: Span) -> Result<(NodeId, Option<String>, Ty)> {
        let ty = subject.ty();
        let path = self.path_of(subject);
        let arg = match subject {
            Val::Tuple(_) => {
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

    /// A tuple of references and numbers, as `match (&a, n)` has it.
    fn borrowed_operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        let Val::Tuple(parts) = value else {
            let operand = self.operand(value, span)?;
            return Ok(if is_copy(&value.ty()) { operand } else { HostOp::Ref.on(operand) });
        };
        let parts: Result<Vec<Arg>> = parts.iter().map(|part| self.borrowed_operand(part, span)).collect();
        Ok(HostOp::Tuple.of(parts?))
    }

    fn arm(
        &mut self,
        owner: NodeId,
        pat: &syn::Pat,
        ty: &Ty,
        (path, forms): (Option<&str>, &RefKinds),
        body: Continuation<'_, 'a>,
    ) -> Result<(String, crate::trace::flow::join::Branch)> {
        let mut pattern = String::new();
        let branch = self.in_region(owner, &mut |tracer| {
            let mut bound = Vec::new();
            pattern = tracer.refutable(pat, ty, "", forms, &mut bound)?;
            tracer.declare_bound(bound, path, pat.span());
            body(tracer)
        })?;
        Ok((pattern, branch))
    }
}

/// What is matched, by `&` where it stands behind a `&mut` and no arm writes to it.
fn only_looked_at(choice: &syn::ExprMatch) -> Cow<'_, syn::Expr> {
    let syn::Expr::Reference(borrowed) = &*choice.expr else { return Cow::Borrowed(&choice.expr) };
    let looks = |arm: &syn::Arm| only_asks(&arm.body, &names_of(&arm.pat));
    if borrowed.mutability.is_none() || !choice.arms.iter().all(looks) {
        return Cow::Borrowed(&choice.expr);
    }
    Cow::Owned(syn::ExprReference { mutability: None, ..borrowed.clone() }.into())
}

/// The arm that a value takes where there is no other, or which is known to be `None` or `Some(..)`, and what it binds.
fn known_arm<'c>(choice: &'c syn::ExprMatch, subject: &Val) -> Option<(&'c syn::Arm, Option<(&'c syn::Pat, Val)>)> {
    if let [arm] = choice.arms.as_slice()
        && matches!(arm.pat, syn::Pat::Wild(_) | syn::Pat::Ident(_))
        && matches_all(&arm.pat)
    {
        return Some((arm, Some((&arm.pat, subject.clone()))));
    }
    let held = match subject {
        Val::Lit(Arg::None, _) => None,
        Val::Some(inner) => Some((**inner).clone()),
        _ => return None,
    };
    for arm in &choice.arms {
        match (&arm.pat, &held) {
            _ if arm.guard.is_some() => return None,
            (syn::Pat::Wild(_), _) => return Some((arm, None)),
            (syn::Pat::Ident(name), None) if name.ident == "None" => return Some((arm, None)),
            (syn::Pat::Ident(name), Some(_)) if name.ident == "None" => {}
            (syn::Pat::TupleStruct(some), Some(held)) if some.elems.len() == 1 => {
                return Some((arm, Some((&some.elems[0], held.clone()))));
            }
            (syn::Pat::TupleStruct(_), None) => {}
            _ => return None,
        }
    }
    None
}
