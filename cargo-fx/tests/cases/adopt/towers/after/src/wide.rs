use fx_runtime::{nn, nn::ModuleT};
use tch::Tensor;

use crate::net::Head;

#[derive(fx_runtime::Module)]
pub struct Wide {
    head: Head,
}

impl Wide {
    pub fn new(p: &nn::Path) -> Wide {
        Wide { head: Head::new(p / "head") }
    }
}

#[fx_runtime::traceable]
impl ModuleT for Wide {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.head.forward_t(xs, train)
    }
}
