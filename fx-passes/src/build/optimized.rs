//! Pipeline: the passes of its model on one graph.

use fx_front::{index::Index, trace::Traced};
use fx_ir::Graph;

use super::{Build, Coverage, run::Run};
use crate::{inference, pass::PassContext, pipeline::Pipeline};

impl Build {
    /// The graphs of one type as the passes leave them.
    pub(super) fn optimized(&self, index: &Index, all: &[Traced], run: &mut Run) -> Result<Vec<Graph>, String> {
        all.iter().map(|traced| self.optimized_one(index, traced, all.len() > 1, run)).collect()
    }

    /// The graph as the passes of its model leave it, where they have told what there is to tell before.
    pub(super) fn optimized_quietly(&self, traced: &Traced) -> Result<Graph, String> {
        let mut graph = in_inference(&traced.graph);
        let context = PassContext::new(traced.signature.has_receiver);
        self.pipeline_of(&graph.name).run(&mut graph, &context).map_err(|fault| fault.to_string())?;
        Ok(graph)
    }

    fn optimized_one(&self, index: &Index, traced: &Traced, several: bool, run: &mut Run) -> Result<Graph, String> {
        let mut graph = in_inference(&traced.graph);
        let context = PassContext::new(traced.signature.has_receiver);
        let pipeline = self.pipeline_of(&graph.name);
        run.models.insert(graph.name.clone());
        let report = match pipeline.run(&mut graph, &context) {
            Ok(report) => report,
            Err(fault) if fault.is_ours() => return Err(fault.to_string()),
            Err(fault) => {
                let fault = fault.to_string().replace('\n', " ");
                run.directives.push(format!("cargo::error=in `{}`, {fault}", graph.name));
                // The build has failed; what is generated only keeps further errors away.
                graph = in_inference(&traced.graph);
                Pipeline::inference().run(&mut graph, &context).map_err(|bug| bug.to_string())?
            }
        };
        for pass in report.exhausted() {
            let name = &graph.name;
            run.directives
                .push(format!("cargo::warning=the rules of `{pass}` go on for ever in `{name}` and were stopped"));
        }
        if let Some(name) = &self.why {
            run.why.tell(name, pipeline, (&traced.graph, &context), &report);
        }
        run.applied.push(report);
        run.coverage.push(Coverage::of(index, traced, several));
        // A rule that this list does not have is one of another model's.
        let reasons =
            self.explain.iter().filter_map(|name| pipeline.explain(name, &in_inference(&traced.graph), &context).ok());
        for why in reasons.flatten() {
            run.warn(&format!("in `{}`, {why}", graph.name));
        }
        Ok(graph)
    }
}

/// The graph as a frozen type runs it. None that is frozen was traced in training.
fn in_inference(traced: &Graph) -> Graph {
    let mut graph = traced.clone();
    let _ = inference::in_inference(&mut graph);
    graph
}
