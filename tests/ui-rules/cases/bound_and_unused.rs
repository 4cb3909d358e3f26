use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, p| x.softmax(p) => x.relu(),
    }
}

fn main() {}
