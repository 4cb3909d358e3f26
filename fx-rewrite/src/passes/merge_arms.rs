//! Merges the arms of a decision that do the same with another constant: the decision yields the constant, and what the
//! arms do is done once.
//!
//! A `match` on configuration in front of a fused activation has arms that differ in the activation alone. Which arm it is
//! is known when the model is frozen, so that what remains of them is one layer. Arms that differ in nothing need no
//! decision at all.

use fx_ir::{Arg, Graph, NodeId, NodeMap, Op, Origin, RegionId, Type};

use crate::analysis::BindingTimes;
use crate::pass::{Changed, Pass, PassContext};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct MergeArms;

impl Pass for MergeArms {
    described! {
        "merge-arms": "merges the arms of a decision that differ in a constant alone";
        after: ["pack-kernels"];
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let mut changed = false;
        let mut times = BindingTimes::of(graph, cx);
        // Inner decisions first: their arms may make the outer ones equal.
        for id in graph.nodes().into_iter().rev() {
            let decides = graph.is_alive(id) && matches!(graph.node(id).op, Op::If | Op::Match(_));
            if decides && !times.is_frozen(id) && graph.node(id).args.iter().all(|arg| times.is_frozen_arg(arg)) {
                let merged = merge(graph, &times, id);
                if merged {
                    times = BindingTimes::of(graph, cx);
                }
                changed |= merged;
            }
        }
        Changed::from(changed)
    }
}

/// Where arms differ: in these arguments of these nodes of the first arm, for which each has a constant of its own.
#[derive(Debug, Default)]
struct Difference {
    places: Vec<(NodeId, usize)>,
    constants: Vec<Arg>,
}

/// Merges the arms of one decision, if they are alike.
fn merge(graph: &mut Graph, times: &BindingTimes, id: NodeId) -> bool {
    let regions = graph.node(id).regions.clone();
    let is_bare = |&region: &RegionId| graph.region(region).params.is_empty() && graph.region(region).nodes.len() > 1;
    if regions.len() < 2 || !regions.iter().all(is_bare) {
        return false;
    }
    let Some(difference) = difference(graph, times, &regions) else { return false };
    let nodes = graph.region(regions[0]).nodes.clone();
    let origins: Vec<Origin> = nodes.iter().enumerate().map(|(at, _)| common_origin(graph, &regions, at)).collect();
    if !difference.places.is_empty() {
        let chosen = choice(graph, id, difference.constants);
        for (node, position) in difference.places {
            graph.node_mut(node).args[position] = Arg::Node(chosen);
        }
    }
    let Ok(yielded) = graph.splice_region(regions[0], id) else { return false };
    for (&node, origin) in nodes.iter().zip(origins) {
        if graph.is_alive(node) {
            graph.node_mut(node).origin = origin;
        }
    }
    replace_results(graph, id, &yielded);
    true
}

/// Where the arms differ, nowhere included; `None` if they do in more than one constant.
fn difference(graph: &Graph, times: &BindingTimes, regions: &[RegionId]) -> Option<Difference> {
    let first = &graph.region(regions[0]).nodes;
    let mut found = Difference::default();
    let mut maps: Vec<NodeMap<NodeId>> = regions.iter().map(|_| NodeMap::default()).collect();
    for (at, &id) in first.iter().enumerate() {
        let node = graph.node(id);
        let mut constants: Vec<Vec<Arg>> = vec![Vec::new(); node.args.len()];
        for (&region, map) in regions.iter().zip(&mut maps) {
            let nodes = &graph.region(region).nodes;
            let &other_id = nodes.get(at).filter(|_| nodes.len() == first.len())?;
            let other = graph.node(other_id);
            let is_alike = other.op == node.op && other.ty == node.ty && other.args.len() == node.args.len();
            if !is_alike || !other.regions.is_empty() || !other.kwargs.is_empty() || !node.kwargs.is_empty() {
                return None;
            }
            map.insert(other_id, id);
            for (arg, constants) in other.args.iter().zip(&mut constants) {
                constants.push(mapped(arg, map));
            }
        }
        for (position, constants) in constants.into_iter().enumerate() {
            if constants.iter().all(|constant| *constant == constants[0]) {
                continue;
            }
            let is_constant = |arg: &Arg| matches!(arg, Arg::Path(_) | Arg::Int(_) | Arg::Float(_) | Arg::Bool(_));
            if !times.is_frozen(id) || node.op == Op::Yield || !constants.iter().all(is_constant) {
                return None;
            }
            if found.places.is_empty() {
                found.constants = constants;
            } else if found.constants != constants {
                return None;
            }
            found.places.push((id, position));
        }
    }
    Some(found)
}

/// An argument of an arm in terms of the first arm's nodes.
fn mapped(arg: &Arg, map: &NodeMap<NodeId>) -> Arg {
    let mut out = arg.clone();
    for id in arg.nodes() {
        if let Some(&first) = map.get(id) {
            out.replace(id, &Arg::Node(first));
        }
    }
    out
}

