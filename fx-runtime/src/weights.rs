//! Filling a model from a file: every difference is found first, and only then is anything copied.
//!
//! The names are PyTorch's, so that a `state_dict` saved in Python fits. Values are converted to the model's dtype and
//! device as they are copied, for instance from an f16 file into an f32 model.

mod read;

use std::collections::BTreeMap;
use std::path::Path;

use tch::{Kind, Tensor, nn::VarStore};

use crate::Error;
use crate::error::WeightsMismatch;
use crate::progress::Task;

/// What [`load_weights`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Names of the tensors that were filled.
    pub loaded: Vec<String>,
    /// Tensors whose dtype was converted: name, dtype in the file, dtype in the model.
    pub converted: Vec<(String, Kind, Kind)>,
    /// Integer and boolean tensors of the file that the model lacks, for instance `num_batches_tracked`.
    pub ignored: Vec<String>,
}

/// One tensor of a weights file; its values are made into a tensor only once they are wanted.
trait Entry {
    fn shape(&self) -> Vec<i64>;
    /// The dtype; the file's word for it where libtorch (or tch) has none.
    fn kind(&self) -> Result<Kind, String>;
    fn tensor(&self) -> Result<Tensor, Error>;
}

type Entries<'a> = BTreeMap<String, Box<dyn Entry + 'a>>;

/// Fills all variables of `vs` from a file, or none.
///
/// The extension says what the file is: `.safetensors`; `.pt`, `.pth` or `.bin` for a plain dictionary of tensors,
/// which Python saves with `torch.save(dict(model.state_dict()), path)`; anything else (`.ot`) for tch's own format.
///
/// # Errors
///
/// [`Error::WeightsFile`] if the file is missing, truncated or something else than it says. [`Error::Weights`] if it
/// does not fit the model, with all missing, unexpected, misshapen and mistyped tensors at once. After an error the
/// variables are as they were.
///
/// ```no_run
/// # fn main() -> Result<(), fx_runtime::Error> {
/// let vs = fx_runtime::nn::VarStore::new(fx_runtime::Device::Cpu);
/// // ... build a model on `vs.root()` ...
/// let report = fx_runtime::load_weights(&vs, "resnet18.safetensors")?;
/// println!("{} tensors loaded", report.loaded.len());
/// # Ok(())
/// # }
/// ```
pub fn load_weights(vs: &VarStore, path: impl AsRef<Path>) -> Result<LoadReport, Error> {
    let path = path.as_ref();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("safetensors") => {
            let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error.to_string()))?;
            fill_variables(vs, path, &read::safetensors(path, &bytes)?)
        }
        Some("pt" | "pth" | "bin") => fill_variables(vs, path, &read::pickle(path)?),
        _ => fill_variables(vs, path, &read::libtorch(path)?),
    }
}

fn fill_variables(vs: &VarStore, path: &Path, entries: &Entries<'_>) -> Result<LoadReport, Error> {
    let mut variables: BTreeMap<String, Tensor> = vs.variables().into_iter().collect();
    let mut report = compare(path, &variables, entries)?;
    let sources = variables.keys().map(|name| entries[name].tensor()).collect::<Result<Vec<_>, _>>()?;
    let _no_grad = tch::no_grad_guard();
    let mut task = Task::begin("load", variables.len());
    for ((name, variable), source) in variables.iter_mut().zip(&sources) {
        if source.kind() != variable.kind() {
            report.converted.push((name.clone(), source.kind(), variable.kind()));
        }
        variable.f_copy_(source)?;
        report.loaded.push(name.clone());
        task.step();
    }
    Ok(report)
}

/// The report so far (what is ignored), or all differences.
fn compare(path: &Path, variables: &BTreeMap<String, Tensor>, entries: &Entries<'_>) -> Result<LoadReport, Error> {
    let mut report = LoadReport::default();
    let mut mismatch = WeightsMismatch { path: path.to_owned(), ..WeightsMismatch::default() };
    for (name, variable) in variables {
        let Some(entry) = entries.get(name) else {
            mismatch.missing.push((name.clone(), variable.size()));
            continue;
        };
        if entry.shape() != variable.size() {
            mismatch.misshapen.push((name.clone(), variable.size(), entry.shape()));
        }
        let kind = entry.kind();
        if !kind.as_ref().is_ok_and(|&kind| converts(kind, variable.kind())) {
            let found = kind.map_or_else(|word| word, |kind| format!("{kind:?}"));
            mismatch.mistyped.push((name.clone(), format!("{:?}", variable.kind()), found));
        }
    }
    for (name, entry) in entries.iter().filter(|(name, _)| !variables.contains_key(*name)) {
        match entry.kind() {
            Ok(kind) if class(kind) == Class::Integer => report.ignored.push(name.clone()),
            _ => mismatch.unexpected.push((name.clone(), entry.shape())),
        }
    }
    if mismatch.is_empty() { Ok(report) } else { Err(mismatch.into()) }
}

#[derive(PartialEq, Eq)]
enum Class {
    Integer,
    Float,
    Other,
}

fn class(kind: Kind) -> Class {
    match kind {
        Kind::Uint8 | Kind::Int8 | Kind::Int16 | Kind::Int | Kind::Int64 | Kind::Bool => Class::Integer,
        Kind::Half | Kind::BFloat16 | Kind::Float | Kind::Double => Class::Float,
        _ => Class::Other,
    }
}

/// Within integers and within floating-point numbers values keep their meaning; anything else is a mistake.
fn converts(from: Kind, to: Kind) -> bool {
    from == to || (class(from) == class(to) && class(from) != Class::Other)
}

fn unreadable(path: &Path, reason: &str) -> Error {
    Error::WeightsFile { path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
