use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        a: |x| x.relu() => x,
        a: |x| x.tanh() => x,
    }
}

fn main() {}
