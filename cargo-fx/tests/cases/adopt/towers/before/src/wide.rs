use tch::{nn, nn::ModuleT, Tensor};

use crate::net::Head;

pub struct Wide {
    head: Head,
}

impl Wide {
    pub fn new(p: &nn::Path) -> Wide {
        Wide { head: Head::new(p / "head") }
    }
}

impl ModuleT for Wide {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.head.forward_t(xs, train)
    }
}
