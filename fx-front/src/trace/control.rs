//! Control flow: `if`, `match`, `if let`, `for` and `while` become nodes that own regions.

use fx_ir::{Arg, NodeId, Op};
use proc_macro2::Span;
use syn::spanned::Spanned;

use quote::ToTokens;

use super::{Form, Result, Tracer, Ty, Val, merge::handed_over, opaque::writes, pattern::Forms, unknown};

type Continuation<'c, 'a> = &'c mut dyn FnMut(&mut Tracer<'a>) -> Result<Val>;

impl<'a> Tracer<'a> {
    pub(super) fn branch(&mut self, branch: &syn::ExprIf, tail: bool) -> Result<Val> {
        let other = branch.else_branch.as_ref().map(|(_, other)| other.as_ref());
        self.branch_with(branch, tail, &mut |tracer| match other {
            Some(other) => tracer.last_expr(other, tail),
            None => Ok(Val::Unit),
        })
    }

    /// An `if` whose other side is `otherwise`.
    pub(super) fn branch_with(
        &mut self,
        branch: &syn::ExprIf,
        tail: bool,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        if let syn::Expr::Let(condition) = &*branch.cond {
            return self.if_let(condition, &branch.then_branch, tail, otherwise);
        }
        let condition = self.expr(&branch.cond)?;
        if let Val::Lit(Arg::Bool(known), _) = condition {
            return if known { self.block(&branch.then_branch, tail) } else { otherwise(self) };
        }
        let Some(condition) = condition.arg() else { return unknown(branch.cond.span(), "a condition of this form") };
        let owner = self.owner(Op::If, vec![condition], "branch", branch.span());
        let then = self.in_region(owner, &mut |tracer| tracer.block(&branch.then_branch, tail))?;
        let otherwise = self.in_region(owner, otherwise)?;
        self.merge(owner, vec![then, otherwise], branch.span())
    }

    fn owner(&mut self, op: Op, args: Vec<Arg>, name: &str, span: Span) -> NodeId {
        let origin = self.origin(span, name);
        self.graph.push(self.region, op, args, name, fx_ir::Type::Unknown, origin)
    }

