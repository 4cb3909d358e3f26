use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, x| x + x => x * 2,
    }
}

fn main() {}
