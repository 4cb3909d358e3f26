//! The lists of passes of a build: which model runs which, and what is wrong with them before anything runs.

use std::collections::BTreeSet;

use super::{Build, run::Run};
use crate::pass::Pass;
use crate::pipeline::{Pipeline, PipelineError};

impl Build {
    /// Every list of the build.
    fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        self.models.iter().map(|(_, pipeline)| pipeline).chain([&self.pipeline])
    }

    /// The list of passes of the model of that name.
    pub(super) fn pipeline_of(&self, name: &str) -> &Pipeline {
        let own = self.models.iter().rev().find(|(model, _)| model == name);
        own.map_or(&self.pipeline, |(_, pipeline)| pipeline)
    }

    /// Leaves the passes of these names, with commas between them, out of every list.
    ///
    /// # Errors
    /// If no list has one of them.
    pub(super) fn leave_out(&mut self, names: &str) -> Result<(), PipelineError> {
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known: BTreeSet<&'static str> = self.pipelines().flat_map(Pipeline::passes).map(Pass::name).collect();
            if !known.contains(name) {
                let known = known.into_iter().collect();
                return Err(PipelineError::UnknownPass { name: name.to_owned(), known });
            }
            for pipeline in self.models.iter_mut().map(|(_, pipeline)| pipeline).chain([&mut self.pipeline]) {
                pipeline.leave_out(name);
            }
        }
        Ok(())
    }

    /// The lists of passes that cannot run, each reported once, and what is to be explained but is not there.
    pub(super) fn faults(&self) -> Vec<String> {
        let common = self.pipeline.check().err().map(|fault| fault.to_string());
        let of_models = self.models.iter().filter_map(|(name, pipeline)| {
            pipeline.check().err().map(|fault| format!("the list of passes of `{name}`: {fault}"))
        });
        let unexplained = self.explain.iter().filter_map(|name| {
            let faults: Option<Vec<_>> = self.pipelines().map(|pipeline| pipeline.explainable(name).err()).collect();
            faults?.pop().map(|fault| fault.to_string())
        });
        common.into_iter().chain(of_models).chain(unexplained).collect()
    }

    /// A constraint may name a pass that is left out, but one that no list has is a slip of the pen.
    pub(super) fn idle_constraints(&self) -> Vec<String> {
        let own = Pipeline::inference();
        let known: BTreeSet<&str> =
            self.pipelines().chain([&own]).flat_map(|pipeline| pipeline.passes().map(Pass::name)).collect();
        let mut idle = Vec::new();
        for (order, name) in self.pipelines().flat_map(Pipeline::orders).flat_map(|order| {
            let names = [order.first.clone(), order.second.clone()];
            names.map(|name| (order.clone(), name))
        }) {
            let line = format!("{order}, but there is no pass `{name}`, so nothing is asked for");
            if !known.contains(name.as_str()) && !idle.contains(&line) {
                idle.push(line);
            }
        }
        idle
    }

    /// A list of passes for a model that does not exist is a slip of the pen too.
    pub(super) fn check_models(&self, run: &mut Run) {
        for (name, _) in &self.models {
            if !run.models.contains(name) {
                let known = run.models.iter().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "there are none".to_owned() } else { format!("there are {known}") };
                run.directives
                    .push(format!("cargo::error=`{name}` is given passes, but is no `#[traceable]` model; {known}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pipeline: &Pipeline) -> Vec<&'static str> {
        pipeline.passes().map(Pass::name).collect()
    }

    #[test]
    fn passes_are_left_out_of_every_list() {
        let mut build = Build::new().model("Net", Pipeline::inference().without("fold-scale"));
        assert_eq!(build.leave_out("fold-scale, dead-code,").map_err(|fault| fault.to_string()), Ok(()));
        for name in ["fold-scale", "dead-code"] {
            assert!(build.pipelines().all(|pipeline| !names(pipeline).contains(&name)), "{name}");
        }
        assert!(build.pipelines().all(|pipeline| names(pipeline).contains(&"pack-kernels")));
        assert_eq!(build.faults(), Vec::<String>::new());
    }

    #[test]
    fn a_pass_that_no_list_has_is_named() {
        let fault = Build::new().leave_out("fold-scales").map_err(|fault| fault.to_string());
        assert!(
            fault.as_ref().is_err_and(|text| text.contains("`fold-scales`") && text.contains("fold-scale")),
            "{fault:?}"
        );
    }
}
