//! Regions: tracing into one, and making what its branches leave behind one value again.

use std::rc::Rc;

use fx_ir::{Arg, Host, HostOp, NodeId, Op, RegionId, Type};
use proc_macro2::Span;

use crate::trace::types::ty::{GRU_STATE, LSTM_STATE, is_state};
use crate::trace::types::ty::{is_concrete, is_open_list, is_untyped, never};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val, application,
    env::{Env, changed_in},
    flow::{
        join_lists::ListRepr,
        join_types::{unify, with_floats},
    },
    types::operand::typed_literal,
    unsupported,
};

/// What one branch left behind.
#[derive(Clone)]
pub(in crate::trace) struct Branch {
    pub(in crate::trace) region: RegionId,
    pub(in crate::trace) value: Val,
    pub(in crate::trace) env: Env,
}

impl Tracer<'_> {
    /// Traces into a new region of `owner`, from the variables as they are now.
    pub(in crate::trace) fn in_region(
        &mut self,
        owner: NodeId,
        trace: &mut dyn FnMut(&mut Self) -> Result<Val>,
    ) -> Result<Branch> {
        let region = self.graph.add_region_to(owner);
        let outer = std::mem::replace(&mut self.region, region);
        let before = self.env.clone();
        self.env.open();
        let expected = self.expects.of(owner);
        self.expects.next.clone_from(&expected);
        let mut value = trace(self);
        if self.env.is_unreachable() {
            value = value.map(|_| Val::Never);
        }
        let origin = self.graph.node(owner).origin.clone();
        let value = value.and_then(|value| self.some_as_value(value, expected.as_ref(), &origin));
        self.expects.next = None;
        self.env.close();
        let value = value.and_then(|value| {
            if !matches!(value, Val::Never) {
                self.options_as_values(&before, owner)?;
            }
            Ok(value)
        });
        self.region = outer;
        let env = std::mem::replace(&mut self.env, before);
        // What yields nothing is nothing to hand over, whatever node it is.
        let value = value.map(|value| if value.ty() == Ty::Tuple(Vec::new()) { Val::Unit } else { value });
        Ok(Branch { region, value: value?, env })
    }

    /// Ends the branches of `owner` with what each hands over, and makes those one value; variables that some branch
    /// wrote to become what the taken branch wrote.
    pub(in crate::trace) fn join_branches(&mut self, owner: NodeId, branches: &[Branch], span: Span) -> Result<Val> {
        if let Some(chosen) = self.chosen_value(owner, branches) {
            self.join_branches(owner, &without_values(branches), span)?;
            return Ok(Val::Chosen(Rc::new(chosen)));
        }
        let before = self.env.clone();
        let (branches, options) = self.known_options(owner, branches, &before)?;
        let branches = &self.flatten_branches(&branches, &before, span);
        let living: Vec<&Branch> = branches.iter().filter(|branch| !matches!(branch.value, Val::Never)).collect();
        let Some(first) = living.first() else {
            for branch in branches {
                self.end_diverging(branch.region, span);
            }
            let ir = self.index.ir_type(&never());
            self.edit_node(owner).ty = ir;
            return Ok(Val::Never);
        };
        for (name, list) in living.iter().flat_map(|branch| branch.env.refined_since(&before)) {
            self.env.assign(&name, list);
        }
        let mut changed = changed_in(living.iter().map(|branch| &branch.env), &before);
        // What some branch gives no value has none behind them, whatever the others do.
        changed.retain(|name| !living.iter().any(|branch| matches!(branch.env.read(name), Some(Val::Never))));
        let moved = self.moved_lists(&living, &changed);
        changed.retain(|name| !moved.contains(name));
        let pack = |branch: &Branch| -> Option<Val> {
            let mut parts = vec![branch.value.clone()];
            for name in &changed {
                parts.push(branch.env.read(name)?.clone());
            }
            Some(Val::Tuple(parts))
        };
        let Some(shape) = pack(first) else { return unsupported(span, "a variable that is not always set") };
        let Some(known) = known(living.iter().filter_map(|branch| pack(branch)?.leaves())) else {
            return unsupported(span, "branches that hand over no plain value");
        };
        let open = |branch: &Branch| -> Option<Val> {
            let leaves = same_structure(&shape, &pack(branch)?)?.leaves()?;
            let open = leaves.into_iter().zip(&known).filter(|(_, known)| known.is_none());
            Some(Val::Tuple(open.map(|(leaf, _)| leaf).collect()))
        };
        let handed = self.open_leaves(owner, branches, &open, span)?;
        let mut handed = handed.leaves().unwrap_or_default().into_iter();
        let mut leaves = known.into_iter().map(|known| known.or_else(|| handed.next()).unwrap_or(Val::Never));
        let Val::Tuple(parts) = shape.rebuild(&mut leaves) else {
            return unsupported(span, "branches that hand over no plain value");
        };
        let mut parts = parts.into_iter();
        let value = parts.next().unwrap_or(Val::Unit);
        for (name, part) in changed.iter().zip(parts) {
            self.name_after(name, &part);
            self.env.assign(name, if options.contains(name) { Val::Some(Box::new(part)) } else { part });
        }
        for name in &moved {
            self.env.assign(name, Val::Never);
        }
        Ok(value)
    }

    /// The variables among these whose list some branch hands over as its value: nothing is left of it behind them.
    fn moved_lists(&self, living: &[&Branch], names: &[String]) -> Vec<String> {
        let is_moved = |name: &&String| {
            living.iter().any(|branch| {
                let list =
                    branch.env.read(name).filter(|list| matches!(list.ty(), Ty::List(_)) && self.is_spilled(list));
                let leaves = branch.value.leaves().unwrap_or_default();
                list.is_some_and(|list| leaves.iter().any(|leaf| self.is_spilled(leaf) && leaf.same(list)))
            })
        };
        names.iter().filter(is_moved).cloned().collect()
    }

    /// The same of the leaves alone that are not known behind the branches: `open` yields those of one branch.
    fn open_leaves(
        &mut self,
        owner: NodeId,
        branches: &[Branch],
        open: &dyn Fn(&Branch) -> Option<Val>,
        span: Span,
    ) -> Result<Val> {
        let living: Vec<&Branch> = branches.iter().filter(|branch| !matches!(branch.value, Val::Never)).collect();
        let first = living.first().and_then(|first| open(first)).unwrap_or(Val::Unit);
        let leaves: Vec<Vec<Val>> = branches.iter().filter_map(|branch| open(branch)?.leaves()).collect();
        let types = unify(first.leaves().unwrap_or_default().iter().map(Val::ty).collect(), &leaves);
        let open = &|branch: &Branch| Some(with_floats(open(branch)?, &types));
        let vecs = self.list_reprs(living.iter().filter_map(|branch| open(branch)?.leaves()));
        let owned = self.owned_leaves(living.iter().filter_map(|branch| open(branch)?.leaves()));
        for branch in branches {
            if matches!(branch.value, Val::Never) {
                self.end_diverging(branch.region, span);
                continue;
            }
            let value = open(branch).and_then(|value| self.with_own_copies(branch.region, &value, &owned, span));
            let args = value.and_then(|value| self.leaves_of(branch.region, &value, (&vecs, &types), span));
            match args {
                Some(args) if args.len() == types.len() => self.end_region(branch.region, args, span),
                _ => return unsupported(span, "branches that hand over values of different forms"),
            }
        }
        self.agreed(&leaves, &types, span)?;
        self.settle_params(branches, &types, open);
        // What opaque code yields may be either, so that the others say it.
        let is_known = |leaf: &Val| leaf.ty() != Ty::Unknown || matches!(leaf, Val::Lit(..));
        let held = |at: usize| {
            let leaf = move |branch: &&Branch| open(branch)?.leaves()?.get(at).cloned();
            living.iter().filter_map(leaf).filter(is_known).filter_map(|leaf| leaf.ref_kind())
        };
        let form = |at: usize| vecs.get(at).and_then(ListRepr::ref_kind).unwrap_or_else(|| RefKind::common(held(at)));
        let forms: Vec<RefKind> = (0..types.len()).map(form).collect();
        Ok(self.joined_results(owner, &first, &types, span).with_ref_kinds(forms))
    }

    /// What the branch hands over for the leaves of its value, in forms that another branch's have too.
    fn leaves_of(
        &mut self,
        region: RegionId,
        value: &Val,
        (vecs, types): (&[ListRepr], &[Ty]),
        span: Span,
    ) -> Option<Vec<Arg>> {
        let value = self.with_vecs(region, value, vecs, span)?;
        let (args, leaves) = (self.yielded_from(region, &value, span)?, value.leaves()?);
        let args = self.with_own_options(region, args, (&leaves, types), span);
        Some(self.with_states(region, args, &leaves, span))
    }

    /// Ends a region that does not come to its end: with what leaves it, its last node.
    fn end_diverging(&mut self, region: RegionId, span: Span) {
        let last = self.graph.region(region).nodes.last().copied();
        self.end_region(region, last.map(Arg::Node).into_iter().collect(), span);
    }

    /// What the region hands over for the value: a number of a written type, or a function, as code that says so.
    pub(in crate::trace) fn yielded_from(&mut self, region: RegionId, value: &Val, span: Span) -> Option<Vec<Arg>> {
        let leaves = value.leaves()?;
        let mut args = yielded_args(value)?;
        for (arg, leaf) in args.iter_mut().zip(&leaves) {
            let (operand, name, path) = match leaf {
                Val::Lit(Arg::Path(path), ty) if ty.is_function() => {
                    (HostOp::AsFunction(self.spelling(ty)?).on(arg.clone()), "function", Some(path.clone()))
                }
                Val::Lit(Arg::Float(_) | Arg::Int(_), ty) if !is_untyped(ty) => {
                    (typed_literal(arg, ty), "number", None)
                }
                _ => continue,
            };
            let (op, operands) = application(operand);
            let (ir, origin) = (self.index.ir_type(&leaf.ty()), self.origin(span, name));
            let id = self.graph.push(region, Op::Host(Host::pure(op)), operands, name, ir, origin);
            if let Some(path) = path {
                self.facts.set_named(id, path);
            }
            *arg = Arg::Node(id);
        }
        Some(args)
    }

    /// The arguments with a second handle for each state of a recurrent layer: a branch must not take away the variable's.
    fn with_states(&mut self, region: RegionId, mut args: Vec<Arg>, leaves: &[Val], span: Span) -> Vec<Arg> {
        for (arg, leaf) in args.iter_mut().zip(leaves) {
            let ty = leaf.ty();
            if !is_state(&ty, GRU_STATE) && !is_state(&ty, LSTM_STATE) {
                continue;
            }
            let Some((op, operands)) = self.copy_of(&ty, arg).map(application) else { continue };
            let (ir, origin) = (self.index.ir_type(&leaf.ty()), self.origin(span, "state"));
            *arg = Arg::Node(self.graph.push(region, Op::Host(Host::pure(op)), operands, "state", ir, origin));
        }
        args
    }

    pub(in crate::trace) fn end_region(&mut self, region: RegionId, args: Vec<Arg>, span: Span) {
        let origin = self.origin(span, "yield");
        self.graph.push(region, Op::Yield, args, "yield", Type::Unknown, origin);
    }

    pub(in crate::trace) fn end_branch(&mut self, branch: &Branch, args: Vec<Arg>, span: Span) {
        self.end_region(branch.region, args, span);
    }

    /// The value of `owner`, of the structure of `shape`: its node, or the parts of its tuple.
    pub(in crate::trace) fn joined_results(&mut self, owner: NodeId, shape: &Val, types: &[Ty], span: Span) -> Val {
        let whole = match types {
            [] => Ty::Tuple(Vec::new()),
            [one] => one.clone(),
            many => Ty::Tuple(many.to_vec()),
        };
        let ir = self.index.ir_type(&whole);
        self.edit_node(owner).ty = ir;
        let base = self.graph.node(owner).name.clone();
        let leaves: Vec<Val> = match types {
            [_] => vec![Val::Node(owner, whole, RefKind::Value)],
            many => many
                .iter()
                .enumerate()
                .map(|(position, ty)| {
                    let name = format!("{base}_{position}");
                    self.push(Op::TupleGet(position), vec![owner.into()], &name, ty.clone(), span)
                })
                .collect(),
        };
        shape.rebuild(&mut leaves.into_iter())
    }
}

