use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, conv: Conv2d| conv(x) => x,
    }
}

fn main() {}
