use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x| { x.relu(); x } => x,
    }
}

fn main() {}