impl Branch {
    /// The region of the branch.
    pub(in crate::trace) fn branch_region(&self) -> RegionId {
        self.region
    }

    /// The variables as the branch left them.
    pub(in crate::trace) fn env(&self) -> &Env {
        &self.env
    }

    /// The value that the branch ended in.
    pub(in crate::trace) fn value(&self) -> &Val {
        &self.value
    }
}

/// The branches without what they end in, but for those that do not come to their end.
fn without_values(branches: &[Branch]) -> Vec<Branch> {
    let ends = |branch: &Branch| !matches!(branch.value, Val::Never);
    let value = |branch: &Branch| if ends(branch) { Val::Unit } else { Val::Never };
    branches.iter().map(|branch| Branch { value: value(branch), ..branch.clone() }).collect()
}

/// Which of the leaves that branches hand over is the same literal in all of them: it is known behind them too.
fn known(mut branches: impl Iterator<Item = Vec<Val>>) -> Option<Vec<Option<Val>>> {
    let first = branches.next()?;
    let mut branches = branches.peekable();
    let is_only = branches.peek().is_none();
    // A list of which nothing is known yet was there before, where two branches have it.
    let is_open = |leaf: &Val| matches!(leaf, Val::Node(_, ty, _) if is_open_list(ty)) && !is_only;
    let literal = |leaf: Val| Some(leaf).filter(|leaf| matches!(leaf, Val::Lit(..)) || is_open(leaf));
    let mut known: Vec<Option<Val>> = first.into_iter().map(literal).collect();
    for leaves in branches {
        for (known, leaf) in known.iter_mut().zip(leaves) {
            // One of them may say more of the type.
            let says_more = known.as_ref().is_some_and(|one| !is_concrete(&one.ty()) || is_untyped(&one.ty()));
            *known = known.take().filter(|one| one.same(&leaf)).map(|one| if says_more { leaf } else { one });
        }
    }
    Some(known)
}

