use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x| x.relu() => x if 1 + 1 == 2,
    }
}

fn main() {}
