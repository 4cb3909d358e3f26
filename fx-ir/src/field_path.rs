//! Paths of fields: which reads of a graph may read one field of the model.

use crate::{Graph, NodeId, Op};

/// A part of the path of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment<'g> {
    /// The field of that name.
    Field(&'g str),
    /// Any number of parts: elements of lists, and whatever else is not known.
    Any,
}

/// The path of a value that is a part of the model, from the model on.
pub(crate) fn path_of(graph: &Graph, id: NodeId) -> Vec<Segment<'_>> {
    let node = graph.node(id);
    match &node.op {
        Op::GetAttr(field) => {
            let mut path = node.input(0).map_or_else(|| vec![Segment::Any], |owner| path_of(graph, owner));
            path.extend(field.split('.').map(Segment::Field));
            path
        }
        Op::Placeholder => match graph.parent(id) {
            None if graph.region(graph.body()).params.first() == Some(&id) => Vec::new(),
            Some(owner) if !carries(graph, owner, id) => within(graph, graph.node(owner).input(0)),
            _ => vec![Segment::Any],
        },
        op if op.is_host() => {
            let mut holders = node.inputs().filter(|&input| !graph.node(input).ty.is_plain());
            match (holders.next(), holders.next()) {
                (Some(whole), None) => within(graph, Some(whole)),
                _ => vec![Segment::Any],
            }
        }
        _ => vec![Segment::Any],
    }
}

/// The path of something inside of a part of the model.
fn within(graph: &Graph, whole: Option<NodeId>) -> Vec<Segment<'_>> {
    let mut path = whole.map_or_else(Vec::new, |whole| path_of(graph, whole));
    path.push(Segment::Any);
    path
}

/// Whether the parameter of a region is what control flow carries, and not a part of what it goes over or looks at.
fn carries(graph: &Graph, owner: NodeId, param: NodeId) -> bool {
    let node = graph.node(owner);
    let params = graph.scope_of(param).map_or(&[][..], |region| &graph.region(region).params);
    let bound = match node.op {
        Op::For(_) => (params.len() + 1).saturating_sub(node.args.len()),
        Op::Match(_) | Op::If => params.len(),
        _ => 0,
    };
    !params.iter().take(bound).any(|&other| other == param)
}

/// Returns whether the two may be the path of one field.
pub(crate) fn may_be_same(one: &[Segment<'_>], other: &[Segment<'_>]) -> bool {
    match (one, other) {
        ([], []) => true,
        ([Segment::Any, rest @ ..], all) | (all, [Segment::Any, rest @ ..]) => {
            (0..=all.len()).any(|at| may_be_same(rest, &all[at..]))
        }
        ([Segment::Field(a), one @ ..], [Segment::Field(b), other @ ..]) => a == b && may_be_same(one, other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<Segment<'_>> {
        text.split('.').map(|part| if part == "*" { Segment::Any } else { Segment::Field(part) }).collect()
    }

    #[test]
    fn elements_may_be_any_and_fields_are_told_apart() {
        for (one, other, same) in [
            ("qkv.bs", "qkv.bs", true),
            ("qkv.bs", "a.bs", false),
            ("blocks.*.qkv.bs", "blocks.*.bs", true),
            ("blocks.*.qkv.bs", "head.qkv.bs", false),
            ("blocks.*.qkv.bs", "blocks.*.proj.bs", false),
            ("*.bs", "head.bs", true),
            ("*.ws", "head.bs", false),
        ] {
            assert_eq!(may_be_same(&path(one), &path(other)), same, "{one} {other}");
        }
    }
}
