use {std::fmt::Debug, fx_runtime::nn, tch::Tensor};

pub trait Act: Debug {
    fn forward(&self, xs: &Tensor) -> (Tensor, Tensor);
}

    #[derive(Debug, fx_runtime::Module)]
    pub struct Policy {
        actor: nn::Sequential,
        critic: Critic<nn::Linear>,
    }

/// Of any layer.
#[derive(Debug, fx_runtime::Module)]
pub struct Critic<M> { value: M, log_std: Tensor }

impl Policy {
    pub fn new(p: &nn::Path) -> Self {
        let critic = Critic { value: nn::linear(p / "value", 4, 1, Default::default()), log_std: p.zeros("std", &[1]) };
        Policy { actor: nn::seq().add(nn::linear(p / "actor", 4, 2, Default::default())), critic }
    }
}

    #[fx_runtime::traceable]
    impl Act for Policy {
        fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
            (xs.apply(&self.actor), xs.apply(&self.critic.value) + &self.critic.log_std)
        }
    }
