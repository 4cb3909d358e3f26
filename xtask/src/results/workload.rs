//! What is measured: `resnet18:1:f32`.

use std::fmt;
use std::str::FromStr;

/// A model, a batch size and a dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) model: String,
    pub(super) batch: u32,
    pub(super) dtype: String,
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [model, batch, dtype] = parts[..] else {
            return Err("a workload reads `resnet18:1:f32`".to_owned());
        };
        let batch = batch.parse().ok().filter(|&batch| batch > 0).ok_or(format!("`{batch}` is no batch size"))?;
        Ok(Self { model: model.to_owned(), batch, dtype: dtype.to_owned() })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.model, self.batch, self.dtype)
    }
}
