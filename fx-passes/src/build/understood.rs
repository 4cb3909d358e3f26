//! How much of each item the tracer understood, and what it carries along.

use std::fmt;

use fx_front::{diag::Diagnostic, trace::Traced};
use fx_ir::{Op, Place};

/// What became of one `#[traceable]` item.
///
/// One unit is a tensor operation as the user wrote it: a call of an op or of a layer. A loop over layers counts once.
/// Code that is carried along counts by the calls that stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// The model's or function's name; `Net::encode` where a model has several entries.
    pub name: String,
    /// Where its entry stands.
    pub place: Place,
    /// Operations that are understood.
    pub known: usize,
    /// Operations that are carried along.
    pub carried: usize,
    /// The pieces of code that are carried along.
    pub opaque: Vec<Opaque>,
}

/// A piece of code that is carried along as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Where it stands.
    pub place: Place,
    /// Why it is not understood.
    pub reason: String,
}

impl Understood {
    /// `several` if its type has other entries.
    pub(super) fn of(traced: &Traced, several: bool, place: Place) -> Understood {
        let graph = &traced.graph;
        let entry = if several { format!("::{}", traced.signature.name) } else { String::new() };
        let name = format!("{}{entry}", graph.name);
        let mut all = Understood { name, place, known: 0, carried: 0, opaque: Vec::new() };
        for id in graph.nodes() {
            let node = graph.node(id);
            match &node.op {
                Op::Call(_) | Op::CallModule(_) => all.known += 1,
                Op::Rust(code) => {
                    if let Some(reason) = &code.opaque {
                        all.carried += code.template.matches('(').count().max(1);
                        let place = node.origin.places.last().cloned();
                        let place = place.unwrap_or_else(|| all.place.clone());
                        all.opaque.push(Opaque { place, reason: reason.clone() });
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// An item that gets no frozen type, which counts as one operation that is not understood.
    pub(super) fn none(why: &Diagnostic) -> Understood {
        let name = why.message.split('`').nth(1).unwrap_or_default().to_owned();
        let opaque = Opaque { place: why.place.clone(), reason: why.message.clone() };
        Understood { name, place: why.place.clone(), known: 0, carried: 1, opaque: vec![opaque] }
    }

    /// The share of the operations that are understood, from 0 to 1; 1 where there are none.
    #[allow(clippy::cast_precision_loss, reason = "counts of a source text")]
    pub fn share(&self) -> f64 {
        let all = self.known + self.carried;
        if all == 0 { 1.0 } else { self.known as f64 / all as f64 }
    }
}

impl fmt::Display for Understood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Understood { name, place, known, carried, opaque } = self;
        let share = 100.0 * self.share();
        write!(f, "`{name}` ({place}): {known} of {} operations understood, {share:.1} %", known + carried)?;
        opaque.iter().try_for_each(|one| write!(f, "\n  {}: {}", one.place, one.reason))
    }
}
