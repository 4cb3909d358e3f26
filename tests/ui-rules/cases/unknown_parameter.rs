use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, d| x.mean_dim(d, keepdims = true) => x.sum_dim_intlist(d, keepdim = true),
    }
}

fn main() {}
