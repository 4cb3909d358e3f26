//! The one error type of the crate: what went wrong, at which thing, and the way out.
//!
//! Messages are lower case, name the user's thing in backticks and end with what to do. A failure inside a frozen model
//! is wrapped once in [`Error::At`], which adds the node of the graph and the line of the user's source.

use std::fmt;
use std::path::PathBuf;

use tch::{Device, Kind, TchError};
use thiserror::Error;

/// A `Result` whose error is fx's.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that this crate can refuse.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A tensor lies on another device than the model it is given to.
    #[error(
        "`{name}` is on {found:?} but the model is on {expected:?}; move it with `.to_device(..)`, or freeze the model for \
         that device"
    )]
    Device {
        /// Name of the input or parameter.
        name: String,
        /// Device of the model.
        expected: Device,
        /// Device of the tensor.
        found: Device,
    },
    /// A floating-point tensor has another dtype than the model it is given to.
    #[error(
        "`{name}` has dtype {found:?} but the model has {expected:?}; convert it with `.to_kind(..)`, or freeze the model \
         for that dtype"
    )]
    Kind {
        /// Name of the input or parameter.
        name: String,
        /// Dtype of the model.
        expected: Kind,
        /// Dtype of the tensor.
        found: Kind,
    },
    /// A tensor has the wrong number of dimensions.
    #[error(
        "`{name}` has {} dimensions, shape {found:?}, where {} are expected; add or remove one with `.unsqueeze(..)` or \
         `.squeeze_dim(..)`",
        .found.len(),
        alternatives(.expected)
    )]
    Rank {
        /// Name of the input or parameter.
        name: String,
        /// Numbers of dimensions that are accepted.
        expected: Vec<usize>,
        /// Shape of the tensor.
        found: Vec<i64>,
    },
    /// A tensor has the wrong number of channels (or features).
    #[error(
        "`{name}` has shape {found:?}, where axis {axis} should be {expected}; check the axis order and the layer's number \
         of inputs"
    )]
    Channels {
        /// Name of the input or parameter.
        name: String,
        /// Size that the layer was built for.
        expected: i64,
        /// The axis that holds the channels.
        axis: usize,
        /// Shape of the tensor.
        found: Vec<i64>,
    },
    /// A layer lacks a parameter that is needed here.
    #[error("`{module}` has no `{parameter}`; build the layer with it, or leave it out of this model")]
    MissingParameter {
        /// The layer, for instance `bn1`.
        module: String,
        /// The parameter, for instance `running_mean`.
        parameter: String,
    },
    /// A weights file does not fit the model; every difference is listed.
    #[error("{0}")]
    Weights(Box<WeightsMismatch>),
    /// A weights file cannot be read at all.
    #[error("cannot read weights file `{}`: {reason}", .path.display())]
    WeightsFile {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        reason: String,
    },
    /// The file of a frozen model cannot be read or written, or is of another graph or version.
    #[error("frozen model `{}`: {reason}", .path.display())]
    FrozenFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A layer of a `Sequential` is of another type than the caller expects, or is not there.
    #[error("{}; see what it is built of", wrong_layer(*.index, .expected, *.found))]
    Layer {
        /// Position in the `Sequential`, from 0.
        index: usize,
        /// The type that was asked for.
        expected: &'static str,
        /// The type that is there; none when the `Sequential` is shorter.
        found: Option<&'static str>,
    },
    /// A value cannot be cloned, so that nothing that holds it can be.
    #[error(
        "`{what}` cannot be cloned; derive `fx_runtime::Module` or `Clone` for its type (a layer of `tch::nn` has its like in \
         `fx_runtime::nn`), or keep it in an `Arc`, and in a `Mutex` inside where it is not `Sync`"
    )]
    NotCloneable {
        /// The type or field.
        what: String,
    },
    /// An operation of libtorch refused its arguments.
    #[error("libtorch: {}", first_paragraph(.0))]
    Torch(#[from] TchError),
    /// An operator that was called by name does not exist, or its arguments are not of its schema.
    #[error("`{operator}` {reason}")]
    Operator {
        /// The operator with its overload, for instance `aten::add.Tensor`.
        operator: String,
        /// What is wrong.
        reason: String,
    },
    /// A kernel of the program's own cannot be compiled or launched.
    #[error("{what} failed: {reason}")]
    Cuda {
        /// What was tried.
        what: String,
        /// The compiler's or the driver's words.
        reason: String,
    },
    /// A failure inside a traced or frozen model, with its place.
    #[error("at `{node}` ({place}): {source}")]
    At {
        /// Name of the node in the graph, for instance `layer1_0_conv1`.
        node: String,
        /// Place in the user's source, `file:line`.
        place: String,
        /// The failure.
        source: Box<Error>,
    },
    /// A graph that is run is given other inputs than it takes, or names what is not there.
    #[error("graph `{graph}` {reason}")]
    Graph {
        /// The graph's name.
        graph: String,
        /// What is wrong.
        reason: String,
    },
    /// An edit of a graph was refused; nothing is changed then.
    #[error("the edit is refused: {0}")]
    Edit(#[from] fx_ir::EditError),
    /// A value cannot be quantized as it is asked for.
    #[error("quantization of `{site}`: {reason}")]
    Quantization {
        /// What was to be quantized: a node, a weight, or the observer or scheme that refuses.
        site: String,
        /// Why not.
        reason: String,
    },
    /// A file of quantization parameters cannot be read, or is of another graph or version.
    #[error("quantization parameters `{}`: {reason}", .path.display())]
    QParamsFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An error of the user's own, from code of the model.
    #[error("{0}")]
    Refused(String),
    /// Something that this build, device or dtype cannot do.
    #[error("{what} is not supported; {help}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// What to do instead.
        help: String,
    },
}

