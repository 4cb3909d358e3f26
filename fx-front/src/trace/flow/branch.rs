//! Control flow: `if`, `match`, `if let`, `for` and `while` become nodes that own regions.

use std::borrow::Cow;

use std::rc::Rc;

use fx_ir::{Arg, Op};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::effects::only_asks;
use crate::syntax::{matches_all, names_of};
use crate::trace::{
    Result, Tracer, Ty, Val, application,
    desugar::{
        array_conversion,
        lent_option::MappedOption,
        let_chains,
        match_guards::{GUARDED, without_guard, without_names},
        match_tuple,
        option::condition_on_zip,
        results,
        slice_pattern::names_part,
        slice_split::SplitTest,
    },
    flow::{
        condition_chain::Decide,
        enum_value::KnownArm,
        matched::{Continuation, is_slice},
    },
    unsupported,
};

impl<'a> Tracer<'a> {
    pub(in crate::trace) fn branch(&mut self, branch: &syn::ExprIf, tail: bool) -> Result<Val> {
        let other = branch.else_branch.as_ref().map(|(_, other)| other.as_ref());
        let then = branch.then_branch.stmts.last().and_then(|last| match last {
            syn::Stmt::Expr(value, None) => Some(value),
            _ => None,
        });
        self.expect_option(then.into_iter().chain(other));
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
            let each = match_tuple::one_by_one(condition).map(Box::new);
            if let Some(cond) = each {
                return self.branch_with(&syn::ExprIf { cond, ..branch.clone() }, tail, otherwise);
            }
            if let Some((option, both)) = condition_on_zip(condition)
                && self.is_option(option)
            {
                let branch = syn::ExprIf { cond: Box::new(both), ..branch.clone() };
                return self.branch_with(&branch, tail, otherwise);
            }
            return self.if_let(condition, &branch.then_branch, tail, otherwise);
        }
        let then = &mut |tracer: &mut Self| tracer.block(&branch.then_branch, tail);
        if let_chains::has_let(&branch.cond) {
            let span = branch.span();
            let decide: Decide<'_, 'a> = &|tracer, condition, then, otherwise| match condition {
                syn::Expr::Let(condition) => tracer.if_pattern(condition, then, otherwise),
                condition => tracer.if_true(condition, span, then, otherwise),
            };
            return self.if_each(&branch.cond, (span, decide), then, otherwise);
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
        self.if_value(&value, (condition.span(), span), then, otherwise)
    }

    fn if_let(
        &mut self,
        condition: &syn::ExprLet,
        then: &syn::Block,
        tail: bool,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        if let Some((option, held)) = self.borrowed_list_option(condition) {
            return self.if_list(&option, &held, &mut |tracer| tracer.block(then, tail), otherwise);
        }
        self.if_pattern(condition, &mut |tracer| tracer.block(then, tail), otherwise)
    }

    pub(in crate::trace) fn if_pattern(
        &mut self,
        condition: &syn::ExprLet,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        if let Some(held) = results::held_by(&condition.pat, "Ok")
            && let Some(value) = self.if_converted(&condition.expr, held, condition.span(), then, otherwise)?
        {
            return Ok(value);
        }
        if let Some(plain) = results::tested(condition) {
            return self.if_pattern(&plain, then, otherwise);
        }
        if let Some(value) = self.if_held(&condition.expr, &condition.pat, then, otherwise)? {
            return Ok(value);
        }
        if let Some(test) = SplitTest::of(condition) {
            let end = self.expr_before(&test.end)?;
            let then = &mut |tracer: &mut Self| {
                let rest = tracer.expr(&test.rest)?;
                tracer.bind(test.bound, rest)?;
                then(tracer)
            };
            return self.if_matches(end, &test.pattern, condition.span(), then, otherwise);
        }
        let (subject, span) = (self.expr_before(&condition.expr)?.behind(), condition.span());
        if let Val::Tuple(parts) = &subject
            && let Some(asks) = match_tuple::asks(&condition.pat, parts.len())
        {
            let test: Vec<(Val, syn::Pat)> = parts.iter().cloned().zip(asks).collect();
            return self.if_all(&test, span, then, otherwise);
        }
        if names_part(&condition.pat) && is_slice(&subject) {
            return self.if_parts(subject, &condition.pat, span, then, otherwise);
        }
        self.if_matches(subject, &condition.pat, span, then, otherwise)
    }

