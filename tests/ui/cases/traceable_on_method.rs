//! A method alone does not say of which type it is.

use fx_runtime::{Tensor, traceable};

pub struct Net;

impl Net {
    #[traceable]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

fn main() {
    Net.forward(&Tensor);
}
