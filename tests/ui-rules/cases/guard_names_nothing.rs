use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x| x.relu() => x if rank(z) == Some(2),
    }
}

fn main() {}