    /// `if let Some(pattern) = option { then } else { otherwise }` on a place; `None` if it is none.
    fn if_held(
        &mut self,
        subject: &syn::Expr,
        pattern: &syn::Pat,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Option<Val>> {
        let syn::Pat::TupleStruct(some) = pattern else { return Ok(None) };
        let Some(held) = some.elems.first().filter(|_| some.path.is_ident("Some") && some.elems.len() == 1) else {
            return Ok(None);
        };
        let expected = self.expects.next.take();
        let mapped = MappedOption::of(subject);
        let test = match &mapped {
            Some(mapped) => self.lent_option(mapped.option),
            None => self.place_test(subject),
        };
        self.expects.next = expected;
        let Some(test) = test? else { return Ok(None) };
        let span = subject.span();
        let (op, args) = application(test.flag);
        let flag = self.on_place(&test.of, op, args, "is_some", Ty::Rust("bool".to_owned()), span);
        let owner = self.owner(Op::If, flag.arg().into_iter().collect(), "branch", span);
        let then = self.in_region(owner, &mut |tracer| {
            if let Some(mapped) = &mapped {
                return tracer.bind_part(mapped, test.held.clone(), held, then);
            }
            tracer.bind(held, Val::Place(Rc::new(test.held.clone())))?;
            then(tracer)
        })?;
        let otherwise = self.in_region(owner, otherwise)?;
        self.join_branches(owner, &[then, otherwise], span).map(Some)
    }

    /// `if let Ok(pattern) = subject { then } else { otherwise }` of a list that becomes an array, and of the sizes of a tensor;
    /// `None` for any other.
    fn if_converted(
        &mut self,
        subject: &syn::Expr,
        held: &syn::Pat,
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Option<Val>> {
        match self.if_array(subject, held, span, then, otherwise)? {
            Some(value) => Ok(Some(value)),
            None => self.if_sized(subject, held, span, then, otherwise),
        }
    }

    /// A `match` on a list that becomes an array, and on the sizes of a tensor; `None` where it is none.
    fn conversion_choice(&mut self, choice: &syn::ExprMatch, tail: bool) -> Result<Option<Val>> {
        let Some((pat, ok, err)) = array_conversion::arms(choice) else { return Ok(None) };
        let then = &mut |tracer: &mut Self| tracer.last_expr(ok, tail);
        let otherwise = &mut |tracer: &mut Self| tracer.last_expr(err, tail);
        self.if_converted(&choice.expr, pat, choice.match_token.span, then, otherwise)
    }

    pub(in crate::trace) fn choice(&mut self, choice: &syn::ExprMatch, tail: bool) -> Result<Val> {
        let of_condition = choice.arms.iter().find(|arm| arm.attrs.iter().any(|attr| attr.path().is_ident("cfg")));
        if let Some(arm) = of_condition {
            return unsupported(arm.span(), "code under a condition that only rustc knows");
        }
        if let Some(value) = self.conversion_choice(choice, tail)? {
            return Ok(value);
        }
        if let Some(plain) = results::without_error(choice, tail && self.closures == 0) {
            return self.choice(&plain, tail);
        }
        self.expect_option(choice.arms.iter().map(|arm| &*arm.body));
        if let Some((some, none)) = arms_of_option(choice) {
            let then = &mut |tracer: &mut Self| tracer.last_expr(&some.body, tail);
            let otherwise = &mut |tracer: &mut Self| tracer.last_expr(&none.body, tail);
            if let Some(value) = self.if_held(&choice.expr, &some.pat, then, otherwise)? {
                return Ok(value);
            }
        }
        let subject = self.expr_before(&only_looked_at(choice))?.behind();
        let span = choice.match_token.span;
        if let Some(plain) = without_names(choice).or_else(|| without_guard(choice)) {
            return self.with_variables(&[(GUARDED.to_owned(), subject)], |tracer| tracer.choice(&plain, tail));
        }
        if let Val::Tuple(parts) = &subject
            && let Some((names, decision)) = match_tuple::decision(choice, parts.len())
        {
            let parts: Vec<(String, Val)> = names.iter().map(ToString::to_string).zip(parts.iter().cloned()).collect();
            return self.with_variables(&parts, |tracer| tracer.last_expr(&decision, tail));
        }
        if let Some((arm, bound)) = self.arm_of_variant(choice, &subject).or_else(|| known_arm(choice, &subject)) {
            self.env.open();
            let bound = bound.into_iter().try_for_each(|(pat, value)| self.bind(pat, value));
            let value = bound.and_then(|()| self.last_expr(&arm.body, tail));
            self.env.close();
            return value;
        }
        if let Some((list, decision)) = self.decided_by_length(choice, &subject) {
            return self.with_variables(&[list], |tracer| tracer.last_expr(&decision, tail));
        }
        let forms = self.ref_kinds_of(&subject);
        let subject = self.slice_subject(subject, &choice.arms.iter().map(|arm| &arm.pat).collect::<Vec<_>>(), span)?;
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
fn known_arm<'c>(choice: &'c syn::ExprMatch, subject: &Val) -> Option<KnownArm<'c>> {
    if let [arm] = choice.arms.as_slice()
        && matches!(arm.pat, syn::Pat::Wild(_) | syn::Pat::Ident(_))
        && matches_all(&arm.pat)
    {
        return Some((arm, vec![(&arm.pat, subject.clone())]));
    }
    if let Val::Lit(Arg::Str(text), _) = subject {
        return arm_of_text(choice, text, subject);
    }
    let held = match subject {
        Val::Lit(Arg::None, _) => None,
        Val::Some(inner) => Some((**inner).clone()),
        _ => return None,
    };
    for arm in &choice.arms {
        match (&arm.pat, &held) {
            _ if arm.guard.is_some() => return None,
            (syn::Pat::Wild(_), _) => return Some((arm, Vec::new())),
            (syn::Pat::Ident(name), None) if name.ident == "None" => return Some((arm, Vec::new())),
            (syn::Pat::Ident(name), Some(_)) if name.ident == "None" => {}
            (syn::Pat::TupleStruct(some), Some(held)) if some.elems.len() == 1 => {
                return Some((arm, vec![(&some.elems[0], held.clone())]));
            }
            (syn::Pat::TupleStruct(_), None) => {}
            _ => return None,
        }
    }
    None
}

/// The arm that a text takes which is written out, and what it binds.
fn arm_of_text<'c>(choice: &'c syn::ExprMatch, text: &str, subject: &Val) -> Option<KnownArm<'c>> {
    fn takes(pat: &syn::Pat, text: &str) -> Option<bool> {
        match pat {
            syn::Pat::Lit(syn::ExprLit { lit: syn::Lit::Str(known), .. }) => Some(known.value() == text),
            syn::Pat::Or(or) => {
                or.cases.iter().map(|case| takes(case, text)).try_fold(false, |any, one| Some(any | one?))
            }
            syn::Pat::Wild(_) => Some(true),
            pat if matches_all(pat) => Some(true),
            _ => None,
        }
    }
    for arm in &choice.arms {
        if arm.guard.is_some() {
            return None;
        }
        if takes(&arm.pat, text)? {
            let bound = matches!(arm.pat, syn::Pat::Ident(_)).then(|| (&arm.pat, subject.clone()));
            return Some((arm, bound.into_iter().collect()));
        }
    }
    None
}

/// The arms of `match option { Some(pattern) => .., None => .. }`, the one of `Some` first; `None` for any other.
fn arms_of_option(choice: &syn::ExprMatch) -> Option<(&syn::Arm, &syn::Arm)> {
    let [one, other] = choice.arms.as_slice() else { return None };
    let is_some = |arm: &syn::Arm| matches!(&arm.pat, syn::Pat::TupleStruct(some) if some.path.is_ident("Some"));
    let is_rest = |arm: &syn::Arm| match &arm.pat {
        syn::Pat::Wild(_) => true,
        syn::Pat::Ident(name) => name.ident == "None",
        _ => false,
    };
    if one.guard.is_some() || other.guard.is_some() {
        return None;
    }
    match (is_some(one) && is_rest(other), is_some(other) && is_rest(one)) {
        (true, _) => Some((one, other)),
        (_, true) if !matches!(one.pat, syn::Pat::Wild(_)) => Some((other, one)),
        _ => None,
    }
}
