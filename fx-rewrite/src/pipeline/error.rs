//! The reasons why a pipeline did not run, or not to its end.

use std::fmt;

use fx_ir::Fault;

use super::{Order, Pipeline};

/// The reason why a pipeline did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineError {
    /// No pass of the pipeline bears this name.
    UnknownPass {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// Two passes stand the wrong way round.
    Order {
        /// The constraint that does not hold.
        order: Order,
        /// The positions of the two, counted from 1: of the one that should be second, and of the one that should be
        /// first.
        places: (usize, usize),
        /// The passes in order.
        passes: Vec<&'static str>,
    },
    /// A pass left a graph that the verifier refuses.
    Broken {
        /// The pass; `trace` if the graph was refused before the first.
        pass: &'static str,
        /// The faults that the verifier found.
        faults: Vec<Fault>,
        /// The graph before the pass.
        before: String,
        /// The graph after it.
        after: String,
    },
}

impl PipelineError {
    /// Returns whether the fault is fx's own: the tracer, or a pass of [`Pipeline::inference`], left an unsound graph.
    pub fn is_ours(&self) -> bool {
        let PipelineError::Broken { pass, .. } = self else { return false };
        *pass == "trace" || Pipeline::inference().passes().any(|own| own.name() == *pass)
    }
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PipelineError::UnknownPass { name, known } if known.is_empty() => {
                write!(f, "there is no pass `{name}`; there are none in the list")
            }
            PipelineError::UnknownPass { name, known } => {
                write!(f, "there is no pass `{name}`; the passes are {}", known.join(", "))
            }
            PipelineError::Order { order, places: (second, first), passes } => {
                write!(f, "{order}, but it is number {first} and the other number {second} of {}", passes.join(", "))
            }
            PipelineError::Broken { pass, faults, before, after } => {
                let whose = if self.is_ours() { "this is a bug in fx" } else { "the pass is not one of fx's own" };
                writeln!(f, "the pass `{pass}` left a graph that is not sound; {whose}")?;
                for fault in faults {
                    writeln!(f, "  {fault}")?;
                }
                write!(f, "before:\n{before}\nafter:\n{after}")
            }
        }
    }
}

impl std::error::Error for PipelineError {}
