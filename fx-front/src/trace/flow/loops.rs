//! Loops: `for` and `while` become nodes that own a region and carry the variables it writes to.

use fx_ir::{Arg, ForLoop, NodeId, Op, Pattern};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::pattern;
use crate::syntax::counters::indexes;
use crate::trace::types::ty::{is_open_list, is_untyped};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    desugar::{
        counter::positioned,
        iterator_adaptors::{Plain, without_adaptor},
        jumps::without_jumps,
        labels::without_label,
        list_parts::{over_option, parts},
        zip::{with_named_lists, zipped},
    },
    env::Env,
    flow::{
        carried_types::is_open,
        iterable::Over,
        join::{Branch, same_structure},
    },
    unsupported,
};

impl Tracer<'_> {
    pub(in crate::trace) fn for_loop(&mut self, each: &syn::ExprForLoop) -> Result<Val> {
        if each.label.is_some() {
            return self.for_loop(&without_label(each));
        }
        if let Some(over) = self.with_own_captures_in(&each.expr)? {
            return self.for_loop(&syn::ExprForLoop { expr: Box::new(over), ..each.clone() });
        }
        match without_adaptor(each, self) {
            Some(Plain::Loop(each)) => return self.for_loop(&each),
            Some(Plain::Block(block)) => return self.block(&block, false),
            None => {}
        }
        let chain = self.with_iterator_inlined(&each.expr).or_else(|| parts(&each.expr, self));
        if let Some(chain) = chain {
            return self.for_loop(&syn::ExprForLoop { expr: Box::new(chain), ..each.clone() });
        }
        if let Some(held) = over_option(each, self) {
            return self.expr(&held).map(|_| Val::Unit);
        }
        if let Some(value) = self.over_iterator(each, &mut |tracer, each| tracer.for_loop(each)) {
            return value;
        }
        if let Some(block) = with_named_lists(each, &mut |what, span| self.fresh_name(what, span)) {
            return self.block(&block, false);
        }
        if let Some(pairs) = zipped(each, self) {
            return self.for_loop(&pairs);
        }
        if let Some(each) = positioned(each, self, &|name| self.counter_start(name)) {
            return self.for_loop(&each);
        }
        if let Some(numbers) = self.over_place(each)? {
            return self.for_loop(&numbers);
        }
        let (body, flag) = without_jumps(each, &each.body)?;
        let each = syn::ExprForLoop { body, ..each.clone() };
        self.stopping(flag.as_ref(), &mut |tracer| tracer.plain_for(&each))
    }

    /// The number at which a variable of which nothing else is known begins to count positions.
    fn counter_start(&self, name: &syn::Ident) -> Option<i64> {
        match self.env.read(&name.to_string()) {
            Some(Val::Lit(Arg::Int(start), Ty::Rust(ty))) if ["integer", "usize"].contains(&ty.as_str()) => {
                Some(*start)
            }
            _ => None,
        }
    }

    /// Traces a loop with the flag declared that a `break` of it sets.
    pub(in crate::trace) fn stopping(
        &mut self,
        flag: Option<&syn::Ident>,
        trace: &mut dyn FnMut(&mut Self) -> Result<Val>,
    ) -> Result<Val> {
        let Some(flag) = flag else { return trace(self) };
        self.env.open();
        self.env.declare(&flag.to_string(), Val::Lit(Arg::Bool(false), Ty::Rust("bool".to_owned())));
        let value = trace(self);
        self.env.close();
        value
    }

    /// A loop without jumps.
    fn plain_for(&mut self, each: &syn::ExprForLoop) -> Result<Val> {
        let (mut over, items) = self.iterable(&each.expr)?;
        if let Some(items) = items {
            return self.unrolled(each, items);
        }
        self.spill_asked(&each.body, each.span())?;
        if let syn::Pat::Ident(name) = &*each.pat
            && is_untyped(&over.item)
        {
            let is_index = indexes(&each.body, &name.ident);
            let known =
                if is_index { Some(Ty::Rust("usize".to_owned())) } else { self.counter_ty(&each.body, &name.ident) };
            over.item = known.unwrap_or(over.item);
        }
        let body = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: each.body.clone() });
        let mut carried = self.carried_by(&body, each.span())?;
        // What has no value yet gets one in each iteration that asks for it, and has none again behind the loop.
        let own = pattern::bound(&each.pat);
        carried.retain(|(name, value)| !matches!(value, Val::Never) && !own.contains(name));
        self.learn(each, &over, &mut carried);
        self.iterations_over(each, &over, &carried)
    }

    /// Traces the loop to find out what options hold that begin as `None`, and lists that begin without an element, of which
    /// nothing else says so: its first iteration, in which there is nothing in them, and where that tells too little, any
    /// iteration.
    fn learn(&mut self, each: &syn::ExprForLoop, over: &Over, carried: &mut [(String, Val)]) {
        self.learn_by(each.span(), carried, |tracer, carried| tracer.first_iteration(each, over, carried).ok());
        self.learn_by(each.span(), carried, |tracer, carried| {
            tracer.iterations_over(each, over, carried).ok()?;
            Some(tracer.env.clone())
        });
    }

    /// The variables behind the first iteration of a loop, which finds nothing in options that are `None`.
    fn first_iteration(&mut self, each: &syn::ExprForLoop, over: &Over, carried: &[(String, Val)]) -> Result<Env> {
        let owner = self.owner(Op::For(ForLoop::default()), vec![Arg::Node(over.source)], "each", each.for_token.span);
        let known: Vec<(String, Val)> = carried.iter().filter(|(_, value)| !is_open(value)).cloned().collect();
        let (branch, _) = self.iteration(owner, each, over, &known)?;
        Ok(branch.env().clone())
    }

    /// The loop over these values, which carries these variables.
    fn iterations_over(&mut self, each: &syn::ExprForLoop, over: &Over, carried: &[(String, Val)]) -> Result<Val> {
        let mark = self.checkpoint();
        let mut args = vec![Arg::Node(over.source)];
        args.extend(self.handed_in(carried, each.span())?);
        let span = each.for_token.span;
        let owner = self.owner(Op::For(ForLoop::default()), args, "each", span);
        let (branch, header) = self.iteration(owner, each, over, carried)?;
        if let Some(written) = self.written_in(&branch, carried) {
            self.rollback(mark);
            return self.iterations_over(each, over, &written);
        }
        self.edit_node(owner).op = Op::For(header);
        self.end_loop(owner, carried, &branch, span)
    }

    /// One iteration of the loop, and how the loop begins.
    fn iteration(
        &mut self,
        owner: NodeId,
        each: &syn::ExprForLoop,
        over: &Over,
        carried: &[(String, Val)],
    ) -> Result<(Branch, ForLoop)> {
        let mut header = ForLoop::default();
        let branch = self.in_region(owner, &mut |tracer| {
            let (mut pattern, mut bound) = tracer.refutable(&each.pat, &over.item, &over.forms)?;
            if matches!((&*each.pat, &over.item), (syn::Pat::Reference(_), Ty::Unknown)) {
                // A number or the like, which the user's code has by value.
                pattern = Pattern::Reference(Box::new(pattern));
            }
            header = ForLoop::new(pattern, over.adaptors.clone());
            if over.is_numbered {
                // `(i, layer)`: the layer is the element itself.
                for one in &mut bound {
                    one.part = one.part.strip_prefix(".1").unwrap_or_default().to_owned();
                }
            }
            tracer.declare_bound(bound, over.path.as_deref(), each.pat.span());
            tracer.declare_carried(carried, each.for_token.span);
            tracer.block(&each.body, false)
        })?;
        Ok((branch, header))
    }

    /// The variables that the code writes to, each as a loop carries it.
    pub(in crate::trace) fn carried_by(&mut self, code: &syn::Expr, span: Span) -> Result<Vec<(String, Val)>> {
        self.take_apart(code, span)?;
        let written = self.writes(code);
        self.spill_variables(&written, span)?;
        let values = written.into_iter().filter_map(|name| self.env.read(&name).cloned().map(|value| (name, value)));
        let mut values: Vec<(String, Val)> = values.collect();
        for (name, value) in &mut values {
            // A variable of a known type.
            let none = if let Val::Lit(Arg::None, ty) = &*value { self.none_of(&ty.clone(), span) } else { None };
            let origin = self.origin(span, name.as_str());
            *value = self.some_as_value(none.unwrap_or_else(|| value.clone()), None, &origin)?;
        }
        Ok(values)
    }

    /// What a loop is handed for the variables that it carries.
    pub(in crate::trace) fn handed_in(&mut self, carried: &[(String, Val)], span: Span) -> Result<Vec<Arg>> {
        let mut args = Vec::new();
        for (name, value) in carried {
            match self.yielded_from(self.region, value, span) {
                Some(parts) => args.extend(parts),
                None => return unsupported(span, format!("a loop that carries `{name}`, which is no plain value")),
            }
        }
        Ok(args)
    }

    pub(in crate::trace) fn end_loop(
        &mut self,
        owner: NodeId,
        carried: &[(String, Val)],
        branch: &Branch,
        span: Span,
    ) -> Result<Val> {
        if matches!(branch.value(), Val::Never) {
            return unsupported(span, "a loop that ends in its first turn");
        }
        let next: Option<Vec<Val>> = carried.iter().map(|(name, _)| branch.env().read(name).cloned()).collect();
        let next = next.map(|next| self.with_options(branch, next, owner)).transpose()?;
        let shape = Val::Tuple(carried.iter().map(|(_, value)| value.clone()).collect());
        let next = next.and_then(|next| {
            let next = self.coerce(branch.branch_region(), &shape, Val::Tuple(next), span);
            same_structure(&shape, &next)
        });
        let kinds: Vec<Option<RefKind>> =
            next.iter().filter_map(Val::leaves).flatten().map(|leaf| leaf.ref_kind()).collect();
        let learnt: Vec<Ty> = next.iter().filter_map(Val::leaves).flatten().map(|leaf| leaf.ty()).collect();
        let Some(args) = next.and_then(|next| self.yielded_from(branch.branch_region(), &next, span)) else {
            return unsupported(span, "a loop that carries something other than plain values");
        };
        let leaves = shape.leaves().unwrap_or_default();
        if args.len() != leaves.len() {
            return unsupported(span, "a loop that carries something other than plain values");
        }
        let also = branch.env().changed_since(&self.env);
        let is_open = |name: &String| matches!(self.env.read(name), Some(Val::Never));
        let mut also = also.iter().filter(|name| !is_open(name));
        if let Some(name) = also.find(|name| !carried.iter().any(|(known, _)| known == *name)) {
            return unsupported(span, format!("a loop that writes to `{name}` in a way that is not understood"));
        }
        self.end_branch(branch, args, span);
        let known = |(value, learnt): (&Val, &Ty)| {
            let ty = value.ty();
            let open = is_open_list(&ty) || matches!(&ty, Ty::Option(inner) if **inner == Ty::Unknown);
            if open || is_untyped(&ty) { learnt.clone() } else { ty }
        };
        let types: Vec<Ty> = leaves.iter().zip(&learnt).map(known).collect();
        let form = |(leaf, kind): (&Val, &Option<RefKind>)| {
            // An option that begins as `None` holds what an iteration puts there.
            let next = kind.filter(|_| self.is_none(leaf));
            next.or_else(|| leaf.ref_kind()).unwrap_or(RefKind::Value)
        };
        let forms: Vec<RefKind> = leaves.iter().zip(&kinds).map(form).collect();
        if let Val::Tuple(parts) = self.joined_results(owner, &shape, &types, span).with_ref_kinds(forms) {
            for ((name, _), part) in carried.iter().zip(parts) {
                self.name_after(name, &part);
                self.env.assign(name, part);
            }
        }
        Ok(Val::Unit)
    }

    /// What a iteration hands over, with each `Some(..)` as one value of the iteration's region.
    fn with_options(&mut self, branch: &Branch, next: Vec<Val>, owner: NodeId) -> Result<Vec<Val>> {
        let outer = std::mem::replace(&mut self.region, branch.branch_region());
        let origin = self.graph.node(owner).origin.clone();
        let next = next.into_iter().map(|value| self.some_as_value(value, None, &origin)).collect();
        self.region = outer;
        next
    }

    /// A loop over a list whose elements are written out: its body once for each.
    fn unrolled(&mut self, each: &syn::ExprForLoop, items: Vec<Val>) -> Result<Val> {
        for item in items {
            self.env.open();
            let done = self.bind(&each.pat, item).and_then(|()| self.block(&each.body, false));
            self.env.close();
            if matches!(done?, Val::Never) {
                return unsupported(each.span(), "a loop that ends in its first turn");
            }
        }
        Ok(Val::Unit)
    }
}
