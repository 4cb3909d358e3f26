use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, y| (x + y, x * y) => x + y,
    }
}

fn main() {}
