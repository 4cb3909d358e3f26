use tch::{nn, nn::ModuleT, Tensor};

use super::{parts::Head, Sizes};

pub struct Net {
    torso: nn::SequentialT,
    head: Head,
}

impl Net {
    pub fn new(p: &nn::Path, sizes: &Sizes) -> Net {
        Net { torso: crate::towers::tower(p, sizes.blocks), head: Head::new(p / "head") }
    }
}

impl ModuleT for Net {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.head.forward_t(&xs.apply_t(&self.torso, train), train)
    }
}
