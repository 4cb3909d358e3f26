//! Outline: the parts of a model that are called by their own frozen types, instead of being printed once more.
//!
//! All that a model calls is inlined first and optimised as one graph. That shows which fusions cross the border of a
//! part: they leave nodes whose places lie on both sides of it. A part that none of them crosses, and that is not small,
//! is a call: the model is traced anew with it, so that its code is generated once for all models that hold it.

use std::collections::{BTreeMap, BTreeSet};

use fx_front::{
    diag::Diagnostics,
    index::Index,
    trace::{self, ModeFlag, Outlined, PartCall, Traced},
};
use fx_ir::{AliasAnalysis, Binding, Bindings, Effect, Graph, HostOp, NodeId, Op, Place, Type, Writers};

use syn::spanned::Spanned;

use super::Build;
use super::generated::Graphs;
use crate::emit::{ModeUses, mode_uses};

/// Parts of fewer nodes that run in a call are inlined: the call would be longer than what it saves.
const SMALL: usize = 8;

/// Parts of more are called even where a call tells which of their options are there: a branch costs less than a copy.
const LARGE: usize = 64;

/// A function that has a frozen type, as other models that call it see it.
#[derive(Debug)]
pub(super) struct Part {
    /// The path of the type, and the name of the function.
    name: (String, String),
    /// How it is called.
    call: PartCall,
    /// The places of its nodes that lie in the function itself.
    own: BTreeSet<Place>,
    /// Those in what the function calls as well.
    reached: BTreeSet<Place>,
}

/// The parts of a crate, by the position of the function.
pub(super) type Parts = BTreeMap<usize, Part>;

/// The part that a type of one entry is to others; `None` where it is inlined everywhere.
pub(super) fn part_of(index: &Index, all: &[Traced], optimized: &[Graph]) -> Option<(usize, Part)> {
    let ([traced], [graph]) = (all, optimized) else { return None };
    let name = (index.structs[traced.model?].path(), traced.signature.name.clone());
    let borrows = traced.signature.params.iter().any(|param| param.is_mut() || param.may_borrow_state());
    let is_plain = !traced.signature.is_mut && !borrows;
    let bindings = Bindings::of(graph, traced.signature.has_receiver);
    let runs = |id: &&NodeId| bindings.get(**id) == Binding::Call && is_step(graph, **id);
    let nodes = graph.nodes();
    let steps = nodes.iter().filter(runs).count();
    let call = PartCall { effect: effect_of(graph)?, takes_any_option: steps > LARGE };
    let function = &index.fns[traced.item];
    let (first, last) = (function.place(function.sig.span()), function.place(function.block.brace_token.span.close()));
    let reached = places_of(&traced.graph);
    let own = reached.range(first..=last).cloned().collect();
    // A caller could have another copy of the part.
    let is_plain = is_plain && !traced.copies_state;
    (is_plain && steps >= SMALL).then_some((traced.item, Part { name, call, own, reached }))
}

/// The function of a type of one entry, whose instance graph others may list as a part of theirs, and its name.
pub(super) fn listing_part(index: &Index, all: &[Traced]) -> Option<(usize, (String, String))> {
    let [traced] = all else { return None };
    let path = index.structs[traced.model?].path();
    Some((traced.item, (path, traced.signature.name.clone())))
}

/// The functions traced anew, in one of the modes, with every part as a call that lists its own graph; `None` where there is
/// no such part.
pub(super) fn listed(
    index: &Index,
    all: &[Traced],
    parts: &BTreeMap<usize, (String, String)>,
    training: bool,
) -> Option<Vec<Traced>> {
    let [traced] = all else { return None };
    let call = PartCall { effect: Effect::Pure, takes_any_option: true };
    let held = parts.keys().filter(|part| traced.inlined.contains(part) && **part != traced.item);
    let outlined: Outlined = held.map(|&part| (part, call)).collect();
    if outlined.is_empty() {
        return None;
    }
    let again = if training {
        trace::items_in_training(index, &[traced.item], &outlined)
    } else {
        trace::items_outlined(index, &[traced.item], &Diagnostics::new(), &outlined)
    };
    let [one] = again.as_slice() else { return None };
    let is_whole = one.left.is_none() && opaque_nodes(&one.graph) <= opaque_nodes(&traced.graph);
    (is_whole && calls_of(&one.graph).next().is_some()).then_some(again)
}

