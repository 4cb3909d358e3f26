//! The node of a graph that an event is a run of: what it is called, what it stands for, and where it comes from.
//!
//! In the file it is the event's `args`: `Input Dims`, `Input type` and `Module Hierarchy` as PyTorch has them, and an object
//! `fx` with the rest. Only events with `fx` have a node.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A node of a graph, as a trace tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInfo {
    /// Its name in the graph: `layer1_0_conv1`.
    pub node: String,
    /// Its opcode, as torch.fx has it.
    pub opcode: String,
    /// What it calls: the path of a module, `layer1.0.conv1`, or an operator.
    pub target: String,
    /// The user's names for all that it computes, in their order: `conv1`, `bn1`, `relu`.
    pub labels: Vec<String>,
    /// The passes that made it; none where it is as the user wrote it.
    pub passes: Vec<String>,
    /// The user's source lines: `src/model.rs:52,53`.
    pub source: String,
    /// The modules in whose forwards it stands, outermost first, each as `path: Type`.
    #[serde(skip)]
    pub modules: Vec<String>,
    /// The shapes of its arguments; of what is no tensor an empty one.
    #[serde(skip)]
    pub input_dims: Vec<Vec<i64>>,
    /// The dtypes of its arguments; of what is no tensor the kind of value.
    #[serde(skip)]
    pub input_types: Vec<String>,
}

impl NodeInfo {
    /// The arguments of its event.
    pub(crate) fn to_args(&self) -> Map<String, Value> {
        let mut args = Map::new();
        let mut add = |key: &str, value: Value| args.insert(key.to_owned(), value);
        add("Input Dims", json!(self.input_dims));
        add("Input type", json!(self.input_types));
        add("Module Hierarchy", self.modules.join(SEPARATOR).into());
        add("fx", json!(self));
        args
    }

    /// The node that arguments tell of, each as the text of its JSON; none without `fx`, or if that is of another form.
    pub(crate) fn of_args(texts: &NodeTexts<'_>) -> Option<NodeInfo> {
        let mut info: NodeInfo = serde_json::from_str(texts.fx?).ok()?;
        info.input_dims = texts.dims.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        info.input_types = texts.types.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let modules: String = texts.modules.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        info.modules = modules.split(SEPARATOR).filter(|module| !module.is_empty()).map(str::to_owned).collect();
        Some(info)
    }
}

/// What stands between two modules of a hierarchy.
const SEPARATOR: &str = " / ";

/// The texts of the arguments that tell of a node.
#[derive(Default)]
pub(crate) struct NodeTexts<'a> {
    pub(crate) fx: Option<&'a str>,
    pub(crate) dims: Option<&'a str>,
    pub(crate) types: Option<&'a str>,
    pub(crate) modules: Option<&'a str>,
}
