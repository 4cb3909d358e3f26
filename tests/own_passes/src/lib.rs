//! Rules in a library crate of their own, as a user would publish them: build scripts name them like any other pass.

use fx_passes::fx_pass;

fx_pass! {
    /// A batch norm folds into the convolution before it, unless that is used elsewhere.
    pub FoldConvBn {
        |x, conv: Conv2D, bn: BatchNorm| bn(conv(x)) => {
            let params = rust!(::fx_runtime::frozen::ConvParams::from(conv.config); ::fx_runtime::frozen::ConvParams);
            let (w, b) = rust!(::fx_runtime::frozen::fold::conv_batch_norm(&conv.ws, conv.bs.as_ref(), &bn, &params)?);
            convolution(x, w, b, params)
        } if conv.calls() == 1 && conv.users() == 1
    }

    /// Every sum becomes a product.
    pub AddToMul { |x, y| x + y => x * y }

    /// max(x, 0) is x where x is above zero.
    pub ReluToProduct { |x| x.relu() => x.gt(0) * x }
}
