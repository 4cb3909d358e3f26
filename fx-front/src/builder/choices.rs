//! Layers that a constructor adds some times, or only under a condition.

use super::Layer;

/// What `new` adds to `old`.
pub(super) fn added(old: &[Layer], new: &[Layer]) -> Option<Vec<Layer>> {
    let (kept, added) = new.split_at_checked(old.len())?;
    (kept == old).then(|| added.to_vec())
}

/// `old` and then `added`, some times; of layers of one type, those right before are among them.
pub(super) fn some_times(mut old: Vec<Layer>, added: Vec<Layer>, wrap: fn(Vec<Layer>) -> Layer) -> Vec<Layer> {
    let one = match added.as_slice() {
        [Layer::Repeat(inner)] if inner.len() == 1 => inner[0].clone(),
        [first @ Layer::Module(..), rest @ ..] if rest.iter().all(|layer| layer == first) => first.clone(),
        _ => {
            old.push(wrap(added));
            return old;
        }
    };
    let same = |layer: &Layer| *layer == one || *layer == Layer::Repeat(vec![one.clone()]);
    if !old.last().is_some_and(same) && matches!(wrap(Vec::new()), Layer::Optional(_)) {
        old.push(Layer::Optional(added));
        return old;
    }
    while old.pop_if(|layer| same(layer)).is_some() {}
    old.push(Layer::Repeat(vec![one]));
    old
}

/// An iteration with one choice in it as a choice between two iterations: layers that follow one another are fused, and
/// they do so only where they stand in one row.
pub(super) fn distributed(mut iteration: Vec<Layer>) -> Vec<Layer> {
    let mut choices =
        (0..iteration.len()).filter(|&at| matches!(iteration[at], Layer::Optional(_) | Layer::Either(..)));
    let (Some(at), None) = (choices.next(), choices.next()) else { return iteration };
    if iteration.len() == 1
        || iteration.len() > 8
        || !iteration.iter().all(|layer| layer.is_one() || !matches!(layer, Layer::Repeat(_)))
    {
        return iteration;
    }
    let rest = iteration.split_off(at + 1);
    let (a, b) = match iteration.pop() {
        Some(Layer::Either(a, b)) => (a, b),
        Some(Layer::Optional(a)) => (a, Vec::new()),
        _ => return iteration,
    };
    let row = |middle: Vec<Layer>| iteration.iter().cloned().chain(middle).chain(rest.iter().cloned()).collect();
    vec![Layer::Either(row(a), row(b))]
}

/// What two sides of an `if` add: what both begin with, then one of the two.
pub(super) fn either(mut a: Vec<Layer>, mut b: Vec<Layer>) -> Vec<Layer> {
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.split_off(same), (b.split_off(same), a));
    let (b, mut both) = b;
    match (a.is_empty(), b.is_empty()) {
        (true, true) => {}
        (false, true) => both.push(Layer::Optional(a)),
        _ => both.push(Layer::Either(a, b)),
    }
    both
}