/// The same decision in front of `id`, which yields one of these constants.
fn choice(graph: &mut Graph, id: NodeId, constants: Vec<Arg>) -> NodeId {
    let node = graph.node(id);
    let (op, args) = (node.op.clone(), node.args.clone());
    let origin = Origin::merged(MergeArms.name(), [&node.origin]);
    let ty = match constants.first() {
        Some(Arg::Int(_)) => Type::rust("i64"),
        Some(Arg::Float(_)) => Type::rust("f64"),
        Some(Arg::Bool(_)) => Type::rust("bool"),
        _ => Type::Unknown,
    };
    let chosen = graph.insert_before(id, op, args, "chosen", ty, origin.clone());
    for constant in constants {
        let region = graph.add_region_to(chosen);
        graph.push(region, Op::Yield, vec![constant], "yield", Type::Unknown, origin.clone());
    }
    chosen
}

/// The origin of a node of the arms that all of them have in common.
fn common_origin(graph: &Graph, regions: &[RegionId], at: usize) -> Origin {
    let all: Vec<&Origin> = regions.iter().map(|&region| &graph.node(graph.region(region).nodes[at]).origin).collect();
    let mut origin = Origin::merged(MergeArms.name(), all.iter().copied());
    origin.labels.retain(|label| all.iter().all(|one| one.labels.contains(label)));
    origin
}

/// Whoever reads the decision reads what the merged arms yield.
fn replace_results(graph: &mut Graph, id: NodeId, yielded: &[Arg]) {
    if let [one] = yielded {
        graph.replace_all_uses_with(id, one);
    } else {
        for user in graph.users(id) {
            if let Op::TupleGet(position) = graph.node(user).op
                && let Some(part) = yielded.get(position)
            {
                graph.replace_all_uses_with(user, part);
                // Nothing reads it any more.
                let _ = graph.erase_node(user);
            }
        }
    }
    // What a decision without results did is done in front of it.
    let _ = graph.erase_node(id);
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn arms_that_differ_in_a_constant_are_one() {
        check(
            MergeArms,
            r#"graph f(self: module<Net>, x: tensor) {
              %act = get_attr[act](self) : module<"crate::Act">
              %y = match(%act) : tensor {
                "crate::Act::Relu" {
                  %p = host.runtime["pack", fallible](host.frame(), `Relu`) : rust<"::fx_runtime::frozen::Linear">
                  %r = host.runtime_method["run", fallible](%p, host.ref(x)) : tensor
                  yield %r
                }
                "crate::Act::Silu" {
                  %p2 = host.runtime["pack", fallible](host.frame(), `Silu`) : rust<"::fx_runtime::frozen::Linear">
                  %r2 = host.runtime_method["run", fallible](%p2, host.ref(x)) : tensor
                  yield %r2
                }
              }
              %z = neg(%y) : tensor
              yield %z
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %act = get_attr[act](self) : module<crate::Act>
                  %chosen = match(%act)  @ by merge-arms {
                    "crate::Act::Relu" {
                      yield `Relu`  @ by merge-arms
                    }
                    "crate::Act::Silu" {
                      yield `Silu`  @ by merge-arms
                    }
                  }
                  %p = host.runtime["pack", fallible](host.frame(), %chosen) : rust<::fx_runtime::frozen::Linear>  @ by merge-arms
                  %r = host.runtime_method["run", fallible](%p, host.ref(x)) : tensor  @ by merge-arms
                  %z = neg(%r) : tensor
                  yield %z
                }"#]],
        );
    }

    #[test]
    fn arms_that_differ_in_more_stay() {
        check(
            MergeArms,
            r#"graph f(self: module<Net>, x: tensor) {
              %flag = get_attr[flag](self) : rust<bool>
              %y = if(%flag) : tensor {
                %a = neg(x) : tensor
                yield %a
              } else {
                %b = relu(x) : tensor
                yield %b
              }
              %k = if(%flag) : tensor {
                %c = add(x, 1) : tensor
                yield %c
              } else {
                %d = add(x, 2) : tensor
                yield %d
              }
              yield %y, %k
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %flag = get_attr[flag](self) : rust<bool>
                  %y = if(%flag) : tensor {
                    %a = neg(x) : tensor
                    yield %a
                  } else {
                    %b = relu(x) : tensor
                    yield %b
                  }
                  %k = if(%flag) : tensor {
                    %c = add(x, 1) : tensor
                    yield %c
                  } else {
                    %d = add(x, 2) : tensor
                    yield %d
                  }
                  yield %y, %k
                }"#]],
        );
    }

    #[test]
    fn an_input_decides_for_itself() {
        check(
            MergeArms,
            r#"graph f(self: module<Net>, x: tensor, flag: rust<bool>) {
              %y = if(flag) : tensor {
                %a = neg(x) : tensor
                yield %a
              } else {
                %b = neg(x) : tensor
                yield %b
              }
              yield %y
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor, flag: rust<bool>) {
                  %y = if(flag) : tensor {
                    %a = neg(x) : tensor
                    yield %a
                  } else {
                    %b = neg(x) : tensor
                    yield %b
                  }
                  yield %y
                }"#]],
        );
    }
}
