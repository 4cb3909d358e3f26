//! Moves what is known of the live model out of branches and loops that a call decides.
//!
//! `freeze` computes such a value once, whichever arm a call takes. In front of the branch it is seen from all arms, so that
//! those that use one layer share one kernel, instead of each packing the weight for itself.

use fx_ir::{Graph, NodeId, Op};

use super::common_subexpressions::is_mergeable;
use crate::analysis::{BindingTimes, Effects};
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct HoistFrozen;

impl Pass for HoistFrozen {
    described! {
        "hoist-frozen": "moves what is known of the live model out of branches that a call decides";
        after: ["pack-kernels"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let (times, effects) = (BindingTimes::of(graph, cx), Effects::of(graph, cx));
        let mut changed = false;
        for id in graph.nodes() {
            // Out of one branch after the other, as long as what it reads is seen there.
            while let Some(branch) = branch_around(graph, &times, &effects, id) {
                changed |= graph.move_before(id, branch).is_ok();
            }
        }
        Changed::from(changed)
    }
}

/// The branch or loop in front of which the node may stand, if it stands in one.
fn branch_around(graph: &Graph, times: &BindingTimes, effects: &Effects, id: NodeId) -> Option<NodeId> {
    let node = graph.node(id);
    let owner = graph.parent(id)?;
    let is_place = matches!(node.op, Op::GetAttr(_));
    if !times.is_of_model(id) || !(is_place || is_mergeable(node) && !effects.is_written(id)) {
        return None;
    }
    // What the live model decides has a struct for each arm, which holds what that arm alone needs.
    let of_call = matches!(graph.node(owner).op, Op::While)
        || graph.node(owner).args.first().is_some_and(|subject| !times.is_frozen_arg(subject));
    let is_seen = |input: NodeId| graph.scope_of(input).is_some_and(|scope| !graph.is_inside(scope, owner));
    let same_epoch = is_place || effects.epoch(id) == effects.epoch(owner);
    (of_call && same_epoch && node.inputs().all(is_seen)).then_some(owner)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn a_weight_that_two_arms_of_a_call_read_stands_in_front_of_them() {
        check(
            HoistFrozen,
            r#"graph f(self: module<Net>, c: tensor, x: tensor) {
              %a = if(c) : tensor {
                %w = get_attr[ws](self) : tensor
                %t = transpose(%w, 0, 1) : tensor
                %b = matmul(x, %t) : tensor
                yield %b
              } else {
                %v = get_attr[ws](self) : tensor
                %u = transpose(%v, 0, 1) : tensor
                %d = matmul(%u, x) : tensor
                yield %d
              }
              yield %a
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, c: tensor, x: tensor) {
                  %w = get_attr[ws](self) : tensor
                  %t = transpose(%w, 0, 1) : tensor
                  %v = get_attr[ws](self) : tensor
                  %u = transpose(%v, 0, 1) : tensor
                  %a = if(c) : tensor {
                    %b = matmul(x, %t) : tensor
                    yield %b
                  } else {
                    %d = matmul(%u, x) : tensor
                    yield %d
                  }
                  yield %a
                }"#]],
        );
    }

    #[test]
    fn an_arm_that_the_model_decides_keeps_what_is_its_own() {
        check(
            HoistFrozen,
            r#"graph f(self: module<Net>, x: tensor) {
              %c = get_attr[wide](self) : bool
              %a = if(%c) : tensor {
                %w = get_attr[ws](self) : tensor
                %b = matmul(x, %w) : tensor
                yield %b
              } else {
                yield x
              }
              yield %a
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %c = get_attr[wide](self) : bool
                  %a = if(%c) : tensor {
                    %w = get_attr[ws](self) : tensor
                    %b = matmul(x, %w) : tensor
                    yield %b
                  } else {
                    yield x
                  }
                  yield %a
                }"#]],
        );
    }

    #[test]
    fn what_is_written_to_stays() {
        check(
            HoistFrozen,
            r#"graph f(self: module<Net>, c: tensor, x: tensor) {
              %a = if(c) : tensor {
                %w = get_attr[ws](self) : tensor
                %n = neg(%w) : tensor
                %z = zero_(%n)
                %b = matmul(x, %n) : tensor
                yield %b
              } else {
                yield x
              }
              yield %a
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, c: tensor, x: tensor) {
                  %w = get_attr[ws](self) : tensor
                  %a = if(c) : tensor {
                    %n = neg(%w) : tensor
                    %z = zero_(%n)
                    %b = matmul(x, %n) : tensor
                    yield %b
                  } else {
                    yield x
                  }
                  yield %a
                }"#]],
        );
    }
}