    fn if_let(
        &mut self,
        condition: &syn::ExprLet,
        then: &syn::Block,
        tail: bool,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Val> {
        let subject = self.expr(&condition.expr)?;
        match (&subject, &*condition.pat) {
            (Val::Lit(Arg::None, _), syn::Pat::TupleStruct(_)) => return otherwise(self),
            (Val::Some(inner), syn::Pat::TupleStruct(pat)) if pat.elems.len() == 1 => {
                self.env.open();
                let value = self.bind(&pat.elems[0], (**inner).clone()).and_then(|()| self.block(then, tail));
                self.env.close();
                return value;
            }
            _ => {}
        }
        let span = condition.span();
        let forms = self.forms_of(&subject);
        let (owner, path, ty) = self.subject(&subject, "branch", span)?;
        let then =
            self.arm(owner, &condition.pat, &ty, (path.as_deref(), &forms), &mut |tracer| tracer.block(then, tail))?;
        let rest = if matches!(ty, Ty::Option(_)) { "None" } else { "_" };
        let other = self.in_region(owner, otherwise)?;
        self.graph.node_mut(owner).op = Op::Match(vec![then.0, rest.to_owned()]);
        self.merge(owner, vec![then.1, other], span)
    }

    pub(super) fn choice(&mut self, choice: &syn::ExprMatch, tail: bool) -> Result<Val> {
        let subject = self.expr(&choice.expr)?;
        let span = choice.match_token.span;
        let forms = self.forms_of(&subject);
        let (owner, path, ty) = self.subject(&subject, "choice", span)?;
        let mut patterns = Vec::new();
        let mut branches = Vec::new();
        for arm in &choice.arms {
            if let Some((_, guard)) = &arm.guard {
                return unknown(guard.span(), "a guard of a `match` arm");
            }
            let (pattern, branch) = self.arm(owner, &arm.pat, &ty, (path.as_deref(), &forms), &mut |tracer| {
                tracer.last_expr(&arm.body, tail)
            })?;
            patterns.push(pattern);
            branches.push(branch);
        }
        self.graph.node_mut(owner).op = Op::Match(patterns);
        self.merge(owner, branches, span)
    }

    /// How a pattern binds the parts of the value: `Option<&T>` holds references itself.
    fn forms_of(&self, subject: &Val) -> Forms {
        match subject {
            Val::Tuple(parts) => Forms::Each(parts.iter().map(|part| self.forms_of(part)).collect()),
            Val::Node(id, Ty::Option(_), _) if self.holds_references(*id) => Forms::All(Form::Ref),
            other => Forms::of(other),
        }
    }

    /// Is it a parameter of the entry whose type has a reference inside?
    fn holds_references(&self, id: NodeId) -> bool {
        let name = &self.graph.node(id).name;
        let entry = self.frames.first().map(|frame| &self.index.fns[frame.function].sig);
        let mut inputs = entry.into_iter().flat_map(|sig| &sig.inputs);
        self.graph.node(id).op == Op::Placeholder
            && inputs.any(|input| match input {
                syn::FnArg::Typed(typed) => {
                    let is_it = matches!(&*typed.pat, syn::Pat::Ident(ident) if ident.ident == name);
                    is_it && typed.ty.to_token_stream().to_string().contains('&')
                }
                syn::FnArg::Receiver(_) => false,
            })
    }

    /// The node of a `match` on the value, what the user calls that value, and its type.
    fn subject(&mut self, subject: &Val, name: &str, span: Span) -> Result<(NodeId, Option<String>, Ty)> {
        let ty = subject.ty();
        let path = self.path_of(subject);
        let arg = match subject {
            Val::Tuple(_) => {
                let mut args = Vec::new();
                let template = self.spell_refs(subject, &mut args, span)?;
                self.host(&template, args, "subject", ty.clone(), span).arg()
            }
            other => other.arg(),
        };
        let Some(arg) = arg.filter(|_| ty != Ty::Unknown && !matches!(ty, Ty::Result(_))) else {
            return unknown(span, "a `match` on a value of this form");
        };
        Ok((self.owner(Op::Match(Vec::new()), vec![arg], name, span), path, ty))
    }

    /// A tuple of references, as `match (&a, &b)` has it.
    fn spell_refs(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        let Val::Tuple(parts) = value else { return Ok(format!("&{}", self.spell(value, args, span)?)) };
        let parts: Result<Vec<String>> = parts.iter().map(|part| self.spell_refs(part, args, span)).collect();
        Ok(format!("({},)", parts?.join(", ")))
    }

    fn arm(
        &mut self,
        owner: NodeId,
        pat: &syn::Pat,
        ty: &Ty,
        (path, forms): (Option<&str>, &Forms),
        body: Continuation<'_, 'a>,
    ) -> Result<(String, super::merge::Branch)> {
        let mut pattern = String::new();
        let branch = self.in_region(owner, &mut |tracer| {
            let mut bound = Vec::new();
            pattern = tracer.refutable(pat, ty, "", forms, &mut bound)?;
            tracer.declare_bound(bound, path, pat.span());
            body(tracer)
        })?;
        Ok((pattern, branch))
    }

    pub(super) fn for_loop(&mut self, each: &syn::ExprForLoop) -> Result<Val> {
        if each.label.is_some() {
            return unknown(each.span(), "a labelled loop");
        }
        let (over, items) = self.iterable(&each.expr)?;
        if let Some(items) = items {
            return self.unrolled(each, items);
        }
        let body = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: each.body.clone() });
        let written = writes(&body);
        self.make_places(&written, each.span())?;
        let carried: Vec<(String, Val)> =
            written.into_iter().filter_map(|name| self.env.read(&name).cloned().map(|value| (name, value))).collect();
        let mut args = vec![Arg::Node(over.source)];
        for (name, value) in &carried {
            match handed_over(value) {
                Some(parts) if parts.len() == 1 => args.extend(parts),
                _ => return unknown(each.span(), format!("a loop that carries `{name}`, which is no plain value")),
            }
        }
        let span = each.for_token.span;
        let owner = self.owner(Op::For(String::new()), args, "each", span);
        let mut header = String::new();
        let branch = self.in_region(owner, &mut |tracer| {
            let mut bound = Vec::new();
            let pattern = tracer.refutable(&each.pat, &over.item, "", &over.forms, &mut bound)?;
            header = format!("{pattern} in {}", over.template);
            if over.is_numbered {
                // `(i, layer)`: the layer is the element itself.
                bound.iter_mut().for_each(|one| one.part = one.part.strip_prefix(".1").unwrap_or_default().to_owned());
            }
            tracer.declare_bound(bound, over.path.as_deref(), each.pat.span());
            tracer.declare_carried(&carried, span);
            tracer.block(&each.body, false)
        })?;
        self.graph.node_mut(owner).op = Op::For(header);
        self.end_loop(owner, &carried, &branch, span)
    }

    pub(super) fn declare_carried(&mut self, carried: &[(String, Val)], span: Span) {
        for (name, value) in carried {
            let ty = value.ty();
            let ir = self.index.ir_type(&ty);
            let origin = self.origin(span, name);
            let id = self.graph.add_param(self.region, name, ir, origin);
            // Written to where it was declared, so that the block's end does not forget it.
            self.env.assign(name, Val::Node(id, ty, Form::Owned));
        }
    }

    fn end_loop(
        &mut self,
        owner: NodeId,
        carried: &[(String, Val)],
        branch: &super::merge::Branch,
        span: Span,
    ) -> Result<Val> {
        if matches!(branch.value(), Val::Never) {
            return unknown(span, "a loop that ends in its first turn");
        }
        let next: Option<Vec<Val>> = carried.iter().map(|(name, _)| branch.env().read(name).cloned()).collect();
        let Some(args) = next.and_then(|next| handed_over(&Val::Tuple(next))) else {
            return unknown(span, "a loop that carries something other than plain values");
        };
        if args.len() != carried.len() {
            return unknown(span, "a loop that carries something other than plain values");
        }
        let also = branch.env().changed_since(&self.env);
        if let Some(name) = also.iter().find(|name| !carried.iter().any(|(known, _)| known == *name)) {
            return unknown(span, format!("a loop that writes to `{name}` in a way that is not understood"));
        }
        self.end_branch(branch, args, span);
        let shape = Val::Tuple(carried.iter().map(|(_, value)| value.clone()).collect());
        let types: Vec<Ty> = carried.iter().map(|(_, value)| value.ty()).collect();
        if let Val::Tuple(parts) = self.results(owner, &shape, &types, span) {
            for ((name, _), part) in carried.iter().zip(parts) {
                self.name_after(name, &part);
                self.env.assign(name, part);
            }
        }
        Ok(Val::Unit)
    }

    /// A loop over a list whose elements are written out: its body once for each.
    fn unrolled(&mut self, each: &syn::ExprForLoop, items: Vec<Val>) -> Result<Val> {
        for item in items {
            self.env.open();
            let done = self.bind(&each.pat, item).and_then(|()| self.block(&each.body, false));
            self.env.close();
            if matches!(done?, Val::Never) {
                return unknown(each.span(), "a loop that ends in its first turn");
            }
        }
        Ok(Val::Unit)
    }

    pub(super) fn while_loop(&mut self, each: &syn::ExprWhile) -> Result<Val> {
        if each.label.is_some() || matches!(*each.cond, syn::Expr::Let(_)) {
            return unknown(each.span(), "a loop of this form");
        }
        let whole = syn::Expr::While(each.clone());
        let written = writes(&whole);
        self.make_places(&written, each.span())?;
        let carried: Vec<(String, Val)> =
            written.into_iter().filter_map(|name| self.env.read(&name).cloned().map(|value| (name, value))).collect();
        let mut args = Vec::new();
        for (name, value) in &carried {
            match handed_over(value) {
                Some(parts) if parts.len() == 1 => args.extend(parts),
                _ => return unknown(each.span(), format!("a loop that carries `{name}`, which is no plain value")),
            }
        }
        let span = each.while_token.span;
        let owner = self.owner(Op::While, args, "each", span);
        let condition = self.in_region(owner, &mut |tracer| {
            tracer.declare_carried(&carried, span);
            tracer.expr(&each.cond)
        })?;
        let Some(flag) = handed_over(condition.value()) else {
            return unknown(each.cond.span(), "a condition of this form");
        };
        self.end_branch(&condition, flag, span);
        let body = self.in_region(owner, &mut |tracer| {
            tracer.declare_carried(&carried, span);
            tracer.block(&each.body, false)
        })?;
        self.end_loop(owner, &carried, &body, span)
    }
}

