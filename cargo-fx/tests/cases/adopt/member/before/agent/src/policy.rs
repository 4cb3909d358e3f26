use {std::fmt::Debug, tch::{nn, Tensor}};

pub trait Act: Debug {
    fn forward(&self, xs: &Tensor) -> (Tensor, Tensor);
}

    #[derive(Debug)]
    pub struct Policy {
        actor: nn::Sequential,
        critic: Critic<nn::Linear>,
    }

/// Of any layer.
#[derive(Debug)]
pub struct Critic<M> { value: M, log_std: Tensor }

impl Policy {
    pub fn new(p: &nn::Path) -> Self {
        let critic = Critic { value: nn::linear(p / "value", 4, 1, Default::default()), log_std: p.zeros("std", &[1]) };
        Policy { actor: nn::seq().add(nn::linear(p / "actor", 4, 2, Default::default())), critic }
    }
}

    impl Act for Policy {
        fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
            (xs.apply(&self.actor), xs.apply(&self.critic.value) + &self.critic.log_std)
        }
    }