/// The functions traced in training, where one of them has a mode that is not fixed; `None` where none has.
pub(super) fn in_training(index: &Index, all: &[Traced]) -> Option<Vec<Traced>> {
    let items: Vec<usize> = all.iter().map(|traced| traced.item).collect();
    let again = has_mode(all).then(|| trace::items_in_training(index, &items, &Outlined::new()))?;
    again.iter().all(|traced| traced.left.is_none()).then_some(again)
}

/// Whether one of the functions has a mode that is not fixed.
fn has_mode(all: &[Traced]) -> bool {
    all.iter().any(|traced| traced.signature.params.iter().any(|param| param.mode == Some(ModeFlag::OfModel)))
}

/// The graphs of all types that list both modes with one function, by position in `all`, with the parts in them that list
/// their own: those of which nothing but the mode of layers differs in training.
///
/// A part is called by such a graph where it has no mode or is listed so itself. What turns out not to be takes its callers
/// with it, so that this is asked until nothing changes.
pub(super) fn in_both_modes(
    index: &Index,
    all: &[&Graphs],
    listing: &BTreeMap<usize, (String, String)>,
) -> BTreeMap<usize, (Option<Vec<Traced>>, ModeUses)> {
    let is_candidate = |at: &usize| match all[*at].traced.as_slice() {
        [traced] => traced.model.is_some() && has_mode(&all[*at].traced),
        _ => false,
    };
    let mut candidates: BTreeSet<usize> = (0..all.len()).filter(is_candidate).collect();
    let mut found: BTreeMap<usize, (Option<Vec<Traced>>, ModeUses)> = BTreeMap::new();
    loop {
        let is_listed = |item: usize| {
            let at = all.iter().position(|of| of.traced.iter().any(|traced| traced.item == item));
            at.is_some_and(|at| candidates.contains(&at) || !has_mode(&all[at].traced))
        };
        let parts: BTreeMap<usize, (String, String)> =
            listing.iter().filter(|(item, _)| is_listed(**item)).map(|(&item, name)| (item, name.clone())).collect();
        // What calls none of the parts that turned out not to be stays as it was found.
        let is_kept = |(listed, _): &(Option<Vec<Traced>>, ModeUses)| {
            listed
                .iter()
                .flatten()
                .flat_map(|traced| called_by(&traced.graph))
                .all(|name| parts.values().any(|part| *part == name))
        };
        found.retain(|_, of| is_kept(of));
        let again: Vec<usize> = candidates.iter().copied().filter(|at| !found.contains_key(at)).collect();
        found.extend(again.into_iter().filter_map(|at| Some((at, both_modes_of(index, all[at], &parts)?))));
        if found.len() == candidates.len() {
            return found;
        }
        candidates = found.keys().copied().collect();
    }
}

/// The graph of one type with these parts as calls, and where it says the mode; `None` where it differs in more in training.
fn both_modes_of(
    index: &Index,
    of: &Graphs,
    parts: &BTreeMap<usize, (String, String)>,
) -> Option<(Option<Vec<Traced>>, ModeUses)> {
    let eval = listed(index, &of.traced, parts, false);
    let [traced] = eval.as_ref().unwrap_or(&of.traced).as_slice() else { return None };
    let again = if eval.is_some() { listed(index, &of.traced, parts, true) } else { in_training(index, &of.traced) };
    let uses = mode_uses(&traced.graph, &again?.first()?.graph)?;
    Some((eval, uses))
}

/// The parts that the graph calls, each by the path of its type and the name of the function.
pub(super) fn called_by(graph: &Graph) -> BTreeSet<(String, String)> {
    calls_of(graph).map(|(_, name)| name).collect()
}

/// Whether the node is printed as a step of its own.
fn is_step(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    !matches!(node.op, Op::Placeholder | Op::Yield | Op::TupleGet(_) | Op::GetAttr(_)) && !node.origin.places.is_empty()
}

fn places_of(graph: &Graph) -> BTreeSet<Place> {
    graph.nodes().into_iter().flat_map(|id| graph.node(id).origin.places.clone()).collect()
}

