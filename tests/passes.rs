//! How the crate is built: the library's passes, and rules of its own for some models. The tests build it again.

use fx_passes::{Build, fx_pass, pipeline::Pipeline};

fx_pass! {
    /// A batch norm folds into the convolution before it, unless that is used elsewhere.
    FoldConvBn {
        |x, conv: Conv2D, bn: BatchNorm| bn(conv(x)) => {
            let params = rust!(::fx_runtime::frozen::ConvParams::from(conv.config); ::fx_runtime::frozen::ConvParams);
            let (w, b) = rust!(::fx_runtime::frozen::fold::conv_batch_norm(&conv.ws, conv.bs.as_ref(), &bn, &params)?);
            convolution(x, w, b, params)
        } if conv.calls() == 1 && conv.users() == 1
    }

    /// Every sum becomes a product.
    AddToMul { |x, y| x + y => x * y }

    /// max(x, 0) is x where x is above zero.
    ReluToProduct { |x| x.relu() => x.gt(0) * x }
}

/// What the build script runs.
pub(crate) fn build() -> Build {
    let folding = || Pipeline::inference().without("fold-batch-norm").with(FoldConvBn);
    Build::new()
        .model("UsersFolding", folding())
        .model("UsersShared", folding())
        .model("Sums", Pipeline::inference().with(AddToMul))
        .model("Rectified", Pipeline::inference().with(ReluToProduct))
}
