//! What is done with a value that branches choose: it is done in the same branches again, with what each of them chooses.

use std::{collections::BTreeMap, rc::Rc};

use fx_ir::{Arg, NodeId, Spot};
use proc_macro2::Span;

use crate::trace::{
    Frame, Result, Tracer, Val,
    value::{Chosen, ClosureEnv},
};

/// What stands for the nodes of a region in a copy of it.
type Copies = BTreeMap<NodeId, Arg>;

/// What is done with the value that an arm chooses.
pub(in crate::trace) type WithChosen<'c, 'a> = &'c mut dyn FnMut(&mut Tracer<'a>, Val) -> Result<Val>;

impl<'a> Tracer<'a> {
    /// Does it in the branches that choose the value, with what each of them chooses.
    pub(in crate::trace) fn with_chosen(
        &mut self,
        chosen: &Chosen,
        span: Span,
        act: WithChosen<'_, 'a>,
    ) -> Result<Val> {
        let node = self.graph.node(chosen.of).clone();
        let owner = self.owner(node.op, node.args, "chosen", span);
        let mut branches = Vec::new();
        for (region, arm) in node.regions.into_iter().zip(&chosen.arms) {
            branches.push(self.in_region(owner, &mut |tracer| {
                let mut copies = Copies::new();
                tracer.graph.region_copy(region, &mut copies, Spot::End(tracer.region));
                for (old, copy) in &copies {
                    if let Some(copy) = copy.node() {
                        tracer.facts.copy(*old, copy);
                    }
                }
                // An arm that chooses nothing does not come to its end.
                arm.as_ref().map_or(Ok(Val::Never), |value| act(tracer, in_copy(value.clone(), &copies)))
            })?);
        }
        self.join_branches(owner, &branches, span)
    }
}

/// The value as it is in a copy of the region that it was made in.
fn in_copy(value: Val, copies: &Copies) -> Val {
    let all = |values: Vec<Val>| values.into_iter().map(|value| in_copy(value, copies)).collect();
    match value {
        Val::Node(id, ty, form) => {
            let copy = copies.get(&id).and_then(Arg::node);
            Val::Node(copy.unwrap_or(id), ty, form)
        }
        Val::Lit(arg, ty) => {
            let arg = arg.map_nodes(&mut |id| copies.get(&id).cloned().unwrap_or(Arg::Node(id)));
            Val::Lit(arg, ty)
        }
        Val::Tuple(parts) => Val::Tuple(all(parts)),
        Val::List(items) => Val::List(all(items)),
        Val::Fields(shape, parts) => Val::Fields(shape, all(parts)),
        Val::Some(inner) => Val::Some(Box::new(in_copy(*inner, copies))),
        Val::Closure(closure, home) => Val::Closure(closure, Rc::new(home_in_copy(&home, copies))),
        Val::Chosen(chosen) => {
            let of = copies.get(&chosen.of).and_then(Arg::node).unwrap_or(chosen.of);
            let arms = chosen.arms.iter().map(|arm| arm.clone().map(|value| in_copy(value, copies)));
            Val::Chosen(Rc::new(Chosen { of, arms: arms.collect() }))
        }
        value => value,
    }
}

/// The surroundings of a closure, as they are in the copy.
fn home_in_copy(home: &ClosureEnv, copies: &Copies) -> ClosureEnv {
    let mut env = home.env.clone();
    env.map(&mut |value| in_copy(value, copies));
    let frame =
        |frame: &Frame| Frame { receiver: frame.receiver.clone().map(|own| in_copy(own, copies)), ..frame.clone() };
    ClosureEnv { env, frames: home.frames.iter().map(frame).collect(), escaped: home.escaped }
}
