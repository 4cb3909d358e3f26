//! Finding a pattern: by op identity and layer type, over canonical arguments.
//!
//! A pattern is a list of goals, each a term and the argument that has to fit it. Where there is a choice (the two
//! orders of a commutative op, alternatives) the first that leads to the end wins; everything bound on the way to a
//! dead end is forgotten. The failure that got farthest is what [`why_not`](super::RuleSet::why_not) tells.

mod borders;
mod canonical;
mod through;

use std::borrow::Cow;

use fx_ir::{Arg, Graph, Node, NodeId, Op, RegionId, Type};

use self::canonical::{default_of, is_that_literal, param_name, position_of, same_literal};
use super::facts::Facts;
use super::found::Bound;
use super::mismatch::{Attempt, Mismatch};
use super::{Kind, Operator, Param, Rule, Term};
use crate::analysis::chain;

pub(crate) use self::borders::is_quiet;
pub(super) use self::canonical::op_of;
pub(crate) use self::through::Through;

type Goal<'g> = (&'static Term, Cow<'g, Arg>);

/// One attempt to find one rule's pattern.
pub(super) struct Matcher<'g> {
    graph: &'g Graph,
    facts: &'g Facts,
    rule: &'static Rule,
    region: Option<RegionId>,
    /// The arm that is looked into from outside.
    through: Option<Through>,
    bound: Bound,
    /// The failure that got farthest.
    failure: Option<Attempt>,
}

impl<'g> Matcher<'g> {
    pub(super) fn new(graph: &'g Graph, facts: &'g Facts, rule: &'static Rule) -> Matcher<'g> {
        let bound = Bound { slots: vec![None; rule.captures.len()], ..Bound::default() };
        Matcher { graph, facts, rule, region: None, through: None, bound, failure: None }
    }

    /// Finds the pattern with `root` as its first output; yields what was bound and the outputs.
    pub(super) fn find(mut self, root: NodeId) -> Result<(Bound, Vec<NodeId>), Attempt> {
        self.region = self.graph.scope_of(root);
        let mut outputs = vec![root];
        let found = match self.rule.before {
            [first, rest @ ..] => self.output(first, root) && rest.iter().all(|term| self.search(term, &mut outputs)),
            [] => false,
        };
        if !found {
            return Err(self.failure.take().unwrap_or_else(|| self.attempt(Mismatch::Empty)));
        }
        let refused = self.check_borders(&outputs).and_then(|()| self.check_guards());
        refused.map_err(|mismatch| self.attempt(mismatch))?;
        Ok((self.bound, outputs))
    }

    fn output(&mut self, term: &'static Term, root: NodeId) -> bool {
        self.solve(vec![(term, Cow::Owned(Arg::Node(root)))])
    }

    /// A further output is looked for among the readers of what is bound already.
    fn search(&mut self, term: &'static Term, outputs: &mut Vec<NodeId>) -> bool {
        let mut candidates: Vec<NodeId> = self.bound.slots.iter().flatten().filter_map(Arg::node).collect();
        candidates.extend(&self.bound.nodes);
        for _ in 0..term.depth() {
            let readers: Vec<NodeId> = candidates.iter().flat_map(|&id| self.graph.users(id)).collect();
            candidates.extend(readers);
            candidates.sort_unstable();
            candidates.dedup();
        }
        candidates.retain(|id| !outputs.contains(id));
        let found = candidates.into_iter().find(|&id| self.graph.scope_of(id) == self.region && self.output(term, id));
        outputs.extend(found);
        found.is_some()
    }

    fn solve(&mut self, mut goals: Vec<Goal<'g>>) -> bool {
        while let Some((term, arg)) = goals.pop() {
            let fits = match term {
                Term::Any => true,
                Term::Capture(slot) => self.bind(*slot, &arg, false),
                Term::Optional(slot) => self.bind(*slot, &arg, true),
                Term::Collect(slot) => self.gather(*slot, &arg),
                Term::List(terms) => self.list(terms, &arg, &mut goals),
                Term::Field(slot, path) => self.field(*slot, path, &arg),
                Term::Named(slot, term) => {
                    goals.push((term, arg.clone()));
                    self.bind(*slot, &arg, false)
                }
                Term::Either(terms) => return self.either(terms.iter().map(|term| vec![(term, arg.clone())]), &goals),
                Term::Call(op, params) => match self.call(op, params, &arg) {
                    Some(orders) => return self.orders(orders, goals),
                    None => false,
                },
                Term::Operator(operator, terms) => match self.operator(*operator, terms, &arg) {
                    Some(orders) => return self.orders(orders, goals),
                    None => false,
                },
                Term::Module(slot, terms) => self.module(*slot, terms, &arg, &mut goals),
                literal => self.literal(literal, &arg),
            };
            if !fits {
                return false;
            }
        }
        true
    }

    /// Goes on with the first of the choices that leads to the end.
    fn either(&mut self, choices: impl Iterator<Item = Vec<Goal<'g>>>, goals: &[Goal<'g>]) -> bool {
        let saved = self.bound.clone();
        for choice in choices {
            let mut all = goals.to_vec();
            all.extend(choice.into_iter().rev());
            if self.solve(all) {
                return true;
            }
            self.bound = saved.clone();
        }
        false
    }

