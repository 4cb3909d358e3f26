//! One item from its graph to its files: the passes, then the code.

use std::{panic, thread};

use fx_front::{index::Index, trace::Traced};
use fx_ir::Graph;

use super::{Build, Understood, graph_file, place_of, run::Run};
use crate::{
    emit::{self, Frozen, Peak},
    pass::PassContext,
    pipeline::Pipeline,
};

/// The generated source of one item, in two files.
pub(super) struct Printed {
    /// The frozen type; it includes the other file.
    pub(super) frozen: String,
    /// The code that builds the instance graph.
    pub(super) graph: String,
    /// Why the forward is never recorded as a CUDA graph, where that is so.
    pub(super) unrecorded: Option<String>,
    /// The most tensors that a call has alive at once.
    pub(super) peak: Peak,
}

impl Build {
    /// Transforms and prints one item.
    pub(super) fn printed(&self, index: &Index, traced: &Traced, file: &str, run: &mut Run) -> Result<Printed, String> {
        let graph = emit::instance_graph(index, traced);
        thread::scope(|scope| {
            // The passes have no part in it, so it is brought into form while they run.
            let graph = scope.spawn(|| emit::pretty(&graph));
            let optimized = self.optimized(index, traced, run)?;
            let Frozen { source, unrecorded, peak } = emit::frozen(index, traced, &optimized, &graph_file(file))?;
            let graph = graph.join().unwrap_or_else(|ours| panic::resume_unwind(ours))?;
            Ok(Printed { frozen: source, graph, unrecorded, peak })
        })
    }

    /// What the passes make of the graph.
    fn optimized(&self, index: &Index, traced: &Traced, run: &mut Run) -> Result<Graph, String> {
        let mut graph = traced.graph.clone();
        let context = PassContext::new(traced.signature.has_receiver);
        let pipeline = self.pipeline_of(&graph.name);
        run.models.insert(graph.name.clone());
        let report = match pipeline.run(&mut graph, &context) {
            Ok(report) => report,
            Err(fault) if fault.is_ours() => return Err(fault.to_string()),
            Err(fault) => {
                let fault = fault.to_string().replace('\n', " ");
                run.told.push(format!("cargo::error=in `{}`, {fault}", graph.name));
                // The build has failed; what is generated only keeps further errors away.
                graph = traced.graph.clone();
                Pipeline::inference().run(&mut graph, &context).map_err(|bug| bug.to_string())?
            }
        };
        for pass in report.exhausted() {
            let name = &graph.name;
            run.told.push(format!("cargo::warning=the rules of `{pass}` go on for ever in `{name}` and were stopped"));
        }
        run.applied.push(report);
        run.understood.push(Understood::of(&traced.graph, place_of(&index.fns[traced.item])));
        // A rule that this list does not have is one of another model's.
        let reasons = self.explain.iter().filter_map(|name| pipeline.explain(name, &traced.graph, &context).ok());
        for why in reasons.flatten() {
            run.tell(&format!("in `{}`, {why}", graph.name));
        }
        Ok(graph)
    }
}
