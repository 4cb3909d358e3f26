use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        x.relu() => x,
    }
}

fn main() {}
