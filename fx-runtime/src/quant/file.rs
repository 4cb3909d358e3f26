//! Reading the file of quantization parameters for a graph.

use std::path::Path;

use super::QParamsFile;
use crate::Result;
use crate::graph_module::GraphModule;
use crate::qparams::fault;

impl QParamsFile {
    /// Reads a file that was written for that graph.
    ///
    /// # Errors
    ///
    /// [`Error::QParamsFile`](crate::Error::QParamsFile) if it cannot be read, or was written for another graph or version, both of which it names.
    pub fn load(path: impl AsRef<Path>, module: &GraphModule) -> Result<QParamsFile> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| fault(path, &error.to_string()))?;
        let file = QParamsFile::parse(&text).map_err(|reason| fault(path, &reason))?;
        let graph = module.graph();
        file.mismatch(&graph.name, &QParamsFile::fingerprint(graph))
            .map_or(Ok(file), |reason| Err(fault(path, &reason)))
    }
}
