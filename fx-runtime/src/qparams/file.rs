//! The file of quantization parameters: text that is read, compared and committed.

use std::collections::BTreeMap;
use std::path::Path;

use fx_ir::{Arg, Graph, NodeId};
use serde::{Deserialize, Serialize};

use super::{Equalization, QEngine, QParams};
use crate::{Error, Result};

/// The parameters of a model's values and weights, by name.
///
/// As JSON its names are sorted, its numbers are the shortest that read back as the same `f32`, and each list of scales is
/// one line, so that two files differ where the models do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QParamsFile {
    /// The version of the form.
    pub version: u32,
    /// The name of the graph.
    pub graph: String,
    /// The kernels that the parameters are for.
    pub engine: QEngine,
    /// What [`QParamsFile::fingerprint`] says of the graph.
    pub fingerprint: String,
    /// The parameters of values, by the names of sites.
    pub sites: BTreeMap<String, QParams>,
    /// The parameters of weights, by their paths.
    pub weights: BTreeMap<String, QParams>,
    /// Factors of channels, which are brought into the graph before anything is rounded; see
    /// [`Prepared::smoothed`](crate::quant::Prepared::smoothed).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub equalization: Vec<Equalization>,
    /// What is added to the biases of layers, a number for each output channel, by the paths of their weights; see
    /// [`Prepared::bias_correction`](crate::quant::Prepared::bias_correction).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub biases: BTreeMap<String, Vec<f32>>,
}

impl QParamsFile {
    /// The version that this crate writes and reads.
    pub const VERSION: u32 = 2;

    /// A number that names a graph by its nodes: names, ops and arguments, but not source lines. 16 hexadecimal digits.
    pub fn fingerprint(graph: &Graph) -> String {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        let mut take = |text: &str| {
            // FNV-1a; the byte that no text holds ends each.
            for byte in text.bytes().chain([0xFF]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
        };
        let mut by_name = |id: NodeId| Arg::Path(graph.node(id).name.clone());
        for id in graph.nodes() {
            let node = graph.node(id);
            take(&node.name);
            take(&format!("{:?}", node.op));
            node.args.iter().for_each(|arg| take(&format!("{:?}", arg.map_nodes(&mut by_name))));
        }
        format!("{hash:016x}")
    }

    /// The file as text.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if a scale is not finite.
    pub fn to_json(&self) -> Result<String> {
        let head = [
            ("version", json(&self.version)?),
            ("graph", json(&self.graph)?),
            ("engine", json(&self.engine)?),
            ("fingerprint", json(&self.fingerprint)?),
        ];
        let mut members: Vec<String> = head.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
        members.push(section("sites", &self.sites)?);
        members.push(section("weights", &self.weights)?);
        if !self.equalization.is_empty() {
            let lines = self.equalization.iter().map(|of| Ok(format!("\n    {}", json(of)?)));
            let lines = lines.collect::<Result<Vec<_>>>()?;
            members.push(format!("  \"equalization\": [{}\n  ]", lines.join(",")));
        }
        if !self.biases.is_empty() {
            members.push(section("biases", &self.biases)?);
        }
        Ok(format!("{{\n{}\n}}\n", members.join(",\n")))
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// [`Error::QParamsFile`] if it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        std::fs::write(path, self.to_json()?).map_err(|error| fault(path, &error.to_string()))
    }

    /// Reads the text of a file, whatever graph it was written for.
    pub(crate) fn parse(text: &str) -> std::result::Result<QParamsFile, String> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let found = serde_json::from_str::<Version>(text).map_err(|error| error.to_string())?.version;
        if found != QParamsFile::VERSION {
            return Err(format!("it is of version {found}, this is version {}; calibrate again", QParamsFile::VERSION));
        }
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Why the parameters are not those of the graph of that name and fingerprint, if they are not.
    pub(crate) fn mismatch(&self, graph: &str, found: &str) -> Option<String> {
        (self.graph != graph || self.fingerprint != found).then(|| {
            let QParamsFile { graph: name, fingerprint, .. } = self;
            format!("it is of the graph `{name}` ({fingerprint}), not of `{graph}` ({found}); calibrate again")
        })
    }
}

/// A member of the file: an entry a line.
fn section<T: Serialize>(title: &str, entries: &BTreeMap<String, T>) -> Result<String> {
    let line = |(name, of)| Ok(format!("\n    {}: {}", json(name)?, json(of)?));
    let lines = entries.iter().map(line).collect::<Result<Vec<_>>>()?;
    Ok(format!("  \"{title}\": {{{}\n  }}", lines.join(",")))
}

/// The fault of a file.
pub(crate) fn fault(path: &Path, reason: &str) -> Error {
    Error::QParamsFile { path: path.to_owned(), reason: reason.to_owned() }
}

/// A value as JSON on one line.
fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Refused(error.to_string()))
}
