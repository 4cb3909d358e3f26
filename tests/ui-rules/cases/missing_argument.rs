use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, w| conv2d(x) => x * w,
    }
}

fn main() {}
