use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x| x.relu() + _ => x,
        |x, z| x.relu() + z.tanh() => x * z,
    }
}

fn main() {}
