use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, conv: Conv2D| conv(x) => x if conv.config.groups == 1,
    }
}

fn main() {}
