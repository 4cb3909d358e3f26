//! What is answered, one function a question.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::bench::Bench;
use super::quantization::{Calibration, accuracy, quantized};
use super::request::{Ask, Drawing, Request};
use super::view::{Runs, view};
use super::{Failure, input};
use crate::graph_module::{Divergence, FrozenModule, GraphModule, Profile, Timing, Tolerance, Value, bisect};
use crate::{Error, Freeze, Result};

/// A text for standard output, and how the program ends.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) code: u8,
}

impl Answer {
    fn text(text: String) -> Answer {
        Answer { text, code: 0 }
    }

    /// The one or the other.
    fn of((text, json): (String, Json), is_json: bool) -> Answer {
        if is_json { Answer::json(&json) } else { Answer::text(text) }
    }

    fn json(json: &Json) -> Answer {
        Answer::text(format!("{json:#}\n"))
    }
}

pub(super) fn to(request: &Request, module: GraphModule) -> Result<Answer, Failure> {
    let inputs = request.inputs.iter().map(|text| input::parse(text)).collect::<Result<Vec<Value>>>()?;
    match &request.ask {
        Ask::Graph { table } => {
            let module = seen(request, module, &inputs)?;
            let graph = module.graph();
            Ok(Answer::text(match (request.json, *table) {
                (true, _) => format!("{}\n", crate::graph::to_json(graph)),
                (false, true) => format!("{}\n", graph.print_tabular()),
                (false, false) => format!("{module}\n"),
            }))
        }
        Ask::Draw { form } => {
            let module = seen(request, module, &inputs)?;
            Ok(Answer::text(match form {
                Drawing::Dot => module.graph().to_dot(),
                Drawing::Svg => module.graph().to_svg(),
                Drawing::Mermaid => module.graph().to_mermaid(),
            }))
        }
        Ask::Profile { warm_up, runs, trace } => {
            needed(&inputs, &module)?;
            profile(request, &module, &inputs, (*warm_up, *runs), trace.as_deref())
        }
        Ask::Quantize { data, batches, output } => {
            needed(&inputs, &module)?;
            let calibration = Calibration { data, batches: *batches, shapes: &request.inputs };
            Ok(Answer::of(quantized(&module, &inputs, &calibration, output)?, request.json))
        }
        Ask::Accuracy { data, batches, qparams, keep } => {
            needed(&inputs, &module)?;
            let calibration = Calibration { data, batches: *batches, shapes: &request.inputs };
            Ok(Answer::of(accuracy(&module, &inputs, &calibration, (qparams.as_deref(), *keep))?, request.json))
        }
        Ask::Bench { rounds, calls } => {
            needed(&inputs, &module)?;
            let frozen = module.freeze(&Freeze::default())?;
            let (live, frozen) = (|| module.run(&inputs).map(drop), || frozen.run(&inputs).map(drop));
            let bench = Bench::measured((*rounds, *calls), &live, &frozen)?;
            Ok(if request.json { Answer::json(&bench.json()) } else { Answer::text(bench.to_string()) })
        }
        Ask::Bisect { relative, absolute } => {
            needed(&inputs, &module)?;
            let default = Tolerance::default();
            let (relative, absolute) = (relative.unwrap_or(default.relative), absolute.unwrap_or(default.absolute));
            let frozen = module.freeze(&Freeze::default())?;
            let found = bisect(&module, frozen.module(), &inputs, Tolerance { relative, absolute })?;
            Ok(bisected(request, found.as_ref()))
        }
        Ask::View { warm_up, runs } => {
            if !inputs.is_empty() {
                needed(&inputs, &module)?;
            }
            let runs = Runs { texts: &request.inputs, inputs: &inputs, warm_up: *warm_up, count: *runs };
            // In one line: it is for the page alone.
            Ok(Answer::text(view(module, &runs)?.to_string()))
        }
    }
}

/// Without inputs nothing runs.
fn needed(inputs: &[Value], module: &GraphModule) -> Result<()> {
    let graph = module.graph();
    let params = &graph.region(graph.body()).params;
    if inputs.len() == params.len() {
        return Ok(());
    }
    let names: Vec<&str> = params.iter().map(|&id| graph.node(id).name.as_str()).collect();
    Err(Error::Unsupported {
        what: format!("running `{}`, which takes {} inputs, on {}", graph.name, params.len(), inputs.len()),
        help: format!("give one `--input`, as `1x3x224x224`, for each of {}", names.join(", ")),
    })
}

/// The graph that is asked about, with the shapes that the inputs give its nodes.
fn seen(request: &Request, module: GraphModule, inputs: &[Value]) -> Result<GraphModule> {
    if !inputs.is_empty() {
        needed(inputs, &module)?;
    }
    let mut module = if request.frozen { module.freeze(&Freeze::default())?.module().shallow_clone() } else { module };
    if !inputs.is_empty() {
        module.propagate_shapes(inputs)?;
    }
    Ok(module)
}

fn profile(
    request: &Request,
    module: &GraphModule,
    inputs: &[Value],
    (warm_up, runs): (usize, usize),
    trace: Option<&std::path::Path>,
) -> Result<Answer, Failure> {
    let frozen: Option<FrozenModule> = if request.frozen { Some(module.freeze(&Freeze::default())?) } else { None };
    let profile = match &frozen {
        Some(frozen) => frozen.profile(inputs, warm_up, runs)?,
        None => module.profile(inputs, warm_up, runs)?,
    };
    let mut answer =
        if request.json { Answer::json(&profile_json(&profile)) } else { Answer::text(profile.to_string()) };
    if let Some(path) = trace {
        let trace = match &frozen {
            Some(frozen) => frozen.profile_trace(inputs, 1, runs)?,
            None => module.profile_trace(inputs, 1, runs)?,
        };
        trace.write(path)?;
        if !request.json {
            writeln!(answer.text, "wrote {} events to `{}`", trace.events.len(), path.display())?;
        }
    }
    Ok(answer)
}

fn profile_json(profile: &Profile) -> Json {
    let timing = |timing: &Timing| {
        json!({
            "name": timing.name, "opcode": timing.opcode, "source": timing.lines, "calls": timing.calls,
            "mean_ms": timing.mean() * 1e3, "spread_ms": timing.spread() * 1e3,
        })
    };
    let all = |timings: &[Timing]| timings.iter().map(timing).collect::<Vec<Json>>();
    let runs: Vec<f64> = profile.runs.iter().map(|run| run.as_secs_f64() * 1e3).collect();
    json!({
        "graph": profile.graph, "runs_ms": runs, "nodes": all(&profile.nodes), "modules": all(&profile.modules),
        "lines": all(&profile.lines),
    })
}

/// What a bisection found; the program ends with 1 where something was found.
fn bisected(request: &Request, found: Option<&Divergence>) -> Answer {
    let text = match (request.json, found) {
        (true, found) => format!("{:#}\n", json!({ "divergence": found.map(divergence_json) })),
        (false, None) => "all nodes agree within the tolerance\n".to_owned(),
        (false, Some(found)) => format!("{found}\n"),
    };
    Answer { text, code: u8::from(found.is_some()) }
}

fn divergence_json(found: &Divergence) -> Json {
    json!({
        "node": found.node, "source": found.place, "passes": found.passes, "labels": found.labels,
        "largest": found.largest, "agreeing": found.agreeing, "live": found.reference, "frozen": found.found,
    })
}
