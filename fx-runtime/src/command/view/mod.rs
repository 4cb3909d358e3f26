//! What `cargo fx view` shows: the graph of a model before and after the passes, and what each pass did, as JSON.
//!
//! ```text
//! view   = { "format": "fx-view", "version": 1, "model": string, "inputs": [ string ], "runs": integer,
//!            "modules": [ [path, type] ], "before": side, "after": side, "passes": [ step ] }
//! side   = { "ms": number | null, "nodes": [ node ] }            in order of execution; times are means of a run
//! node   = { "name", "opcode", "target", "args": string, "in": [ index of a node of this side ],
//!            "kwargs", "type", "at", "layer": string,             left out where empty, as all that follows
//!            "module": index, "passes": [ string ], "flops", "bytes": integer, "ms": number,
//!            "owner": index, "branch": string,                    of a node in a region of control flow
//!            "opaque": string,                                    why it was not understood, "" where that is not known
//!            "from": [ index of a node before ] }                 of a node after
//! step   = { "pass", "doc": string, "nodes": [ before, after ], "rules": [ [name, count] ],
//!            "went", "came", "changed": [ item ] }
//! item   = [ name, target, [ index of a node before ], index of a node after | null ]
//! ```

mod side;
mod timeline;

use serde_json::{Value as Json, json};

use self::side::{Modules, Side};
use self::timeline::Timeline;
use super::Failure;
use crate::Freeze;
use crate::graph_module::{GraphModule, Profile, Value};
use crate::passes::pipeline::Pipeline;

/// What every file of this form says that it is.
const FORMAT: &str = "fx-view";

/// The version of the form; `cargo fx view` refuses every other.
const VERSION: u64 = 1;

/// How the model is run: on which inputs, and how often.
pub(super) struct Runs<'r> {
    /// The inputs as they were written; without any no shapes, costs and times are known.
    pub(super) texts: &'r [String],
    pub(super) inputs: &'r [Value],
    pub(super) warm_up: usize,
    /// None: nothing is timed.
    pub(super) count: usize,
}

/// The answer for a live model, which is frozen for it.
///
/// # Errors
///
/// As [`GraphModule::freeze`] and [`GraphModule::run`].
pub(super) fn view(mut module: GraphModule, runs: &Runs<'_>) -> Result<Json, Failure> {
    let mut timeline = Timeline::of(module.graph());
    let frozen = module.freeze_observed(&Freeze::default(), Pipeline::inference(), &mut timeline)?;
    let mut after = frozen.module().shallow_clone();
    let mut profiles: [Option<Profile>; 2] = [None, None];
    if !runs.inputs.is_empty() {
        module.propagate_shapes(runs.inputs)?;
        frozen.with_inputs(runs.inputs, |inputs| after.propagate_shapes(inputs).map(drop))?;
        if runs.count > 0 {
            profiles[0] = Some(module.profile(runs.inputs, runs.warm_up, runs.count)?);
            profiles[1] = Some(frozen.profile(runs.inputs, runs.warm_up, runs.count)?);
        }
    }
    let mut modules = Modules::default();
    let mut sides =
        [Side::of(&module, profiles[0].as_ref(), &mut modules), Side::of(&after, profiles[1].as_ref(), &mut modules)];
    let [before, frozen] = &mut sides;
    frozen.trace_back(before, |id| timeline.sources(after.graph(), id));
    Ok(json!({
        "format": FORMAT, "version": VERSION, "model": module.graph().name, "inputs": runs.texts, "runs": runs.count,
        "before": before.json(), "after": frozen.json(), "modules": modules.json(),
        "passes": timeline.json(after.graph()),
    }))
}

#[cfg(test)]
mod tests;
