use fx_passes::fx_pass;

fx_pass! {
    /// A case.
    pub Case {
        |x, bn: BatchNorm| bn(x) => x * bn.weight,
    }
}

fn main() {}
