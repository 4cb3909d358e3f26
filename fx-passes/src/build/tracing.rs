//! Trace: the functions that are frozen together, as graphs.

use fx_front::{
    diag::Diagnostics,
    index::Index,
    trace::{self, Traced},
};

use super::{generated::Generated, run::Run};

/// The graphs of the functions; `Err` where none of them can be frozen after all, with the file that is included then.
pub(super) fn traced(
    index: &Index,
    functions: &[usize],
    run: &mut Run,
    diags: &Diagnostics,
) -> Result<Vec<Traced>, Generated> {
    without_skipped(index, trace::items(index, functions, diags), run, diags)
}

/// The same functions as one opaque call each, where a bug of ours keeps their graphs from being generated.
pub(super) fn traced_opaque(
    index: &Index,
    traced: &[Traced],
    run: &mut Run,
    diags: &Diagnostics,
) -> Result<Vec<Traced>, Generated> {
    let functions: Vec<usize> = traced.iter().map(|traced| traced.item).collect();
    let reason = "a bug of fx keeps it from being understood";
    without_skipped(index, trace::carried(index, &functions, diags, reason), run, diags)
}

fn without_skipped(
    index: &Index,
    all: Vec<Traced>,
    run: &mut Run,
    diags: &Diagnostics,
) -> Result<Vec<Traced>, Generated> {
    let mut frozen = Vec::new();
    let mut last = Generated::frozen_alone(String::new());
    for mut traced in all {
        match traced.left.take() {
            Some(why) => last = run.skip_item(why.diagnostic(&index.fns[traced.item]), diags),
            None => frozen.push(traced),
        }
    }
    if frozen.is_empty() { Err(last) } else { Ok(frozen) }
}
