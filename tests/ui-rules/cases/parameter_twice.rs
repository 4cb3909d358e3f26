use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, d| x.mean_dim(d, dim = d) => x,
    }
}

fn main() {}
