//! How the crate is built: the library's passes, and for some models those of a crate of passes. The tests build it again.

use fx_own_passes::{AddToMul, FoldConvBn, ReluToProduct};
use fx_passes::{Build, pipeline::Pipeline};

/// What the build script runs.
pub(crate) fn build() -> Build {
    let folding = || Pipeline::inference().without("fold-batch-norm").with(FoldConvBn);
    Build::new()
        .model("UsersFolding", folding())
        .model("UsersShared", folding())
        .model("Sums", Pipeline::inference().with(AddToMul))
        .model("Rectified", Pipeline::inference().with(ReluToProduct))
}
