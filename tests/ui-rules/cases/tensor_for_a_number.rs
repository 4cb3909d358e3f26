use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x| x.softmax(x.relu()) => x,
    }
}

fn main() {}
