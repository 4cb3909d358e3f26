//! Items that are not in a file of the crate where the build script looks for them.

use fx_runtime::{Tensor, traceable};

macro_rules! net {
    ($name:ident) => {
        pub struct $name;

        #[traceable]
        impl $name {
            pub fn forward(&self, xs: &Tensor) -> Tensor {
                xs.relu()
            }
        }
    };
}

net!(Made);

fn main() {
    struct Local;

    #[traceable]
    impl Local {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            xs.relu()
        }
    }
}
