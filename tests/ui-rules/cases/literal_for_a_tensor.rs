use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x| x.matmul(2) => x,
    }
}

fn main() {}
