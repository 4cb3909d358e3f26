use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, p: f64| x * p => p,
    }
}

fn main() {}
