use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, f| f(x) => x,
    }
}

fn main() {}