/// What a loop runs over.
pub(super) struct Over {
    /// The node whose elements are taken.
    pub(super) source: NodeId,
    /// How they are taken: `$0.iter().enumerate()`.
    pub(super) template: String,
    /// The type of what is taken.
    pub(super) item: Ty,
    /// What the user would call an element.
    pub(super) path: Option<String>,
    /// How it is held by what the user's pattern binds.
    pub(super) forms: Forms,
    /// Does each element come with its number?
    pub(super) is_numbered: bool,
}

impl Tracer<'_> {
    /// What a loop runs over; the elements themselves where they are written out.
    fn iterable(&mut self, expr: &syn::Expr) -> Result<(Over, Option<Vec<Val>>)> {
        match expr {
            syn::Expr::Range(range) => self.range(range),
            syn::Expr::MethodCall(call) if is_adaptor(call) => {
                let (over, items) = self.iterable(&call.receiver)?;
                self.adapted(call, over, items)
            }
            other => {
                let list = self.expr(other)?;
                let forms = Forms::of(&list);
                if let Val::List(items) = list {
                    let source = self.placeholder_node(other.span());
                    return Ok((source, Some(items)));
                }
                let (Some(source), Ty::List(item)) = (list.node(), list.ty()) else {
                    return unknown(other.span(), "a loop over a value that is not known to be a list");
                };
                let path = self.path_of(&list).map(|path| format!("{path}.*"));
                Ok((
                    Over { source, template: "$0.iter()".to_owned(), item: *item, path, forms, is_numbered: false },
                    None,
                ))
            }
        }
    }

    fn placeholder_node(&mut self, span: Span) -> Over {
        let node = self.host("()", Vec::new(), "unit", Ty::Tuple(Vec::new()), span);
        let source = node.node().unwrap_or_else(|| self.graph.region(self.graph.body()).params[0]);
        Over {
            source,
            template: String::new(),
            item: Ty::Unknown,
            path: None,
            forms: Forms::All(Form::Owned),
            is_numbered: false,
        }
    }

    fn range(&mut self, range: &syn::ExprRange) -> Result<(Over, Option<Vec<Val>>)> {
        let (Some(start), Some(end)) = (&range.start, &range.end) else {
            return unknown(range.span(), "a range without an end");
        };
        let start = self.expr(start)?;
        let end = self.expr(end)?;
        let mut args = Vec::new();
        let dots = if matches!(range.limits, syn::RangeLimits::Closed(_)) { "..=" } else { ".." };
        let text = format!(
            "{}{dots}{}",
            self.spell(&start, &mut args, range.span())?,
            self.spell(&end, &mut args, range.span())?
        );
        let item = if matches!(end.ty(), Ty::Rust(ref ty) if ty != "integer") { end.ty() } else { start.ty() };
        let node = self.host(&format!("({text})"), args, "range", Ty::Unknown, range.span());
        let Some(source) = node.node() else { return unknown(range.span(), "a range of this form") };
        Ok((
            Over {
                source,
                template: "$0.clone()".to_owned(),
                item,
                path: None,
                forms: Forms::All(Form::Owned),
                is_numbered: false,
            },
            None,
        ))
    }

    fn adapted(
        &mut self,
        call: &syn::ExprMethodCall,
        over: Over,
        items: Option<Vec<Val>>,
    ) -> Result<(Over, Option<Vec<Val>>)> {
        let name = call.method.to_string();
        let index =
            |position: usize| Val::Lit(Arg::Int(i64::try_from(position).unwrap_or(0)), Ty::Rust("usize".to_owned()));
        if let Some(mut items) = items {
            match name.as_str() {
                "enumerate" => {
                    items = items.into_iter().enumerate().map(|(at, item)| Val::Tuple(vec![index(at), item])).collect();
                }
                "rev" => items.reverse(),
                _ => {}
            }
            return Ok((over, Some(items)));
        }
        Ok((
            match name.as_str() {
                "enumerate" => Over {
                    template: format!("{}.enumerate()", over.template),
                    item: Ty::Tuple(vec![Ty::Rust("usize".to_owned()), over.item]),
                    forms: Forms::Each(vec![Forms::All(Form::Owned), over.forms.clone()]),
                    is_numbered: true,
                    ..over
                },
                "rev" => Over { template: format!("{}.rev()", over.template), ..over },
                "iter" => Over { forms: Forms::All(Form::Ref), ..over },
                _ => over,
            },
            None,
        ))
    }
}

fn is_adaptor(call: &syn::ExprMethodCall) -> bool {
    call.args.is_empty() && ["iter", "into_iter", "enumerate", "rev"].iter().any(|name| call.method == name)
}
