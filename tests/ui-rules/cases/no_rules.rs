use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {}
}

fn main() {}