/// The effect of a call of what the graph computes; `None` where it is more than one of ours can tell.
fn effect_of(graph: &Graph) -> Option<Effect> {
    let effects: Vec<(NodeId, Effect)> = graph.nodes().into_iter().map(|id| (id, graph.node(id).op.effect())).collect();
    let written = AliasAnalysis::of(graph).written(Writers::Ops);
    let writes_input = graph.region(graph.body()).params.iter().any(|&param| written.contains(param));
    if writes_input || effects.iter().any(|(_, effect)| *effect == Effect::State) {
        return None;
    }
    // A host operation writes to values of the function's own, which is nobody else's concern. What never returns is an
    // error, which is a call's result like any other.
    let acts = |(id, effect): &(NodeId, Effect)| {
        let node = graph.node(*id);
        let is_foreign = matches!(node.op, Op::Rust(_)) || matches!(node.op.host(), Some(HostOp::CallPart(_)));
        *effect == Effect::Io && is_foreign && node.ty != Type::rust("!")
    };
    if effects.iter().any(acts) {
        return Some(Effect::Io);
    }
    let is_random = effects.iter().any(|(_, effect)| *effect == Effect::Random);
    Some(if is_random { Effect::Random } else { Effect::Pure })
}

/// The parts that the graph of the function `caller` holds and no fusion has joined with what stands around them.
fn separate(caller: usize, graph: &Graph, parts: &Parts) -> Outlined {
    let origins: Vec<BTreeSet<Place>> =
        graph.nodes().into_iter().map(|id| graph.node(id).origin.places.iter().cloned().collect()).collect();
    let is_separate = |(function, part): &(&usize, &Part)| {
        let inside = |places: &&BTreeSet<Place>| places.intersection(&part.own).next().is_some();
        let crosses = |places: &BTreeSet<Place>| !places.is_subset(&part.reached);
        let mut holds = origins.iter().filter(inside).peekable();
        **function != caller && holds.peek().is_some() && !holds.any(crosses)
    };
    parts.iter().filter(is_separate).map(|(&function, part)| (function, part.call)).collect()
}

/// The functions whose calls are handed a value that the model knows before any call, and that could be worked out then.
fn given_known(traced: &Traced, parts: &Parts) -> BTreeSet<usize> {
    let graph = &traced.graph;
    let bindings = Bindings::of(graph, traced.signature.has_receiver);
    let is_known = |input: NodeId| bindings.get(input) != Binding::Call;
    let calls = calls_of(graph).filter(|&(call, _)| graph.node(call).inputs().skip(1).any(is_known));
    calls
        .filter_map(|(_, name)| parts.iter().find(|(_, part)| part.name == name).map(|(&function, _)| function))
        .collect()
}

/// The calls of parts, each with the type and the function that it calls.
fn calls_of(graph: &Graph) -> impl Iterator<Item = (NodeId, (String, String))> + '_ {
    graph.nodes().into_iter().filter_map(|id| {
        let node = graph.node(id);
        let Some(HostOp::CallPart(function)) = node.op.host() else { return None };
        let Some(HostOp::FreezePart(ty)) = graph.node(node.input(0)?).op.host() else { return None };
        Some((id, (ty.clone(), function.clone())))
    })
}

fn opaque_nodes(graph: &Graph) -> usize {
    graph.nodes().into_iter().filter(|&id| matches!(graph.node(id).op, Op::Rust(_))).count()
}

impl Build {
    /// The function traced and optimised anew with its separate parts as calls; `None` where that has no use.
    pub(super) fn outlined(
        &self,
        index: &Index,
        (all, optimized): (&[Traced], &[Graph]),
        parts: &Parts,
    ) -> Option<(Vec<Traced>, Vec<Graph>)> {
        let ([traced], [graph]) = (all, optimized) else { return None };
        let mut outlined = separate(traced.item, graph, parts);
        let most = opaque_nodes(&traced.graph);
        loop {
            if outlined.is_empty() {
                return None;
            }
            // What is wrong with the source was told when it was traced first.
            let again = trace::items_outlined(index, &[traced.item], &Diagnostics::new(), &outlined);
            let [one] = again.as_slice() else { return None };
            if one.left.is_some() || calls_of(&one.graph).next().is_none() || opaque_nodes(&one.graph) > most {
                return None;
            }
            let known = given_known(one, parts);
            let known: Vec<usize> = known.into_iter().filter(|function| outlined.contains_key(function)).collect();
            if known.is_empty() {
                let graph = self.optimized_quietly(one).ok()?;
                return Some((again, vec![graph]));
            }
            outlined.retain(|function, _| !known.contains(function));
        }
    }
}
