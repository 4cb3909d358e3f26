//! How much of each item the tracer understands, and which code stays opaque.

use std::{fmt, path::Path};

use fx_front::{
    diag::{Diagnostic, Diagnostics},
    index::Index,
    scan,
    trace::{self, Traced},
};
use fx_ir::{Graph, NodeId, Op, Place, Type, ops, scalar};

use super::{
    Build,
    items::{Content, content, place_of},
};

/// The share of one `#[traceable]` item that is understood, with all that it calls.
///
/// One unit is a tensor operation as the user wrote it: a call of an op or of a layer. A loop over layers counts once.
/// Opaque code counts by the calls that stand in it, a call of a function of the crate by the body of that
/// function, and a chain of layers by what its constructor adds. A part that is called by its own frozen type counts as if
/// it were inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The model's or function's name; `Net::encode` where a model has several entries.
    pub name: String,
    /// The place of its entry.
    pub place: Place,
    /// Operations that are understood.
    pub known: usize,
    /// Operations in opaque code.
    pub carried: usize,
    /// The pieces of opaque code.
    pub opaque: Vec<Opaque>,
    /// Whether there is a frozen type.
    pub is_frozen: bool,
    /// Whether `save` writes the frozen type for certain: opaque code may read values of types without a `State`.
    pub is_saved: bool,
}

/// A piece of code that is kept as opaque code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Its place.
    pub place: Place,
    /// The reason why it is not understood.
    pub reason: String,
}

impl Coverage {
    /// `several` if its type has other entries.
    pub(super) fn of(index: &Index, traced: &Traced, several: bool) -> Coverage {
        let graph = &traced.graph;
        let entry = if several { format!("::{}", traced.signature.name) } else { String::new() };
        let (name, place) = (format!("{}{entry}", graph.name), place_of(&index.fns[traced.item]));
        let opaque = Vec::new();
        let mut all = Coverage { name, place, known: 0, carried: 0, opaque, is_frozen: true, is_saved: true };
        all.add(index, traced, &mut vec![traced.item]);
        all
    }

    /// Adds what is in a graph, and in the parts that it calls, but for those it stands within.
    fn add(&mut self, index: &Index, traced: &Traced, within: &mut Vec<usize>) {
        let graph = &traced.graph;
        for id in graph.nodes() {
            match &graph.node(id).op {
                Op::CallModule(kind) if kind.is_opaque() => self.is_saved = false,
                // It computes nothing, and where gradients are off nobody has written it.
                Op::Call(ops::DETACH) => {}
                Op::Call(_) | Op::CallModule(_) => self.known += 1,
                Op::Rust(code) if code.opaque.is_some() => self.is_saved &= !reads_own_value(graph, id),
                _ => {}
            }
        }
        for piece in &traced.opaque {
            self.carried += piece.operations;
            let one = Opaque { place: piece.place.clone(), reason: piece.reason.clone() };
            if !self.opaque.contains(&one) {
                self.opaque.push(one);
            }
        }
        for &part in &traced.parts {
            if !within.contains(&part) {
                within.push(part);
                self.add(index, &trace::item(index, part, &Diagnostics::new()), within);
                within.pop();
            }
        }
    }

    /// An item that gets no frozen type, which counts as one operation that is not understood.
    pub(super) fn of_skipped(why: &Diagnostic) -> Coverage {
        let name = why.message.split('`').nth(1).unwrap_or_default().to_owned();
        let opaque = Opaque { place: why.place.clone(), reason: why.message.clone() };
        let (place, opaque) = (why.place.clone(), vec![opaque]);
        Coverage { name, place, known: 0, carried: 1, opaque, is_frozen: false, is_saved: false }
    }

    /// What a build says of an item of which not all is understood: what it costs, where that is, and the reasons;
    /// `report` is the file that says more.
    pub(super) fn warning(&self, report: &Path) -> Option<String> {
        let Coverage { name, place, known, carried, opaque, is_frozen, is_saved } = self;
        if opaque.is_empty() || !is_frozen {
            return None;
        }
        let cost = match (known, carried) {
            (_, 0) => "all that it computes is understood, and code of debug builds is not".to_owned(),
            (0, _) => "nothing is understood, so that the frozen type runs as the model itself does".to_owned(),
            _ => format!("{carried} of {} operations are not understood and run as they are written", known + carried),
        };
        let save = if *is_saved { "" } else { ", and `save` may refuse it" };
        let most = 3;
        let mut pieces: Vec<String> =
            opaque.iter().take(most).map(|one| format!("{}: {}", one.place, one.reason)).collect();
        if opaque.len() > most {
            pieces.push(format!("{} more", opaque.len() - most));
        }
        Some(format!("`{name}` ({place}): {cost}{save}: {} (all: {})", pieces.join("; "), report.display()))
    }

    /// The share of the operations that are understood, from 0 to 1; 1 where all is understood, and nowhere else.
    #[allow(clippy::cast_precision_loss, reason = "counts of a source text")]
    pub fn share(&self) -> f64 {
        let all = self.known + self.carried;
        if all == 0 { 1.0 } else { self.known as f64 / all as f64 }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Coverage { name, place, known, carried, opaque, .. } = self;
        // What is not whole is not rounded to it.
        let share = if *carried == 0 { 100.0 } else { (1000.0 * self.share()).floor() / 10.0 };
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
        let mut externs = scan::dependencies(root);
        for entry in scan::roots(root) {
            let diags = Diagnostics::new();
            let mut index = scan::krate(root, std::slice::from_ref(&entry), &diags);
            index.externs.clone_from(&externs);
            for content in (0..index.fns.len()).filter_map(|at| content(&index, at)) {
                for one in of_content(&index, content, &diags) {
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
            }
            scan::add_library(&mut externs, root, &entry, index);
        }
        all
    }
}

/// Whether opaque code reads a value of the program's own: no tensor, no layer of the runtime's and no number.
fn reads_own_value(graph: &Graph, code: NodeId) -> bool {
    let is_own = |id: NodeId| match (&graph.node(id).op, &graph.node(id).ty) {
        (_, Type::Module(name)) => name.contains("::"),
        (Op::GetAttr(_), Type::Rust(name)) => !scalar::is_scalar(name) && name != "String",
        (Op::GetAttr(_), Type::Unknown) => true,
        _ => false,
    };
    graph.node(code).inputs().any(is_own)
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
        traced => Coverage::of(index, &traced, functions.len() > 1),
    });
    traced.collect()
}
