//! Everything that was measured on one device, as it lies in `results/cpu.json` and `results/cpu-ablation.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// `cpu`, `cuda`; `cpu-ablation` where ours is compared with itself.
    pub(super) name: String,
    pub(super) machine: Machine,
    /// In the order of their names.
    pub(super) workloads: Vec<Row>,
}

/// What was measured on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) cpu: String,
    pub(super) cores: usize,
    pub(super) memory_gib: Option<f64>,
    pub(super) gpu: Option<String>,
    pub(super) system: String,
}

/// One workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    /// `resnet18:1:f32`.
    pub(super) workload: String,
    pub(super) contenders: Vec<Outcome>,
}

/// What became of one contender.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) name: String,
    /// Why there are no times.
    pub(super) failed: Option<String>,
    /// From the eager model to the first result, in seconds.
    pub(super) ready_s: f64,
    /// Largest memory of the process from the first result on.
    pub(super) peak_mib: Option<f64>,
    /// First values of the output.
    pub(super) values: Vec<f64>,
    pub(super) versions: BTreeMap<String, String>,
    /// Every call that was timed, in turn.
    pub(super) times_ms: Vec<f64>,
}

impl Outcome {
    /// None where nothing was measured.
    pub(super) fn median(&self) -> Option<f64> {
        let mut times = self.times_ms.clone();
        times.sort_by(f64::total_cmp);
        let middle = times.len() / 2;
        match times.len() % 2 {
            1 => times.get(middle).copied(),
            _ => Some(f64::midpoint(*times.get(middle.checked_sub(1)?)?, *times.get(middle)?)),
        }
    }

    /// None where nothing was measured.
    pub(super) fn minimum(&self) -> Option<f64> {
        self.times_ms.iter().copied().min_by(f64::total_cmp)
    }
}

impl Record {
    /// The record in a file, to be added to; a new one where there is none, or where it is of another machine.
    pub(super) fn read_or_new(path: &Path, name: &str, machine: Machine) -> Result<Self> {
        let known = if path.exists() { Some(Self::read(path)?) } else { None };
        let known = known.filter(|known| known.machine == machine);
        Ok(known.unwrap_or_else(|| Self { name: name.to_owned(), machine, workloads: Vec::new() }))
    }

    /// Every record of a folder, by name.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>> {
        let entries = fs::read_dir(folder).map_err(|error| {
            Failure::file("read", folder, &error).help("measure first: `cargo xtask results` without `--render`")
        })?;
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        // `cpu` before `cpu-ablation`.
        paths.sort_by_key(|path| path.file_stem().map(ToOwned::to_owned));
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
        let mut record: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!("`{}` is no record of results", path.display()))
                .looked(error.to_string())
                .help("remove it and measure again")
        })?;
        record.sort();
        Ok(record)
    }

    /// Models in the order in which they were first measured, each by batch size.
    fn sort(&mut self) {
        fn parts(workload: &str) -> (&str, Option<u32>) {
            let (model, rest) = workload.split_once(':').unwrap_or((workload, ""));
            (model, rest.split(':').next().and_then(|batch| batch.parse().ok()))
        }
        let models: Vec<String> = self.workloads.iter().map(|row| parts(&row.workload).0.to_owned()).collect();
        self.workloads.sort_by_key(|row| {
            let (model, batch) = parts(&row.workload);
            (models.iter().position(|known| known == model), batch)
        });
    }

    /// Puts a row in the place of an earlier one of the same workload, or at the end.
    pub(super) fn put(&mut self, row: Row) {
        match self.workloads.iter_mut().find(|known| known.workload == row.workload) {
            Some(known) => *known = row,
            None => self.workloads.push(row),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let failed = |error: std::io::Error| Failure::file("write", path, &error);
        fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        fs::write(path, text + "\n").map_err(failed)
    }
}
