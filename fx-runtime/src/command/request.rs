//! What `cargo fx` asks, as JSON.

use std::path::PathBuf;

use serde::Deserialize;

use super::Failure;
use crate::Error;

/// A question about a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// What is asked.
    pub(super) ask: Ask,
    /// The inputs: `1x3x224x224:f32`.
    #[serde(default)]
    pub(super) inputs: Vec<String>,
    /// Whether it is about the frozen graph.
    #[serde(default)]
    pub(super) frozen: bool,
    /// A file of weights.
    #[serde(default)]
    pub(super) weights: Option<PathBuf>,
    /// Whether the answer is JSON.
    #[serde(default)]
    pub(super) json: bool,
}

/// The question itself.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Ask {
    /// The nodes of the graph.
    Graph { table: bool },
    /// A drawing of it.
    Draw { form: Drawing },
    /// The time that each node takes.
    Profile { warm_up: usize, runs: usize, trace: Option<PathBuf> },
    /// The time of the frozen model beside that of the live one.
    Bench { rounds: usize, calls: usize },
    /// The first node at which the numbers of the frozen model differ from those of the live one.
    Bisect { relative: Option<f64>, absolute: Option<f64> },
    /// The parameters that its values and weights have on codes of eight bits, written to a file.
    Quantize { data: Vec<PathBuf>, batches: usize, output: PathBuf },
    /// What each site loses on codes, and what is gained where the worst stay in floats.
    Accuracy { data: Vec<PathBuf>, batches: usize, qparams: Option<PathBuf>, keep: usize },
    /// What the passes make of it, as JSON.
    View { warm_up: usize, runs: usize },
}

/// How a graph is drawn.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Drawing {
    Dot,
    Svg,
    Mermaid,
}

impl Request {
    pub(super) fn parse(text: &str) -> Result<Request, Failure> {
        let refused = |error: serde_json::Error| Error::Unsupported {
            what: format!("the question `{text}` ({error})"),
            help: "use a `cargo-fx` of the same version as fx-runtime: `cargo install cargo-fx`".to_owned(),
        };
        Ok(serde_json::from_str(text).map_err(refused)?)
    }
}