    fn orders(&mut self, mut orders: Vec<Vec<Goal<'g>>>, mut goals: Vec<Goal<'g>>) -> bool {
        match orders.len() {
            1 => {
                goals.extend(orders.remove(0).into_iter().rev());
                self.solve(goals)
            }
            _ => self.either(orders.into_iter(), &goals),
        }
    }

    /// The node of an argument, if it is one that the replacement may take the place of.
    fn inner(&mut self, arg: &Arg, wanted: &'static str) -> Option<(NodeId, &'g Node)> {
        let Some(id) = self.looked_through(arg) else {
            self.fail(Mismatch::NotAnOp { wanted, found: arg.clone() });
            return None;
        };
        let scope = self.graph.scope_of(id);
        if scope != self.region && scope != self.through.map(|through| through.arm) {
            self.fail(Mismatch::Region(id));
            return None;
        }
        Some((id, self.graph.node(id)))
    }

    fn call(&mut self, wanted: &'static str, params: &'static [Param], arg: &Arg) -> Option<Vec<Vec<Goal<'g>>>> {
        let (id, node) = self.inner(arg, wanted)?;
        let (op, first) = op_of(node).filter(|(op, _)| op.name() == wanted).or_else(|| {
            self.fail(Mismatch::Op { wanted, found: id });
            None
        })?;
        if let Some((name, _)) = node.kwargs.iter().find(|(name, _)| position_of(op, name).is_none()) {
            self.fail(Mismatch::Extra { node: id, param: name.clone() });
            return None;
        }
        let given = node.args.get(first..).unwrap_or_default();
        let argument = |position: usize, name: &str| -> Option<Cow<'g, Arg>> {
            let written = given.get(position).or_else(|| node.kwarg(name));
            written.map(Cow::Borrowed).or_else(|| default_of(op, position).map(Cow::Owned))
        };
        let listed = |position: usize| params.iter().any(|param| param.position == position);
        for (position, value) in given.iter().enumerate().filter(|&(position, _)| !listed(position)) {
            let default = default_of(op, position);
            if default.as_ref().is_none_or(|default| !same_literal(default, value)) {
                self.fail(Mismatch::NotDefault { node: id, param: param_name(op, position), found: value.clone() });
                return None;
            }
        }
        let mut goals = Vec::new();
        for param in params {
            let Some(value) = argument(param.position, param.name) else {
                self.fail(Mismatch::Missing { node: id, param: param.name });
                return None;
            };
            goals.push((&param.term, value));
        }
        self.bound.nodes.push(id);
        let commutes = op.row().is_some_and(|row| row.commutative) && goals.len() >= 2;
        Some(if commutes { both_orders(goals) } else { vec![goals] })
    }

    fn operator(&mut self, operator: Operator, terms: &'static [Term; 2], arg: &Arg) -> Option<Vec<Vec<Goal<'g>>>> {
        let (id, node) = self.inner(arg, operator.tensor_op().name())?;
        let is_op = matches!(&node.op, Op::Call(op) if operator.ops().any(|one| one == *op));
        let ([left, right], true, true) = (&node.args[..], is_op, node.kwargs.is_empty()) else {
            self.fail(Mismatch::Op { wanted: operator.tensor_op().name(), found: id });
            return None;
        };
        self.bound.nodes.push(id);
        let goals = vec![(&terms[0], Cow::Borrowed(left)), (&terms[1], Cow::Borrowed(right))];
        Some(if operator.commutes() { both_orders(goals) } else { vec![goals] })
    }

    fn module(&mut self, slot: usize, terms: &'static [Term], arg: &Arg, goals: &mut Vec<Goal<'g>>) -> bool {
        let Kind::Module(wanted) = self.rule.captures[slot].kind else { return false };
        let Some((id, node)) = self.inner(arg, wanted) else { return false };
        let is_kind = matches!(&node.op, Op::CallModule(kind) if kind.0 == wanted);
        let (Some(layer), true) = (node.input(0), is_kind && node.args.len() == terms.len() + 1) else {
            self.fail(Mismatch::Layer { wanted, found: id });
            return false;
        };
        self.bound.nodes.push(id);
        self.bound.calls.push((slot, id));
        goals.extend(terms.iter().zip(&node.args[1..]).map(|(term, arg)| (term, Cow::Borrowed(arg))).rev());
        self.bind(slot, &Arg::Node(layer), false)
    }

    fn list(&mut self, terms: &'static [Term], arg: &Arg, goals: &mut Vec<Goal<'g>>) -> bool {
        let Arg::List(items) = arg else {
            self.fail(Mismatch::NotAList(arg.clone()));
            return false;
        };
        let open = terms.iter().position(|term| matches!(term, Term::Rest | Term::RestOf(_) | Term::Repeat(_)));
        let (head, tail) = terms.split_at(open.unwrap_or(terms.len()));
        let (part, tail) = tail.split_first().unzip();
        let tail: &[Term] = tail.unwrap_or_default();
        let least = head.len() + tail.len() + usize::from(matches!(part, Some(Term::Repeat(_))));
        if items.len() < least || part.is_none() && items.len() > least {
            self.fail(Mismatch::Length { wanted: least, found: items.len() });
            return false;
        }
        let (first, rest) = items.split_at(head.len());
        let (middle, end) = rest.split_at(rest.len() - tail.len());
        let mut parts: Vec<Goal<'g>> = Vec::new();
        let goal = |(term, item): (&'static Term, &Arg)| (term, Cow::Owned(item.clone()));
        parts.extend(head.iter().zip(first).map(goal));
        match part {
            Some(Term::RestOf(slot)) if !self.bind(*slot, &Arg::List(middle.to_vec()), false) => return false,
            Some(Term::Repeat(term)) => parts.extend(middle.iter().map(|item| goal((*term, item)))),
            _ => {}
        }
        parts.extend(tail.iter().zip(end).map(goal));
        goals.extend(parts.into_iter().rev());
        true
    }

    /// A capture in a repeated part: the integer or the tensor is the next item of its list.
    fn gather(&mut self, slot: usize, arg: &Arg) -> bool {
        let capture = &self.rule.captures[slot];
        let item = if capture.kind == Kind::Ints { Kind::Int } else { Kind::Tensor };
        if !self.is_kind(item, arg) {
            self.fail(Mismatch::Kind { capture: capture.name, kind: item, found: arg.clone() });
            return false;
        }
        match self.bound.slots[slot].get_or_insert_with(|| Arg::List(Vec::new())) {
            Arg::List(items) => items.push(arg.clone()),
            _ => return false,
        }
        true
    }

    /// `bn.config.eps`: a chain of reads from the layer.
    fn field(&mut self, slot: usize, path: &'static [&'static str], arg: &Arg) -> bool {
        let mut at = arg.node();
        let mut reads = Vec::new();
        for &field in path.iter().rev() {
            let read = at.filter(|&id| matches!(&self.graph.node(id).op, Op::GetAttr(name) if name == field));
            let Some(id) = read else {
                self.fail(Mismatch::NotAField { field, found: arg.clone() });
                return false;
            };
            reads.push(id);
            at = self.graph.node(id).input(0);
        }
        self.bound.fields.extend(reads);
        at.is_some_and(|layer| self.bind(slot, &Arg::Node(layer), false))
    }

    fn bind(&mut self, slot: usize, arg: &Arg, optional: bool) -> bool {
        let capture = &self.rule.captures[slot];
        let fits = if optional { true } else { self.is_kind(capture.kind, arg) };
        if !fits {
            self.fail(Mismatch::Kind { capture: capture.name, kind: capture.kind, found: arg.clone() });
            return false;
        }
        match &self.bound.slots[slot] {
            Some(first) if !self.is_same(first, arg) => {
                self.fail(Mismatch::Differs { capture: capture.name, first: first.clone(), second: arg.clone() });
                false
            }
            Some(_) => true,
            None => {
                self.bound.slots[slot] = Some(arg.clone());
                true
            }
        }
    }

    fn is_kind(&self, kind: Kind, arg: &Arg) -> bool {
        let ty = arg.node().map(|id| &self.graph.node(id).ty);
        match (kind, arg) {
            (Kind::Value, _) => *arg != Arg::None && !matches!(ty, Some(Type::Option(_))),
            (Kind::Tensor, _) => ty.is_some_and(|ty| ty.is_tensor() || *ty == Type::Unknown),
            (Kind::Float, Arg::Float(_) | Arg::Int(_)) | (Kind::Int, Arg::Int(_)) | (Kind::Bool, Arg::Bool(_)) => true,
            (Kind::Float, Arg::Path(path)) => super::found::constant(path).is_some(),
            (Kind::Ints, _) => super::found::ints(arg).is_some(),
            (Kind::Tensors, Arg::List(items)) => items.iter().all(|item| self.is_kind(Kind::Tensor, item)),
            (Kind::Module(wanted), _) => match ty {
                Some(Type::Module(kind)) => kind == wanted,
                other => other == Some(&Type::Unknown),
            },
            _ => false,
        }
    }

    /// One value? Two reads of one field are, if nothing writes to it.
    fn is_same(&self, a: &Arg, b: &Arg) -> bool {
        match (a, b) {
            (Arg::Node(a), Arg::Node(b)) if a != b => {
                let read = matches!(self.graph.node(*a).op, Op::GetAttr(_)) && !self.facts.is_written(*a);
                read && chain(self.graph, *a) == chain(self.graph, *b)
            }
            _ => a == b,
        }
    }

    fn literal(&mut self, term: &Term, arg: &Arg) -> bool {
        let fits = is_that_literal(term, arg);
        if !fits {
            self.fail(Mismatch::Literal { wanted: *term, found: arg.clone() });
        }
        fits
    }

    fn fail(&mut self, mismatch: Mismatch) {
        let attempt = self.attempt(mismatch);
        if self.failure.as_ref().is_none_or(|best| attempt.progress() > best.progress()) {
            self.failure = Some(attempt);
        }
    }

    fn attempt(&self, mismatch: Mismatch) -> Attempt {
        Attempt { matched: self.bound.nodes.len(), bound: self.bound.slots.iter().flatten().count(), mismatch }
    }
}

fn both_orders(goals: Vec<Goal<'_>>) -> Vec<Vec<Goal<'_>>> {
    let mut swapped = goals.clone();
    let (first, second) = (goals[0].1.clone(), goals[1].1.clone());
    (swapped[0].1, swapped[1].1) = (second, first);
    vec![goals, swapped]
}
