use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, conv: Conv2D| conv(x) => conv2d(x, conv.ws + conv.bs),
    }
}

fn main() {}