/// All differences between a weights file and a model, each list sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WeightsMismatch {
    /// The file.
    pub path: PathBuf,
    /// Tensors of the model that the file lacks: name and shape.
    pub missing: Vec<(String, Vec<i64>)>,
    /// Tensors of the file that the model lacks: name and shape.
    pub unexpected: Vec<(String, Vec<i64>)>,
    /// Tensors of another shape: name, shape in the model, shape in the file.
    pub misshapen: Vec<(String, Vec<i64>, Vec<i64>)>,
    /// Tensors of a dtype that does not convert: name, dtype in the model, dtype in the file.
    pub mistyped: Vec<(String, String, String)>,
}

impl WeightsMismatch {
    /// True when file and model agree.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.misshapen.is_empty() && self.mistyped.is_empty()
    }
}

impl fmt::Display for WeightsMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "weights file `{}` does not fit the model, and nothing was loaded", self.path.display())?;
        section(f, "missing in the file", &self.missing, |(name, shape)| format!("`{name}` {shape:?}"))?;
        section(f, "unexpected in the file", &self.unexpected, |(name, shape)| format!("`{name}` {shape:?}"))?;
        section(f, "of another shape", &self.misshapen, |(name, model, file)| {
            format!("`{name}` is {model:?} in the model and {file:?} in the file")
        })?;
        section(f, "of another kind of dtype", &self.mistyped, |(name, model, file)| {
            format!("`{name}` is {model} in the model and {file} in the file")
        })
    }
}

fn section<T>(f: &mut fmt::Formatter<'_>, title: &str, rows: &[T], row: impl Fn(&T) -> String) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    write!(f, "\n  {title} ({}):", rows.len())?;
    rows.iter().try_for_each(|entry| write!(f, "\n    {}", row(entry)))
}

impl From<WeightsMismatch> for Error {
    fn from(mismatch: WeightsMismatch) -> Self {
        Error::Weights(Box::new(mismatch))
    }
}

/// So that `?` works in a user's function that returns tch's error.
impl From<Error> for TchError {
    fn from(error: Error) -> Self {
        match error {
            Error::Torch(error) => error,
            other => TchError::Torch(other.to_string()),
        }
    }
}

fn wrong_layer(index: usize, expected: &str, found: Option<&str>) -> String {
    match found {
        Some(found) => format!("layer {index} of the sequential is a `{found}`, not a `{expected}`"),
        None => format!("the sequential has no layer {index}, where a `{expected}` is expected"),
    }
}

fn alternatives(ranks: &[usize]) -> String {
    ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

/// libtorch's message without the C++ stack that it appends.
fn first_paragraph(error: &TchError) -> String {
    let text = match error {
        TchError::Torch(text) => text.clone(),
        other => other.to_string(),
    };
    text.split("\nException raised from").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send_sync<T: Send + Sync>() {}

    #[test]
    fn crosses_threads_and_stays_small() {
        assert_send_sync::<Error>();
        assert!(size_of::<Error>() <= 96, "a larger error makes every `Result` slow: {}", size_of::<Error>());
    }

    #[test]
    fn names_thing_and_place() {
        let source = Error::Channels { name: "xs".into(), expected: 3, axis: 1, found: vec![1, 4, 8, 8] };
        let error = Error::At { node: "conv1".into(), place: "src/model.rs:31".into(), source: Box::new(source) };
        assert_eq!(
            error.to_string(),
            "at `conv1` (src/model.rs:31): `xs` has shape [1, 4, 8, 8], where axis 1 should be 3; check the axis \
             order and the layer's number of inputs"
        );
    }

    #[test]
    fn drops_the_cpp_stack() {
        let error = Error::from(TchError::Torch("bad size\nException raised from f at a.cpp:1 (first frame)".into()));
        assert_eq!(error.to_string(), "libtorch: bad size");
    }

    #[test]
    fn survives_the_way_through_tch() {
        let error = Error::Rank { name: "xs".into(), expected: vec![3, 4], found: vec![2, 2] };
        let text = error.to_string();
        assert!(matches!(TchError::from(error), TchError::Torch(message) if message == text));
    }
}