/// `value`, if it has the parts of `shape`.
pub(in crate::trace) fn same_structure(shape: &Val, value: &Val) -> Option<Val> {
    let fits = match (shape, value) {
        (Val::Tuple(a), Val::Tuple(b)) | (Val::Fields(_, a), Val::Fields(_, b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_structure(a, b).is_some())
        }
        (Val::MutRef(_, a), Val::MutRef(_, b)) => same_structure(a, b).is_some(),
        (Val::Iter(a, _), Val::Iter(b, _)) => Rc::ptr_eq(a, b),
        (Val::Unit, Val::Unit) => true,
        (shape, value) => !has_structure(shape) && !has_structure(value),
    };
    fits.then(|| value.clone())
}

/// Whether it is something other than one value.
fn has_structure(value: &Val) -> bool {
    !matches!(value, Val::Node(..) | Val::Lit(..) | Val::List(_) | Val::Some(_))
}

/// The arguments of the `yield` that hands the value over; a `Some` or a list is no plain argument.
pub(in crate::trace) fn yielded_args(value: &Val) -> Option<Vec<Arg>> {
    value
        .leaves()?
        .iter()
        .map(|leaf| match leaf {
            Val::Some(_) | Val::List(_) => None,
            plain => plain.arg(),
        })
        .collect()
}
