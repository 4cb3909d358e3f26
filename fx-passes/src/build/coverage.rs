//! How much of each item the tracer understands, and which code stays opaque.

use std::{fmt, path::Path};

use fx_front::{
    diag::{Diagnostic, Diagnostics},
    index::Index,
    scan,
    trace::{self, Traced},
};
use fx_ir::{Op, Place};

use super::{
    Build,
    items::{Content, content, place_of},
    roots::roots,
};

/// The share of one `#[traceable]` item that is understood.
///
/// One unit is a tensor operation as the user wrote it: a call of an op or of a layer. A loop over layers counts once.
/// Code that is carried along counts by the calls that stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The model's or function's name; `Net::encode` where a model has several entries.
    pub name: String,
    /// The place of its entry.
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
    /// Its place.
    pub place: Place,
    /// The reason why it is not understood.
    pub reason: String,
}

impl Coverage {
    /// `several` if its type has other entries.
    pub(super) fn of(traced: &Traced, several: bool, place: Place) -> Coverage {
        let graph = &traced.graph;
        let entry = if several { format!("::{}", traced.signature.name) } else { String::new() };
        let name = format!("{}{entry}", graph.name);
        let mut all = Coverage { name, place, known: 0, carried: 0, opaque: Vec::new() };
        for id in graph.nodes() {
            let node = graph.node(id);
            match &node.op {
                Op::Call(_) | Op::CallModule(_) => all.known += 1,
                Op::Rust(code) => {
                    if let Some(reason) = &code.opaque {
                        all.carried += code.text().matches('(').count().max(1);
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
    pub(super) fn of_skipped(why: &Diagnostic) -> Coverage {
        let name = why.message.split('`').nth(1).unwrap_or_default().to_owned();
        let opaque = Opaque { place: why.place.clone(), reason: why.message.clone() };
        Coverage { name, place: why.place.clone(), known: 0, carried: 1, opaque: vec![opaque] }
    }

    /// The share of the operations that are understood, from 0 to 1; 1 where there are none.
    #[allow(clippy::cast_precision_loss, reason = "counts of a source text")]
    pub fn share(&self) -> f64 {
        let all = self.known + self.carried;
        if all == 0 { 1.0 } else { self.known as f64 / all as f64 }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Coverage { name, place, known, carried, opaque } = self;
        let share = 100.0 * self.share();
        write!(f, "`{name}` ({place}): {known} of {} operations understood, {share:.1} %", known + carried)?;
        opaque.iter().try_for_each(|one| write!(f, "\n  {}: {}", one.place, one.reason))
    }
}

impl Build {
    /// How much of each item of the package in the folder `root` is understood, and which code stays opaque and why.
    ///
    /// Nothing is written; a build writes the same, and all faults, to `OUT_DIR/fx/report.txt`.
    ///
    /// ```no_run
    /// for item in fx_passes::Build::new().report(std::path::Path::new("net")) {
    ///     assert!(item.share() > 0.95, "{item}");
    /// }
    /// ```
    pub fn report(&self, root: &Path) -> Vec<Coverage> {
        let mut all: Vec<Coverage> = Vec::new();
        for entry in roots(root) {
            let diags = Diagnostics::new();
            let index = scan::krate(root, &[entry], &diags);
            for content in (0..index.fns.len()).filter_map(|at| content(&index, at)) {
                for one in of_content(&index, content, &diags) {
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
            }
        }
        all
    }
}

/// The coverage of what the file of an item holds.
fn of_content(index: &Index, content: Content<'_>, diags: &Diagnostics) -> Vec<Coverage> {
    let functions = match content {
        Content::Frozen(functions) => functions,
        Content::Built { entry, .. } => entry.into_iter().collect(),
        Content::Elsewhere(_) => Vec::new(),
        Content::Skipped(diagnostic) => return vec![Coverage::of_skipped(&diagnostic)],
    };
    let traced = trace::items(index, &functions, diags).into_iter().map(|traced| match traced {
        Traced { left: Some(why), item, .. } => Coverage::of_skipped(&why.diagnostic(&index.fns[item])),
        traced => Coverage::of(&traced, functions.len() > 1, place_of(&index.fns[traced.item])),
    });
    traced.collect()
}
