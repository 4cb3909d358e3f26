use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x| x.dropout(_, true) => x,
    }
}

fn main() {}
